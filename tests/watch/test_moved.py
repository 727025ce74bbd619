"""Tests of movement against scipy's numbers, and the stability index by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, kstwobign

from hetcal.cells.cells import Cells
from hetcal.cells.sketch import grid_for_most, sketch_rows
from hetcal.watch.moved import (
    Sample,
    homogeneity,
    movements,
    score_distance,
    share_p,
    stability_index,
)


def cells_of(scores, leaf=None, y=None, weight=None):
    size = scores.size
    return Cells.of_rows(
        scores,
        np.zeros(size, dtype=np.int8) if y is None else y,
        np.ones(size, dtype=np.int64) if leaf is None else leaf,
        weight,
    )


def largest_gap(one, other):
    places = np.sort(np.append(one, other))
    return max(abs(np.mean(one <= each) - np.mean(other <= each)) for each in places)


@pytest.mark.parametrize("digits", [1, 8])
def test_the_distance_of_scores_is_kolmogorovs_with_and_without_ties(digits):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=700).round(digits), rng.normal(0.2, 1.2, 500).round(digits)
    distance, index = score_distance(cells_of(one), cells_of(other))
    assert distance == pytest.approx(largest_gap(one, other), abs=1e-12)
    if digits == 8:
        cuts = np.sort(one)[[70 * i - 1 for i in range(1, 10)]]
        places = (np.searchsorted(cuts, each, side="left") for each in (one, other))
        old, now = (np.bincount(each, minlength=10) / each.size for each in places)
        assert index == pytest.approx(np.sum((now - old) * np.log(now / old)))


def test_a_sketch_gives_nearly_the_distance_of_its_rows():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=50_000), rng.normal(0.1, 1, 20_000)
    y = np.zeros(one.size, dtype=np.int8)
    sketch = sketch_rows(one, y, np.ones(one.size, dtype=np.int64), [1], grid_for_most(one)).cells()
    found, expected = (score_distance(each, cells_of(other)) for each in (sketch, cells_of(one)))
    assert found == pytest.approx(expected, abs=2e-3)


def test_shares_of_leaves_have_the_chi_squared_test_and_rare_leaves_are_put_together():
    counts = np.array([[300.0, 500, 200, 3, 1], [150, 320, 100, 2, 4]])
    rare = np.column_stack([counts[:, :3], counts[:, 3:].sum(axis=1)])
    expected = chi2_contingency(rare, correction=False).pvalue
    # The two rare leaves together are expected to have less than 5 new rows as well.
    assert (counts.sum(axis=1) * rare[:, 3].sum() / counts.sum()).min() < 5
    assert homogeneity(counts) == pytest.approx(expected)
    assert homogeneity(np.array([[10.0, 0], [20, 0]])) == 1


def test_a_share_is_tested_by_the_likelihood_ratio_with_half_a_row_more():
    one, other = Sample(np.array([0.1, 0.9]), 400.0), Sample(np.array([0.15, 0.85]), 300.0)
    table = np.array([[40, 360], [45, 255]]) + 0.5
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue
    assert share_p(one, other) == pytest.approx(expected)
    nothing = Sample(np.array([0.0, 1.0]), 300.0)
    assert share_p(nothing, nothing) == pytest.approx(1)
    assert stability_index(nothing, nothing) == 0


def column(missing, unknown, rows=1_000):
    found = [("plan", "category", rows, missing, unknown), ("age", "number", rows, missing, 0)]
    return pd.DataFrame(found, columns=["column", "kind", "rows", "missing", "unknown"])


def test_what_has_moved_is_named_with_its_size():
    rng = np.random.default_rng(2)
    leaf = rng.integers(1, 4, 3_000)
    reference = cells_of(rng.normal(size=3_000), leaf)
    same = cells_of(rng.normal(size=2_000), rng.integers(1, 4, 2_000))
    given = reference, same, [1, 2, 3]
    found = movements(*given, (column(10, 0), column(12, 1)))
    assert found["what"].tolist() == ["leaves", "scores", "missing", "unknown", "missing"]
    assert (found["size"] == "same").all()
    far = movements(*given, (column(10, 0), column(12, 300))).set_index("what")
    assert far.loc["unknown", ["size", "reference", "new"]].tolist() == ["far", 0, 0.3]
    assert (movements(*given, (None, column(0, 900)))["size"] == "same").all()
    higher = cells_of(rng.normal(0.5, 1, 2_000), np.where(same.leaf == 3, 1, same.leaf))
    found = movements(reference, higher, [1, 2, 3], (None, column(0, 0)), (reference, higher))
    assert found.set_index("what")["size"].to_dict() == {
        **{"leaves": "far", "scores": "far", "labels": "same"}
    }


def test_p_values_of_scores_are_kolmogorovs_and_corrected_by_holm():
    rng = np.random.default_rng(3)
    reference, new = cells_of(rng.normal(size=900)), cells_of(rng.normal(0.15, 1, 900))
    found = movements(reference, new, [1], (None, column(0, 0))).set_index("what")["p"]
    gap = largest_gap(reference.score, new.score)
    expected = kstwobign.sf(gap * np.sqrt(900 * 900 / 1_800))
    assert found["scores"] == pytest.approx(2 * expected)
    assert found["leaves"] == 1
