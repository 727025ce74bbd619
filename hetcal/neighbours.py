"""The values of a column next to a threshold."""

import numpy as np

from hetcal import tree_kernels
from hetcal.arrays import Singles
from hetcal.binning import order_codes
from hetcal.feature_values import single_limit
from hetcal.kernels import compiled, use_compiled

FEW = 1 << 12  # rows that tell where to look


def neighbours(values: Singles, threshold: float) -> tuple[float, float]:
    """Return the largest value up to the threshold and the smallest one above it.

    Without a compiler, those of a few rows tell where to look, so that nothing is sorted.

    Examples
    --------
    >>> neighbours(np.array([3, 1, np.nan, 2], dtype=np.float32), 2.5)
    (2.0, 3.0)
    """
    limit = single_limit(threshold)
    if not use_compiled():
        below, above = _around(values[:: max(1, len(values) // FEW)], limit)
        return _around(values[(values >= below) & (values <= above)], limit)
    bits, code = np.ascontiguousarray(values).view(np.int32), order_codes(np.array([limit]))
    found = np.array(compiled(tree_kernels.around)(bits, int(code[0])), dtype=np.int32)
    # The order code of an order code gives the bits back.
    below, above = order_codes(found.view(np.float32)).view(np.float32).tolist()
    return below, above


def _around(values: Singles, limit: np.float32) -> tuple[float, float]:
    left, right = values[values <= limit], values[values > limit]
    return float(left.max(initial=-np.inf)), float(right.min(initial=np.inf))
