from dataclasses import asdict, astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from hetcal import bounds, metrics
from hetcal.bounds import BEND_OF_BRIER, BEND_OF_SIGMOID, Bounded, bounded_metrics
from hetcal.cells import Cells
from hetcal.delong import placements
from hetcal.grid import Grid, grid_for
from hetcal.leaf_map import map_logits
from hetcal.rank_bounds import rank_cells
from hetcal.sketch import sketch_rows

LEAVES = [1, 2, 3]
SLOPE = np.array([np.nan, 0.4, 1.0, 2.5])
SHIFT = np.array([np.nan, -1.0, 0.0, 0.7])
ROUNDING = 1e-10
ROOT_OF_ROUNDING = 1e-7  # of a square near 0


def straight(scores, leaf):
    return map_logits(scores, SLOPE[leaf], SHIFT[leaf])


def calibration_errors_of_cells(cells, mapped, scores, y, leaf, weight, grid):
    """The exact errors of the rows, in the bins that their cells were put into."""
    bin_of_cell = metrics.equal_mass_bins(mapped.centre, 15, mapped.weight)
    where = {}
    for i in range(cells.score.size):
        bin_of = int(grid.bin_of(cells.score[i : i + 1])[0])
        where[int(cells.leaf[i]), int(cells.y[i]), bin_of] = bin_of_cell[i]
    bins = grid.bin_of(scores)
    bin_of = np.array(
        [where[int(a), int(b), int(c)] for a, b, c in zip(leaf, y, bins, strict=True)]
    )
    plain, noise = 0.0, 0.0
    for each in np.unique(bin_of):
        w, label = weight[bin_of == each], y[bin_of == each]
        p = expit(straight(scores, leaf))[bin_of == each]
        rate, rows = np.average(label, weights=w), w.sum() ** 2 / np.sum(w**2)
        plain += w.sum() * np.average(p - label, weights=w) ** 2
        noise += w.sum() * rate * (1 - rate) / (rows - 1) if w.size > 1 else 0
    total = weight.sum()
    return np.sqrt(plain / total), np.sqrt(max(plain - noise, 0) / total)


def check(scores, y, leaf, weight, grid):
    """Every measure of the rows lies within the bounds of the cells, raw and mapped."""
    cells = sketch_rows(scores, y, leaf, LEAVES, grid, weight).cells()
    w = np.ones(y.size) if weight is None else weight
    for view, exact in ((cells, scores), (cells.mapped(straight), straight(scores, leaf))):
        found = bounded_metrics(view)
        names = "auc", "average_precision", "balanced_precision_area", "log_loss", "brier"
        pairs = {
            name: (getattr(metrics, name)(y, exact, weight), getattr(found, name)) for name in names
        }
        gap = metrics.mean_confidence_minus_accuracy(y, exact, weight)
        pairs["confidence gap"] = gap, bounds.confidence_gap(view)
        probability = np.average(expit(exact), weights=w)
        pairs["mean probability"] = probability, bounds.mean_probability(view)
        for name, (value, bounded) in pairs.items():
            slack = ROUNDING * max(1, abs(value))
            assert bounded.low - slack <= value <= bounded.high + slack, name
            assert bounded.low - slack <= bounded.value <= bounded.high + slack, name
    exact = calibration_errors_of_cells(cells, view, scores, y, leaf, w, grid)
    errors = found.calibration_error, found.calibration_error_debiased
    for value, error, slack in zip(exact, errors, (ROUNDING, ROOT_OF_ROUNDING), strict=True):
        assert error.low - slack <= value <= error.high + slack
        assert error.low - slack <= error.value <= error.high + slack


edges = st.sampled_from([0.0, 0.25, -0.25, 0.5, np.nextafter(0.25, 0), np.nextafter(0.25, 1)])
scores_near_edges = st.lists(
    st.one_of(edges, st.floats(-20, 20), st.sampled_from([-700.0, 700.0, 1e5])),
    min_size=2,
    max_size=40,
)


