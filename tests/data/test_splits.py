"""Rows are divided by a column or by seeded fractions."""

import numpy as np
import pandas as pd
import pytest

from hetcal.choices import PAPER_FRACTIONS
from hetcal.data.splits import (
    ROLES,
    Split,
    draw,
    draw_group_folds,
    halves,
    require_both_classes,
    role_names,
    split_by_column,
    split_by_fraction,
    split_by_time,
)
from hetcal.errors import SplitError


def rows(split):
    return {role: split.of(role).tolist() for role in ROLES}


def refusal(function, *arguments):
    with pytest.raises(SplitError) as caught:
        function(*arguments)
    assert all([caught.value.wrong, caught.value.needed, caught.value.remedy])
    return caught.value


def test_a_column_names_roles_in_any_case_and_by_short_names():
    values = ["Train", " test ", "VAL", "cal", "valid", "validation", "calibration", None, ""]
    split = split_by_column(pd.Series(values, dtype="str", name="part"))
    assert rows(split) == {
        "train": [0],
        "validation": [2, 4, 5],
        "calibration": [3, 6],
        "test": [1],
    }
    assert split.counts == {"train": 1, "validation": 3, "calibration": 2, "test": 1}
    assert split.names(9).tolist() == [
        "train", "test", "validation", "calibration", "validation", "validation", "calibration",
        "", "",
    ]  # fmt: skip


def test_every_accepted_name_means_its_role():
    needed = ["train", "calibration", "test"]
    for name, role in role_names().items():
        split = split_by_column(pd.Series([*needed, name], name="part"))
        assert 3 in split.of(role)


def test_other_values_are_listed_with_their_rows():
    error = refusal(split_by_column, pd.Series(["train", "dev", "dev", "hold"], name="part"))
    assert "'part'" in error.wrong
    assert "'dev' in 2 rows, 'hold' in 1 row)" in error.wrong


@pytest.mark.parametrize("missing", ["train", "calibration", "test"])
def test_a_role_without_rows_is_named(missing):
    values = [role for role in ROLES if role != missing]
    error = refusal(split_by_column, pd.Series(values, name="part"))
    assert f"gives no {missing} rows" in error.wrong


def test_validation_rows_are_optional():
    split = split_by_column(pd.Series(["train", "calibration", "test"], name="part"))
    assert split.validation.size == 0


def test_an_unknown_role_is_a_mistake_of_the_caller():
    empty = np.array([], dtype=np.int64)
    with pytest.raises(KeyError):
        Split(empty, empty, empty, empty).of("counts")


def test_the_paper_fractions_follow_its_recipe():
    rest = 1 - 0.65
    assert pytest.approx((0.65, rest * 0.34, rest * 0.33, rest * 0.33)) == PAPER_FRACTIONS


@pytest.mark.parametrize("fractions", [PAPER_FRACTIONS, (0.5, 0.0, 0.25, 0.25)])
def test_fractions_divide_each_class_alike_and_use_every_row_once(fractions):
    y = np.random.default_rng(0).binomial(1, 0.2, 10_000)
    split = split_by_fraction(y, fractions, seed=3)
    everything = np.concatenate([split.of(role) for role in ROLES])
    assert np.array_equal(np.sort(everything), np.arange(y.size))
    for role, fraction in zip(ROLES, fractions, strict=True):
        assert np.all(np.diff(split.of(role)) > 0)
        for label in (0, 1):
            share = (y[split.of(role)] == label).sum() - fraction * (y == label).sum()
            assert abs(share) <= 1


def test_equal_seeds_give_equal_splits_and_others_do_not():
    y = np.arange(1000) % 2
    assert rows(split_by_fraction(y, PAPER_FRACTIONS, 1)) == rows(
        split_by_fraction(y, PAPER_FRACTIONS, 1)
    )
    assert rows(split_by_fraction(y, PAPER_FRACTIONS, 1)) != rows(
        split_by_fraction(y, PAPER_FRACTIONS, 2)
    )


def test_sorted_files_are_mixed():
    split = split_by_fraction(np.arange(10_000) % 2, PAPER_FRACTIONS, 0)
    assert split.test.mean() == pytest.approx(5000, abs=300)


