from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.data.columns import one_hot_groups
from hetcal.errors import PartitionError
from hetcal.figures.tree import outline
from hetcal.partitions.nodes import Feature, Node, needed_digits, number_words, short_number, shown
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition

AGE = Feature("age", "number", whole=True, missing=True)
LETTERS = tuple("abcdefghijkl")
JOB = Feature("job", "category", LETTERS, missing=True)


def split(feature, cut, *, missing_left=False, left=1, right=2):
    if isinstance(cut, tuple):
        return Node(10, 0.5, feature.name, None, cut, missing_left, left, right)
    return Node(10, 0.5, feature.name, cut, (), missing_left, left, right)


def stump(feature, cut, *, missing_left=False):
    nodes = (split(feature, cut, missing_left=missing_left), Node(4, 0.2), Node(6, 0.7))
    return Partition((feature,), nodes)


def rules(partition):
    return [leaf.rule for leaf in partition.leaves]


def test_one_leaf_is_all_rows():
    assert rules(Partition((), (Node(10, 0.5),))) == ["all rows"]


def test_ranges_of_one_column_are_merged():
    nodes = (
        split(AGE, 45.5, missing_left=True, left=1, right=4),
        split(AGE, 30.5, left=2, right=3),
        Node(1, 0.0),
        Node(1, 0.0),
        split(JOB, ("a", "b"), missing_left=True, left=5, right=6),
        Node(1, 0.0),
        Node(1, 0.0),
    )
    assert rules(Partition((AGE, JOB), nodes)) == [
        "age ≤ 30",
        "30 < age ≤ 45 (or missing)",
        "age > 45 and job is a, b or missing",
        "age > 45 and job is not a, b or missing",
    ]


def test_missing_values_are_not_mentioned_where_training_had_none():
    age, job = Feature("age", "number"), Feature("job", "category", ("a", "b", "c"))
    assert rules(stump(age, 2.5, missing_left=True)) == ["age ≤ 2.5", "age > 2.5"]
    assert rules(stump(job, ("b",), missing_left=True)) == ["job is b", "job is a or c"]


def test_missing_values_alone_have_words():
    assert rules(stump(AGE, None)) == ["age is not missing", "age is missing"]
    assert rules(stump(JOB, LETTERS)) == ["job is not missing", "job is missing"]


def test_rare_categories_are_mentioned_where_training_had_some():
    job = replace(JOB, missing=False, rare=True)
    both = replace(JOB, rare=True)
    assert rules(stump(job, ("a", "b"))) == ["job is a or b", "job is not a or b"]
    assert rules(stump(job, ("a", "b"), missing_left=True)) == [
        "job is a, b or rare",
        "job is not a, b or rare",
    ]
    assert rules(stump(both, LETTERS)) == ["job is not missing or rare", "job is missing or rare"]
    assert rules(stump(both, LETTERS[:7], missing_left=True))[0] == (
        "job is one of 7 (a, b, …), missing or rare"
    )


def test_a_category_named_rare_is_quoted():
    steak = Feature("steak", "category", ("done", "rare"), rare=True)
    assert rules(stump(steak, ("rare",))) == ["steak is 'rare'", "steak is done or rare"]


def test_long_sets_are_shortened_and_available_in_full():
    partition = stump(JOB, LETTERS[:7], missing_left=True)
    assert rules(partition) == [
        "job is one of 7 (a, b, …) or missing",
        "job is one of 5 (h, i, …)",
    ]
    assert partition.leaves[1].full_rule == "job is h, i, j, k or l"


def test_a_set_without_few_names_is_told_by_what_is_not_in_it():
    assert rules(stump(JOB, LETTERS[:10])) == [
        "job is not k, l or missing",
        "job is k, l or missing",
    ]
    assert rules(stump(JOB, LETTERS[:10], missing_left=True))[0] == "job is not k or l"


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "''"), ("missing", "'missing'"), (" x", "' x'"), ("a\nb", r"'a\nb'"), ("é", "é")],
)
def test_names_that_would_be_misread_are_quoted(name, words):
    assert shown(name) == words


