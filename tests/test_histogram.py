import numpy as np
import pytest
from scipy.special import expit

from hetcal.cells import Cells
from hetcal.grid import Grid
from hetcal.histogram import fit_histogram
from hetcal.metrics import equal_mass_bins
from hetcal.sketch import sketch_rows
from tests.test_isotonic import LEAVES, sample


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_bin_has_the_rate_of_its_rows_and_bins_hold_equal_weight(decimals, weighted):
    scores, y, leaf, weight = sample(decimals=decimals)
    weight = weight if weighted else np.ones(y.size)
    maps = fit_histogram(Cells.of_rows(scores, y, leaf, weight), LEAVES, bins=10)
    for number, each in zip(LEAVES[:2], maps[:2], strict=True):
        inside = leaf == number
        s, labels, w = scores[inside], y[inside], weight[inside]
        bin_of = equal_mass_bins(s, 10, w)
        rate = np.array([np.average(labels[bin_of == b], weights=w[bin_of == b]) for b in bin_of])
        rows = np.array([w[bin_of == b].sum() for b in bin_of]) * w.sum() / np.sum(w**2)
        assert expit(each.logit(s)) == pytest.approx(rate.clip(0.5 / rows, 1 - 0.5 / rows))
    assert maps[2] is None


def test_a_bin_of_one_class_counts_half_a_row_of_the_other():
    scores, y = np.arange(20.0), np.repeat([0, 1], 10)
    (found,) = fit_histogram(Cells.of_rows(scores, y, np.ones(20, int)), [1], bins=2)
    assert found.edges == (10.0,)
    assert expit(found.logits) == pytest.approx([0.05, 0.95])


def test_a_map_of_a_sketch_gives_every_row_the_rate_of_its_bin():
    scores, y, leaf, _ = sample()
    (found,) = fit_histogram(sketch_rows(scores, y, leaf, LEAVES, Grid()).cells(), [2], bins=5)
    p, labels = found.logit(scores[leaf == 2]), y[leaf == 2]
    assert len(found.logits) == 5
    for each in found.logits:
        assert labels[p == each].mean() == pytest.approx(expit(each))


def test_a_map_does_not_depend_on_the_order_of_weighted_rows_with_equal_scores():
    scores, y = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0, 1, 1, 0])
    for weight in ([1.0, 4.0, 1.0, 4.0], [1.0, 1.0, 4.0, 4.0]):
        cells = Cells.of_rows(scores, y, np.ones(4, int), np.array(weight))
        (found,) = fit_histogram(cells, [1], bins=2)
        assert found.edges == (2.0,)


def test_rows_too_light_to_be_counted_next_to_heavy_ones_have_a_rate():
    scores, weight = np.arange(6.0), np.array([1e20, 1e20, 1e20, 1.0, 1.0, 1e20])
    (found,) = fit_histogram(
        Cells.of_rows(scores, np.array([0, 1] * 3), np.ones(6, int), weight), [1]
    )
    assert np.isfinite(found.logits).all()
    assert expit(found.logit(np.array([3.0, 4.0]))) == pytest.approx([0.5, 0.5])  # worth no row
