from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_cross_fitting import ClassCandidate, ClassFolds, class_candidates
from hetcal.class_metrics import macro_lift
from hetcal.class_rows import ClassRows
from hetcal.cross_fitting import draw_folds

LEAVES = (1, 2)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def folds(request):
    rng = np.random.default_rng(0)
    logits, leaf = rng.normal(0, 2, (1_200, 3)), rng.integers(1, 3, 1_200)
    shift = np.where((leaf == 1)[:, None], [1.0, 0, 0], [0, 0, 0.8])
    y = (rng.random((1_200, 1)) > np.cumsum(softmax(logits + shift, axis=1), axis=1)).sum(axis=1)
    weight = rng.uniform(0.5, 2, 1_200) if request.param else None
    rows = ClassRows(log_softmax(logits, axis=1), y, leaf, weight)
    return ClassFolds(rows, draw_folds(y, 4, 0), LEAVES, (0, 1, 2))


def by_hand(folds, candidate, strength):
    """Log-probabilities of every row by a calibrator of the rows of the other folds."""
    logs, rows = np.empty(folds.rows.logits.shape), folds.rows
    for number in range(4):
        here = folds.fold == number
        weight = None if rows.weight is None else rows.weight[~here]
        found = ClassCalibrator(candidate.method, shrinkage=strength)
        found.fit(rows.logits[~here], rows.y[~here], rows.leaf[~here], weight, LEAVES)
        logs[here] = found.predict_logits(rows.logits[here], rows.leaf[here])
    return logs


def macro_auc(folds, logs):
    """The mean over folds and classes of scikit-learn's AUC."""
    areas = []
    for number in range(4):
        rows, p = folds.rows.of(folds.fold == number), np.exp(logs[folds.fold == number])
        areas += [roc_auc_score(rows.y == c, p[:, c], sample_weight=rows.weight) for c in range(3)]
    return np.mean(areas)


@pytest.mark.parametrize("place", [2, 5], ids=["pooled vector", "tree vector"])
def test_gain_is_the_mean_of_the_folds_differences_in_macro_auc(folds, place):
    identity, candidate = (class_candidates(3)[i] for i in (0, place))
    before, after = folds.cross_fit(identity), folds.cross_fit(candidate)
    logs = by_hand(folds, candidate, after.strength)
    expected = macro_auc(folds, logs) - macro_auc(folds, folds.rows.logits)
    assert folds.gain(before, after).auc == pytest.approx(expected, abs=1e-12)
    assert after.log_loss == pytest.approx(
        log_loss(folds.rows.y, np.exp(logs), sample_weight=folds.rows.weight), abs=1e-9
    )
    whole = macro_lift(folds.rows.y, folds.rows.logits, logs, folds.rows.weight)
    assert folds.gain(before, after).se == pytest.approx(whole.se, rel=0.15)


def test_the_strength_of_the_lowest_log_loss_is_taken(folds):
    candidate = ClassCandidate("tree vector", "", "vector", (1.0, 30.0, 3000.0))
    own = np.arange(folds.rows.y.size), folds.rows.y
    losses = {
        strength: np.average(-by_hand(folds, candidate, strength)[own], weights=folds.rows.weight)
        for strength in candidate.strengths
    }
    assert folds.cross_fit(candidate).strength == min(losses, key=losses.get)


@pytest.mark.parametrize("place", [0, 2], ids=["identity", "pooled vector"])
def test_logits_need_not_be_logarithms_of_probabilities(folds, place):
    rows, candidate = folds.rows, class_candidates(3)[place]
    shift = np.linspace(-3, 9, rows.y.size)[:, None]  # of all classes alike: no chance changes
    moved = replace(folds, rows=replace(rows, logits=rows.logits + shift), _pooled={})
    found = moved.cross_fit(candidate)
    assert found.losses == pytest.approx(folds.cross_fit(candidate).losses, abs=1e-6)
    assert found.placed == pytest.approx(folds.cross_fit(candidate).placed, abs=1e-3)


def test_a_candidate_gains_nothing_over_itself(folds):
    found = folds.cross_fit(class_candidates(3)[1])
    gain = folds.gain(found, found)
    assert (gain.auc, gain.se) == (0.0, 0.0)


def test_only_the_classes_that_count_are_ranked(folds):
    some = ClassFolds(folds.rows, folds.fold, LEAVES, (2,))
    identity, candidate = class_candidates(3)[0], class_candidates(3)[2]
    logs = by_hand(folds, candidate, np.inf)
    areas = [
        [
            roc_auc_score(rows.y == 2, values[folds.fold == k, 2], sample_weight=rows.weight)
            for k in range(4)
            for rows in [folds.rows.of(folds.fold == k)]
        ]
        for values in (np.exp(folds.rows.logits), np.exp(logs))
    ]
    gain = some.gain(some.cross_fit(identity), some.cross_fit(candidate))
    assert gain.auc == pytest.approx(np.mean(areas[1]) - np.mean(areas[0]), abs=1e-12)


def test_dirichlet_scaling_is_left_out_where_it_would_have_too_many_weights():
    assert len(class_candidates(20)) == 7
    assert [each.name for each in class_candidates(21) if each.method == "dirichlet"] == []
