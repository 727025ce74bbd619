import itertools
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from hetcal.trees import bins as binning
from hetcal.trees.label_tree import GrownTree, Growth, grow_tree
from tests.shared_data import needs_data, shared_data
from tests.trees.growing import count_ties, random_table


def scikit_learn(X, y, growth, weight=None):
    tree = DecisionTreeClassifier(
        max_depth=growth.max_depth, min_samples_leaf=growth.min_samples_leaf, random_state=0
    )
    with np.errstate(all="ignore"):
        tree.fit(X, y, sample_weight=weight)
    grown = GrownTree.from_scikit_learn(tree.tree_)
    if tree.n_classes_ > 2:
        mass = np.bincount(y, weight)
        grown = replace(grown, rate=tree.tree_.value[:, 0, mass.argmax()])
    return replace(grown, beside=beside(tree, X))


def beside(tree, X):
    """The values next to the threshold of every node, from scikit-learn's own paths."""
    paths, grown = tree.decision_path(X).toarray().astype(bool), tree.tree_
    found = np.full((grown.node_count, 2), np.nan)
    for node in np.flatnonzero(grown.feature >= 0):
        values = X[paths[:, node], grown.feature[node]]
        left, right = values <= grown.threshold[node], values > grown.threshold[node]
        found[node] = values[left].max(initial=-np.inf), values[right].min(initial=np.inf)
    return found


def each_way():
    """With and without machine code, where numba is installed."""
    return (False, True) if find_spec("numba") else (False,)


