"""The parts that both score-based trees stand on."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.errors import PartitionError
from hetcal.partitions.auc_gain import AucGain, AucGainPartition, score_moments
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.scored import MapDifference, NodeMap
from hetcal.trees.bins import BINS
from hetcal.trees.score_sums import CELLS, BinnedColumns, ScoreCodes
from hetcal.trees.score_tree import NodeSums
from tests.trees.growing import random_table

BOTH = pytest.mark.parametrize("kind", [AucGainPartition, InstabilityPartition])


def rows_of(X):
    return X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))


class WithoutScores(InstabilityPartition):
    """What scikit-learn's checks can call: all scores are equal."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, np.zeros(rows_of(X)), sample_weight)


class GainWithoutScores(AucGainPartition):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, np.zeros(rows_of(X)), sample_weight)


@parametrize_with_checks([WithoutScores(), GainWithoutScores(2, min_samples_leaf=1)])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def scored(seed, rows, columns=8):
    """A table of many kinds of columns whose first two change the map."""
    X, _ = random_table(seed, rows, columns)
    rng = np.random.default_rng([seed, 3])
    s = np.round(1.5 * rng.normal(size=rows), 2)
    high = np.nan_to_num(X[:, :2]) > np.nanmedian(X[:, :2], axis=0)
    p = expit((0.5 + high[:, 0]) * s + 1.5 * high[:, 1] - 1)
    return X, s, (rng.random(rows) < p).astype(int)


def test_scores_of_few_values_are_their_own_cells():
    s = np.repeat([-1.0, 0.5, 4.0], 5)
    codes = ScoreCodes.of_rows(s, np.arange(15) % 2)
    expected = (s - s.mean()) / s.std()
    assert codes.score[codes.code] == pytest.approx(expected, abs=1e-12)
    assert codes.label[codes.code].tolist() == [*(np.arange(15) % 2)]


@pytest.mark.parametrize("scale", [1e-300, 1, 1e300])
def test_cells_are_narrow_at_any_scale(scale):
    s = np.random.default_rng(0).normal(size=50_000)
    codes = ScoreCodes.of_rows(scale * s, np.arange(50_000) % 2)
    assert len(codes.score) == 2 * CELLS
    error = np.abs(codes.score[codes.code] - (s - s.mean()) / s.std())
    assert np.quantile(error, 0.99) < 0.02


def node_of(X, codes, values, fewest):
    columns = X.shape[1]
    binned = BinnedColumns.of_matrix(
        np.asfortranarray(X), np.arange(columns), np.zeros(columns, dtype=int), compiled=False
    )
    return NodeSums.of_rows(binned, np.arange(len(X)), values(codes), fewest)


def gradients(codes):
    return NodeMap.of_rows(codes, np.arange(len(codes.code))).tables()


CRITERIA = pytest.mark.parametrize(
    ("values", "criterion"), [(score_moments, AucGain()), (gradients, MapDifference())]
)


def best_by_hand(X, values, criterion, fewest):
    """Try every threshold of every column, with missing values on either side or apart."""
    best, total = -np.inf, values.sum(axis=-1)
    for j, missing_left in itertools.product(range(X.shape[1]), (False, True)):
        known = np.unique(X[~np.isnan(X[:, j]), j])
        for last in known[: len(known) - missing_left]:
            left = np.where(np.isnan(X[:, j]), missing_left, X[:, j] <= last)
            if min(left.sum(), (~left).sum()) >= fewest:
                best = max(best, float(criterion.score(values[..., left].sum(axis=-1), total)))
    return best


@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_finds_the_cut_that_trying_all_of_them_finds(seed, weighted, values, criterion):
    X, s, y = scored(seed, 250, 4)  # few enough values for a bin each
    weight = np.random.default_rng(seed).uniform(0.3, 2, 250) if weighted else None
    codes = ScoreCodes.of_rows(s, y, weight)
    node = node_of(X, codes, values, 20)
    cuts = [node.cut(criterion, feature) for feature in range(4)]
    found = max(cut.score for cut in cuts if cut is not None)
    by_hand = best_by_hand(X, node.values.per_row(node.rows), criterion, 20)
    assert found == pytest.approx(by_hand, rel=1e-9)


@CRITERIA
def test_the_cut_is_refined_inside_its_bin(values, criterion):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40_000).astype(np.float32)[:, None]
    s = rng.normal(size=40_000)
    y = (rng.random(40_000) < expit(np.where(x[:, 0] > 0.777, 3, 0.5) * s)).astype(int)
    node = node_of(x, ScoreCodes.of_rows(s, y), values, 100)
    cut = node.cut(criterion, 0)
    assert cut.threshold == pytest.approx(0.777, abs=0.01)
    assert cut.score > node.best_scores(criterion)[0]


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_passes_give_the_same_tree(kind, weighted, monkeypatch):
    pytest.importorskip("numba")
    X, s, y = scored(4, 6_000)
    weight = np.random.default_rng(1).uniform(0.3, 2, len(y)) if weighted else None
    compiled = kind(4, min_samples_leaf=50).fit(X, y, s, weight)
    monkeypatch.setenv("HETCAL_COMPILED", "0")
    reference = kind(4, min_samples_leaf=50).fit(X, y, s, weight)
    assert len(reference.leaves_) > 3
    assert compiled.partition_ == reference.partition_


@BOTH
def test_leaves_are_those_of_the_rows_and_survive_json(kind):
    X, s, y = scored(1, 5_000)
    fitted = kind(3, min_samples_leaf=100).fit(X, y, s)
    leaf = fitted.apply(X)
    for each in fitted.leaves_:
        inside = leaf == each.id
        assert each.rows == inside.sum() >= 100
        assert each.positive_rate == pytest.approx(y[inside].mean(), rel=1e-12)
    read = Partition.from_json(fitted.partition_.to_json())
    assert np.array_equal(read.apply(X), leaf)


