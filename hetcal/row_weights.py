"""Row weights as estimators are given them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from hetcal.arrays import Floats

LARGEST = 1e100  # squares of sums of such weights are finite, and of its inverse above 0


def row_weights(sample_weight: Any, X: Any, *, may_vanish: bool = False) -> Floats:
    """Return the weights of rows, none of them negative, or refuse them as scikit-learn does.

    All of them may be 0 if the caller has its own words for that. Only their ratios matter:
    weights so large or small that their squares are no numbers are taken in another unit, a
    power of two, which rounds nothing.
    """
    weight: Floats = _check_sample_weight(
        sample_weight,
        X,
        dtype=np.float64,
        ensure_non_negative=True,
        allow_all_zero_weights=may_vanish,
    )
    largest = float(weight.max(initial=0.0))
    if not largest or 1 / LARGEST <= largest <= LARGEST:
        return weight
    return np.ldexp(weight, -int(np.frexp(largest)[1]))