def equal(first, second):
    names = set(first.__dataclass_fields__) - {"gaps", "sets"}
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True)
        for name in names
    )


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_tree_of_scikit_learn_but_for_ties(seed):
    rng = np.random.default_rng([seed, 1])
    rows = int(10 ** rng.uniform(1.7, 4.4))
    X, y = random_table(seed, rows)
    growth = Growth(int(rng.integers(1, 7)), int(rng.choice([1, 5, 25, 1 + rows // 50])))
    theirs = scikit_learn(X, y, growth)
    ours = grow_tree(X, y, growth=growth, compiled=False)
    assert count_ties(ours, theirs, X, y) < 0.25 * len(ours.feature)


@pytest.mark.parametrize("classes", [3, 4, 7, 100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_any_number_of_classes_gives_the_tree_of_scikit_learn(classes, weighted, seed):
    rng = np.random.default_rng([seed, classes])
    rows = 6_000 if classes < 20 else 2_000
    X, y = random_table(seed, rows, classes=classes)
    weight = rng.uniform(0.2, 3, rows) if weighted else None
    growth = Growth(int(rng.integers(2, 6)), rows // 60)
    theirs = scikit_learn(X, y, growth, weight)
    ours = grow_tree(X, y, weight, growth=growth, compiled=False)
    assert len(ours.feature) > 3
    assert count_ties(ours, theirs, X, y, weight) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_three_classes_in_large_leaves_do_not_tie_so_that_everything_is_equal(seed):
    X, y = random_table(seed, 40_000, classes=3)
    theirs = scikit_learn(X, y, Growth(4, 1000))
    assert len(theirs.feature) > 10
    for compiled in each_way():
        assert equal(grow_tree(X, y, growth=Growth(4, 1000), compiled=compiled), theirs)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tree_knows_which_columns_have_gaps(compiled):
    if compiled:
        pytest.importorskip("numba")
    X, y = random_table(3, 2_000)
    grown = grow_tree(X, y, growth=Growth(2), compiled=compiled)
    assert np.array_equal(grown.gaps, np.isnan(X).any(axis=0))
    assert 0 < grown.gaps.sum() < 8


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("compiled", [False, True])
def test_infinite_values_count_as_the_largest(seed, compiled):
    if compiled:
        pytest.importorskip("numba")
    rng = np.random.default_rng([seed, 3])
    rows, largest = int(10 ** rng.uniform(1.7, 4.0)), np.finfo(np.float32).max
    X, y = random_table(seed, rows)
    outer = rng.choice([-np.inf, -largest, largest, np.inf], X.shape).astype(np.float32)
    X = np.where(rng.random(X.shape) < rng.choice([0.01, 0.2, 0.7]), outer, X)
    growth = Growth(4, 1 + rows // 100)
    bounded = grow_tree(np.clip(X, -largest, largest), y, growth=growth, compiled=compiled)
    assert equal(grow_tree(X, y, growth=growth, compiled=compiled), bounded)
    assert len(bounded.feature) > 3


@pytest.mark.parametrize("seed", range(4))
def test_large_leaves_do_not_tie_so_that_everything_is_equal(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50_000, 6)).astype(np.float32)
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] = np.round(3 * X[:, 2])
    X[rng.random(50_000) < 0.1, 3] = np.nan
    y = rng.random(50_000) < 0.1 + 0.1 * (X[:, 0] > 0.7) + 0.1 * (X[:, 1] > 2)
    theirs = scikit_learn(X, y, Growth(4, 1000))
    assert len(theirs.feature) > 20
    for compiled in each_way():
        assert equal(grow_tree(X, y, growth=Growth(4, 1000), compiled=compiled), theirs)


@pytest.mark.parametrize("seed", range(10))
def test_weights_move_the_cuts_but_do_not_count_as_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = random_table(seed, 3_000)
    weight = rng.uniform(0.2, 3, 3_000)
    theirs = scikit_learn(X, y, Growth(4, 100), weight)
    ours = grow_tree(X, y, weight, growth=Growth(4, 100), compiled=False)
    assert count_ties(ours, theirs, X, y, weight) <= 1
    assert ours.rows[ours.feature < 0].min() >= 100


@pytest.mark.parametrize(
    ("seed", "classes"), [*((seed, 2) for seed in range(12)), (0, 3), (1, 3), (2, 5), (3, 128)]
)
def test_compiled_passes_give_the_same_bits(seed, classes):
    pytest.importorskip("numba")
    rng = np.random.default_rng([seed, 2])
    X, y = random_table(seed, int(10 ** rng.uniform(1.7, 4.4)), classes=classes)
    weight = rng.uniform(0.2, 3, len(y)) if seed % 2 else None
    reference = grow_tree(X, y, weight, growth=Growth(5, 3), compiled=False)
    tree = grow_tree(X, y, weight, growth=Growth(5, 3), compiled=True)
    assert equal(tree, reference)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_number_of_bins_does_not_change_the_tree(compiled, monkeypatch):
    if compiled:
        pytest.importorskip("numba")
    X, y = random_table(5, 20_000)
    usual = grow_tree(X, y, growth=Growth(5, 20), compiled=compiled)
    for sample, parts, cells in ((100, 256, 1 << 10), (20_000, 1 << 14, 1 << 18)):
        monkeypatch.setattr(binning, "SAMPLE", sample)
        monkeypatch.setattr(binning, "PARTS", parts)
        monkeypatch.setattr(binning, "CELLS", cells)
        assert equal(grow_tree(X, y, growth=Growth(5, 20), compiled=compiled), usual)


def best_by_hand(X, y, fewest):
    """Try every threshold of every column, missing values on either side; in plain Python."""
    best = (-np.inf,)
    for j, missing_left in itertools.product(range(X.shape[1]), (False, True)):
        known = sorted({value for value in X[:, j].tolist() if value == value})
        limits = [(a + b) / 2 for a, b in itertools.pairwise(known)] + [np.inf]
        for limit in limits[: len(limits) - missing_left]:
            left = [missing_left if v != v else v <= limit for v in X[:, j].tolist()]
            sides = [[t for t, go in zip(y, left, strict=True) if go == side] for side in (0, 1)]
            if min(map(len, sides)) >= fewest:
                score = sum((sum(s) ** 2 + (len(s) - sum(s)) ** 2) / len(s) for s in sides)
                best = max(best, (score, j, limit, missing_left), key=lambda each: each[0])
    return best


@pytest.mark.parametrize("seed", range(20))
def test_finds_the_cut_that_trying_all_of_them_finds(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, size=(60, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = rng.integers(0, 2, 60)
    score, *_ = best_by_hand(X, y.tolist(), 7)
    tree = grow_tree(X, y, growth=Growth(1, 7), compiled=False)
    values = X[:, tree.feature[0]]
    left = np.where(np.isnan(values), tree.missing_left[0], values <= tree.threshold[0])
    found = sum((y[s].sum() ** 2 + (1 - y[s]).sum() ** 2) / s.sum() for s in (left, ~left))
    assert found == pytest.approx(score, rel=1e-12)


def test_of_equal_cuts_the_first_column_wins():
    x = np.arange(40, dtype=np.float32)
    tree = grow_tree(np.column_stack([x // 40, x, -x]), x >= 20, growth=Growth(1))
    assert (tree.feature[0], tree.threshold[0]) == (1, 19.5)


@pytest.mark.parametrize(("gap", "nodes"), [(0.9e-7, 1), (1.1e-7, 3)])
def test_values_closer_than_scikit_learn_allows_are_not_parted(gap, nodes):
    X = np.repeat(np.float32([0, gap]), 10)[:, None]
    tree = grow_tree(X, np.repeat([0, 1], 10), growth=Growth(1))
    assert len(tree.feature) == nodes


def test_close_values_at_the_best_cut_send_the_search_elsewhere():
    rng = np.random.default_rng(0)
    value = np.sort(rng.normal(size=4_000)).astype(np.float32)
    value[2_000:2_100] = value[1_999] + np.float32(5e-8)  # where the label changes
    y = (np.arange(4_000) >= 2_000) ^ (rng.random(4_000) < 0.02)
    X = np.sort(value)[:, None]
    theirs = scikit_learn(X, y, Growth(2, 5))
    ours = grow_tree(X, y, growth=Growth(2, 5), compiled=False)
    assert equal(ours, theirs)


def test_rows_of_one_class_are_not_cut():
    X = np.arange(30, dtype=np.float32)[:, None]
    tree = grow_tree(X, np.ones(30, dtype=int), growth=Growth(3))
    assert tree.feature.tolist() == [-1]
    assert tree.rate.tolist() == [1]


def test_a_column_without_a_value_is_no_obstacle():
    X = np.array([[np.nan, 1], [np.nan, 2]], dtype=np.float32)
    tree = grow_tree(X, np.array([0, 1]), growth=Growth(3))
    assert tree.threshold[0] == 1.5
    assert tree.rows.tolist() == [2, 1, 1]


FILES = {
    "bank_marketing": ("y", ";"),
    "census_income": ("income", ","),
    "credit_default": ("default.payment.next.month", ","),
    "diabetes_130": ("readmitted", ","),
    "higgs": ("label", ","),
}


@needs_data
@pytest.mark.parametrize("name", FILES)
def test_equals_scikit_learn_on_the_numbers_of_real_tables(name):
    label, delimiter = FILES[name]
    frame = pd.read_csv(shared_data() / "data" / f"{name}.csv.gz", sep=delimiter)
    classes = frame.pop(label)
    y = (classes != classes.mode()[0]).to_numpy().astype(int)
    X = np.asfortranarray(frame.select_dtypes("number"), dtype=np.float32)
    for growth in (Growth(4, 1000), Growth(6, 50)):
        theirs = scikit_learn(X, y, growth)
        ours = grow_tree(X, y, growth=growth)
        assert count_ties(ours, theirs, X, y) <= 1
