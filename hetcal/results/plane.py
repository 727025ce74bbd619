"""The plane between network and tree: where the map of each leaf lies, and what lies between."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.platt import fit_platt_cells
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.metrics.metrics import auc
from hetcal.results.applied import MOST_ROWS
from hetcal.results.evaluation import Comparison, leaf_counts, tree_alone

REACH = math.sqrt(-2 * math.log(0.05))  # standard errors to the edge of a 95 % region of a pair
STEP = 0.05


def leaf_plane(calibration: Cells, leaves: Sequence[int]) -> pd.DataFrame:
    """Fit a Platt map on the calibration rows of each leaf alone, with its covariance.

    Returns
    -------
    DataFrame
        One row per leaf: `leaf`, `rows`, `slope` and `intercept`, their variances
        `slope_variance`, `intercept_variance` and `covariance` (as the standard errors of
        `fit_platt`; all NaN where there is no single best map), and `rate`, the logit of the rate
        of positive rows: the intercept of the map with slope 0.
    """
    fit = fit_platt_cells(calibration, leaves)
    place = leaf_positions(calibration.leaf, leaves)
    inside = calibration.chosen(place >= 0)
    place = place[place >= 0]
    score, weight = inside.score, inside.weight
    probability = expit(fit.slope[place] * score + fit.intercept[place])
    information = _moments(place, score, weight * probability * (1 - probability), len(leaves))
    covariance = _inverse(information)
    if not calibration.counted:
        residual = inside.squares * (inside.y - probability) ** 2
        covariance = covariance @ _moments(place, score, residual, len(leaves)) @ covariance
    return pd.DataFrame(
        {
            "leaf": list(leaves),
            "rows": leaf_counts(calibration, leaves)[0],
            "slope": fit.slope,
            "intercept": fit.intercept,
            "slope_variance": covariance[:, 0, 0],
            "intercept_variance": covariance[:, 1, 1],
            "covariance": covariance[:, 0, 1],
            "rate": tree_alone(calibration, np.asarray(leaves, dtype=np.int64)),
        }
    )


def _moments(place: Ints, score: Floats, weight: Floats, count: int) -> Floats:
    """Return Σ w x x' of each leaf, where x is (score, 1)."""
    sums = [np.bincount(place, weight * score**power, count) for power in (2, 1, 0)]
    return np.array([[sums[0], sums[1]], [sums[1], sums[2]]]).transpose(2, 0, 1)


def _inverse(matrices: Floats) -> Floats:
    """Invert matrices of two rows; NaN where that cannot be done."""
    (a, b), (_, d) = matrices.transpose(1, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.array([[d, -b], [-b, a]]) / (a * d - b**2)
    return inverse.transpose(2, 0, 1)


def ellipse(leaf: "pd.Series[float]", points: int) -> tuple[Floats, Floats]:
    """Return slopes and intercepts on the edge of the 95 % region of a row of `leaf_plane`."""
    turn = np.linspace(0, 2 * np.pi, points)
    across, up = math.sqrt(leaf["slope_variance"]), math.sqrt(leaf["intercept_variance"])
    together = leaf["covariance"] / (across * up)
    apart = math.sqrt(max(1 - together**2, 0.0))
    slope = leaf["slope"] + REACH * across * np.cos(turn)
    height = together * np.cos(turn) + apart * np.sin(turn)
    return slope, leaf["intercept"] + REACH * up * height


def network_to_tree(comparison: Comparison, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the AUC on the way from the network as it is to the rate of the leaf only.

    A logit on the way is (1 - share) · score + share · logit of the leaf's rate, which is the map
    of slope 1 - share and intercept share · rate. Of very many cells some are drawn, evenly.

    Returns
    -------
    DataFrame
        `share` of the tree, from 0 to 1; `auc`; `rows`, on which it was computed.
    """
    before, tree = comparison.before, comparison.tree
    if before.y.size > most:
        drawn = (np.arange(most) * (before.y.size / most)).astype(np.int64)
        before, tree = before.chosen(drawn), tree.chosen(drawn)
    shares = np.linspace(0, 1, round(1 / STEP) + 1)
    areas = [
        auc(before.y, (1 - each) * before.centre + each * tree.centre, before.given_weight)
        for each in shares
    ]
    return pd.DataFrame({"share": shares, "auc": areas, "rows": int(before.rows.sum())})