@settings(deadline=None, max_examples=300)
@given(scores_near_edges, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_the_measures_of_rows_are_never_outside(scores, chance, weighted, wide):
    scores = np.array(scores)
    y = np.array([chance.randint(0, 1) for _ in scores])
    y[:2] = 0, 1
    leaf = np.array([chance.choice(LEAVES) for _ in scores])
    weight = np.array([chance.choice([0.1, 1.0, 7.0]) for _ in scores]) if weighted else None
    grid = Grid(16.0, 128) if not wide else grid_for(scores, 64)
    check(scores, y, leaf, weight, grid)


@pytest.mark.parametrize("bins", [2, 64, 4096])
@pytest.mark.parametrize(
    "kind", ["normal", "ties", "one bin", "extreme", "tiny leaves", "edges", "sorted in a bin"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_measures_of_many_rows_are_never_outside(bins, kind, weighted):
    rng = np.random.default_rng(5)
    n = 2_000
    scores, leaf = rng.normal(scale=2, size=n), rng.choice(LEAVES, n)
    y = rng.binomial(1, expit(scores - 1))
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "one bin":
        scores *= 1e-9
    elif kind == "extreme":
        scores *= 10.0 ** rng.integers(0, 5, n)
    elif kind == "tiny leaves":
        leaf = np.repeat([1, 2, 3], [n - 3, 2, 1])
    elif kind == "edges":
        scores = np.round(scores * 16) / 16
    elif kind == "sorted in a bin":  # the mean of a bin says the opposite of its order
        scores = np.where(y == 1, 1e-4, np.where(rng.random(n) < 0.9, 0.0, 0.007))
    weight = rng.exponential(size=n) if weighted else None
    check(scores, y, leaf, weight, grid_for(scores, bins))


def test_rows_are_bounded_by_themselves():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=500), 1)
    y = rng.binomial(1, expit(scores))
    weight = rng.exponential(size=500)
    found = bounded_metrics(Cells.of_rows(scores, y, np.ones(500, int), weight))
    for name, exact in asdict(metrics.measure(y, scores, weight)).items():
        bounded = getattr(found, name)
        assert [bounded.low, bounded.value, bounded.high] == pytest.approx([exact] * 3, abs=1e-12)


def test_few_rows_in_a_fine_grid_are_known_almost_exactly():
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=3, size=200)
    y = rng.binomial(1, expit(scores))
    cells = sketch_rows(scores, y, np.ones(200, int), [1], Grid(16.0, 2**16)).cells()
    assert bounds.auc(cells).error < 1e-4
    assert bounds.auc(cells).value == pytest.approx(metrics.auc(y, scores), abs=1e-4)


@pytest.mark.parametrize("bins", [1024, 4096])
def test_the_estimates_are_far_better_than_the_bounds(bins):
    rng = np.random.default_rng(0)
    n = 200_000
    scores, leaf = rng.normal(scale=2, size=n), rng.choice(LEAVES, n)
    y = rng.binomial(1, expit(SLOPE[leaf] * scores + SHIFT[leaf] - 2))
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid(bins=bins)).cells().mapped(straight)
    found, exact = bounded_metrics(cells), metrics.measure(y, straight(scores, leaf))
    for name in ("auc", "average_precision", "balanced_precision_area"):
        bounded, value = getattr(found, name), getattr(exact, name)
        assert abs(bounded.value - value) < bounded.error / 20
        assert bounded.error < 16 / bins
    assert found.log_loss.error < 1e-3
    assert abs(found.log_loss.value - exact.log_loss) < found.log_loss.error


def test_the_largest_bends_are_those_of_the_functions():
    p = np.linspace(0, 1, 100_001)
    assert np.abs(p * (1 - p) * (1 - 2 * p)).max() - 1e-15 <= BEND_OF_SIGMOID
    of_square = np.abs(2 * p**2 * (1 - p) * (2 - 3 * p))
    assert of_square.max() <= BEND_OF_BRIER < of_square.max() + 1e-4


def test_the_difference_of_two_bounded_numbers_holds_every_difference():
    difference = Bounded(0.8, 0.7, 0.85) - Bounded(0.5, 0.4, 0.6)
    assert [difference.value, difference.low, difference.high] == pytest.approx([0.3, 0.1, 0.45])
    assert difference.error == pytest.approx(0.2)


@pytest.mark.parametrize("y", [[], [1, 1], [0]])
def test_what_needs_two_classes_is_not_defined_with_one(y):
    cells = Cells.of_rows(np.zeros(len(y)), np.array(y, int), np.ones(len(y), int))
    assert np.isnan([bounds.auc(cells).low, bounds.average_precision(cells).value]).all()
    assert np.isnan(bounds.log_loss(cells).high) == (len(y) == 0)
    assert np.isnan(bounds.brier(cells).value) == (len(y) == 0)
    assert np.isnan(bounds.calibration_error(cells).value) == (len(y) == 0)
    assert np.isnan(bounds.calibration_error_debiased(cells).value) == (len(y) == 0)
    assert np.isnan(rank_cells(cells).balanced_precision_area.high)


def test_cells_are_placed_as_their_rows_are_on_average():
    rng = np.random.default_rng(2)
    scores = np.round(rng.normal(size=400), 1)
    y, weight = rng.integers(0, 2, 400), rng.exponential(size=400)
    rows = Cells.of_rows(scores, y, np.ones(400, int), weight)
    assert rank_cells(rows).placed == pytest.approx(placements(y, scores, weight), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_ranks_are_those_of_numpy(monkeypatch, weighted):
    pytest.importorskip("numba")
    rng = np.random.default_rng(5)
    scores, leaf = np.round(rng.normal(scale=2, size=20_000), 2), rng.choice(LEAVES, 20_000)
    y, weight = rng.binomial(1, expit(scores)), rng.exponential(size=20_000)
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid(), weight if weighted else None).cells()
    for view in (cells, cells.mapped(straight)):
        found = []
        for switch in ("0", "1"):
            monkeypatch.setenv("HETCAL_COMPILED", switch)
            found.append(rank_cells(view))
        assert (found[0].auc, found[0].average_precision) == (
            found[1].auc,
            found[1].average_precision,
        )
        assert np.array_equal(found[0].placed, found[1].placed)
        areas = [astuple(each.balanced_precision_area) for each in found]
        assert areas[0] == pytest.approx(areas[1], rel=1e-12)
