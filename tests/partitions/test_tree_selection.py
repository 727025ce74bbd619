import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.errors import PartitionError
from hetcal.partitions.selection import SelectedTreePartition, validation_folds
from hetcal.partitions.tree import TreePartition


@parametrize_with_checks(
    [SelectedTreePartition(3), SelectedTreePartition(2, select="pruned")],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "a row with weight 2 is in one fold, "
        "but a repeated row may be in two",
    },
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def mixed_table(seed=0, rows=2_000):
    """Numbers with gaps and categories; the rate depends on both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    X["b"] = X["b"].where(X["b"] > -1)
    X["job"] = pd.Series(rng.choice(list("uvwxyz"), rows), dtype="str")
    effect = X["job"].map(dict(zip("uvwxyz", (-2, 1, 0, 0, 2, -1), strict=True)))
    y = rng.random(rows) < expit(X["a"] * X["b"].fillna(2) + effect)
    return X, y.astype(int)


def measured(measure, y, rate, weight=None):
    if measure == "auc":
        return roc_auc_score(y, rate, sample_weight=weight)
    return log_loss(y, rate, sample_weight=weight)


@pytest.mark.parametrize("measure", ["log-loss", "auc"])
def test_depths_are_measured_as_by_growing_every_tree_anew(measure):
    X, y = mixed_table()
    fitted = SelectedTreePartition(4, min_samples_leaf=100, measure=measure).fit(X, y)
    folds = validation_folds(y, 5, 0)
    for depth in range(1, 5):
        values = []
        for fold in range(5):
            inside, outside = folds != fold, folds == fold
            tree = TreePartition(depth, min_samples_leaf=100 * inside.sum() // 2_000)
            leaf = tree.fit(X[inside], y[inside]).apply(X)
            sums = pd.Series(y[inside]).groupby(leaf[inside]).agg(["sum", "count"])
            rate = (sums["sum"] + y[inside].mean()) / (sums["count"] + 1)
            values.append(measured(measure, y[outside], rate[leaf[outside]]))
        row = fitted.selection_.iloc[depth]
        assert row["depth"] == depth
        assert row["mean"] == pytest.approx(np.mean(values), abs=1e-12)
        assert row["se"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_complexities_are_measured_as_by_pruning_with_scikit_learn(weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 4))
    y = (rng.random(3_000) < expit(X[:, 0] + X[:, 1] * X[:, 2])).astype(int)
    weight = rng.uniform(0.5, 2, 3_000) if weighted else np.ones(3_000)
    fitted = SelectedTreePartition(4, min_samples_leaf=100, select="pruned")
    fitted.fit(X, y, weight if weighted else None)
    table, folds = fitted.selection_, validation_folds(y, 5, 0)
    path = DecisionTreeClassifier(max_depth=4, min_samples_leaf=100).cost_complexity_pruning_path(
        X, y, sample_weight=weight
    )
    assert table["alpha"].to_numpy() == pytest.approx(path.ccp_alphas, abs=1e-12)
    for k in (0, len(table) // 2, len(table) - 3):
        alpha = np.sqrt(table["alpha"][k] * table["alpha"][k + 1])
        values = []
        for fold in range(5):
            inside, outside = folds != fold, folds == fold
            few = 100 * inside.sum() // 3_000
            tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=few, ccp_alpha=alpha)
            tree.fit(X[inside], y[inside], weight[inside])
            node = tree.apply(X[outside])
            rows, rate = tree.tree_.n_node_samples[node], tree.tree_.value[node, 0, 1]
            base = tree.tree_.value[0, 0, 1]
            chance = (rows * rate + base) / (rows + 1)
            values.append(measured("log-loss", y[outside], chance, weight[outside]))
        assert table["mean"][k] == pytest.approx(np.mean(values), abs=1e-12)


def test_the_chosen_tree_is_the_one_grown_on_all_rows():
    X, y = mixed_table(2, 4_000)
    fitted = SelectedTreePartition().fit(X, y)
    (chosen,) = fitted.selection_[fitted.selection_["chosen"]].to_dict("records")
    rival = TreePartition(chosen["depth"], min_samples_leaf=chosen["min_leaf"]).fit(X, y)
    assert fitted.partition_ == rival.partition_
    assert chosen["leaves"] == len(fitted.leaves_) > 2
    assert sorted(set(fitted.selection_["min_leaf"])) == [250, 500, 1000]


def test_the_chosen_complexity_gives_the_tree_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4_000, 3))
    y = (rng.random(4_000) < expit(X[:, 0] + X[:, 1] * X[:, 2])).astype(int)
    fitted = SelectedTreePartition(select="pruned", min_samples_leaf=50).fit(X, y)
    table = fitted.selection_
    (chosen,) = table[table["chosen"]].to_dict("records")
    rival = DecisionTreeClassifier(
        max_depth=6, min_samples_leaf=50, ccp_alpha=chosen["alpha"] * (1 + 1e-9)
    ).fit(X, y)
    assert chosen["leaves"] == rival.get_n_leaves() < table["leaves"].max()
    assert len(set(zip(fitted.apply(X), rival.apply(X), strict=True))) == chosen["leaves"]


@pytest.mark.parametrize("select", ["cv", "pruned"])
def test_the_smallest_tree_within_one_standard_error_of_the_best_is_chosen(select):
    X, y = mixed_table(4, 3_000)
    table = SelectedTreePartition(select=select, min_samples_leaf=30).fit(X, y).selection_
    best = table.loc[table["mean"].idxmin()]
    near = table[table["mean"] <= best["mean"] + best["se"]]
    assert table["leaves"][table["chosen"]].tolist() == [near["leaves"].min()]
    assert near["leaves"].min() < best["leaves"]


@pytest.mark.parametrize("select", ["cv", "pruned"])
def test_four_cells_give_four_leaves_and_noise_gives_one(select):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(4_000, 3))
    cells = np.array([[0.1, 0.5], [0.9, 0.3]])[(X[:, 0] > 0).astype(int), (X[:, 1] > 0).astype(int)]
    tree = SelectedTreePartition(select=select).fit(X, rng.random(4_000) < cells)
    assert len(tree.leaves_) == 4
    noise = SelectedTreePartition(select=select).fit(X, rng.random(4_000) < 0.3)
    assert [leaf.rule for leaf in noise.leaves_] == ["all rows"]


def test_the_order_of_categories_is_learnt_without_the_held_out_rows():
    """With 40 categories of pure noise, an order that had seen all labels would look good."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"noise": rng.integers(0, 40, 4_000).astype(str)}, dtype="str")
    y = rng.integers(0, 2, 4_000)
    table = SelectedTreePartition(min_samples_leaf=50).fit(X, y).selection_
    assert table["mean"].idxmin() == 0


