import numpy as np
import pytest
from scipy.special import expit

from hetcal.calibrators.many_trees import fit_nested_maps
from hetcal.calibrators.platt import fit_platt
from hetcal.partitions.forest import ForestPartition
from hetcal.schemes.stages import NestedStage


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3)).astype(np.float32)
    logits = rng.normal(size=3_000)
    y = (rng.random(3_000) < expit(logits * (1 + (X[:, 0] > 0)) + X[:, 1])).astype(np.int64)
    trees = ForestPartition(2, max_depth=2).fit(X, y).ensemble_
    return X, logits, y, trees


def bounds_of(trees):
    return np.append(trees.leaf_starts, trees.leaves)


def test_two_rounds_of_platt_scaling_are_nested(rows):
    X, logits, y, trees = rows
    leaf = trees.apply(X)
    maps = fit_nested_maps(logits, y, bounds_of(trees), leaf, 1e-6)
    current = logits
    for tree in range(2):
        ids = np.unique(leaf[:, tree])
        plain = fit_platt(current, y, leaf[:, tree].astype(np.int64), ids.tolist())
        position = np.searchsorted(ids, leaf[:, tree])
        current = plain.slope[position] * current + plain.intercept[position]
    assert np.allclose(maps.nested_logit(logits, leaf), current, atol=1e-5)


def test_the_stage_gives_the_nested_logits(rows):
    X, logits, y, trees = rows
    leaf = trees.apply(X)
    maps = fit_nested_maps(logits, y, bounds_of(trees), leaf, 5.0)
    stage = NestedStage(trees, maps.slope, maps.intercept)
    assert np.allclose(stage.logit(logits, X), maps.nested_logit(logits, leaf), rtol=1e-12)


def test_every_round_lowers_the_loss_of_its_rows(rows):
    X, logits, y, trees = rows
    leaf = trees.apply(X)
    maps = fit_nested_maps(logits, y, bounds_of(trees), leaf, 5.0)

    def loss(current):
        return np.mean(np.logaddexp(0, current) - y * current)

    first = maps.nested_logit(logits, leaf[:, :1])
    assert loss(logits) > loss(first) > loss(maps.nested_logit(logits, leaf))


def test_a_strong_penalty_leaves_the_logit(rows):
    X, logits, y, trees = rows
    leaf = trees.apply(X)
    maps = fit_nested_maps(logits, y, bounds_of(trees), leaf, 1e9)
    assert np.allclose(maps.nested_logit(logits, leaf), logits, atol=1e-4)
