import numpy as np
import pytest
from scipy.special import expit

from hetcal.map_shapes import Affine
from hetcal.shrunken import fit_shrunk
from hetcal.shrunken_forest import fit_shrunk_forest


@pytest.fixture(params=["numpy", "compiled"], autouse=True)
def way(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


def sample(rows=2_000, trees=3, leaves=8):
    """Leaf numbers run on from tree to tree; the last leaf of each has no rows."""
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, leaves - 1, (rows, trees)) + np.arange(trees) * leaves
    scores = rng.normal(1, 2, rows)
    y = rng.binomial(1, expit((0.3 + 0.1 * leaf[:, 0]) * scores - 1))
    return scores, y, leaf, rng.exponential(size=rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.5, 20.0, np.inf])
def test_the_maps_are_those_of_each_tree_alone(strength, weighted):
    scores, y, leaf, weight = sample()
    weight = weight if weighted else None
    pooled = Affine(0.7, -0.9)
    slope, intercept = fit_shrunk_forest(scores, y, leaf, 24, pooled, strength, weight)
    for tree in range(3):
        numbers = range(8 * tree, 8 * tree + 8)
        alone = fit_shrunk(scores, y, leaf[:, tree], numbers, pooled, strength, weight)
        assert slope[list(numbers)] == pytest.approx(alone.slope, abs=1e-7)
        assert intercept[list(numbers)] == pytest.approx(alone.intercept, abs=1e-7)
    assert (slope[7], intercept[7]) == pytest.approx((0.7, -0.9))


def test_leaves_of_one_class_and_wide_scores_have_maps():
    scores, y, leaf, _ = sample()
    scores, y = 1e3 * scores, np.where(leaf[:, 0] == 2, 1, y)
    slope, intercept = fit_shrunk_forest(scores, y, leaf, 24, Affine(7e-4, -0.9), 1.0)
    alone = fit_shrunk(scores, y, leaf[:, 0], range(8), Affine(7e-4, -0.9), 1.0)
    assert slope[:8] == pytest.approx(alone.slope, rel=1e-6)
    assert intercept[2] == pytest.approx(alone.intercept[2], rel=1e-6)
