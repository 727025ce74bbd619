import numpy as np
import pytest

from hetcal.metrics.metrics import errors_of_bins

# Two bins: 4 rows of weight 1 of which 3 are positive, and one row of weight 2.
MASS, SQUARES = np.array([4.0, 2.0]), np.array([4.0, 4.0])
POSITIVE, GAP = np.array([3.0, 2.0]), np.array([-2.0, -1.0])


def test_errors_of_two_bins_by_hand():
    plain, debiased = errors_of_bins(MASS, SQUARES, POSITIVE, GAP)
    assert plain == pytest.approx(np.sqrt((4 * 0.5**2 + 2 * 0.5**2) / 6))
    # Only the first bin has a variance: (3/4)(1/4)/3.
    assert debiased == pytest.approx(np.sqrt((4 * (0.5**2 - 1 / 16) + 2 * 0.5**2) / 6))
