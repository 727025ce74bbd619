import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t, ttest_rel
from sklearn.metrics import brier_score_loss, log_loss

from hetcal.cells.cells import Cells
from hetcal.cells.sketch import grid_for_most, sketch_rows
from hetcal.metrics.metrics import brier_change, loss_change


def sample(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    before = 2 * rng.normal(size=rows)
    y = (rng.random(rows) < expit(0.6 * before)).astype(int)
    return y, before, 0.7 * before + 0.1, rng.exponential(size=rows)


def cells(y, scores, weight=None):
    return Cells.of_rows(scores, y, np.zeros(y.size, dtype=int), weight)


def losses(y, scores):
    p = expit(scores)
    return -np.log(np.where(y == 1, p, 1 - p))


@pytest.mark.parametrize(
    ("change", "of_rows", "measure"),
    [
        (loss_change, losses, log_loss),
        (brier_change, lambda y, scores: (y - expit(scores)) ** 2, brier_score_loss),
    ],
)
def test_the_change_of_a_loss_is_that_of_a_paired_t_test(change, of_rows, measure):
    y, before, after, _ = sample()
    found = change(cells(y, before), cells(y, after))
    test = ttest_rel(of_rows(y, before), of_rows(y, after))
    ends = test.confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([ends.low, ends.high], abs=1e-12)
    assert found.fall / found.se == pytest.approx(test.statistic)
    assert found.fall == pytest.approx(measure(y, expit(before)) - measure(y, expit(after)))


def test_the_change_with_weights_is_that_of_the_weighted_losses():
    y, before, after, weight = sample()
    found = loss_change(cells(y, before, weight), cells(y, after, weight))
    fall = losses(y, before) - losses(y, after)
    mean = np.average(fall, weights=weight)
    variance = 80 / 79 * np.sum(weight**2 * (fall - mean) ** 2) / weight.sum() ** 2
    kish = weight.sum() ** 2 / np.sum(weight**2)
    expected = t.interval(0.95, kish - 1, mean, np.sqrt(variance))
    assert found.se == pytest.approx(np.sqrt(variance))
    assert [found.low, found.high] == pytest.approx(expected)


def test_groups_of_equal_size_have_the_t_test_of_their_means():
    y, before, after, _ = sample()
    group = np.arange(80) % 16
    found = loss_change(cells(y, before), cells(y, after), group)
    fall = losses(y, before) - losses(y, after)
    means = fall.reshape(5, 16).mean(axis=0)
    se = np.std(means, ddof=1) / 4
    assert found.se == pytest.approx(se)
    assert [found.low, found.high] == pytest.approx(t.interval(0.95, 15, fall.mean(), se))


def test_a_single_group_or_row_leaves_the_error_open():
    y, before, after, _ = sample()
    alone = loss_change(cells(y, before), cells(y, after), np.zeros(80))
    first = loss_change(cells(y[:1], before[:1]), cells(y[:1], after[:1]))
    for found in (alone, first):
        assert np.isfinite(found.fall)
        assert np.isnan([found.se, found.low, found.high]).all()


def test_no_rows_have_no_change_of_the_loss():
    y, before, after, _ = sample()
    found = loss_change(cells(y[:0], before[:0]), cells(y[:0], after[:0]))
    assert np.isnan([found.fall, found.se, found.low, found.high]).all()


def test_a_sketch_has_nearly_the_change_of_its_rows():
    y, before, _, _ = sample(20_000)
    leaf = np.ones(y.size, dtype=int)
    sketched = sketch_rows(before, y.astype(np.int8), leaf, [1], grid_for_most(before)).cells()
    assert sketched.sketched

    def change(given):
        return loss_change(given, given.mapped(lambda scores, _: 0.7 * scores + 0.1))

    exact, found = change(cells(y, before)), change(sketched)
    assert [found.fall, found.low, found.high] == pytest.approx(
        [exact.fall, exact.low, exact.high], abs=0.01 * exact.se
    )
    assert found.se == pytest.approx(exact.se, rel=1e-3)
