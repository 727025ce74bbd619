"""Row weights as estimators are given them."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative

from hetcal.arrays import Floats

LARGEST = 1e100  # squares of sums of such weights are finite, and of its inverse above 0


def row_weights(sample_weight: Any, X: Any, *, may_vanish: bool = False) -> Floats:
    """Return the weights of rows, none of them negative, or refuse them as scikit-learn does.

    All of them may be 0 if the caller has its own words for that. Only their ratios matter:
    weights so large or small that their squares are no numbers are taken in another unit, a
    power of two, which rounds nothing.
    """
    weight = _checked(1.0 if sample_weight is None else sample_weight, len(X))
    largest = float(weight.max(initial=0.0))
    if not largest and not may_vanish:
        message = "Sample weights must contain at least one non-zero number."
        raise ValueError(message)
    if not largest or 1 / LARGEST <= largest <= LARGEST:
        return weight
    return np.ldexp(weight, -int(np.frexp(largest)[1]))


def _checked(sample_weight: Any, rows: int) -> Floats:
    weight: Floats = (
        np.full(rows, sample_weight, dtype=np.float64)
        if isinstance(sample_weight, Real)
        else check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
        )
    )
    check_non_negative(weight, "`sample_weight`")
    if weight.shape != (rows,):
        message = f"Sample weights have the shape {weight.shape}, not ({rows},): one for each row."
        raise ValueError(message)
    return weight
