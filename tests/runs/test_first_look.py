"""The three conditions before anything is fitted, against scikit-learn and simulated lifts."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table
from hetcal.metrics.delong import paired_delong
from hetcal.runs.first_look import look_first
from hetcal.runs.run import split_table
from hetcal.runs.settings import Settings

SETTINGS = Settings(fractions=(0.4, 0.1, 0.2, 0.3), max_depth=1)


def looked_at(scale, apart, rows=20_000, copies=1, group=None):
    """A look at a score `scale` times too large that does not see how far segments are apart.

    There are several copies of every row, which may be a group.
    """
    rng = np.random.default_rng(0)
    z, segment = rng.normal(size=rows), rng.choice(["a", "b"], rows)
    y = (rng.random(rows) < expit(z + np.where(segment == "a", apart, -apart))).astype(int)
    frame = pd.DataFrame({"segment": segment, "y": y, "score": scale * z})
    frame = frame.loc[np.repeat(frame.index, copies)].reset_index(names="household")
    frame = frame if group else frame.drop(columns="household")  # it would be taken as a group
    roles = Roles("y", score="score", features=("segment",), group=group)
    table = make_table(frame, roles, "digest")
    split = split_table(table, SETTINGS)
    scores = make_scores(frame["score"].to_numpy(), "made up", digest="scores")
    return frame.iloc[split.test], look_first(table, scores, split, SETTINGS)


def told(condition):
    """The lift that is told from zero in nearly any case."""
    return float(condition.number.split()[2])


def test_an_over_confident_score_blind_to_segments_meets_all_conditions():
    test, (over, structure, rows) = looked_at(3, 0.5)
    assert [each.level for each in (over, structure)] == ["holds", "holds"]
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(test[["score"]], test["y"])
    assert over.number == f"slope needed {platt.coef_[0, 0]:.2f}"
    deviation = float(structure.number.removeprefix("±").removesuffix(" logit"))
    assert deviation == pytest.approx(np.std([-0.5, 0.5], ddof=1), abs=0.05)
    assert f"{len(test):,} test rows, {test['y'].sum():,} of them positive" in rows.reason
    assert not any(each.after for each in (over, structure, rows))


def test_a_good_score_misses_nothing():
    _, (over, structure, _) = looked_at(1, 0.0)
    assert (over.level, structure.level) == ("fails", "fails")


def test_the_lift_that_is_told_in_nearly_any_case_is_that_of_an_independent_score_as_good():
    test, (*_, rows) = looked_at(1, 0.0, rows=6_000)
    # A second score of the same rows that is as good, with errors of its own.
    rng, y, own = np.random.default_rng(1), test["y"].to_numpy(), test["score"].to_numpy()
    other = np.empty(len(y))
    for label in (0, 1):
        other[y == label] = rng.permutation(own[y == label])
    assert told(rows) == pytest.approx(2.8 * paired_delong(y, own, other).se, rel=0.05)
    assert rows.level == "open"


def test_few_rows_of_a_class_are_not_enough():
    _, (*_, rows) = looked_at(1, 0.0, rows=60)
    assert (rows.level, rows.number) == ("fails", "not known")


def test_four_copies_of_a_row_say_no_more_than_one_where_they_are_a_group():
    alone, grouped = (looked_at(1, 0.0, 5_000, 4, each)[1][2] for each in (None, "household"))
    assert told(grouped) == pytest.approx(2 * told(alone), rel=0.1)


@pytest.mark.parametrize(("sign", "number"), [(1, "no lift to tell"), (-1, "not known")])
def test_where_all_pairs_count_alike_rows_are_not_said_to_be_few(sign, number):
    y = np.arange(2_000) % 2
    frame = pd.DataFrame({"segment": y, "y": y, "score": sign * (y - 0.5)})
    table = make_table(frame, Roles("y", score="score", features=("segment",)), "digest")
    scores = make_scores(frame["score"].to_numpy(), "made up", digest="scores")
    rows = look_first(table, scores, split_table(table, SETTINGS), SETTINGS)[2]
    assert (rows.level, rows.number) == ("open", number)
    assert "few" not in rows.reason
