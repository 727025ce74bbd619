import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hetcal.calibrators.platt import fit_platt, polish
from hetcal.cells.sketch import Grid, grid_for_most, sketch_rows

LEAVES = [2, 1, 5]
SLOPE = {1: 0.2, 2: 1.0, 5: 3.0}


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


def sample(rows=30_000, centre=0.0, seed=0):
    rng = np.random.default_rng(seed)
    leaf = rng.choice(LEAVES, rows)
    scores = centre + rng.normal(scale=2, size=rows)
    slope = np.array([SLOPE[each] for each in leaf])
    y = rng.binomial(1, expit(slope * (scores - centre) - 1))
    return scores, y, leaf, rng.exponential(size=rows)


def fit_cells(scores, y, leaf, weight, grid):
    cells = sketch_rows(scores, y, leaf, LEAVES, grid, weight).cells()
    return fit_platt(cells.score, cells.y, cells.leaf, LEAVES, cells.weight, cells.squares)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [16, 256, 4096])
@pytest.mark.parametrize("centre", [0.0, 40.0])
def test_polished_maps_are_those_of_the_rows(weighted, bins, centre):
    scores, y, leaf, weight = sample(centre=centre)
    weight = weight if weighted else None
    found = polish(
        fit_cells(scores, y, leaf, weight, grid_for_most(scores, bins)),
        scores,
        y,
        leaf,
        LEAVES,
        weight,
    )
    exact = fit_platt(scores, y, leaf, LEAVES, weight)
    assert found.slope == pytest.approx(exact.slope, abs=1e-10)
    assert found.intercept == pytest.approx(exact.intercept, rel=1e-10, abs=1e-10)
    # The errors of weighted rows stay those of the cells, which wide bins blur.
    blurred = 1e-2 if weight is None else {16: 3.0, 256: 0.3, 4096: 1e-2}[bins]
    assert found.slope_se == pytest.approx(exact.slope_se, rel=blurred)
    assert found.intercept_se == pytest.approx(exact.intercept_se, rel=blurred)
    assert found.converged.all()


@pytest.mark.usefixtures("way")
def test_polished_maps_are_those_of_scikit_learn():
    scores, y, leaf, _ = sample()
    found = polish(fit_cells(scores, y, leaf, None, Grid()), scores, y, leaf, LEAVES)
    for i, each in enumerate(LEAVES):
        inside = leaf == each
        rival = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
        rival.fit(scores[inside, None], y[inside])
        expected = [rival.coef_[0, 0], rival.intercept_[0]]
        assert [found.slope[i], found.intercept[i]] == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("way")
def test_leaves_that_cells_cannot_fit_are_fitted_on_rows():
    scores, y, leaf, _ = sample()
    scores = np.where(leaf == 5, 0.1 + 1e-5 * scores, scores)  # one bin for the whole leaf
    coarse = fit_cells(scores, y, leaf, None, Grid(16.0, 64))
    assert coarse.separated.tolist() == [False, False, True]
    found, exact = polish(coarse, scores, y, leaf, LEAVES), fit_platt(scores, y, leaf, LEAVES)
    assert found.converged.all()
    assert found.slope == pytest.approx(exact.slope, rel=1e-10, abs=1e-10)


@pytest.mark.usefixtures("way")
def test_a_leaf_whose_steps_diverge_is_fitted_on_its_rows():
    scores = np.array([-0.8, -1.9, 0.4, -3.0, -0.5, -3.1, 4.8, -1.1])
    y, leaf = np.array([0, 0, 1, 0, 0, 0, 1, 1]), np.ones(8, dtype=np.int64)
    cells = sketch_rows(scores, y, leaf, [1], Grid(4.0, 4)).cells()
    coarse = fit_platt(cells.score, cells.y, cells.leaf, [1], cells.weight, cells.squares)
    found = polish(coarse, scores, y, leaf, [1])
    rival = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    rival.fit(scores[:, None], y)
    assert found.slope == pytest.approx(rival.coef_[0], rel=1e-6)
    assert found.intercept == pytest.approx(rival.intercept_, rel=1e-6)


@pytest.mark.usefixtures("way")
def test_leaves_without_a_map_stay_without_one():
    scores, y, leaf, _ = sample()
    y[leaf == 1] = 1
    y[leaf == 5] = scores[leaf == 5] > 0.003
    found = polish(fit_cells(scores, y, leaf, None, Grid()), scores, y, leaf, LEAVES)
    exact = fit_platt(scores, y, leaf, LEAVES)
    assert found.one_class.tolist() == exact.one_class.tolist() == [False, True, False]
    assert found.separated.tolist() == exact.separated.tolist() == [False, False, True]
    assert np.isnan(found.slope).tolist() == [False, True, True]
    assert found.slope[0] == pytest.approx(exact.slope[0], abs=1e-10)


def test_huge_scores_are_fitted_like_any_other():
    scores, y, leaf, _ = sample(3_000)
    found = polish(
        fit_cells(1e200 * scores, y, leaf, None, Grid()), 1e200 * scores, y, leaf, LEAVES
    )
    exact = fit_platt(scores, y, leaf, LEAVES)
    assert 1e200 * found.slope == pytest.approx(exact.slope, rel=1e-9)


def test_rows_without_a_finite_score_or_a_leaf_are_left_out():
    scores, y, leaf, _ = sample()
    start = fit_cells(scores, y, leaf, None, Grid())
    plain = polish(start, scores, y, leaf, LEAVES)
    spoiled = np.append(scores, [np.nan, np.inf, 3.0])
    again = polish(start, spoiled, np.append(y, [1, 1, 1]), np.append(leaf, [1, 2, 77]), LEAVES)
    assert np.array_equal(again.slope, plain.slope)
    assert np.array_equal(again.intercept, plain.intercept)
