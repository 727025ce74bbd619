import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import PartitionError
from hetcal.partitions.columns import ColumnsPartition
from hetcal.partitions.partition import Partition
from hetcal.runs.run import run
from hetcal.runs.settings import Settings


class FirstColumn(ColumnsPartition):
    """scikit-learn's checks name no columns."""

    def __init__(self, bins=3):
        super().__init__("x0", bins=bins)

    def _names(self, known):
        return known[:1]


@parametrize_with_checks([FirstColumn()])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 3_000).astype(float)
    age[::17] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "job": pd.Series(
                rng.choice(["admin", "clerk", "nurse", "pilot", None], 3_000,
                           p=[0.5, 0.3, 0.13, 0.01, 0.06]),
                dtype="str",
            ),
            "income": rng.lognormal(10, 1, 3_000),
        }
    )  # fmt: skip


def as_pandas_groups(*keys):
    """Number the groups of rows in the order of their keys, missing keys last."""
    return (
        pd.DataFrame(dict(enumerate(keys))).groupby(list(range(len(keys))), dropna=False).ngroup()
    )


def same_groups(first, second):
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("bins", [2, 3, 5, 10])
def test_bins_are_the_quantiles_of_pandas(people, bins):
    fitted = ColumnsPartition("income", bins=bins).fit(people)
    leaf = fitted.apply(people)
    assert np.array_equal(leaf - 1, pd.qcut(people["income"], bins, labels=False))
    assert [each.rows for each in fitted.leaves_] == np.bincount(leaf)[1:].tolist()


def test_given_edges_belong_to_the_bin_below(people):
    edges = [25, 40, 65]
    fitted = ColumnsPartition("age", bins={"age": edges}, missing="joined").fit(people)
    cut = pd.cut(people["age"], [-np.inf, *edges, np.inf], labels=False)
    known = people["age"].notna()
    assert np.array_equal(fitted.apply(people)[known], cut[known] + 1)
    rules = [each.rule for each in fitted.leaves_]
    assert rules == ["age ≤ 25", "25 < age ≤ 40", "40 < age ≤ 65", "age > 65 (or missing)"]
    new = pd.DataFrame({"age": [25, 25.5, 26, 1e300, -np.inf]})
    assert fitted.partition_.apply(new).tolist() == [1, 2, 2, 4, 1]


def test_edges_hold_in_single_precision_and_are_written_as_given():
    X = pd.DataFrame({"share": [0.1, 0.2, 0.3, 0.7] * 50})
    fitted = ColumnsPartition("share", bins={"share": [0.1, 0.7]}).fit(X)
    assert [each.rule for each in fitted.leaves_] == [
        "share ≤ 0.1",
        "0.1 < share ≤ 0.7",
        "share > 0.7",
    ]
    assert fitted.apply(X)[:4].tolist() == [1, 2, 2, 2]
    assert fitted.leaves_[2].rows == 0


def test_every_combination_is_a_leaf(people):
    fitted = ColumnsPartition(["job", "age"], bins={"age": [30, 50]}, min_category_rows=100).fit(
        people
    )
    job = people["job"].replace({"pilot": None})
    age = pd.cut(people["age"], [-np.inf, 30, 50, np.inf], labels=False)
    assert same_groups(fitted.apply(people), as_pandas_groups(job, age))
    assert len(fitted.leaves_) == 4 * 4
    rules = [each.rule for each in fitted.leaves_]
    jobs = ["job is admin", "job is clerk", "job is nurse", "job is missing or rare"]
    ages = ["age ≤ 30", "30 < age ≤ 50", "age > 50", "age is missing"]
    assert rules == [f"{first} and {second}" for first, second in itertools.product(jobs, ages)]


def test_leaves_know_their_rows_and_weighted_rate(people):
    rng = np.random.default_rng(1)
    y, weight = rng.integers(0, 2, 3_000), rng.uniform(0, 2, 3_000)
    fitted = ColumnsPartition(["job", "age"]).fit(people, y, weight)
    leaf = fitted.apply(people)
    for each in fitted.leaves_:
        inside = leaf == each.id
        assert each.rows == inside.sum()
        assert each.positive_rate == pytest.approx(np.average(y[inside], weights=weight[inside]))
    assert fitted.partition_.base_rate == pytest.approx(np.average(y, weights=weight))


