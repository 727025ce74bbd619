import numpy as np
import pytest
from scipy.stats import chi2

from hetcal.partitions.instability import largest_p_value


def p_value(x, cuts, low, high):
    found = largest_p_value(
        np.atleast_1d(float(x)), np.array([cuts]), np.array([low]), np.array([high])
    )
    return float(found[0])


def test_one_cut_has_the_p_value_of_a_chi_square():
    assert p_value(7.3, 1, 0.4, 0.4) == pytest.approx(chi2.sf(7.3, 2), rel=1e-12)


def test_few_cuts_have_at_most_the_sum_of_their_p_value():
    assert p_value(11, 3, 0.2, 0.8) == pytest.approx(3 * chi2.sf(11, 2), rel=1e-12)


@pytest.mark.parametrize(("trim", "value"), [(0.15, 11.72), (0.05, 13.36)])
def test_dense_cuts_have_five_per_cent_at_the_published_critical_values(trim, value):
    """Andrews (2003), for two parameters."""
    assert p_value(value, 10**9, trim, 1 - trim) == pytest.approx(0.05, abs=0.006)


def test_dense_cuts_have_the_p_value_of_simulated_bridges():
    rng = np.random.default_rng(0)
    t = np.arange(1, 600) / 600
    inside = (t >= 0.1) & (t <= 0.9)
    largest = []
    for _ in range(4_000):
        walk = rng.normal(size=(2, 600)).cumsum(axis=1) / np.sqrt(600)
        bridge = walk[:, :-1] - t * walk[:, -1:]
        largest.append(((bridge**2).sum(axis=0) / (t * (1 - t)))[inside].max())
    for x in (10, 12, 14):
        drawn = np.mean(np.array(largest) > x)
        error = np.sqrt(drawn / 4_000)
        assert (
            drawn - 3 * error < p_value(x, int(inside.sum()), 0.1, 0.9) < 1.35 * drawn + 3 * error
        )


def test_p_values_fall_with_the_statistic():
    x = np.linspace(0, 40, 400)
    for cuts, low, high in ((1, 0.5, 0.5), (5, 0.3, 0.6), (200, 0.05, 0.9)):
        found = largest_p_value(x, np.full(400, cuts), np.full(400, low), np.full(400, high))
        assert (np.diff(found) <= 1e-12).all()


def test_without_cuts_the_p_value_is_0():
    assert p_value(3, 0, np.inf, -np.inf) == 0
