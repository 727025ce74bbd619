"""Loops over rows and cells, compiled by numba; the numpy code beside each caller is the reference.

Imported only when a kernel is called for the first time.
"""

import math
from typing import Any

import numpy as np

from hetcal.compiled import compiled


@compiled
def count_rows(
    scores: Any, y: Any, leaf: Any, position: Any, weight: Any, grid: Any, counts: Any, sums: Any
) -> tuple[float, float]:
    """Add rows to the flat arrays of a sketch; return the lowest and the highest finite score."""
    reach, per_unit, bins = grid
    rows, excluded = counts
    total, weights, squares = sums
    weighted = weight.size > 0
    low, high = np.inf, -np.inf
    for i in range(scores.size):
        p = position[leaf[i]] if 0 <= leaf[i] < position.size else -1
        if p < 0 or (weighted and not weight[i] > 0):
            continue
        s = np.float64(scores[i])
        if not math.isfinite(s):
            excluded[p * 2 + y[i]] += 1
            continue
        b = min(np.int64(math.floor(min(max(s, -reach), reach) * per_unit)) + bins // 2, bins - 1)
        key = (p * bins + b) * 2 + y[i]
        rows[key] += 1
        if weighted:
            total[key] += weight[i] * s
            weights[key] += weight[i]
            squares[key] += weight[i] ** 2
        else:
            total[key] += s
        low, high = min(low, s), max(high, s)
    return low, high


@compiled
def map_rows(scores: Any, position: Any, slope: Any, intercept: Any, mapped: Any) -> None:
    """Apply the map at each row's position; NaN where a score is not finite."""
    for i in range(scores.size):
        s, k = np.float64(scores[i]), position[i]
        mapped[i] = slope[k] * s + intercept[k] if math.isfinite(s) else np.nan


@compiled
def map_known(
    scores: Any, leaf: Any, position: Any, slope: Any, intercept: Any, mapped: Any
) -> None:
    """Apply the map of each row's leaf; NaN where it has none or the score is not finite."""
    for i in range(scores.size):
        s = np.float64(scores[i])
        k = position[leaf[i]] if 0 <= leaf[i] < position.size else -1
        mapped[i] = slope[k] * s + intercept[k] if k >= 0 and math.isfinite(s) else np.nan


@compiled
def add_newton_sums(
    scores: Any, y: Any, leaf: Any, position: Any, weight: Any, odds: Any, centre: Any, sums: Any
) -> None:
    """Add residuals, Fisher weights and their moments about the centres to sums by leaf.

    `odds` are those of label 0; where they are NaN, a row is left out.
    """
    for i in range(scores.size):
        if math.isnan(odds[i]):
            continue
        k = position[leaf[i]]
        distance, p = scores[i] - centre[k], 1.0 / (1.0 + odds[i])
        w = weight[i] if weight.size else 1.0
        residual, fisher = w * (y[i] - p), w * p * (1.0 - p)
        sums[k, 0] += residual
        sums[k, 1] += residual * distance
        for power in range(5):
            sums[k, 2 + power] += fisher
            fisher *= distance


@compiled
def replicate_sums(weight: Any, distance: Any, positive: Any, starts: Any, place: Any) -> Any:
    """Add up residuals, Fisher weights and their moments by replicate and group."""
    count = starts.size
    sums = np.zeros((5, weight.shape[0], count))
    for r in range(weight.shape[0]):
        for g in range(count):
            stop = starts[g + 1] if g + 1 < count else distance.size
            slope, height = place[0, r, g], place[1, r, g]
            a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(starts[g], stop):
                p = 1.0 / (1.0 + math.exp(-(slope * distance[i] + height)))
                residual, fisher = weight[r, i] * (positive[i] - p), weight[r, i] * p * (1.0 - p)
                a += residual
                b += residual * distance[i]
                c += fisher
                d += fisher * distance[i]
                e += fisher * distance[i] * distance[i]
            sums[0, r, g], sums[1, r, g], sums[2, r, g] = a, b, c
            sums[3, r, g], sums[4, r, g] = d, e
    return sums
