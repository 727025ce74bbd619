"""The paper's PR-AUC: the area under its precision, TPR / (TPR + FPR), against the TPR."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats

AT_ONCE = 2**13  # steps, so that their numbers stay close to the processor


def area_of_steps(
    true: NDArray[Any], rise: NDArray[Any], false: NDArray[Any], run: NDArray[Any], negative: float
) -> float:
    """Return the PR-AUC of a ROC curve of straight steps.

    Parameters
    ----------
    true, false : array
        Weight of the positive and of the negative rows that are passed before each step.
    rise, run : array
        That of the rows passed in the step; `rise` is above 0 and adds up to all positive rows.
    negative : float
        Weight of all negative rows.
    """
    positive, area = float(rise.sum()), 0.0
    for start in range(0, rise.size, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        ups, downs = rise[part] / positive, run[part] / negative
        means = mean_precision(true[part] / positive, ups, false[part] / negative, downs)
        area += float(np.dot(ups, means))
    return area


def mean_precision(true: Floats, rise: Floats, false: Floats, run: Floats) -> Floats:
    """Average TPR / (TPR + FPR) over the TPR along straight steps of the ROC curve.

    Along a step TPR and FPR are linear in u = TPR + FPR, so the mean is elementary: it lies
    between the precision where the step starts and that of the step itself.

    Parameters
    ----------
    true, false : array
        TPR and FPR where each step starts.
    rise, run : array
        By how much they grow; `rise` is above 0.
    """
    start, length = true + false, rise + run
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = length / start
        kept = np.log1p(growth) / growth
        mean = kept * (true / start) + (1 - kept) * (rise / length)
    nothing = np.flatnonzero(start == 0)
    mean[nothing] = rise[nothing] / length[nothing]
    return mean
