import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from hetcal.cells import Cells
from hetcal.grid import Grid
from hetcal.isotonic import fit_isotonic
from hetcal.sketch import sketch_rows

LEAVES = [1, 2, 3]


def sample(rows=4_000, decimals=8):
    rng = np.random.default_rng(0)
    leaf = rng.choice([1, 2], rows)
    scores = np.round(rng.normal(scale=2, size=rows), decimals)
    y = rng.binomial(1, expit(np.where(leaf == 1, 0.5, 1.5) * scores - 1))
    return scores, y, leaf, rng.exponential(size=rows)


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_maps_of_rows_are_those_of_scikit_learn_within_half_a_row(decimals, weighted):
    scores, y, leaf, weight = sample(decimals=decimals)
    weight = weight if weighted else np.ones(y.size)
    maps = fit_isotonic(Cells.of_rows(scores, y, leaf, weight), LEAVES)
    for number, each in zip(LEAVES[:2], maps[:2], strict=True):
        inside = leaf == number
        half = 0.5 * np.sum(weight[inside] ** 2) / np.sum(weight[inside]) ** 2
        rival = IsotonicRegression(out_of_bounds="clip", y_min=half, y_max=1 - half)
        rival.fit(scores[inside], y[inside], weight[inside])
        for at in (scores[inside], np.linspace(-9, 9, 500)):
            assert expit(each.logit(at)) == pytest.approx(rival.predict(at), abs=1e-9)
    assert maps[2] is None


def test_points_in_the_middle_of_a_level_stretch_are_left_out():
    scores, y, leaf, _ = sample()
    (found,) = fit_isotonic(Cells.of_rows(scores, y, leaf), [1])
    assert len(found.scores) <= 2 * len(set(found.probabilities)) < 200


def test_the_map_of_one_class_is_half_a_row_from_certain():
    (found,) = fit_isotonic(Cells.of_rows(np.arange(10.0), np.ones(10, int), np.ones(10, int)), [1])
    assert expit(found.logit(np.array([-5.0, 3.0]))) == pytest.approx([0.95, 0.95])


def test_the_maps_of_a_sketch_are_close_to_those_of_rows():
    scores, y, leaf, _ = sample(40_000)
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid()).cells()
    rows = fit_isotonic(Cells.of_rows(scores, y, leaf), [1, 2])
    for number, one, other in zip([1, 2], fit_isotonic(cells, [1, 2]), rows, strict=True):
        inside = scores[leaf == number]
        assert np.abs(expit(one.logit(inside)) - expit(other.logit(inside))).mean() < 2e-3
