"""Loops over rows and cells in the order of their scores, see `hetcal.cells.kernels`.

Imported only when a kernel is called for the first time.
"""

import math
from typing import Any

import numpy as np

from hetcal.compiled import compiled


@compiled
def separate_classes(scores: Any, positive: Any, one: Any, zero: Any) -> None:
    """Put the scores of either class into `one` and `zero`.

    Both have a spare place: every score is written to both, and stays in one of them.
    """
    i = 0
    for k in range(scores.size):
        one[i] = scores[k]
        zero[k - i] = scores[k]
        i += positive[k]


@compiled
def merge_classes(one: Any, zero: Any) -> tuple[float, float, float, float]:
    """Return AUC, average precision, balanced area and DeLong's variance of sorted classes."""
    near = _rough_area(one, zero)  # sums of squares about it lose no digits
    i, j, pairs, precision, balanced = 0, 0, 0, 0.0, 0.0
    squares_one, squares_zero = 0.0, 0.0
    per_one, per_zero = 1.0 / one.size, 1.0 / zero.size
    while i < one.size:
        value, start = one[i], j
        while j < zero.size and zero[j] < value:
            j += 1
        left = one.size - i
        squares_zero += (j - start) * (left * per_one - near) ** 2
        a, b = 1, 0  # rows of either class that are tied at this score
        while a < left and one[i + a] == value:
            a += 1
        while j + b < zero.size and zero[j + b] == value:
            b += 1
        pairs += a * (2 * j + b)
        squares_one += a * ((j + 0.5 * b) * per_zero - near) ** 2
        squares_zero += b * ((left - 0.5 * a) * per_one - near) ** 2
        precision += a * (left / (left + zero.size - j))
        true, false = (left - a) * per_one, (zero.size - j - b) * per_zero
        balanced += a * _mean_precision(true, a * per_one, false, b * per_zero)
        i, j = i + a, j + b
    squares_zero += (zero.size - j) * near**2
    area = pairs / (2.0 * one.size * zero.size)
    return (
        area,
        precision * per_one,
        balanced * per_one,
        (
            _variance(squares_one, one.size, area - near)
            + _variance(squares_zero, zero.size, area - near)
        ),
    )


@compiled
def _mean_precision(true: float, rise: float, false: float, run: float) -> float:
    """Return `hetcal.metrics.ranking.mean_precision` of one step."""
    start, length = true + false, rise + run
    if start == 0.0:
        return rise / length
    growth = length / start
    if growth < 0.01:  # nearly every step of many rows: a series is faster than a logarithm
        kept = 1.0 - growth * (
            1 / 2
            - growth * (1 / 3 - growth * (1 / 4 - growth * (1 / 5 - growth * (1 / 6 - growth / 7))))
        )
    else:
        kept = math.log1p(growth) / growth
    return kept * (true / start) + (1.0 - kept) * (rise / length)


@compiled
def _variance(squares: float, rows: int, shift: float) -> float:
    if rows < 2:
        return np.nan
    return max(squares - rows * shift**2, 0.0) / (rows - 1) / rows


@compiled
def _rough_area(one: Any, zero: Any) -> float:
    """Return the AUC of at most 200 rows of each class."""
    step_one, step_zero = one.size // 200 + 1, zero.size // 200 + 1
    pairs, count = 0.0, 0
    for i in range(0, one.size, step_one):
        for j in range(0, zero.size, step_zero):
            pairs += 1.0 if one[i] > zero[j] else 0.5 if one[i] == zero[j] else 0.0
            count += 1
    return pairs / count


@compiled
def replicate_areas(zeros: Any, ones: Any, order: Any) -> Any:
    """Return the AUC by replicate of weights by replicate and place, in the given orders."""
    found = np.empty(zeros.shape[0])
    for r in range(zeros.shape[0]):
        below, right, total = 0.0, 0.0, 0.0
        for i in order[r]:
            right += ones[r, i] * (below + 0.5 * zeros[r, i])
            below += zeros[r, i]
            total += ones[r, i]
        found[r] = right / (below * total) if below * total > 0 else np.nan
    return found


@compiled
def mass_below(leaf: Any, wanted: int, mass: Any, low: Any, high: Any) -> Any:
    """Return the mass of one leaf up to two places of each row, on average."""
    summed, found = np.empty(mass.size + 1), np.empty(low.size)
    summed[0] = 0.0
    for i in range(mass.size):
        summed[i + 1] = summed[i] + (mass[i] if leaf[i] == wanted else 0.0)
    for i in range(low.size):
        found[i] = (summed[low[i]] + summed[high[i]]) / 2
    return found
