"""The values of a column next to thresholds."""

import numpy as np

from hetcal import tree_kernels
from hetcal.arrays import Floats, Singles
from hetcal.binning import order_codes, values_of
from hetcal.feature_values import single_limits
from hetcal.kernels import compiled, use_compiled

FEW = 1 << 12  # rows that tell where to look


def neighbours(values: Singles, thresholds: Floats) -> Floats:
    """Return the largest value up to each threshold and the smallest one above it, side by side.

    Where there is none, it is infinite. Without a compiler, those of a few rows tell where to
    look, so that nothing is sorted.

    Examples
    --------
    >>> neighbours(np.array([3, 1, np.nan, 2], dtype=np.float32), np.array([2.5, 1.5])).tolist()
    [[2.0, 3.0], [1.0, 2.0]]
    """
    limits = single_limits(thresholds)
    if not use_compiled():
        pairs = [_around_near(values, limit) for limit in limits]
        return np.array(pairs, dtype=np.float64).reshape(-1, 2)
    bits = np.ascontiguousarray(values).view(np.int32)
    found = compiled(tree_kernels.around)(bits, order_codes(limits))
    return np.column_stack([values_of(codes) for codes in found]).astype(np.float64)


def _around_near(values: Singles, limit: np.float32) -> tuple[float, float]:
    below, above = _around(values[:: max(1, len(values) // FEW)], limit)
    return _around(values[(values >= below) & (values <= above)], limit)


def _around(values: Singles, limit: np.float32) -> tuple[float, float]:
    left, right = values[values <= limit], values[values > limit]
    return float(left.max(initial=-np.inf)), float(right.min(initial=np.inf))
