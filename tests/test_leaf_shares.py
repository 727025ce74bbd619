import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hetcal import leaf_shares as module
from hetcal.cells import Cells
from hetcal.leaf_shares import leaf_shares

LEAVES = [2, 3, 5]


@pytest.fixture(params=["0", "1"], autouse=True)
def compiled(request, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", request.param)


def sample(seed, rows=60):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=rows), seed % 3) * [1.0, 1e300, 1e-300, -1.0][seed % 4]
    scores[rng.random(rows) < 0.1] *= -0.0
    return (
        scores,
        rng.permutation(np.arange(rows) % 3 == 0).astype(np.int8),
        rng.choice(5, rows) + 1,
    )


def pair_by_pair(scores, y, leaf, weight):
    """What leaves have of the AUC, by its definition."""
    found = dict.fromkeys(LEAVES, 0.0)
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            right = 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
            for each in (leaf[i], leaf[j]):
                if each in found:
                    found[each] += weight[i] * weight[j] * right / 2
    return np.array(list(found.values())) / weight[y == 1].sum() / weight[y == 0].sum()


@pytest.mark.parametrize("seed", range(8))
def test_every_pair_belongs_half_to_either_leaf(seed):
    scores, y, leaf = sample(seed)
    expected = pair_by_pair(scores, y, leaf, np.ones(60))
    assert leaf_shares(Cells.of_rows(scores, y, leaf), LEAVES) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_count_by_the_weights_of_their_rows(seed):
    scores, y, leaf = sample(seed)
    weight = np.random.default_rng(seed).uniform(0.1, 4, 60)
    found = leaf_shares(Cells.of_rows(scores, y, leaf, weight), LEAVES)
    assert found == pytest.approx(pair_by_pair(scores, y, leaf, weight), abs=1e-12)


@pytest.mark.parametrize("most", [1, 12])
def test_all_leaves_have_the_whole_auc(monkeypatch, most):
    monkeypatch.setattr(module, "MOST_BITS", most)  # with one bit, the order of rows is found
    scores, y, leaf = sample(0, rows=5_000)
    shares = leaf_shares(Cells.of_rows(scores, y, leaf), [1, 2, 3, 4, 5])
    assert shares.sum() == pytest.approx(roc_auc_score(y, scores), abs=1e-12)


def test_with_one_class_there_is_nothing_to_share():
    scores, _, leaf = sample(0)
    for label in (0, 1):
        cells = Cells.of_rows(scores, np.full(60, label), leaf)
        assert np.isnan(leaf_shares(cells, LEAVES)).all()
