import numpy as np
import pytest
from scipy.special import expit

from hetcal.bin_gaps import BinGaps
from hetcal.bounds import calibration_bins
from hetcal.cells import Cells

# Two bins: 4 rows of weight 1 of which 3 are positive, and one row of weight 2.
MASS, SQUARES = np.array([4.0, 2.0]), np.array([4.0, 4.0])
POSITIVE, GAP = np.array([3.0, 2.0]), np.array([-2.0, -1.0])


def test_errors_of_two_bins_by_hand():
    bins = BinGaps(MASS, SQUARES, POSITIVE, GAP)
    assert bins.error == pytest.approx(np.sqrt((4 * 0.5**2 + 2 * 0.5**2) / 6))
    # Only the first bin has a variance: (3/4)(1/4)/3.
    assert bins.debiased == pytest.approx(np.sqrt((4 * (0.5**2 - 1 / 16) + 2 * 0.5**2) / 6))


def test_the_standard_error_of_two_bins_by_hand():
    bins = BinGaps(MASS, SQUARES, POSITIVE, GAP)
    moved = 4 / 6 * np.sqrt(2 / 16**2 + 4 / 16 * 0.5**2)
    square = (4 * (0.5**2 - 1 / 16) + 2 * 0.5**2) / 6
    expected = (np.sqrt(square + moved) - np.sqrt(square - moved)) / 2
    assert bins.debiased_se == pytest.approx(expected)


@pytest.mark.parametrize(("shift", "off_by"), [(0.0, 2), (0.3, 1.25), (1.0, 1.25)])
def test_the_standard_error_is_the_spread_of_repeated_draws(shift, off_by):
    """Without a true gap the root stops at 0, and its spread is told within a factor of two."""
    rng = np.random.default_rng(0)
    found, told = [], []
    for _ in range(200):
        scores = rng.normal(scale=1.5, size=3_000)
        y = rng.binomial(1, expit(scores + shift))
        bins = calibration_bins(Cells.of_rows(scores, y, np.ones(3_000, int)))
        found.append(bins.debiased)
        told.append(bins.debiased_se)
    assert np.std(found) / off_by < np.mean(told) < np.std(found) * off_by
