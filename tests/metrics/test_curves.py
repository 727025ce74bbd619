import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics as sklearn_metrics

from hetcal.cells.cells import Cells
from hetcal.metrics.curves import thin, threshold_curves
from hetcal.metrics.metrics import auc, measure


def cells(y, scores, weight=None):
    return Cells.of_rows(scores, y, np.ones(y.size, dtype=int), weight)


def curves(*rows):
    found = measure(*rows)
    return threshold_curves("after", cells(*rows), found.auc, found.average_precision)


def sample(rows, decimals=9, rate=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.binomial(1, rate, rows)
    return y, np.round(rng.normal(size=rows) + y, decimals), rng.exponential(size=rows)


def full_roc(y, scores, weight=None):
    false, true, threshold = sklearn_metrics.roc_curve(
        y, scores, sample_weight=weight, drop_intermediate=False
    )
    return false, true, expit(threshold)


def full_precision_recall(y, scores, weight=None):
    precision, recall, threshold = sklearn_metrics.precision_recall_curve(
        y, scores, sample_weight=weight
    )
    return recall[::-1], precision[::-1], np.append(1.0, expit(threshold[::-1]))


def roc_points(*rows):
    curve, _ = curves(*rows)
    return curve.false_positive_rate, curve.true_positive_rate, curve.threshold


def precision_recall_points(*rows):
    _, curve = curves(*rows)
    return curve.recall, curve.precision, curve.threshold


BOTH = [(full_roc, roc_points), (full_precision_recall, precision_recall_points)]


def largest_distance(points, corners):
    """Greatest distance of the points from the line through the corners, by all pairs."""
    start, step = corners[:-1], np.diff(corners, axis=0)
    length = np.maximum((step**2).sum(axis=1), 1e-300)
    largest = 0.0
    for chunk in np.array_split(points, max(1, len(points) // 1_000)):
        gap = chunk[:, None, :] - start[None]
        share = np.clip((gap * step).sum(axis=2) / length, 0, 1)
        away = np.hypot(*np.moveaxis(gap - share[..., None] * step, 2, 0))
        largest = max(largest, away.min(axis=1).max())
    return largest


@pytest.mark.parametrize(("full", "drawn"), BOTH)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [9, 1])
def test_a_short_curve_is_scikit_learns_point_for_point(full, drawn, weighted, decimals):
    y, scores, weight = sample(900, decimals)
    rows = (y, scores, weight) if weighted else (y, scores)
    for ours, theirs in zip(drawn(*rows), full(*rows), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(("full", "drawn"), BOTH)
@pytest.mark.parametrize(
    ("rows", "decimals", "rate"),
    [(10_000, 9, 0.3), (10_000, 3, 0.3), (10_000, 9, 0.005), (5_000, 9, 0.5), (10_000, 9, 0.95)],
)
def test_a_thinned_curve_stays_within_a_thousandth_of_the_full_one(
    full, drawn, rows, decimals, rate
):
    y, scores, _ = sample(rows, decimals, rate)
    x, height, _ = full(y, scores)
    thinned = np.column_stack(drawn(y, scores)[:2])
    assert len(thinned) <= 990
    assert largest_distance(np.column_stack([x, height]), thinned) <= 1e-3


def test_a_thinned_curve_stays_within_a_thousandth_when_rows_are_weighted():
    rows = sample(10_000)
    x, height, _ = full_roc(*rows)
    thinned = np.column_stack(roc_points(*rows)[:2])
    assert largest_distance(np.column_stack([x, height]), thinned) <= 1e-3


def test_kept_points_carry_their_own_threshold():
    y, scores, _ = sample(10_000)
    false, true, threshold = roc_points(y, scores)
    probability = expit(scores)
    for i in range(1, threshold.size, 97):
        passed = probability >= threshold[i]
        assert false[i] == pytest.approx(passed[y == 0].mean())
        assert true[i] == pytest.approx(passed[y == 1].mean())


def test_first_and_last_points_are_kept():
    y, scores, _ = sample(50_000)
    roc, pr = curves(y, scores)
    assert (roc.false_positive_rate[0], roc.true_positive_rate[0], roc.threshold[0]) == (0, 0, 1)
    assert (roc.false_positive_rate[-1], roc.true_positive_rate[-1]) == (1, 1)
    assert roc.threshold[-1] == expit(scores.min())
    assert (pr.recall[0], pr.precision[0], pr.recall[-1]) == (0, 1, 1)
    assert pr.precision[-1] == pytest.approx(y.mean())


def test_areas_and_rows_are_those_of_all_rows():
    rows = sample(5_000)
    roc, pr = curves(*rows)
    assert (roc.name, roc.auc, roc.rows) == ("after", auc(*rows), 5_000)
    assert (pr.name, pr.average_precision, pr.rows) == (
        "after",
        measure(*rows).average_precision,
        5_000,
    )
    drawn = np.trapezoid(roc.true_positive_rate, roc.false_positive_rate)
    assert drawn == pytest.approx(roc.auc, abs=1e-3)


def test_a_threshold_can_be_read_everywhere():
    roc, _ = curves(*sample(50_000)[:2])
    steps = np.hypot(np.diff(roc.false_positive_rate), np.diff(roc.true_positive_rate))
    assert steps.max() < 0.01


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_draws_an_empty_curve(label):
    y, scores = np.full(3, label), np.arange(3.0)
    roc, pr = curves(y, scores)
    assert (roc.threshold.size, pr.threshold.size) == (0, 0)
    assert np.isnan([roc.auc, pr.average_precision]).all()


def test_a_curve_too_wild_for_its_points_moves_further_but_never_exceeds_them():
    x = np.linspace(0, 1, 40_001)
    y = np.where(np.arange(x.size) // 8 % 2, 0.0, 1.0)
    kept = thin(x, y)
    assert 2 <= kept.size <= 990
    assert (kept[0], kept[-1]) == (0, x.size - 1)