@BOTH
def test_weights_stand_for_rows_but_for_their_number(kind):
    X, s, y = scored(2, 4_000)
    twice = np.repeat(np.arange(4_000), 2)
    one = kind(2, min_samples_leaf=200).fit(X, y, s, np.full(4_000, 7.0))
    same = kind(2, min_samples_leaf=200).fit(X, y, s)
    assert one.partition_ == same.partition_
    left_out = np.arange(4_000) % 4 > 0
    short = kind(2, min_samples_leaf=200).fit(X[left_out], y[left_out], s[left_out])
    assert kind(2, min_samples_leaf=200).fit(X, y, s, left_out * 1.0).partition_ == short.partition_
    assert len(kind(2).fit(X[twice], y[twice], s[twice]).leaves_) >= len(same.leaves_)


@BOTH
def test_positive_rates_are_weighted(kind):
    X, s, y = scored(2, 4_000)
    weight = np.random.default_rng(0).uniform(0.2, 3, 4_000)
    fitted = kind(2).fit(X, y, s, weight)
    rates = [
        np.average(y[fitted.apply(X) == leaf.id], weights=weight[fitted.apply(X) == leaf.id])
        for leaf in fitted.leaves_
    ]
    assert [leaf.positive_rate for leaf in fitted.leaves_] == pytest.approx(rates, rel=1e-9)


def categories(seed, difference):
    """Half of twelve categories have another map; label rates are the same in all."""
    rng = np.random.default_rng(seed)
    name = rng.integers(0, 12, 12_000)
    s = 1.5 * rng.normal(size=12_000)
    odd = np.isin(name, [1, 4, 5, 7, 8, 11])
    p = expit(np.where(odd, 1.6, 0.4) * s) if difference == "slope" else expit(s + 0.9 * odd)
    X = pd.DataFrame({"noise": rng.normal(size=12_000), "city": [f"c{i:02d}" for i in name]})
    return X, s, (rng.random(12_000) < p).astype(int), odd


@BOTH
@pytest.mark.parametrize("difference", ["slope", "intercept"])
def test_categories_are_parted_by_their_maps(kind, difference):
    X, s, y, odd = categories(0, difference)
    fitted = kind(1).fit(X, y, s)
    assert len(fitted.leaves_) == 2
    leaf = fitted.apply(X)
    assert len(set(zip(leaf.tolist(), odd.tolist(), strict=True))) == 2
    assert "city" in fitted.leaves_[0].rule


@BOTH
def test_missing_values_go_where_their_map_is(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=8_000)
    gap = rng.random(8_000) < 0.3
    s = rng.normal(size=8_000)
    y = (rng.random(8_000) < expit(np.where((x > 0.2) | gap, 2.5, 0.2) * s)).astype(int)
    X = np.where(gap, np.nan, x)[:, None]
    fitted = kind(1).fit(X, y, s)
    leaf = fitted.apply(np.array([[-1.0], [1.0], [np.nan]]))
    assert leaf[0] != leaf[1] == leaf[2]


@BOTH
def test_gaps_alone_can_make_the_difference(kind):
    rng = np.random.default_rng(0)
    gap = rng.random(8_000) < 0.3
    s = rng.normal(size=8_000)
    y = (rng.random(8_000) < expit(np.where(gap, 2.5, 0.2) * s)).astype(int)
    fitted = kind(1).fit(np.where(gap, np.nan, rng.normal(size=8_000))[:, None], y, s)
    leaf = fitted.apply(np.array([[-3.0], [3.0], [np.nan]]))
    assert leaf[0] == leaf[1] != leaf[2]


@BOTH
def test_scores_that_part_the_classes_need_no_partition(kind):
    X = np.random.default_rng(0).normal(size=(500, 3))
    s = np.linspace(-1, 1, 500)
    assert len(kind(3).fit(X, (s > 0.2).astype(int), s).leaves_) == 1


@BOTH
@pytest.mark.parametrize("scores", [np.full(100, np.nan), np.zeros((100, 2))])
def test_scores_are_one_finite_number_per_row(kind, scores):
    with pytest.raises(PartitionError, match="one finite number per row"):
        kind().fit(np.zeros((100, 1)), np.arange(100) % 2, scores)


@BOTH
@pytest.mark.parametrize(
    "wrong", [{"max_depth": 0}, {"min_samples_leaf": 0.5}, {"alpha": 0}, {"alpha": "0.05"}]
)
def test_parameters_are_checked(kind, wrong):
    estimator = clone(kind(), safe=True).set_params(**wrong)
    with pytest.raises(PartitionError, match=next(iter(wrong))):
        estimator.fit(np.zeros((100, 1)), np.arange(100) % 2, np.zeros(100))


@pytest.mark.parametrize("compiled", [False, True])
def test_bins_keep_the_order_of_values_and_gaps_come_last(compiled):
    if compiled:
        pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.lognormal(0, 3, (20_000, 3)), dtype=np.float32)
    X[:, 1] = rng.integers(0, 3, 20_000)
    X[::7, 2] = np.nan
    table = BinnedColumns.of_matrix(X, np.arange(3), np.zeros(3, dtype=int), compiled=compiled)
    for j in range(3):
        order = np.argsort(X[:, j])  # gaps come last
        assert (np.diff(table.bins[order, j].astype(int)) >= 0).all()
    assert ((table.bins == BINS - 1) == np.isnan(X)).all()
    assert np.unique(table.bins[:, 0]).size > 200
    known = table.only[1][table.bins[:, 1]]
    assert np.array_equal(known, X[:, 1])
