import numpy as np
import pytest

from hetcal.stratified import draw

SHARES = np.array([0.5, 0.2, 0.2, 0.1])


@pytest.mark.parametrize("strata", [1, 2, 300])
def test_every_stratum_is_divided_by_the_shares(strata):
    stratum = np.random.default_rng(0).permutation(np.repeat(np.arange(strata), 20))
    role = draw(np.ones(stratum.size), stratum, SHARES, np.random.default_rng(1))
    counts = np.bincount(stratum * 4 + role, minlength=4 * strata).reshape(strata, 4)
    assert (counts == [10, 4, 4, 2]).all()


def test_the_role_of_a_unit_is_the_part_in_which_its_middle_lies():
    size = np.array([6.0, 1.0, 1.0, 1.0, 1.0])
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(5)
        role = draw(size, np.zeros(5, dtype=int), SHARES, np.random.default_rng(seed))
        place = 0.0
        for unit in order:
            middle = (place + size[unit] / 2) / 10
            assert role[unit] == sum(middle >= cut for cut in (0.5, 0.7, 0.9))
            place += size[unit]