def test_long_names_are_shortened():
    long = [f"{'calls_' * 10}in_month_{month:02d}_of_the_year" for month in (3, 4)]
    assert [len(shown(each)) for each in long] == [40, 40]
    assert shown(long[0]) != shown(long[1])


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (36.5, 4, "36.5"),
        (0.0, 4, "0"),
        (-0.25, 4, "-0.25"),
        (1234567.0, 4, "1235000"),
        (0.000123456, 4, "0.0001235"),
        (1.5e-12, 4, "1.5e-12"),
        (1e30, 4, "1e+30"),
    ],
)
def test_numbers_are_short(value, digits, text):
    assert short_number(value, digits) == text


@pytest.mark.parametrize("threshold", [36.5, 36.0, -0.5, -3.0, 0.25])
def test_whole_thresholds_divide_whole_numbers_alike(threshold):
    shown_threshold = int(number_words(threshold, AGE))
    for value in range(-50, 50):
        assert (value <= shown_threshold) == (value <= threshold)


def test_digits_suffice_to_stay_between_the_neighbours():
    rng = np.random.default_rng(0)
    for _ in range(500):
        below, above = np.sort(rng.normal(size=2).astype(np.float32).astype(float))
        offset = 10.0 ** rng.integers(-3, 9)
        below, above = below + offset, above + offset
        middle = below / 2 + above / 2
        digits = needed_digits(middle, below, above)
        assert below <= float(short_number(middle, digits)) < above
        fewer = float(short_number(middle, digits - 1))
        assert digits == 4 or not below <= fewer < above


def test_rules_of_a_tree_hold_for_its_training_rows():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "whole": rng.integers(-100, 100, 3_000),
            "time": np.round(1_000_000 + rng.normal(size=3_000), 1),
            "small": rng.normal(size=3_000) * 1e-7,
        }
    )
    y = (X["whole"] + 50 * (X["time"] - 1_000_000) + 5e8 * X["small"] > 0).astype(int)
    fitted = TreePartition(5, min_samples_leaf=20).fit(X, y)
    leaf = fitted.apply(X)
    for each in fitted.leaves_:
        query = each.rule.replace("≤", "<=")
        assert np.array_equal(X.eval(query).to_numpy(), leaf == each.id), query


def test_whole_numbers_are_believed_only_where_it_is_certain():
    values = np.tile(np.arange(10), 20)
    y = values > 4
    rule = {}
    for name, column in {
        "integers": values,
        "nullable": pd.array(values, dtype="Int64"),
        "with gaps": np.where(values == 0, np.nan, values),
        "floats": values.astype(float),
        "huge": values.astype(np.int64) + 2**24,
    }.items():
        fitted = TreePartition(1, min_samples_leaf=1).fit(pd.DataFrame({"x": column}), y)
        rule[name] = fitted.leaves_[0].rule
    assert rule["integers"] == rule["nullable"] == "x ≤ 4"
    assert rule["with gaps"] == "x ≤ 4 (or missing)"
    assert rule["floats"] == "x ≤ 4.5"
    assert not fitted.partition_.features[0].whole


def test_no_two_leaves_of_a_large_tree_have_the_same_short_name():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(6_000, 4)).round(1), columns=list("abcd"))
    y = (rng.random(6_000) < 0.5).astype(int)
    partition = TreePartition(6, min_samples_leaf=30).fit(frame, y).partition_
    names = [partition.names[each.id].rpartition(" (")[0] for each in partition.leaves]
    assert len(set(names)) == len(partition.leaves) > 20


def test_the_name_of_a_leaf_is_its_rule_or_says_that_conditions_are_left_out():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(6_000, 4)).round(1), columns=list("abcd"))
    y = (rng.random(6_000) < 0.5).astype(int)
    fitted = TreePartition(6, min_samples_leaf=30).fit(frame, y)
    leaf, whole, parts = fitted.apply(frame), 0, 0
    for each in fitted.leaves_:
        name = fitted.partition_.names[each.id].rpartition(" (")[0]
        said = [part for part in name.split(" · ") if part != "…"]
        held = frame.eval(" and ".join(said).replace("≤", "<=")).to_numpy()
        assert held[leaf == each.id].all()
        assert (held.sum() == (leaf == each.id).sum()) == ("…" not in name)
        parts, whole = parts + ("…" in name), whole + ("…" not in name)
    assert min(parts, whole) >= 5


