from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.errors import PartitionError
from hetcal.partitions.forest import STEP, ForestPartition


@parametrize_with_checks([ForestPartition(3, max_depth=2)])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, (np.nan_to_num(X[:, 0]) + rng.normal(size=900) > 0).astype(int)


@pytest.mark.parametrize("trees", [4, STEP + 1])
def test_trees_are_those_of_scikit_learn(trees):
    X, y = rows(0)
    fitted = ForestPartition(trees, max_depth=4, min_samples_leaf=20, random_state=3).fit(X, y)
    rival = RandomForestClassifier(trees, max_depth=4, min_samples_leaf=20, random_state=3)
    rival.fit(X, y)
    new, _ = rows(1)
    nodes = rival.apply(new)
    for tree, estimator in enumerate(rival.estimators_):
        leaves = np.flatnonzero(estimator.tree_.feature < 0)
        assert np.array_equal(
            fitted.apply(new)[:, tree], 1 + np.searchsorted(leaves, nodes[:, tree])
        )


def test_trees_are_the_same_on_any_number_of_cores(monkeypatch):
    X, y = rows(0)
    grown = []
    for cores in (1, 5, 8, 64):
        monkeypatch.setattr("hetcal.partitions.forest.cpu_count", lambda cores=cores: cores)
        told = Mock()
        fitted = ForestPartition(40, max_depth=3).fit(X, y, progress=told)
        assert told.call_count == {1: 4, 5: 3, 8: 3, 64: 1}[cores]
        grown.append(fitted.ensemble_)
    for other in grown[1:]:
        for name in ("feature", "threshold", "missing_left", "right", "sizes"):
            assert np.array_equal(getattr(grown[0], name), getattr(other, name))


def test_progress_tells_how_many_trees_are_grown_and_ends_the_growth(monkeypatch):
    monkeypatch.setattr("hetcal.partitions.forest.cpu_count", lambda: 2)
    told = []

    def tell(done, doing):
        told.append(done)
        if done >= 0.5:
            raise KeyboardInterrupt

    estimator = ForestPartition(4 * STEP, max_depth=1)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*rows(0), progress=tell)
    assert told == [0.0, 0.25, 0.5]
    assert not hasattr(estimator, "ensemble_")


def test_every_tree_has_rules_in_words():
    X, y = rows(0)
    fitted = ForestPartition(3, max_depth=1, min_samples_leaf=50).fit(X, y)
    assert len(fitted.partitions_) == 3
    for partition in fitted.partitions_:
        assert [" ≤ " in leaf.rule or " > " in leaf.rule for leaf in partition.leaves] == [True] * 2


@pytest.mark.parametrize("value", [0, 2.5, True])
def test_a_number_of_trees_that_is_none_is_refused(value):
    with pytest.raises(PartitionError, match="'trees'"):
        ForestPartition(value).fit(*rows(0))
