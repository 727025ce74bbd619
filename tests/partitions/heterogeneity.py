"""Rows of eight true cells that differ in one respect, and what a partition gains on them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.calibrators.platt import fit_platt

# A tree cuts step by step, so every feature matters on average over the others.
SLOPES = np.array([0.3, 1.2, 0.5, 1.6, 0.1, 0.7, 0.2, 1.1])
SPREADS = np.array([0.6, 1.8, 0.8, 2.8, 0.9, 2.6, 1.2, 4.0])
INTERCEPTS = np.array([-2.6, -1.2, -1.9, -0.4, -1.7, 0.4, -0.6, 1.2])


@dataclass(frozen=True)
class Simulated:
    """Features, true cells, scores and labels."""

    X: np.ndarray
    cell: np.ndarray
    scores: np.ndarray
    y: np.ndarray


def _balance(cell, normal):
    """Label rates differ by cell; the score knows nothing of them."""
    scores = 1.5 * normal
    return scores, 0.8 * scores + INTERCEPTS[cell]


def _spread(cell, normal):
    """The score is spread out in some cells, though the true logit is not."""
    return SPREADS[cell] * normal, 1.2 * normal


def _map(cell, normal):
    """Scores are spread alike, but P(y given s) differs."""
    scores = 1.5 * normal
    return scores, SLOPES[cell] * scores


LOGITS = {"label balance": _balance, "score spread": _spread, "P(y given s)": _map}


def simulate(kind, rows, seed):
    """Draw rows of ten features, of which three make the cells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10)).astype(np.float32)
    X[:, 1] = np.floor(20 * rng.random(rows))
    X[:, 2] = np.exp(X[:, 2])
    cell = 4 * (X[:, 0] > 0.3) + 2 * (X[:, 1] >= 11) + (X[:, 2] > 0.9)
    scores, logits = LOGITS[kind](cell, rng.normal(size=rows))
    return Simulated(X, cell + 1, scores, (rng.random(rows) < expit(logits)).astype(int))


def calibrated_auc(leaf_of, calibration, test):
    """AUC on test rows once every leaf has the Platt map of its calibration rows."""
    leaf = leaf_of(calibration)
    leaves = range(1, leaf.max() + 1)
    fit = fit_platt(calibration.scores, calibration.y, leaf, leaves)
    there = leaf_of(test) - 1
    return roc_auc_score(test.y, fit.slope[there] * test.scores + fit.intercept[there])


def share_of_gain(fitted, calibration, test):
    """What a partition gains of AUC, as a share of what the true cells gain."""
    before = roc_auc_score(test.y, test.scores)
    most = calibrated_auc(lambda rows: rows.cell, calibration, test) - before
    return (calibrated_auc(lambda rows: fitted.apply(rows.X), calibration, test) - before) / most
