"""A single feature's power to tell the classes apart is an AUC."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from hetcal.data.checks import separation


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_agree_with_scikit_learn(rng):
    y = rng.binomial(1, 0.3, 2000)
    x = np.round(rng.normal(size=2000) + y, 1)
    assert separation(pd.Series(x), y) == pytest.approx(roc_auc_score(y, x), abs=1e-12)


@pytest.mark.parametrize("missing_class", [0, 1])
def test_missing_values_alone_can_give_the_label_away(rng, missing_class):
    y = rng.binomial(1, 0.3, 2000)
    x = np.where(y == missing_class, np.nan, rng.normal(size=2000))
    auc = separation(pd.Series(x), y)
    assert max(auc, 1 - auc) == 1


def test_infinite_values_are_ordered_with_missing_ones_beside_them():
    y = np.array([0, 0, 1, 1])
    assert separation(pd.Series([-np.inf, 0.0, 1.0, np.inf]), y) == 1
    assert separation(pd.Series([-np.inf, 0.0, np.inf, np.nan]), y) == 1


def test_a_category_that_copies_the_label_separates_it(rng):
    y = rng.binomial(1, 0.3, 2000)
    assert separation(pd.Series(np.where(y == 1, "paid", "due"), dtype="str"), y) == 1


def test_an_identifier_does_not_look_like_a_leak(rng):
    y = rng.binomial(1, 0.3, 2000)
    names = pd.Series([f"id{i}" for i in range(2000)], dtype="str")
    assert separation(names, y) == pytest.approx(0.5, abs=0.05)


def test_a_missing_category_counts_as_one_of_its_own(rng):
    y = rng.binomial(1, 0.3, 2000)
    assert separation(pd.Series(np.where(y == 1, "x", None), dtype="str"), y) == 1


def test_one_class_separates_nothing():
    assert separation(pd.Series([1.0, 2.0]), np.array([1, 1])) == 0.5


def test_a_leak_is_found_also_where_labels_alternate():
    y = np.arange(200) % 2
    column = pd.Series(np.where(y == 1, "late", "early"))
    assert separation(column, y) == 1.0
