import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hetcal.calibrators.platt import fit_platt
from hetcal.partitions.tree import TreePartition
from hetcal.schemes.parts import PlainLeavesPart, ShrunkenLeavesPart, fit_pooled, fit_weights
from hetcal.schemes.rows import SchemeRows


def rows(seed=0, size=2_000):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(size, 2)) * [1.0, 30.0] + [2.0, -5.0]
    y = (rng.random(size) < expit(columns @ [0.7, 0.02] - 1)).astype(np.int64)
    return columns, y, rng.uniform(0.5, 2.0, size)


def test_without_penalty_the_weights_are_those_of_logistic_regression():
    columns, y, _ = rows()
    rival = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(columns / [1, 30], y)
    found = fit_weights(columns, y, None, np.zeros(2), 1e-9)
    expected = np.r_[rival.intercept_, rival.coef_[0] / [1, 30]]
    assert found == pytest.approx(expected, rel=1e-4)


def test_penalty_is_that_of_logistic_regression_on_standard_columns():
    columns, y, _ = rows()
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    rival = LogisticRegression(C=1 / 40.0, tol=1e-10).fit(standard, y)
    found = fit_weights(columns, y, None, np.zeros(2), 40.0)
    assert found[1:] * columns.std(axis=0) == pytest.approx(rival.coef_[0], abs=1e-4)


def test_a_strong_penalty_gives_the_prior():
    columns, y, weight = rows()
    found = fit_weights(columns, y, weight, np.array([0.25, -0.5]), 1e12)
    assert found[1:] == pytest.approx([0.25, -0.5], abs=1e-6)


def test_a_constant_column_does_no_harm():
    columns, y, _ = rows()
    columns[:, 1] = 3.0
    found = fit_weights(columns, y, None, np.array([0.0, 1.0]))
    assert np.isfinite(found).all()


def test_weights_count_like_repeated_rows_but_for_the_penalty():
    columns, y, _ = rows()
    twice = np.arange(len(y)) % 2 + 1
    repeated = np.repeat(np.arange(len(y)), twice)
    one = fit_weights(columns, y, twice.astype(float), np.zeros(2), 1e-9)
    other = fit_weights(columns[repeated], y[repeated], None, np.zeros(2), 1e-9)
    assert one == pytest.approx(other, rel=1e-6)


def test_the_pooled_map_of_tame_scores_is_platts():
    rng = np.random.default_rng(0)
    scores = rng.uniform(-2, 2, 3_000)
    y = (rng.random(3_000) < expit(0.6 * scores + 0.2)).astype(np.int64)
    stage = fit_pooled(scores, y)
    plain = fit_platt(scores, y, np.zeros(3_000, dtype=np.int64), [0])
    assert stage.slope == pytest.approx(plain.slope[0], abs=0.01)
    assert stage.intercept == pytest.approx(plain.intercept[0], abs=0.01)


def test_one_huge_score_does_not_flatten_the_pooled_map():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=3_000)
    y = (rng.random(3_000) < expit(scores)).astype(np.int64)
    scores[0] = 1e5
    assert fit_pooled(scores, y).slope == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("kind", [PlainLeavesPart, ShrunkenLeavesPart])
def test_equal_scores_become_the_rates_of_the_leaves(kind):
    """This is what a tree gives without the network."""
    columns, y, _ = rows()
    X, same = pd.DataFrame(columns, columns=["a", "b"]), np.zeros(len(y))
    tree = TreePartition(2, min_samples_leaf=200).fit(X, y).partition_
    leaf = tree.apply(X)
    every = np.arange(len(y))
    mapped, stage = kind(tree, leaf).fit(same, SchemeRows(X, y, same), every, 1.0)
    for each in np.unique(leaf):
        assert expit(mapped[leaf == each]) == pytest.approx(y[leaf == each].mean(), abs=0.02)
    assert stage().logit(same, X) == pytest.approx(mapped)
