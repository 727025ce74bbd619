import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.data.splits import Split
from hetcal.metrics.metrics import auc, log_loss, mean_confidence_minus_accuracy
from hetcal.partitions.partition import Leaf
from hetcal.results.overconfidence import diagnose


def leaves(count):
    return [Leaf(i, f"x is {i}", 1, i, 0, 0.5, ()) for i in range(1, count + 1)]


def diagnosed(scores, y, leaf, split, leaves, weight=None):
    """Diagnose the rows as cells."""
    sides = (
        Cells.of_rows(scores[i], y[i], leaf[i], None if weight is None else weight[i])
        for i in (split.train, split.test)
    )
    return diagnose(*sides, leaves)


def half_train_half_test(rows):
    none = np.array([], dtype=np.int64)
    return Split(np.arange(0, rows, 2), none, none, np.arange(1, rows, 2))


# What the truth is of the score in each leaf, on test rows; train rows always fit the score.
SLOPES = np.array([np.nan, 0.5, 1.0, 2.0, 1 / 3])


@pytest.fixture(scope="module")
def four_leaves():
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 5, 160_000)
    split = half_train_half_test(leaf.size)
    scores = rng.normal(scale=1.5, size=leaf.size)
    slope = SLOPES[leaf]
    slope[split.train] = np.maximum(slope[split.train], 1)
    return scores, rng.binomial(1, expit(slope * scores)), leaf, split


@pytest.fixture(scope="module")
def diagnosis(four_leaves):
    return diagnosed(*four_leaves, leaves(4)).set_index("leaf")


def test_every_number_is_that_of_the_leafs_own_rows(four_leaves, diagnosis):
    scores, y, leaf, split = four_leaves
    for i in (0, 3):
        a, b = (rows[(leaf[rows] == i) | (i == 0)] for rows in (split.train, split.test))
        row = diagnosis.loc[i]
        assert (row["rows_train"], row["rows_test"]) == (a.size, b.size)
        assert row["auc_train"] == auc(y[a], scores[a])
        assert row["auc_test"] == auc(y[b], scores[b])
        assert row["auc_gap"] == auc(y[a], scores[a]) - auc(y[b], scores[b])
        assert row["log_loss_gap"] == log_loss(y[b], scores[b]) - log_loss(y[a], scores[a])
        assert row["confidence_gap"] == mean_confidence_minus_accuracy(y[b], scores[b])
        assert row["mean_probability"] == pytest.approx(expit(scores[b]).mean())
        assert row["positive_rate"] == pytest.approx(y[b].mean())
        fit = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[b, None], y[b])
        assert row["slope"] == pytest.approx(fit.coef_[0, 0], abs=1e-5)
        assert row["intercept"] == pytest.approx(fit.intercept_[0], abs=1e-5)


def test_sentences_say_what_was_put_in(diagnosis):
    endings = [text.split("; ")[1] for text in diagnosis["sentence"][1:]]
    assert endings == [
        "test scores should be halved",
        "test scores are about right",
        "test scores should be doubled (under-confident)",
        "test scores should be shrunk to a third",
    ]
    row = diagnosis.loc[1]
    start = f"train AUC {row['auc_train']:.2f}, test AUC {row['auc_test']:.2f}; "
    assert row["sentence"].startswith(start)


def test_leaves_are_named_and_all_rows_come_first(diagnosis):
    assert diagnosis.index.tolist() == [0, 1, 2, 3, 4]
    assert diagnosis["rule"].tolist() == ["all rows", "x is 1", "x is 2", "x is 3", "x is 4"]


def test_the_largest_loss_gap_ranks_first(diagnosis):
    # Leaf 4 is furthest from what training showed, then leaf 1; 2 and 3 keep their promise.
    assert diagnosis["rank"].tolist()[:2] == [0, 2]
    assert diagnosis.at[4, "rank"] == 1
    assert sorted(diagnosis["rank"]) == [0, 1, 2, 3, 4]
    gaps = diagnosis.loc[1:].sort_values("rank")["log_loss_gap"]
    assert gaps.is_monotonic_decreasing


def test_unit_weights_change_nothing(four_leaves, diagnosis):
    weighted = diagnosed(*four_leaves, leaves(4), np.ones(160_000)).set_index("leaf")
    numbers = diagnosis.columns.drop(["rule", "advice", "sentence", "slope_se"])
    pd.testing.assert_frame_equal(weighted[numbers], diagnosis[numbers])
    # Where one map holds for all rows, as within a leaf, both errors agree in the long run.
    within = slice(1, None)
    errors = weighted["slope_se"].to_numpy()[within]
    assert errors == pytest.approx(diagnosis["slope_se"].to_numpy()[within], rel=0.02)
    assert weighted["sentence"].tolist() == diagnosis["sentence"].tolist()


def test_the_unit_of_the_weights_does_not_matter(four_leaves):
    weight = np.random.default_rng(2).exponential(size=160_000)
    plain, thousands = (diagnosed(*four_leaves, leaves(4), unit * weight) for unit in (1.0, 1e3))
    pd.testing.assert_frame_equal(plain, thousands, rtol=1e-9)


