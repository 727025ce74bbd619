"""A second table with raw columns: joined by a column of names or by order, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.raw_columns import kinds_of_raw, with_raw_table
from hetcal.data.reading import one_file, read_file
from hetcal.data.table import Roles, make_table
from hetcal.errors import TableError

RAW = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "age": [20, 30, 40, 50],
        "plan": ["basic", "plus", "plus", None],
        "label": [0, 1, 0, 1],
    }
)
PREPARED = pd.DataFrame(
    {
        "name": RAW["name"],
        "age": (RAW["age"] - 35) / 10,
        "plan_plus": [0, 1, 1, 0],
        "label": RAW["label"],
    }
)


@pytest.fixture
def joined(tmp_path):
    def join(first=PREPARED, second=RAW, by=None):
        found = []
        for name, frame in (("first.csv", first), ("second.csv", second)):
            frame.to_csv(tmp_path / name, index=False)
            found.append(read_file(tmp_path / name))
        return with_raw_table(one_file(found[0]), found[1], by)

    return join


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_rows_are_joined_by_the_column_that_names_them(joined, order):
    found = joined(second=RAW.iloc[order])
    assert found.frame["age (raw)"].tolist() == [20, 30, 40, 50]
    assert found.frame["plan"].fillna("").tolist() == ["basic", "plus", "plus", ""]
    assert found.frame["age"].tolist() == PREPARED["age"].tolist()
    assert found.raw == ("age (raw)", "plan")
    assert found.prepared == ("age", "plan_plus")
    assert "2 raw columns of 'second.csv' joined by 'name'; called 'age (raw)'" in found.notes[-1]


def test_rows_without_names_are_joined_by_their_order(joined):
    found = joined(PREPARED.drop(columns="name"), RAW.drop(columns="name"))
    assert found.frame["age (raw)"].tolist() == [20, 30, 40, 50]
    assert "joined row by row" in found.notes[-1]


def test_numbers_and_texts_name_the_same_rows(joined):
    second = RAW.assign(name=["01", "2", "x", "10"])
    found = joined(PREPARED.assign(name=[2, 10, 2, 10]), second, "name")
    assert found.frame["age (raw)"].tolist() == [30, 50, 30, 50]


def test_partitions_read_raw_columns_in_place_of_prepared_ones(joined):
    found = joined()
    table = make_table(found.frame, Roles("label", ignore=found.prepared))
    assert table.roles.features == ("name", "age (raw)", "plan")


def test_another_way_to_write_the_label_is_no_feature(joined):
    found = joined(second=RAW.assign(label=["no", "yes", "no", "yes"]))
    table = make_table(found.frame, Roles("label", ignore=found.prepared))
    assert "label (raw)" in found.frame
    assert "label (raw)" not in table.roles.features


def test_the_digest_tells_tables_and_joins_apart(joined):
    digests = {joined().digest, joined(second=RAW.assign(age=1)).digest, joined(by="name").digest}
    assert len(digests) == 2  # the column was found, or named


@pytest.mark.parametrize(
    ("change", "by", "words"),
    [
        (lambda raw: raw.iloc[:3], None, "has 3 rows, and the table has 4 rows"),
        (lambda raw: raw.iloc[:3], "name", "1 row of the table have no row in 'second.csv'"),
        (lambda raw: raw.assign(name="a"), "name", "has the value 'a' in several rows"),
        (lambda raw: raw.drop(columns="name"), "name", "has no column 'name'"),
        (lambda raw: raw, "nam", "There is no column 'nam'"),
        (
            lambda raw: raw.drop(columns="name").iloc[[1, 0, 2, 3]],
            None,
            "'label' has the same values in both tables, in another order",
        ),
    ],
)
def test_rows_that_cannot_be_joined_are_refused(joined, change, by, words):
    with pytest.raises(TableError) as error:
        joined(second=change(RAW), by=by)
    assert words in str(error.value)


def test_a_column_in_the_way_is_named(joined):
    with pytest.raises(TableError) as error:
        joined(PREPARED.assign(**{"age (raw)": 1}))
    assert "already has a column 'age (raw)'" in str(error.value)


def test_known_kinds_have_the_names_of_the_second_table():
    kinds = {"age (raw)": "category", "age": "number", "plan": "category", "plan_plus": "number"}
    assert kinds_of_raw(kinds, PREPARED) == {"age": "category", "plan": "category"}


def test_random_rows_are_joined_as_pandas_merges_them(joined):
    rng = np.random.default_rng(0)
    names = rng.permutation(300)
    second = pd.DataFrame({"name": names, "value": rng.normal(size=300)})
    first = pd.DataFrame({"name": rng.permutation(names[:200]), "x": rng.normal(size=200)})
    expected = first.merge(second, on="name", how="left", validate="1:1")
    assert joined(first, second).frame.equals(expected)
