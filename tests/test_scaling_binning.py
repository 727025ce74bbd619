import numpy as np
import pytest
from scipy.special import expit

from hetcal.cells import Cells
from hetcal.map_shapes import Affine
from hetcal.metrics import equal_mass_bins
from hetcal.scaling_binning import level
from tests.test_isotonic import LEAVES, sample


@pytest.mark.parametrize("weighted", [False, True])
def test_a_bin_has_the_mean_probability_of_its_rows(weighted):
    scores, y, leaf, weight = sample()
    weight = weight if weighted else np.ones(y.size)
    platt = [Affine(0.5, -1.0), Affine(-1.5, 0.3), None]
    maps = level(platt, Cells.of_rows(scores, y, leaf, weight), LEAVES, bins=8)
    for number, line, each in zip([1, 2], platt[:2], maps[:2], strict=True):
        s, w = scores[leaf == number], weight[leaf == number]
        p, bin_of = expit(line.slope * s + line.intercept), equal_mass_bins(s, 8, w)
        expected = [np.average(p[bin_of == b], weights=w[bin_of == b]) for b in bin_of]
        assert expit(each.logit(s)) == pytest.approx(expected)
    assert maps[2] is None


def test_probabilities_that_round_to_0_or_1_have_finite_logits():
    cells = Cells.of_rows(
        np.array([-1e4, -40.0, 50.0, 1e4]), np.array([0, 0, 1, 1]), np.ones(4, int)
    )
    (found,) = level([Affine(1.0, 0.0)], cells, [1], bins=4)
    assert found.logits == pytest.approx([-700, -40, 50, 700])