def small_case(scores, y, leaf):
    """Rows alternate between train and test."""
    scores, y, leaf = np.array(scores, dtype=float), np.array(y), np.array(leaf)
    return diagnosed(scores, y, leaf, half_train_half_test(y.size), leaves(3)).set_index("leaf")


def test_what_is_not_defined_is_said():
    # In pairs of train, test: leaf 1 has no positive test row, leaf 2 no negative training row.
    table = small_case(
        scores=[1, -1, 0, 2, 1, 1, 2, -1],
        y=[1, 0, 0, 0, 1, 1, 1, 0],
        leaf=[1, 1, 1, 1, 2, 2, 2, 2],
    )
    assert table.at[1, "sentence"] == (
        "train AUC 1.00; test AUC is not defined: no positive test rows"
    )
    assert table.at[2, "sentence"] == (
        "train AUC is not defined: no negative training rows; test AUC 1.00; "
        "test scores separate the classes completely, so their size cannot be judged"
    )
    assert table.at[3, "sentence"] == (
        "train AUC is not defined: no training rows; test AUC is not defined: no test rows"
    )
    assert table["advice"].tolist()[1:] == [
        "test AUC is not defined: no positive test rows",
        "test scores separate the classes completely, so their size cannot be judged",
        "test AUC is not defined: no test rows",
    ]
    assert np.isnan(table.at[1, "slope"])
    assert np.isnan(table.at[3, "log_loss_gap"])


def test_a_leaf_without_rows_ranks_last():
    table = small_case([1, -1, 0, 2], [1, 0, 0, 1], [3, 3, 2, 2])
    assert table.at[1, "rank"] == 3
    assert (table.at[1, "rows_train"], table.at[1, "rows_test"]) == (0, 0)


def test_constant_scores_are_named():
    table = small_case([2, 2, 2, 2], [1, 0, 0, 1], [1, 1, 1, 1])
    expected = "train AUC 0.50, test AUC 0.50; all test scores are equal"
    assert table.at[1, "sentence"] == expected


def test_scores_of_the_right_spread_in_the_wrong_place_are_not_called_right():
    rng = np.random.default_rng(1)
    scores = rng.normal(scale=2, size=40_000)
    y = rng.binomial(1, expit(scores - 1))
    table = diagnosed(
        scores, y, np.ones(y.size, dtype=np.int64), half_train_half_test(y.size), leaves(1)
    )
    test = slice(1, None, 2)
    assert table.at[1, "sentence"].endswith(
        "test scores have about the right spread but are too high (mean probability "
        f"{expit(scores[test]).mean():.3g}, positive rate {y[test].mean():.3g})"
    )


def test_scores_of_the_wrong_spread_in_the_wrong_place_are_told_both():
    rng = np.random.default_rng(1)
    scores = rng.normal(scale=2, size=40_000)
    y = rng.binomial(1, expit(2 * scores - 3))
    table = diagnosed(
        scores, y, np.ones(y.size, dtype=np.int64), half_train_half_test(y.size), leaves(1)
    )
    assert table.at[1, "advice"] == "test scores should be doubled and lowered (by 3)"
    assert table.at[1, "confidence_gap"] > 0  # so that they must not be called under-confident


def test_rows_without_a_score_or_weight_are_left_out(four_leaves):
    scores, y, leaf, split = four_leaves
    holes, weight = scores.copy(), np.ones(y.size)
    holes[:1_000] = np.nan
    weight[1_000:2_000] = 0
    table = diagnosed(holes, y, leaf, split, leaves(4), weight)
    assert table.loc[0, ["rows_train", "rows_test"]].tolist() == [79_000, 79_000]
    kept = split.test[split.test >= 2_000]
    assert table.at[0, "auc_test"] == pytest.approx(auc(y[kept], scores[kept]), abs=1e-12)


def sketched(bins, rows=30_000):
    """Cells and rows of both roles, in two leaves."""
    rng = np.random.default_rng(5)
    leaf, scores = rng.integers(1, 3, rows), rng.normal(scale=1.5, size=rows)
    y = rng.binomial(1, expit(leaf * scores - 1))
    sides = {"train": slice(None, None, 2), "test": slice(1, None, 2)}
    parts = {role: (scores[i], y[i], leaf[i]) for role, i in sides.items()}
    cells = [sketch_rows(*each, [1, 2], Grid(16.0, bins)).cells() for each in parts.values()]
    return cells, {role: Cells.of_rows(*each) for role, each in parts.items()}


def test_cells_have_nearly_the_numbers_of_their_rows():
    cells, rows = sketched(4096)
    found = diagnose(*cells, leaves(2))
    exact = diagnose(rows["train"], rows["test"], leaves(2))
    for name in ("auc_train", "auc_test", "log_loss_test", "confidence_gap", "mean_probability"):
        assert found[name].tolist() == pytest.approx(exact[name].tolist(), abs=1e-4)
    for name in ("slope", "intercept"):
        assert found[name].tolist() == pytest.approx(exact[name].tolist(), abs=1e-4)