def test_whole_groups_stay_together_at_about_the_right_shares():
    rng = np.random.default_rng(0)
    group = pd.Series(rng.integers(0, 3000, 20_000))
    y = rng.binomial(1, 0.1 + 0.8 * (group.to_numpy() % 7 == 0))
    split = split_by_fraction(y, PAPER_FRACTIONS, 0, group)
    names = pd.Series(split.names(y.size))
    assert pd.DataFrame({"group": group, "role": names}).drop_duplicates()["group"].is_unique
    shares = names.value_counts(normalize=True)
    assert [shares[role] for role in ROLES] == pytest.approx(PAPER_FRACTIONS, abs=0.01)
    assert [y[split.of(role)].mean() for role in ROLES] == pytest.approx([y.mean()] * 4, abs=0.03)


def test_too_few_groups_are_told():
    y = np.arange(40) % 2
    error = refusal(split_by_fraction, y, PAPER_FRACTIONS, 0, pd.Series(y * 0 + 7))
    assert "gives no calibration rows" in error.wrong or "gives no train rows" in error.wrong
    assert "more groups" in error.remedy


@pytest.mark.parametrize(
    ("fractions", "words"),
    [
        ((0.5, 0.5), "has 2 fractions"),
        ((0.5, 0.2, 0.2, 0.2), "add up to 1.1"),
        ((1.2, -0.4, 0.1, 0.1), "one of them is negative"),
        ((65, 12, 11.5, 11.5), "add up to 100"),
        ((float("nan"), 0.2, 0.4, 0.4), "add up to nan"),
        ((0.6, 0.2, 0.2, 0.0), "gives no test rows"),
    ],
)
def test_fractions_that_do_not_fit_are_refused(fractions, words):
    assert words in refusal(split_by_fraction, np.arange(100) % 2, fractions, 0).wrong


def test_too_few_rows_are_refused():
    assert "gives no" in refusal(split_by_fraction, [0, 1], PAPER_FRACTIONS, 0).wrong


def test_a_role_with_one_class_is_named():
    y = np.array([0] * 98 + [1] * 2)
    assert "rows are negative" in refusal(split_by_fraction, y, PAPER_FRACTIONS, 0).wrong
    split = split_by_column(pd.Series(["train", "calibration", "calibration", "test", "test"]))
    error = refusal(require_both_classes, split, np.array([0, 0, 1, 1, 1]))
    assert error.wrong == "All 2 test rows are positive."


def test_a_role_with_one_class_of_many_is_called_so():
    split = split_by_column(pd.Series(["train", "calibration", "calibration", "test", "test"]))
    error = refusal(require_both_classes, split, np.array([0, 0, 1, 2, 2]))
    assert error.wrong == "All 2 test rows are of one class."
    assert error.needed == "The test rows must contain several classes."


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


def test_earlier_rows_train_and_later_rows_test():
    time = np.random.default_rng(0).permutation(1000).astype(float)
    split = split_by_time(time, (0.4, 0.1, 0.25, 0.25))
    assert split.counts == {"train": 400, "validation": 100, "calibration": 250, "test": 250}
    latest = [time[split.of(role)].max() for role in ROLES]
    earliest = [time[split.of(role)].min() for role in ROLES]
    assert latest[:-1] == [each - 1 for each in earliest[1:]] == [399, 499, 749]


def test_rows_of_one_time_stay_together_and_those_without_have_no_role():
    time = np.array([1.0, 1, 1, 2, 2, 3, 3, 3, 4, np.nan])
    split = split_by_time(time, (0.4, 0.0, 0.3, 0.3))
    # Of nine rows with a time, the middles of the four times lie at 1.5, 4, 6.5 and 8.5 rows.
    assert [split.of(role).tolist() for role in ROLES] == [[0, 1, 2], [], [3, 4], [5, 6, 7, 8]]


def test_one_time_for_all_rows_cannot_be_split():
    with pytest.raises(SplitError, match="The split by time gives no train rows"):
        split_by_time(np.zeros(10), (0.4, 0.1, 0.25, 0.25))
