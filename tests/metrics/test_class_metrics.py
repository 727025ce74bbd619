import numpy as np
import pytest
from scipy.special import log_softmax, logit
from scipy.stats import ttest_ind
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from hetcal.metrics.classes import (
    class_lifts,
    class_placements,
    class_table,
    macro_lift,
    macro_lift_of,
    measure_classes,
    one_against_rest,
    top_label_curve,
)
from hetcal.metrics.delong import paired_delong, placements


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 900, p=[0.6, 0.3, 0.1])
    before = rng.normal(size=(900, 3)) + 1.2 * np.eye(3)[y]
    after = before + 0.5 * np.eye(3)[y] + 0.4 * rng.normal(size=(900, 3))
    return y, log_softmax(before, axis=1), log_softmax(after, axis=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_scikit_learns(drawn, weighted):
    y, logs, _ = drawn
    weight = np.random.default_rng(1).random(900) if weighted else None
    p = np.exp(logs)
    found = measure_classes(y, logs, weight)
    areas = [roc_auc_score(y == c, p[:, c], sample_weight=weight) for c in range(3)]
    assert found.macro_auc == pytest.approx(np.mean(areas), abs=1e-12)
    assert found.log_loss == pytest.approx(log_loss(y, p, sample_weight=weight), abs=1e-12)
    assert found.accuracy == pytest.approx(
        accuracy_score(y, p.argmax(axis=1), sample_weight=weight), abs=1e-12
    )


def test_the_top_label_error_is_the_root_mean_squared_gap_of_its_bins(drawn):
    y, logs, _ = drawn
    p = np.exp(logs).max(axis=1)
    right = np.exp(logs).argmax(axis=1) == y
    order = np.argsort(p)
    bins = np.array_split(order, 15)  # 900 rows: 60 in each
    gaps = [np.mean(p[b]) - np.mean(right[b]) for b in bins]
    assert measure_classes(y, logs).top_label_error == pytest.approx(
        np.sqrt(np.mean(np.square(gaps))), abs=1e-9
    )


def test_one_against_the_rest_is_the_logit_of_the_probability(drawn):
    _, logs, _ = drawn
    assert one_against_rest(logs, 1) == pytest.approx(logit(np.exp(logs[:, 1])))


def test_one_against_the_rest_is_exact_for_a_sure_class():
    logs = log_softmax(np.array([[80.0, 0.0, 0.0]]), axis=1)
    assert one_against_rest(logs, 0)[0] == pytest.approx(80 - np.log(2))


def test_the_top_label_curve_counts_right_top_labels(drawn):
    y, logs, _ = drawn
    curve = top_label_curve("before", y, logs)
    assert curve.count.sum() == 900
    assert np.average(curve.observed, weights=curve.count) == pytest.approx(
        np.mean(logs.argmax(axis=1) == y)
    )


def test_the_lift_of_a_class_is_that_of_the_class_against_the_rest(drawn):
    y, before, after = drawn
    lifts = class_lifts(y, before, after)
    assert lifts[2].before == pytest.approx(roc_auc_score(y == 2, before[:, 2]))
    table = class_table(("a", "b", "c"), y, lifts)
    assert table["rows"].tolist() == np.bincount(y).tolist()
    assert table["lift"].tolist() == [each.auc for each in lifts]


def test_the_macro_lift_is_the_mean_of_the_classes(drawn):
    y, before, after = drawn
    lifts = class_lifts(y, before, after)
    found = macro_lift(y, before, after)
    assert found.auc == pytest.approx(np.mean([each.auc for each in lifts]))


def test_the_error_of_the_macro_lift_is_that_of_the_bootstrap(drawn):
    y, before, after = drawn
    rng = np.random.default_rng(2)
    lifts = []
    for _ in range(400):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), np.sum(y == c)) for c in range(3)]
        )
        lifts.append(
            np.mean([each.auc for each in class_lifts(y[rows], before[rows], after[rows])])
        )
    assert macro_lift(y, before, after).se == pytest.approx(np.std(lifts), rel=0.12)


def test_a_class_of_one_row_leaves_the_macro_lift_defined(drawn):
    y, before, after = drawn
    rows = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:1]])
    found = macro_lift(y[rows], before[rows], after[rows])
    assert 0 < found.se < 0.1


def test_two_classes_have_the_macro_lift_of_one(drawn):
    y, before, after = drawn
    two = y < 2
    one, other = (log_softmax(logs[two][:, :2], axis=1) for logs in (before, after))
    found = macro_lift(y[two], one, other)
    same = paired_delong(y[two], one[:, 1] - one[:, 0], other[:, 1] - other[:, 0])
    assert found.auc == pytest.approx(same.auc)
    assert found.se == pytest.approx(same.se, rel=1e-12)


def test_the_macro_lift_has_the_interval_of_welch(drawn):
    y, before, after = drawn
    two = np.flatnonzero(y < 2)[:60]
    one, other = (log_softmax(logs[two][:, :2], axis=1) for logs in (before, after))
    found = macro_lift(y[two], one, other)
    was, now = (placements(y[two], logs[:, 1] - logs[:, 0]) for logs in (one, other))
    up, down = ((now - was)[y[two] == each] for each in (1, 0))
    welch = ttest_ind(up, found.auc - down, equal_var=False)
    expected = welch.confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], abs=1e-9)
    assert found.p == pytest.approx(welch.pvalue)


def test_one_class_with_weight_has_no_lift():
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 10))
    y = np.arange(10) % 3
    lift = macro_lift(y, logs, logs[:, ::-1], (y == 1).astype(float))
    assert np.isnan([lift.auc, lift.se, lift.low, lift.high]).all()


def test_rows_that_repeat_in_groups_make_no_lift_surer(drawn):
    y, before, after = drawn[:3]
    rows = np.repeat(np.arange(y.size), 3)
    classes = np.unique(y).tolist()
    once, thrice = (
        macro_lift_of(
            y[each],
            classes,
            class_placements(y[each], before[each], classes),
            class_placements(y[each], after[each], classes),
            group=group,
        )
        for each, group in ((np.arange(y.size), None), (rows, rows))
    )
    assert thrice.auc == pytest.approx(once.auc)
    assert thrice.se == pytest.approx(once.se, rel=0.01)
