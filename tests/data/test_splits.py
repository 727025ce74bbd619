"""Rows are divided by a column or by seeded fractions."""

import numpy as np
import pandas as pd
import pytest

from hetcal.choices import PAPER_FRACTIONS
from hetcal.data.splits import (
    ROLES,
    Split,
    require_both_classes,
    role_names,
    split_by_column,
    split_by_fraction,
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
    assert f"marks no rows as {missing}" in error.wrong


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
    assert "leaves no calibration rows" in error.wrong or "leaves no train rows" in error.wrong
    assert "more groups" in error.remedy


@pytest.mark.parametrize(
    ("fractions", "words"),
    [
        ((0.5, 0.5), "has 2 fractions"),
        ((0.5, 0.2, 0.2, 0.2), "add up to 1.1"),
        ((1.2, -0.4, 0.1, 0.1), "one of them is negative"),
        ((65, 12, 11.5, 11.5), "add up to 100"),
        ((float("nan"), 0.2, 0.4, 0.4), "add up to nan"),
        ((0.6, 0.2, 0.2, 0.0), "leaves no test rows"),
    ],
)
def test_fractions_that_do_not_fit_are_refused(fractions, words):
    assert words in refusal(split_by_fraction, np.arange(100) % 2, fractions, 0).wrong


def test_too_few_rows_are_refused():
    assert "leaves no" in refusal(split_by_fraction, [0, 1], PAPER_FRACTIONS, 0).wrong


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
