"""Measures with intervals, against a plain bootstrap by scikit-learn and simulated truths."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.results import measures
from hetcal.results.evaluation import Comparison, evaluate
from hetcal.results.measures import MEASURES, measure_change
from hetcal.results.words import DEFINITIONS
from tests.results.certainty.bootstrap_coverage import POPULATIONS, covered

BY_SKLEARN = {
    "auc": roc_auc_score,
    "average_precision": average_precision_score,
    "log_loss": lambda y, score: log_loss(y, expit(score)),
    "brier": lambda y, score: brier_score_loss(y, expit(score)),
}


def drawn(rows, seed=0):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 4, rows)
    own = rng.standard_normal(rows)
    truth = own + 0.5 * leaf - 2
    y = (rng.random(rows) < expit(truth)).astype(np.int8)
    return y, 2 * own, truth, leaf


def as_cells(y, before, after, leaf, weight=None):
    return [Cells.of_rows(each, y, leaf, weight) for each in (before, after)]


def half_widths(found, what):
    return (found[f"{what}_high"] - found[f"{what}_low"]) / 2


def plain_bootstrap(y, before, after, group=None, times=300):
    """Standard errors of before, after and change by measure, rows or groups drawn with numpy."""
    rng = np.random.default_rng(5)
    group = np.arange(y.size) if group is None else group
    members = [np.flatnonzero(group == each) for each in np.unique(group)]
    values = {name: [] for name in BY_SKLEARN}
    for _ in range(times):
        which = rng.integers(0, len(members), len(members))
        rows = np.concatenate([members[each] for each in which])
        for name, own in BY_SKLEARN.items():
            was, now = own(y[rows], before[rows]), own(y[rows], after[rows])
            values[name].append((was, now, now - was))
    return {name: np.std(each, axis=0) for name, each in values.items()}


def test_measures_are_those_of_scikit_learn():
    y, before, after, leaf = drawn(900)
    found = measure_change(*as_cells(y, before, after, leaf), replicates=50)
    for name, own in BY_SKLEARN.items():
        assert found.at[name, "before"] == pytest.approx(own(y, before))
        assert found.at[name, "change"] == pytest.approx(own(y, after) - own(y, before))
    parts = found.loc[["loss_calibration", "loss_refinement"], "after"]
    assert parts.sum() == pytest.approx(found.at["log_loss", "after"])


@pytest.mark.parametrize("of_groups", [False, True])
def test_intervals_are_as_wide_as_those_of_a_plain_bootstrap(of_groups):
    y, before, after, leaf = drawn(900)
    # Rows of a group are alike, and so are their losses.
    group = np.argsort(np.argsort(after)) // 10 if of_groups else None
    found = measure_change(*as_cells(y, before, after, leaf), group=group)
    expected = plain_bootstrap(y, before, after, group)
    for place, what in enumerate(("before", "after", "change")):
        wide = half_widths(found, what)
        for name in BY_SKLEARN:
            assert wide[name] == pytest.approx(1.96 * expected[name][place], rel=0.15)


def test_rows_in_places_have_the_intervals_of_single_rows(monkeypatch):
    y, before, after, leaf = drawn(8_000)
    in_places = measure_change(*as_cells(y, before, after, leaf))
    monkeypatch.setattr(measures, "MOST_CELLS", 8_000)
    single = measure_change(*as_cells(y, before, after, leaf))
    for what in ("before", "after", "change"):
        for name in (*BY_SKLEARN, "calibration_error_debiased")[: 4 if what == "change" else 5]:
            ends = [[each.at[name, f"{what}_{end}"] for end in ("low", "high")]
                    for each in (in_places, single)]  # fmt: skip
            near = 0.15 * (ends[1][1] - ends[1][0])
            assert ends[0] == pytest.approx(ends[1], abs=near)


def test_weights_and_repeated_rows_say_the_same():
    y, before, after, leaf = drawn(1_000)
    twice = np.repeat(np.arange(1_000), 2)
    rows = measure_change(*as_cells(*(each[twice] for each in (y, before, after, leaf))))
    # Half the weight of two equal rows each is one row: the interval is that of 1,000 rows.
    halved = as_cells(*(each[twice] for each in (y, before, after, leaf)), np.full(2_000, 0.5))
    assert half_widths(rows, "after")["auc"] == pytest.approx(
        half_widths(measure_change(*halved), "after")["auc"], rel=0.05
    )


def test_a_sketch_has_the_intervals_of_its_rows():
    y, before, _, leaf = drawn(6_000)
    cells = sketch_rows(before, y, leaf, range(4), Grid()).cells()
    rows = measure_change(*as_cells(y, before, before / 2, leaf))
    found = measure_change(cells, cells.mapped(lambda score, _: score / 2))
    for name in ("auc", "log_loss", "brier"):
        assert half_widths(found, "after")[name] == pytest.approx(
            half_widths(rows, "after")[name], rel=0.1
        )


def test_changes_of_auc_and_log_loss_have_one_interval_everywhere():
    y, before, after, leaf = drawn(600)
    one, other = as_cells(y, before, after, leaf)
    whole = evaluate(Comparison(one, one, one, other), range(4))
    found = measure_change(one, other, whole, replicates=50)
    lift, loss = whole.lift, whole.loss
    assert found.loc["auc", ["change_low", "change_high"]].tolist() == [lift.low, lift.high]
    assert found.loc["log_loss", ["change_low", "change_high"]].tolist() == [-loss.high, -loss.low]


def test_few_rows_of_a_class_have_measures_and_no_interval():
    y, before, after, leaf = drawn(300)
    y[:] = np.arange(300) < 11
    found = measure_change(*as_cells(y, before, after, leaf))
    assert found["before_low"].isna().all()
    assert found.at["auc", "before"] == pytest.approx(roc_auc_score(y, before))


def test_scores_that_stay_have_changes_of_zero():
    y, before, _, leaf = drawn(500)
    cells, _ = as_cells(y, before, before, leaf)
    found = measure_change(cells, cells)
    for name in BY_SKLEARN:
        assert found.loc[name, ["change", "change_low", "change_high"]].tolist() == [0, 0, 0]


def test_equal_rows_and_seeds_have_equal_intervals():
    given = as_cells(*drawn(500))
    first, second, other = (measure_change(*given, seed=seed) for seed in (0, 0, 1))
    assert first.equals(second)
    assert not first.equals(other)


def test_intervals_cover_the_truth():
    """In short; the command of `bootstrap_coverage` draws ten times as many data sets."""
    shares = covered(POPULATIONS[3], data_sets=200, replicates=400, rows=500_000)
    for (name, what), share in shares.items():
        low, high = binom.interval(0.9999, 200, 0.95)
        assert low <= 200 * share, (name, what)
        # An error near zero cannot be missed on both sides.
        assert name == "calibration_error_debiased" or 200 * share <= high


def test_every_measure_has_its_definition():
    assert set(MEASURES.values()) <= set(DEFINITIONS)


def test_a_useless_score_with_one_class_is_measured_as_far_as_possible():
    y, before, after, leaf = drawn(100)
    found = measure_change(*as_cells(np.zeros_like(y), before, after, leaf))
    assert math.isnan(found.at["auc", "before"])
    assert found.at["brier", "before"] == pytest.approx(np.mean(expit(before) ** 2))
