from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table
from hetcal.errors import CalibrationError
from hetcal.runs.rows import (
    chosen_rows,
    explain_row,
    listed_rows,
    rows_with,
    sorted_rows,
    typical_of,
    with_columns,
)
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

SHARES = (0.4, 0.1, 0.25, 0.25)


def finished(partition):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3_000))
    y = (rng.random(3_000) < expit(z + np.where(x > 0, 1.5, -1.5))).astype(int)
    frame = pd.DataFrame({"x": x, "plan": rng.choice([*"ab"], 3_000), "y": y, "score": 3 * z})
    table = make_table(frame, Roles("y", score="score"), "digest")
    scores = 3 * z
    scores[0] = np.nan
    settings = Settings(fractions=SHARES, partition=partition, max_depth=1)
    return run(table, make_scores(scores, "made up", digest="scores"), settings)


@pytest.fixture(scope="module")
def one_tree():
    return finished("tree")


def test_rows_have_the_probabilities_and_the_loss_of_the_run(one_tree):
    rows = listed_rows(one_tree)
    at = one_tree.split.test
    assert rows["row"].tolist() == at.tolist()
    after, y = expit(one_tree.after[at]), one_tree.table.y[at]
    assert rows["after"].to_numpy() == pytest.approx(after)
    assert rows["before"].to_numpy() == pytest.approx(expit(one_tree.scores.logit[at]))
    assert rows["loss"].to_numpy() == pytest.approx(-np.log(np.where(y == 1, after, 1 - after)))


def test_of_many_rows_some_are_drawn_evenly(one_tree):
    rows = listed_rows(one_tree, most=100)
    place = np.searchsorted(np.sort(one_tree.split.test), np.sort(rows["row"]))
    assert len(rows) == rows["row"].nunique() == 100
    assert np.ptp(np.diff(place)) <= 1


def test_rows_come_in_the_order_asked_for_and_from_one_leaf(one_tree):
    rows = listed_rows(one_tree)
    changed = chosen_rows(rows, "most changed")
    assert changed["change"].abs().tolist() == sorted(rows["change"].abs())[::-1]
    wrong = chosen_rows(rows, "most wrong", [2])
    inside = rows[rows["leaf"] == 2]
    assert wrong["loss"].tolist() == sorted(inside["loss"])[::-1]
    both = chosen_rows(rows, "as in the table", [1, 2])
    assert both["row"].tolist() == rows["row"].tolist()


def test_the_most_over_confident_row_was_surest_of_the_wrong_label(one_tree):
    rows = listed_rows(one_tree)
    first = chosen_rows(rows, "most over-confident").iloc[0]
    given = np.where(rows["y"] == 1, rows["before"], 1 - rows["before"])  # to its own label
    assert first["row"] == rows["row"].iloc[given.argmin()]


def test_rows_are_sorted_by_any_column_with_missing_values_last(one_tree):
    rows = chosen_rows(listed_rows(one_tree), "as in the table", [2])
    at = rows["row"].to_numpy()
    losses = sorted_rows(one_tree, rows, "loss", descending=True)["loss"].tolist()
    assert losses == sorted(rows["loss"], reverse=True)
    x = one_tree.table.X["x"].to_numpy()[at]
    assert sorted_rows(one_tree, rows, "column x")["row"].tolist() == at[np.argsort(x)].tolist()

    gaps = one_tree.table.frame.copy()
    gaps.loc[at[::7], ["x", "plan"]] = None
    holed = replace(one_tree, table=replace(one_tree.table, frame=gaps))
    plans = gaps["plan"].iloc[at]
    by_plan = [at[(plans == each).to_numpy()] for each in "ab"]
    for column, descending, expected in (
        ("column plan", False, [*by_plan, at[::7]]),
        ("column plan", True, [*by_plan[::-1], at[::7]]),
    ):
        found = sorted_rows(holed, rows, column, descending=descending)
        assert found["row"].tolist() == np.concatenate(expected).tolist()
    last = sorted_rows(holed, rows, "column x", descending=True)["row"].tail(len(at[::7]))
    assert last.tolist() == at[::7].tolist()
    label = one_tree.table.frame["y"].to_numpy()
    by_label = sorted_rows(one_tree, rows, "column y")["row"].to_numpy()
    assert np.all(np.diff(label[by_label]) >= 0)


def test_rows_are_written_with_their_label_and_features(one_tree):
    rows = chosen_rows(listed_rows(one_tree), "most wrong", [2])
    written = with_columns(one_tree, rows)
    own = one_tree.table.frame.iloc[rows["row"]]
    assert written["row"].tolist() == (rows["row"] + 1).tolist()
    assert written["x"].tolist() == own["x"].tolist()
    assert written["y"].tolist() == own["y"].tolist()
    assert "score" not in written  # it is in before
    clash = replace(one_tree.table, frame=one_tree.table.frame.rename(columns={"x": "after"}))
    clash = replace(clash, roles=replace(clash.roles, features=("after", "plan")))
    named = with_columns(replace(one_tree, table=clash), rows)
    assert named["after_in_table"].tolist() == own["x"].tolist()
    assert named["after"].tolist() == rows["after"].tolist()


def test_random_rows_are_those_of_the_seed(one_tree):
    rows = listed_rows(one_tree)
    drawn = [chosen_rows(rows, "random", seed=seed)["row"].tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sorted(drawn[0]) == sorted(rows["row"])


def test_rows_are_found_by_part_of_a_name_or_by_a_number():
    X = pd.DataFrame({"Plan": ["Monthly", "yearly", None, "monthly"], "age": [1.0, 12, 3, np.nan]})
    every = np.arange(4)
    assert rows_with(X, every, "month").tolist() == [True, False, False, True]
    assert rows_with(X, every, "12").tolist() == [False, True, False, False]
    assert rows_with(X, every, "plan = year").tolist() == [False, True, False, False]
    assert rows_with(X, every, "age = month").tolist() == [False] * 4
    assert rows_with(X, every[2:], "month").tolist() == [False, True]


@pytest.mark.parametrize("partition", ["tree", "forest", "additive"])
def test_the_steps_of_a_row_end_at_its_calibrated_logit(partition, one_tree):
    found = one_tree if partition == "tree" else finished(partition)
    row = int(found.split.test[7])
    steps = explain_row(found, row, typical_of(found))
    assert steps["change"].iloc[0] == found.scores.logit[row]
    assert steps["logit"].iloc[-1] == pytest.approx(found.after[row], abs=1e-9)


def test_the_step_of_a_leaf_map_names_the_leaf_and_its_rule(one_tree):
    row = int(one_tree.split.test[0])
    leaf = one_tree.leaf[row]
    step = explain_row(one_tree, row, typical_of(one_tree)).iloc[1]
    assert step["name"] == f"map of leaf {leaf}"
    assert step["value"].startswith(one_tree.partition.leaves[leaf - 1].rule)


def test_a_row_without_a_score_has_no_steps(one_tree):
    with pytest.raises(CalibrationError, match="finite score"):
        explain_row(one_tree, 0, typical_of(one_tree))


def test_of_several_classes_the_step_is_the_map_of_all(one_tree):
    view = replace(one_tree, calibrated=one_tree.after + 1)
    row = int(view.split.test[3])
    steps = explain_row(view, row, typical_of(view))
    assert steps["name"].iloc[1] == "map of all classes"
    assert steps["logit"].iloc[-1] == pytest.approx(one_tree.after[row] + 1)
