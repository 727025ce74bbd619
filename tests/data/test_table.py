"""Columns take their roles, or are refused by name."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.guess import guess_roles
from hetcal.data.splits import Split
from hetcal.data.table import (
    Roles,
    class_balance,
    has_many_classes,
    make_table,
    require_features,
)
from hetcal.errors import TableError
from hetcal.models.scoring import ColumnScoring, score_rows


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [31.0, 45.0, np.nan, 52.0],
            "job": pd.Series(["clerk", "cook", None, "clerk"], dtype="str"),
            "since": pd.to_datetime(["2020-01-01"] * 4),
            "household": [1, 1, 2, 3],
            "w": [1.0, 2.0, 0.0, 1.5],
            "part": ["train", "train", "calibration", "test"],
            "old score": [0.1, 0.9, 0.5, 0.4],
            "y": ["no", "yes", "no", "yes"],
        }
    )


def refusal(frame, roles):
    with pytest.raises(TableError) as caught:
        make_table(frame, roles, "d")
    assert all([caught.value.wrong, caught.value.needed, caught.value.remedy])
    return caught.value


ALL = Roles("y", group="household", weight="w", split="part", score="old score")


def test_features_are_the_numbers_and_categories_without_another_role(frame):
    table = make_table(frame, ALL, "d")
    assert table.roles.features == ("age", "job")
    assert table.roles.positive == "yes"
    assert table.y.tolist() == [0, 1, 0, 1]
    assert table.weight.tolist() == [1.0, 2.0, 0.0, 1.5]
    assert list(table.X.columns) == ["age", "job"]
    assert list(table.frame.columns) == list(frame.columns)
    assert table.rows == 4
    assert table.row_numbers().tolist() == [0, 1, 2, 3]
    assert table.row_numbers(slice(1, 9)).tolist() == [1, 2, 3]


def test_chosen_features_keep_their_order_without_ignored_ones(frame):
    roles = Roles("y", features=("w", "age", "job"), ignore=("age",))
    assert make_table(frame, roles, "d").roles.features == ("w", "job")


def test_rows_without_a_label_are_left_out_only_when_asked(frame):
    frame.loc[1, "y"] = None
    roles = Roles("y", weight="w", drop_unlabelled=True)
    table = make_table(frame, roles, "d")
    assert table.frame["age"].tolist()[0::2] == [31.0, 52.0]
    assert table.frame.index.tolist() == [0, 1, 2]
    assert table.y.tolist() == [0, 0, 1]
    assert table.weight.tolist() == [1.0, 0.0, 1.5]
    assert table.row_numbers().tolist() == [0, 2, 3]
    assert table.row_numbers(slice(1, 2)).tolist() == [2]
    assert "empty in 1 of 4 rows" in refusal(frame, Roles("y")).wrong
    assert len(frame) == 4


def test_the_digest_follows_source_and_resolved_roles(frame):
    digest = make_table(frame, Roles("y"), "d").digest
    assert make_table(frame, Roles("y", positive="yes"), "d").digest == digest
    assert make_table(frame, Roles("y", positive="no"), "d").digest != digest
    assert make_table(frame, Roles("y"), "e").digest != digest


def test_a_label_that_is_not_there_suggests_near_names(frame):
    error = refusal(frame.rename(columns={"y": "Income"}), Roles("incme"))
    assert "'incme'" in error.wrong
    assert error.remedy == "Did you mean 'Income'?"


@pytest.mark.parametrize(
    "roles",
    [
        Roles("y", features=("age", "nothing")),
        Roles("y", ignore=("nothing",)),
        Roles("y", group="nothing"),
        Roles("y", weight="nothing"),
        Roles("y", split="nothing"),
        Roles("y", score="nothing"),
    ],
)
def test_every_role_must_name_a_column(frame, roles):
    assert "There is no column 'nothing'" in refusal(frame, roles).wrong


@pytest.mark.parametrize(
    "roles", [Roles("y", score="y"), Roles("y", split="y"), Roles("y", features=("age", "y"))]
)
def test_the_label_has_no_other_role(frame, roles):
    assert "'y' is chosen both as label and as" in refusal(frame, roles).wrong


def test_dates_are_no_features(frame):
    assert "'since' holds dates" in refusal(frame, Roles("y", features=("since",))).wrong


def test_what_divides_rows_by_features_needs_one(frame):
    require_features(make_table(frame, Roles("y")).roles)
    with pytest.raises(TableError, match="No features are left beside the label 'y'"):
        require_features(make_table(frame[["since", "y"]], Roles("y")).roles)


def test_missing_groups_are_counted(frame):
    assert "'job' is empty in 1 of 4 rows" in refusal(frame, Roles("y", group="job")).wrong


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, -3, -1], "is negative in 2 rows"),
        ([1, np.nan, 1, 1], "is missing in 1 row"),
        ([1, np.inf, 1, 1], "is infinite in 1 row"),
        ([1, 1e101, 1, 1e300], "is too large in 2 rows"),
        ([1, 1e-101, 0, 1], "is too small in 1 row"),
        ([0, 0, 0, 0], "is 0 in every row"),
        (["a", "b", "c", "d"], "holds text"),
        ([True, True, False, True], "holds text or other values that are not numbers"),
    ],
)
def test_weights_that_are_none_are_refused(frame, values, words):
    frame["w"] = values
    assert f"The weight column 'w' {words}" in refusal(frame, Roles("y", weight="w")).wrong


def test_the_class_balance_counts_each_role(frame):
    table = make_table(frame, Roles("y"), "d")
    split = Split(np.array([0, 1]), np.array([], dtype=np.int64), np.array([2]), np.array([3]))
    balance = class_balance(table, split).set_index("role")
    assert balance["rows"].to_dict() == {"train": 2, "validation": 0, "calibration": 1, "test": 1}
    assert balance["positives"].tolist() == [1, 0, 0, 1]
    assert balance.loc["train", "positive_rate"] == 0.5
    assert np.isnan(balance.loc["validation", "positive_rate"])
    assert balance["share_of_rows"].tolist() == [0.5, 0, 0.25, 0.25]


def test_the_class_balance_counts_rows_and_weighs_rates(frame):
    table = make_table(frame, Roles("y", weight="w"), "d")
    split = Split(np.array([0, 1]), np.array([], dtype=np.int64), np.array([2]), np.array([3]))
    balance = class_balance(table, split).set_index("role")
    assert balance["rows"].tolist() == [2, 0, 1, 1]
    assert balance["positives"].tolist() == [1, 0, 0, 1]
    assert balance.loc["train", "positive_rate"] == pytest.approx(2 / 3)
    assert np.isnan(balance.loc["calibration", "positive_rate"])  # its only row has weight 0


def test_a_name_that_only_shares_letters_is_not_suggested(frame):
    error = refusal(frame.rename(columns={"age": "usage_8"}), Roles("y", features=("age",)))
    assert error.remedy.startswith("Choose one of them")


def test_names_that_several_columns_share_are_refused(frame):
    twice = pd.concat([frame, frame[["w", "job"]]], axis=1)
    named = "The table has more than one column named 'job' (and 1 more repeated names)."
    assert refusal(twice, Roles("y")).wrong == named
    with pytest.raises(TableError, match="more than one column named 'job'"):
        score_rows(twice, ColumnScoring(("w",), "logit"), (), "digest")
    with pytest.raises(TableError, match="more than one column named 'job'"):
        score_rows(twice, ColumnScoring(("w", "y"), "logit"), ("a", "b"), "digest")
    with pytest.raises(TableError, match="more than one column named 'job'"):
        make_table(twice, Roles("w"), "digest")


KINDS = pd.DataFrame({"x": range(6), "kind": list("bacabc")})


def test_classes_are_the_values_of_the_label_in_order():
    found = make_table(KINDS, Roles("kind"), "digest")
    assert found.classes == ("a", "b", "c")
    assert found.y.tolist() == [1, 0, 2, 0, 1, 2]
    assert found.roles.features == ("x",)


def test_classes_can_be_put_in_the_order_of_the_outputs():
    found = make_table(KINDS, Roles("kind"), "digest", ("c", "a", "b"))
    assert found.y.tolist() == [2, 1, 0, 1, 2, 0]


def test_a_view_sets_one_class_against_all_others():
    found = make_table(KINDS, Roles("kind"), "digest")
    view = found.view(2)
    assert view.y.tolist() == [0, 0, 1, 0, 0, 1]
    assert view.roles.positive == "c"
    assert view.digest != found.view(1).digest


def test_rows_without_a_label_are_left_out_if_that_is_asked_for():
    frame = KINDS.assign(kind=["b", None, "c", "a", "b", "c"])
    found = make_table(frame, Roles("kind", drop_unlabelled=True), "digest")
    assert found.y.tolist() == [1, 2, 0, 1, 2]
    assert found.row_numbers().tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d"), ("a", "a", "b", "c")])
def test_classes_that_are_not_those_of_the_label_are_refused(classes):
    with pytest.raises(TableError, match="are not the values of the label column 'kind'"):
        make_table(KINDS, Roles("kind"), "digest", classes)


def test_a_label_with_too_many_values_is_refused():
    frame = pd.DataFrame({"x": range(200), "kind": [f"k{i}" for i in range(200)]})
    with pytest.raises(TableError, match="200 distinct values"):
        make_table(frame, Roles("kind"), "digest")


def test_a_label_that_does_not_exist_is_refused_by_name():
    with pytest.raises(TableError, match="no column 'kin'"):
        make_table(KINDS, Roles("kin"), "digest")


def test_shares_of_classes_are_counted_by_role_and_weight():
    frame = KINDS.assign(w=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    table = make_table(frame, Roles("kind", weight="w"), "digest")
    rows = np.arange(6)
    found = class_balance(table, Split(rows[:4], rows[:0], rows[4:5], rows[5:]))
    assert found["rows"].tolist() == [4, 0, 1, 1]
    assert found["share_of_rows"].tolist() == pytest.approx([4 / 6, 0, 1 / 6, 1 / 6])
    kinds = KINDS["kind"].tolist()[:4]
    for name in "abc":
        mass = sum(w for w, kind in zip(frame["w"], kinds, strict=False) if kind == name)
        assert found.at[0, f"class {name}"] == pytest.approx(mass / 10)
    assert found.loc[1].filter(like="class ").isna().all()


def test_more_than_two_values_without_a_positive_one_are_many_classes():
    assert has_many_classes(KINDS, Roles("kind"))
    assert not has_many_classes(KINDS, Roles("kind", positive="a"))
    assert not has_many_classes(KINDS[KINDS["kind"] != "c"], Roles("kind"))
    assert not has_many_classes(KINDS, Roles("nothing"))


def test_times_are_numbers_in_the_order_of_the_dates_and_no_feature():
    days = pd.Series(["2024-03-01", "2023-12-31", None, "2024-02-29"]).astype("datetime64[s]")
    frame = pd.DataFrame({"day": days, "x": range(4), "y": [0, 1, 0, 1]})
    table = make_table(frame, Roles("y", time="day"))
    assert table.roles.features == ("x",)
    assert table.time(np.arange(4)) == pytest.approx(
        days.map(lambda day: day.timestamp() * 1e6 if day is not pd.NaT else np.nan), nan_ok=True
    )
    assert table.time(np.array([3, 0])).argmax() == 1
    assert make_table(frame, Roles("y")).time(np.arange(4)) is None


def test_times_that_are_text_are_refused():
    frame = pd.DataFrame({"day": ["Monday", "Tuesday"], "x": [1, 2], "y": [0, 1]})
    with pytest.raises(TableError, match="The time column 'day' holds neither dates nor numbers"):
        make_table(frame, Roles("y", time="day"))


def test_known_names_and_role_values_are_recognised(segments):
    roles = guess_roles(segments)
    assert (roles.label, roles.split, roles.score) == ("label", "split", "score")


def test_the_last_column_with_two_values_is_taken_for_the_label():
    frame = pd.DataFrame({"sex": ["m", "f", "m"], "age": [1, 2, 3], "died": [0, 1, 1]})
    assert guess_roles(frame).label == "died"


def test_a_table_without_two_valued_columns_still_gets_a_label_to_correct():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert guess_roles(frame).label == "b"


def test_without_two_values_a_well_known_name_is_the_label():
    frame = pd.DataFrame({"a": [1, 2, 3], "Class": ["x", "y", "z"], "b": [1.5, 2.5, 3.5]})
    assert guess_roles(frame).label == "Class"


def test_without_two_values_the_last_column_of_a_few_categories_is_the_label():
    frame = pd.DataFrame({"a": [1.5, 2, 3], "kind": ["x", "y", "z"], "b": [1.5, 2.5, 3.5]})
    assert guess_roles(frame).label == "kind"


def test_scores_that_follow_a_label_of_whole_numbers_are_not_taken_for_it():
    numbers = range(60)
    frame = pd.DataFrame({"kind": [i % 3 for i in numbers], "id": numbers})
    frame[["p0", "p1"]] = [(i / 60, 1 - i / 60) for i in numbers]
    assert guess_roles(frame).label == "kind"


def test_a_text_column_named_score_is_no_score():
    frame = pd.DataFrame({"score": ["low", "high", "low"], "label": [0, 1, 0]})
    assert guess_roles(frame).score is None


def test_the_best_known_name_is_the_label_wherever_it_stands():
    frame = pd.DataFrame({"default": [0, 1, 1], "age": [30, 40, 50], "y": [1, 0, 1]})
    assert guess_roles(frame).label == "y"
