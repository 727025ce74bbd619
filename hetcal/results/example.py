"""The example of the paper's Section 3, exactly: no rows are drawn.

Both labels are equally frequent. A network's logit f is normal with mean ±1 and deviation 2 on new
rows, and sharper on the rows it was trained on. Then a feature x of 0 or 1 comes, which equals the
label in three of four rows and is independent of f given the label. Training adds it to the logit
with the weight that suits the training rows, which is too small for new ones.

>>> [round(true_auc(Network(weight)), 4) for weight in (0.0, 1.8, 3.6, BEST_WEIGHT)]
[0.7602, 0.8302, 0.852, 0.8533]
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from hetcal.arrays import Floats

Rows = Literal["train", "truth"]

AGREES = 0.75  # share of the rows whose feature equals the label
MEAN, DEVIATION = 1.0, 2.0  # of f, times the sign of the label
SHARPER = 1.0  # deviation on train rows on the wrong side of the mean
BEST_WEIGHT = DEVIATION**2 / MEAN * math.log(AGREES / (1 - AGREES))  # 4 ln 3, for a scale of 1
LEAVES = (0, 1)
REACH = 14.0  # beyond which f has no mass
# The means, where the density of train rows has an edge, are points of it.
GRID = np.linspace(-REACH, REACH, 28 * 400 + 1)


@dataclass(frozen=True)
class Network:
    """The logit `scale * f + weight * x + bias`; by default what training converges to."""

    weight: float = 1.8
    bias: float = -0.9
    scale: float = 1.0

    def logit(self, f: Floats, leaf: int) -> Floats:
        """Return the logit of rows whose feature is `leaf`."""
        return self.scale * f + self.weight * leaf + self.bias


@dataclass(frozen=True)
class LeafFit:
    """The map σ(slope · logit + intercept) that is right in a leaf."""

    slope: float
    intercept: float


def density(f: Floats, label: int, rows: Rows) -> Floats:
    """Return the density of f among rows of a label."""
    margin = f if label else -f
    away = margin - MEAN
    normal = _bell(away, DEVIATION)
    if rows == "truth":
        return normal
    # On the outer side two thirds of the rows, on the inner one a third: the two meet at the mean.
    return np.where(away >= 0, 4 / 3 * normal, 2 / 3 * _bell(away, SHARPER))


def _bell(away: Floats, deviation: float) -> Floats:
    return np.exp(-((away / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))


def share(label: int, leaf: int) -> float:
    """Return the share of the rows of a label that are in a leaf."""
    return AGREES if label == leaf else 1 - AGREES


def leaf_densities(network: Network) -> pd.DataFrame:
    """Return the densities of the logit in both leaves, of both labels, on train rows and in truth.

    Returns
    -------
    DataFrame
        `leaf`, `label`, `rows` ("train" or "truth"), `logit`, `density`: over the rows of the
        label in both leaves, so that the two leaves of a label have an area of 1 together.
    """
    f = GRID[::48]
    parts = [
        pd.DataFrame(
            {
                "leaf": leaf,
                "label": label,
                "rows": rows,
                "logit": network.logit(f, leaf),
                "density": share(label, leaf) * density(f, label, rows) / network.scale,
            }
        )
        for rows in ("train", "truth")
        for leaf in LEAVES
        for label in (0, 1)
    ]
    return pd.concat(parts, ignore_index=True)


def true_auc(network: Network) -> float:
    """Return the AUC on new rows."""
    spread = DEVIATION * math.sqrt(2)
    return _over_leaves(lambda shift: ndtr((2 * MEAN + shift) / spread), network)


def train_auc(network: Network) -> float:
    """Return the AUC on train rows."""
    own = density(GRID, 1, "train")
    return _over_leaves(lambda shift: _integral(own * _train_survival(-GRID - shift)), network)


def areas_by_weight(network: Network) -> pd.DataFrame:
    """Return the AUC of the network with other weights: `weight`, `truth` and `train`."""
    weights = np.linspace(0, 8, 81)
    others = [replace(network, weight=each) for each in weights]
    areas = {"truth": list(map(true_auc, others)), "train": list(map(train_auc, others))}
    return pd.DataFrame({"weight": weights} | areas)


def _over_leaves(above: Callable[[float], float], network: Network) -> float:
    """Add over the leaves of a positive and of a negative row, given how far these shift f."""
    pairs = ((one, zero) for one in LEAVES for zero in LEAVES)
    return float(
        sum(
            share(1, one) * share(0, zero) * above(network.weight / network.scale * (one - zero))
            for one, zero in pairs
        )
    )


def _train_survival(margin: Floats) -> Floats:
    """Return the share of train rows whose f, times the sign of their label, is above a number."""
    away = margin - MEAN
    outer, inner = ndtr(-away / DEVIATION), ndtr(-away / SHARPER)
    return np.where(away >= 0, 4 / 3 * outer, 1 / 3 + 2 / 3 * inner)


def _integral(values: Floats) -> float:
    return float(np.trapezoid(values, GRID))


def log_loss(network: Network, rows: Rows) -> float:
    """Return the mean log-loss."""
    total = 0.0
    for leaf in LEAVES:
        for label in (0, 1):
            logit = network.logit(GRID, leaf)
            loss = np.logaddexp(0.0, -logit if label else logit)
            total += share(label, leaf) / 2 * _integral(loss * density(GRID, label, rows))
    return total


def leaf_fits(network: Network) -> tuple[LeafFit, LeafFit]:
    """Return the maps of both leaves with which probabilities are right on new rows.

    There `logit P(y = 1) = f / 2 ± ln 3`.
    """
    slope = 2 * MEAN / DEVIATION**2 / network.scale
    odds = math.log(AGREES / (1 - AGREES))
    low, high = (
        LeafFit(slope, (odds if leaf else -odds) - slope * (network.weight * leaf + network.bias))
        for leaf in LEAVES
    )
    return low, high


def calibrated(network: Network) -> Network:
    """Return the network that has these maps in its leaves: the same, whichever it was."""
    low, high = leaf_fits(network)
    slope = low.slope
    return Network(
        weight=slope * network.weight + high.intercept - low.intercept,
        bias=slope * network.bias + low.intercept,
        scale=slope * network.scale,
    )


def calibration_error(network: Network) -> float:
    """Return the root mean square error of the probabilities of new rows, the paper's CE."""
    total = 0.0
    for leaf, fit in zip(LEAVES, leaf_fits(network), strict=True):
        logit = network.logit(GRID, leaf)
        error = expit(logit) - expit(fit.slope * logit + fit.intercept)
        total += _integral(error**2 * _mass(GRID, leaf))
    return math.sqrt(total)


def estimated_error(network: Network) -> float:
    """Return the calibration error that rows of equal score show, the paper's expected error.

    Rows of both leaves that have the same score are one group, so errors in opposite directions
    cancel: this is what bins of the score estimate, and it is never larger than the true error.
    """
    ends = np.concatenate([network.logit(GRID[[0, -1]], leaf) for leaf in LEAVES])
    score = np.linspace(ends.min(), ends.max(), GRID.size)
    mass, positive = np.zeros(score.size), np.zeros(score.size)
    for leaf, fit in zip(LEAVES, leaf_fits(network), strict=True):
        f = (score - network.weight * leaf - network.bias) / network.scale
        here = _mass(f, leaf) / network.scale
        mass += here
        positive += here * expit(fit.slope * score + fit.intercept)
    rate = np.divide(positive, mass, out=np.zeros_like(mass), where=mass > 0)
    return math.sqrt(float(np.trapezoid((expit(score) - rate) ** 2 * mass, score)))


def _mass(f: Floats, leaf: int) -> Floats:
    """Return the density of f and a leaf on new rows, whatever the label."""
    parts = [share(label, leaf) / 2 * density(f, label, "truth") for label in (0, 1)]
    return parts[0] + parts[1]