def test_folds_hold_equal_shares_of_both_classes():
    y = np.repeat([0, 1], [900, 35])
    folds = validation_folds(y, 5, 0)
    assert np.bincount(folds[y == 0]).tolist() == [180] * 5
    assert np.bincount(folds[y == 1]).tolist() == [7] * 5
    assert validation_folds(np.array([0, 0, 0, 1, 1]), 5, 0).max() == 1


@pytest.mark.parametrize(
    "parameters",
    [{"select": "oak"}, {"measure": "gini"}, {"folds": 1}, {"folds": 2.5}, {"max_depth": 11}],
)
def test_parameters_are_checked_in_fit(parameters):
    with pytest.raises(PartitionError, match=next(iter(parameters))):
        SelectedTreePartition(**parameters).fit(np.zeros((60, 1)), [0, 1] * 30)


def test_a_single_row_of_a_class_cannot_be_held_out():
    with pytest.raises(PartitionError, match="a single row of one class"):
        SelectedTreePartition().fit(np.zeros((60, 1)), [1] + [0] * 59)


def test_a_single_group_is_refused():
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    with pytest.raises(PartitionError, match="groups of the training rows cannot be divided"):
        SelectedTreePartition().fit(X, y, groups=np.zeros(200))


def test_rows_of_weight_zero_have_no_say_in_the_folds_of_groups():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(800, 2)), rng.integers(0, 40, 800)
    y = (X[:, 0] + rng.normal(size=800) > 0).astype(int)
    weight = (np.arange(800) >= 100).astype(float)
    found = SelectedTreePartition().fit(X, y, weight, group)
    part = SelectedTreePartition().fit(X[100:], y[100:], groups=group[100:])
    assert found.partition_ == part.partition_
    assert found.selection_["mean"].to_numpy() == pytest.approx(part.selection_["mean"].to_numpy())
