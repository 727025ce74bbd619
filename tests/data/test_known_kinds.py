"""A row is read alike alone and among others, once the kinds of its columns are known."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.reading import read_file
from hetcal.data.types import as_kinds
from hetcal.errors import TableError
from hetcal.partitions.tree import TreePartition

HIGH, LOW = 1, 0
# Fields of a column, and the class that their rows have.
COLUMNS = {
    "codes that look like numbers": {"1.50": HIGH, "2.50": LOW, "X1": HIGH, "X2": LOW},
    "codes with zeros": {"007": HIGH, "7": LOW, "12": HIGH, "012": LOW},
    "dates": {"2020-01-01": HIGH, "unknown": LOW},
    "markers": {"?": HIGH, "-": LOW, "NA": HIGH, "none": LOW},
    "numbers with gaps": {str(i): i % 2 for i in range(20)} | {"?": HIGH},
    "one gap": {"1": LOW, "2": LOW, "": HIGH},
    "mistyped numbers": {f"{i}.5": HIGH if i < 25 else LOW for i in range(50)} | {"n.a.": HIGH},
}


@pytest.mark.parametrize("fields", COLUMNS.values(), ids=COLUMNS)
def test_a_row_alone_reaches_the_leaf_that_it_reaches_among_others(tmp_path, fields):
    file = tmp_path / "rows.csv"
    rows = [f"{text},{label}" for text, label in fields.items()]
    file.write_text("\n".join(["c,y", *rows * 30]))
    frame = read_file(file).frame
    partition = TreePartition(5, min_samples_leaf=30).fit(frame[["c"]], frame["y"]).partition_
    assert len(partition.leaves) > 1
    together = partition.apply(frame)[: len(rows)]
    kinds = {feature.name: feature.kind for feature in partition.features}
    for row, leaf in zip(rows, together, strict=True):
        file.write_text(f"c,y\n{row}\n")
        if row.startswith("n.a."):
            with pytest.raises(TableError, match=r"'c' holds 'n.a.'"):
                read_file(file, kinds=kinds)
        else:
            alone = read_file(file, kinds=kinds).frame
            assert partition.apply(alone).tolist() == [leaf]


def test_numbers_with_few_other_values_are_read_as_where_nothing_is_known(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("n\n" + "1,5\n".replace(",", ".") * 19 + "oops\n")
    known, guessed = read_file(file, kinds={"n": "number"}), read_file(file)
    pd.testing.assert_frame_equal(known.frame, guessed.frame)
    assert known.notes == guessed.notes
    assert "'oops'" in known.notes[0]


def test_a_known_number_keeps_the_decimal_mark_of_the_file(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("n;m\n?;1,5\n-2,5;2,5\n")
    frame = read_file(file, kinds={"n": "number"}).frame
    assert frame["n"].tolist()[1] == -2.5
    assert np.isnan(frame["n"][0])


def test_the_other_columns_are_judged_by_their_values(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    frame = read_file(file, kinds={"b": "category", "not there": "number"}).frame
    assert frame["a"].tolist() == [1]
    assert frame["b"].tolist() == ["2"]


FRAME = pd.DataFrame(
    {
        "number": [1.0, 2.5],
        "text": pd.Series(["3", None], dtype="str"),
        "flag": [True, False],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
    }
)


def test_typed_columns_take_their_known_kinds(tmp_path):
    file = tmp_path / "rows.parquet"
    FRAME.to_parquet(file)
    frame = read_file(
        file,
        kinds={"number": "category", "text": "number", "flag": "number", "day": "category"},
    ).frame
    assert frame["number"].tolist() == ["1", "2.5"]
    assert frame["text"].fillna(-1).tolist() == [3, -1]
    assert frame["flag"].tolist() == [True, False]
    assert frame["day"].dtype == "str"


def test_typed_columns_of_their_known_kind_stay_as_they_are():
    kinds = {"number": "number", "text": "category", "flag": "category"}
    frame, notes = as_kinds(FRAME, kinds)
    pd.testing.assert_frame_equal(frame, FRAME)
    assert notes == []


def test_dates_are_no_numbers():
    with pytest.raises(TableError, match="'day' holds values of type datetime"):
        as_kinds(FRAME, {"day": "number"})