def test_missing_values_join_the_largest_segment_if_asked_to_or_if_there_were_none(people):
    joined = ColumnsPartition("job", missing="joined", min_category_rows=100).fit(people)
    assert [each.rule for each in joined.leaves_] == [
        "job is admin, missing or rare",
        "job is clerk",
        "job is nurse",
    ]
    whole = people.dropna()
    complete = ColumnsPartition(["age", "job"], bins={"age": [40, 45]}, min_category_rows=1)
    complete.fit(whole)
    assert len(complete.leaves_) == 3 * 4
    new = pd.DataFrame({"age": [np.nan, 50], "job": ["admin", "astronaut"]})
    like = pd.DataFrame({"age": [50, 50], "job": ["admin", "admin"]})
    assert (whole["age"] > 45).mean() > 0.4
    partition = complete.partition_
    assert partition.apply(new).tolist() == partition.apply(like).tolist()


def test_few_distinct_numbers_are_a_segment_each():
    X = pd.DataFrame({"children": [0] * 900 + [1] * 50 + [2] * 50})
    fitted = ColumnsPartition("children", bins=4).fit(X)
    assert [each.rule for each in fitted.leaves_] == [
        "children ≤ 0",
        "0 < children ≤ 1",
        "children > 1",
    ]


def test_ties_make_fewer_bins_but_none_without_rows():
    X = pd.DataFrame({"gain": np.append(np.zeros(800), np.arange(1, 201))})
    fitted = ColumnsPartition("gain", bins=10).fit(X)
    assert [each.rows for each in fitted.leaves_] == [800, 100, 100]


def test_a_column_of_gaps_has_nothing_to_divide_but_them():
    X = pd.DataFrame({"gap": np.full(100, np.nan)})
    fitted = ColumnsPartition("gap").fit(X)
    assert [each.rows for each in fitted.leaves_] == [0, 100]


def test_equal_after_a_trip_through_json(people):
    fitted = ColumnsPartition(["job", "income"]).fit(people, np.arange(3_000) % 2)
    again = Partition.from_json(fitted.partition_.to_json())
    assert again == fitted.partition_
    assert np.array_equal(again.apply(people), fitted.apply(people))


def test_a_leaf_without_rows_does_not_stop_a_run(segments):
    segments = segments.assign(size=segments["size"].where(segments["segment"] == "a", 10.0))
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    fitted = ColumnsPartition(["segment", "size"], bins={"size": [20, 45]})
    partition = fitted.fit(table.X, table.y).partition_
    assert [each.rows for each in partition.leaves][-2:] == [0, 0]
    finished = run(
        table, scores_from_column(segments["score"], "logit", "d"), Settings(), partition
    )
    assert np.isfinite(finished.after).all()
    assert finished.evaluation.after.auc > finished.evaluation.before.auc


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"columns": []}, "No column is chosen"),
        ({"columns": ["age", "age"]}, "chosen twice"),
        ({"columns": ["jobs"]}, r"no column 'jobs', or has it twice \(is 'job' meant\?\)"),
        ({"columns": "age", "bins": {"job": 3}}, "Bins are given for 'job', which is not chosen"),
        ({"columns": "job", "bins": {"job": 3}}, "'job', which holds categories"),
        ({"columns": "age", "bins": {"age": [3, 2]}}, r"'age' are \[3, 2\]"),
        ({"columns": "age", "bins": {"age": ["old"]}}, r"'age' are \['old'\]"),
        ({"columns": "age", "bins": {"age": [np.inf]}}, "finite numbers"),
        ({"columns": "age", "bins": 0}, "number of bins of 'age' is 0"),
        ({"columns": "age", "missing": "gone"}, "'missing' is 'gone'"),
        ({"columns": "age", "max_leaves": 2.5}, "'max_leaves' is 2.5"),
        ({"columns": "job", "min_category_rows": 9_999}, "no category with at least 9,999 rows"),
        (
            {"columns": ["job", "age", "income"], "bins": 10},
            r"'job' \(4 segments\) and 'age' \(11 segments\) and 'income' \(10 segments\) make 440",
        ),
        ({"columns": "income", "bins": 300}, r"'income' \(300 segments\) makes 300 leaves"),
    ],
)
def test_errors_name_the_columns_and_the_counts(people, parameters, message):
    with pytest.raises(PartitionError, match=message):
        ColumnsPartition(**parameters).fit(people)