def test_a_category_of_two_columns_is_named_with_its_column():
    columns = Feature("home", "category", ("north", "south")), JOB
    again = Feature("work", "category", ("north", "south"))
    nodes = (split(columns[0], ("north",)), Node(4, 0.2), Node(6, 0.7))
    assert list(Partition(columns[:1], nodes).names.values()) == ["north (1)", "south (2)"]
    nodes = (
        split(columns[0], ("north",), left=1, right=4),
        split(again, ("north",), left=2, right=3),
        *[Node(1, 0.5)] * 3,
    )
    assert list(Partition((columns[0], again), nodes).names.values()) == [
        "home is north · work is north (1)",
        "home is north · work is south (2)",
        "home is south (3)",
        "home is north (branch 1)",
    ]


def one_hot(rows=3_000):
    """Rows whose job is written as one-hot columns, and decides the label."""
    rng = np.random.default_rng(4)
    job = pd.Series(rng.choice(["admin", "blue_collar", "student"], rows))
    frame = pd.get_dummies(job, prefix="job", dtype=int).assign(age=rng.integers(18, 80, rows))
    chance = job.map({"admin": 0.1, "blue_collar": 0.4, "student": 0.8}).to_numpy()
    return frame, job, (rng.random(rows) < chance).astype(int)


def test_one_hot_columns_are_read_as_one_column():
    frame, job, y = one_hot()
    partition = TreePartition(2, min_samples_leaf=300).fit(frame, y).partition_
    leaf = partition.apply(frame)
    rules = {each.id: each.rule for each in partition.leaves}
    assert all("job_" not in rule for rule in rules.values())
    values = {
        "job is student": {"student"},
        "job is admin": {"admin"},
        "job is not admin or student": {"blue_collar"},
        "job is not student or admin": {"blue_collar"},
    }
    for number, rule in rules.items():
        own = set(job[leaf == number])
        said = next(each for each in rule.split(" and ") if each.startswith("job"))
        assert own == values[said]
    assert Partition.from_json(partition.to_json()) == partition
    lines = [line.rule for line in outline(partition)]
    assert "job is not student" in lines


@pytest.mark.parametrize(
    ("change", "grouped"),
    [
        (lambda frame: frame, True),
        (lambda frame: frame.astype(float), True),
        (lambda frame: frame.assign(job_admin=frame["job_admin"] * 2), False),
        (lambda frame: frame.assign(job_admin=0), False),  # some rows have none
        (lambda frame: frame.assign(job_admin=frame["job_admin"].replace(0, np.nan)), False),
        (lambda frame: frame.assign(job_title="text"), False),
        (lambda frame: frame[["job_admin", "age"]], False),
    ],
)
def test_columns_are_a_group_only_if_every_row_has_one_of_them(change, grouped):
    frame = change(one_hot()[0])
    found = one_hot_groups(frame)
    names = [name for name in frame if name.startswith("job_")]
    assert found == (dict.fromkeys(names, "job") if grouped else {})


def test_only_the_rows_of_the_tree_decide_about_groups():
    frame = one_hot()[0]
    frame.loc[:9, "job_admin"] = 7
    assert one_hot_groups(frame) == {}
    assert set(one_hot_groups(frame, np.arange(10, len(frame))).values()) == {"job"}


def test_a_column_that_is_not_named_after_its_group_is_refused():
    frame, _, y = one_hot()
    text = TreePartition(1, min_samples_leaf=300).fit(frame, y).partition_.to_json()
    with pytest.raises(PartitionError, match="not named after its group"):
        Partition.from_json(text.replace('"group": "job"', '"group": "town"'))
