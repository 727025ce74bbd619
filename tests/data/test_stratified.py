import numpy as np
import pytest

from hetcal.data.splits import draw, draw_group_folds, halves

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


def grouped(seed, groups=40, classes=2):
    """Rows of groups of very different sizes, some of them of one class only."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(groups), rng.geometric(0.1, groups)))
    own = rng.integers(0, classes, groups)
    y = np.where(rng.random(groups)[group] < 0.4, own[group], rng.integers(0, classes, group.size))
    return y, np.array([f"g{each}" for each in group])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("classes", [2, 4])
def test_rows_of_a_group_share_a_fold_and_every_fold_has_all_classes(seed, classes):
    y, group = grouped(seed, classes=classes)
    fold = draw_group_folds(y, group, 5, seed)
    assert all(np.unique(fold[group == each]).size == 1 for each in np.unique(group))
    for number in range(5):
        assert np.unique(y[fold == number]).size == classes


def test_groups_of_one_row_are_divided_evenly_in_each_class():
    y = np.random.default_rng(0).integers(0, 3, 1_003)
    fold = draw_group_folds(y, np.arange(1_003), 5, 0)
    for label in range(3):
        counts = np.bincount(fold[y == label], minlength=5)
        assert counts.max() - counts.min() <= 2  # to and fro, from where the last class ended


def test_the_folds_of_groups_depend_on_the_seed_alone():
    y, group = np.arange(200) % 2, np.repeat(np.arange(50), 4)
    first, again, other = (draw_group_folds(y, group, 5, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_there_are_no_more_folds_than_groups_that_can_be_left_out():
    y = np.tile([0, 1], 30)
    three = draw_group_folds(y, np.repeat(["a", "b", "c"], 20), 5, 0)
    assert np.unique(three).tolist() == [0, 1, 2]
    group = np.where(y == 1, np.repeat([1, 2], 30), np.arange(60) + 3)  # the ones have two groups
    assert np.unique(draw_group_folds(y, group, 5, 0)).tolist() == [0, 1]


def test_a_class_in_a_single_group_cannot_be_left_out():
    y = np.tile([0, 1], 30)
    assert draw_group_folds(y, np.where(y == 1, 0, np.arange(60)), 5, 0) is None
    assert draw_group_folds(y, np.zeros(60), 5, 0) is None


def test_halves_keep_groups_together_where_they_can():
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 30, 400), rng.integers(0, 2, 400)
    first, second = halves(y, group)
    assert np.array_equal(np.sort(np.append(first, second)), np.arange(400))
    assert not set(group[first]) & set(group[second])
    assert abs(first.size - second.size) < 60
    for one, other in zip(halves(y, np.zeros(400)), halves(y), strict=True):
        assert np.array_equal(one, other)
