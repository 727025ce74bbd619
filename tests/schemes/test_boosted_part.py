"""Nested calibration: trees one after the other, each on what the maps before it leave."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.calibrators.many_trees import fit_shrunken_maps
from hetcal.partitions.boosting import ResidualTrees
from hetcal.schemes import parts
from hetcal.schemes.candidates import boosted_candidate
from hetcal.schemes.parts import PooledPart
from hetcal.schemes.rows import SchemeRows

ROWS = np.arange(2_000)


def drawn(seed, size=2_000):
    """Rows whose score is too steep on one side of a column, and blind to a category."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=size), "b": rng.choice([*"xyz"], size)})
    X.loc[rng.random(size) < 0.1, "a"] = np.nan
    scores = rng.normal(size=size)
    truth = scores * np.where(X["a"] > 0, 0.3, 1.5) + np.where(X["b"] == "x", 1.0, -0.5)
    return SchemeRows(X, (rng.random(size) < expit(truth)).astype(np.int64), scores)


@pytest.fixture(scope="module")
def held():
    return drawn(1)


@pytest.fixture(scope="module")
def part(held):
    _, found = boosted_candidate(drawn(0), held).parts
    return found


@pytest.fixture(scope="module", autouse=True)
def _few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "NESTED_TREES", 3)
        yield


def test_maps_follow_on_one_another_as_in_the_paper(part, held):
    logits, make = part.fit(held.scores, held, ROWS, 5.0)
    stage, new = make(), drawn(2)
    first = 0
    expected = new.scores
    for number in range(3):
        tree = stage.trees.partition(number)
        leaf = first + tree.apply(new.X) - 1
        expected = stage.slope[leaf] * expected + stage.intercept[leaf]
        first += len(tree.leaves)
    assert first == stage.slope.size
    assert np.abs(stage.logit(new.scores, new.X) - expected).max() < 1e-12
    assert np.abs(stage.logit(held.scores, held.X) - logits).max() < 1e-9


def test_every_tree_has_maps_fitted_to_what_those_before_it_give(part, held):
    _, make = part.fit(held.scores, held, ROWS, 5.0)
    stage, logits, first = make(), held.scores, 0
    for number in range(3):
        tree = stage.trees.partition(number)
        leaf, leaves = tree.apply(held.X)[:, None] - 1, len(tree.leaves)
        maps = fit_shrunken_maps(logits, held.y, leaf, leaves, 5.0)
        assert maps.slope == pytest.approx(stage.slope[first : first + leaves])
        assert maps.intercept == pytest.approx(stage.intercept[first : first + leaves])
        logits, first = maps.mean_logit(logits, leaf), first + leaves


def test_every_tree_lowers_the_loss(part, held, monkeypatch):
    losses = [np.mean(np.logaddexp(0, held.scores) - held.y * held.scores)]
    for trees in (1, 2, 3):
        monkeypatch.setattr(parts, "NESTED_TREES", trees)
        logits, _ = part.fit(held.scores, held, ROWS, 5.0)
        losses.append(np.mean(np.logaddexp(0, logits) - held.y * logits))
    assert (np.diff(losses) < 0).all()


def test_the_first_split_is_where_the_score_is_most_wrong(part, held):
    _, make = part.fit(held.scores, held, ROWS, 5.0)
    assert make().trees.partition(0).nodes[0].feature == "b"


def test_a_strong_penalty_leaves_the_logit(part, held):
    logits, _ = part.fit(held.scores, held, ROWS, 1e9)
    assert logits == pytest.approx(held.scores, abs=1e-3)


def test_new_rows_are_ranked_better(held):
    candidate = boosted_candidate(drawn(0), held)
    assert isinstance(candidate.parts[0], PooledPart)
    scheme, new = candidate.scheme(held.scores, held, 5.0), drawn(2)
    before, after = new.scores, scheme.logit(new.scores, new.X)
    assert roc_auc_score(new.y, after) > roc_auc_score(new.y, before) + 0.03


@pytest.mark.parametrize("unit", [1e-6, 1.0, 3e4])
def test_the_unit_of_the_weights_does_not_matter(unit):
    rng, y = np.random.default_rng(0), drawn(0).y
    matrix = rng.normal(size=(2_000, 2)).astype(np.float32)
    weight = rng.uniform(0.5, 1.5, 2_000)
    one, other = (ResidualTrees(matrix, y, each, 1.0) for each in (weight, unit * weight))
    grown, same = one.grow(np.zeros(2_000)), other.grow(np.zeros(2_000))
    assert grown.feature.tolist() == same.feature.tolist()
    assert grown.threshold == pytest.approx(same.threshold, nan_ok=True)


def test_the_first_residual_tree_cuts_where_a_tree_of_the_gradient_would():
    rng = np.random.default_rng(0)
    x = rng.random(1_000)
    y = (rng.random(1_000) < np.where(x < 0.37, 0.2, 0.7)).astype(np.int64)
    tree = ResidualTrees(x[:, None].astype(np.float32), y, None, 1.0).grow(np.zeros(1_000))
    # at equal logits the best cut is that of least squares
    order, gains = np.sort(x), []
    for cut in order[60:-60]:
        low, high = y[x <= cut], y[x > cut]
        gains.append(((low - 0.5).sum() ** 2) / low.size + ((high - 0.5).sum() ** 2) / high.size)
    assert tree.threshold[0] == pytest.approx(order[60:-60][np.argmax(gains)], abs=0.02)
