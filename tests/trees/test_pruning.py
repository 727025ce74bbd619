import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hetcal.trees.label_tree import (
    GrownTree,
    Growth,
    depth_keys,
    end_nodes,
    grow_tree,
    subtree,
    weakest_links,
)
from tests.trees.growing import random_table


def scikit_learn(X, y, weight=None, **parameters):
    tree = DecisionTreeClassifier(random_state=0, **parameters)
    with np.errstate(all="ignore"):
        return tree.fit(X, y, sample_weight=weight).tree_


def equal(first, second):
    return all(
        np.allclose(getattr(first, name), getattr(second, name), equal_nan=True, rtol=1e-12)
        for name in set(first.__dataclass_fields__) - {"gaps", "beside", "sets"}
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weighted", [False, True])
def test_complexities_are_those_of_the_pruning_path_of_scikit_learn(seed, weighted):
    X, y = random_table(seed, 3_000)
    weight = np.random.default_rng(seed).uniform(0.2, 3, 3_000) if weighted else None
    grown = scikit_learn(X, y, weight, max_depth=7, min_samples_leaf=20)
    with np.errstate(all="ignore"):
        path = DecisionTreeClassifier(
            max_depth=7, min_samples_leaf=20, random_state=0
        ).cost_complexity_pruning_path(X, y, sample_weight=weight)
    tree = GrownTree.from_scikit_learn(grown)
    keys = weakest_links(tree, grown.weighted_n_node_samples if weighted else None)
    # scikit-learn lists one complexity per pruned branch, and 0 for the whole tree.
    found = np.unique(np.round(keys[np.isfinite(keys)], 12))
    listed = np.unique(np.round(path.ccp_alphas[1:], 12))
    assert found.size > 10
    assert found == pytest.approx(listed, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_pruned_tree_is_that_of_scikit_learn(seed):
    X, y = random_table(seed, 3_000)
    tree = GrownTree.from_scikit_learn(scikit_learn(X, y, max_depth=6, min_samples_leaf=20))
    keys = weakest_links(tree)
    levels = np.unique(keys[np.isfinite(keys)])
    for limit in (levels[len(levels) // 4], levels[len(levels) // 2], levels[-2]) * np.array(1.001):
        rival = scikit_learn(X, y, max_depth=6, min_samples_leaf=20, ccp_alpha=limit)
        assert equal(subtree(tree, keys > limit), GrownTree.from_scikit_learn(rival))


@pytest.mark.parametrize("depth", range(7))
def test_a_tree_cut_at_a_depth_is_the_tree_grown_to_that_depth(depth):
    X, y = random_table(3, 5_000)
    deep = grow_tree(X, y, growth=Growth(6, 30), compiled=False)
    shallow = grow_tree(X, y, growth=Growth(depth, 30), compiled=False)
    assert equal(subtree(deep, depth_keys(deep) > -depth), shallow)


def test_rows_end_where_the_smaller_tree_sends_them():
    X, y = random_table(5, 4_000)
    grown = scikit_learn(X, y, max_depth=6, min_samples_leaf=30)
    tree, leaf = GrownTree.from_scikit_learn(grown), grown.apply(X)
    keys = weakest_links(tree)
    levels = np.append(np.unique(keys[np.isfinite(keys)]), 1.0)
    ends = end_nodes(tree, keys, levels)
    for level, end in zip(levels, ends, strict=True):
        smaller = subtree(tree, keys > level)
        counts = np.bincount(end[leaf], minlength=tree.feature.size)
        assert counts[counts > 0].tolist() == smaller.rows[smaller.feature < 0].tolist()
    assert (ends[-1] == 0).all()


def test_three_leaves_by_hand():
    """Rates 0 and 1/2 of 40 rows each on the left, 1 of 20 rows on the right."""
    tree = GrownTree(
        feature=np.array([0, 0, -1, -1, -1]),
        threshold=np.array([2.0, 1.0, np.nan, np.nan, np.nan]),
        missing_left=np.zeros(5, dtype=bool),
        left=np.array([1, 2, 0, 0, 0]),
        right=np.array([4, 3, 0, 0, 0]),
        rows=np.array([100, 80, 40, 40, 20]),
        rate=np.array([0.4, 0.25, 0.0, 0.5, 1.0]),
    )
    # Costs: 0.48; 0.8 * 0.375 = 0.3; 0; 0.4 * 0.5 = 0.2; 0. The left branch gains 0.1 for one
    # leaf, the whole tree 0.28 for two; without the left branch the root gains 0.18.
    assert weakest_links(tree).tolist() == pytest.approx([0.18, 0.1, -np.inf, -np.inf, -np.inf])


def test_a_root_without_splits_has_nothing_to_prune():
    X, y = random_table(1, 100)
    tree = grow_tree(X, y, growth=Growth(0), compiled=False)
    assert weakest_links(tree).tolist() == [-np.inf]
    assert end_nodes(tree, weakest_links(tree), np.array([0.0])).tolist() == [[0]]
