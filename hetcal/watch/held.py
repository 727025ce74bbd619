"""Whether the maps still hold: labels are as far from the probabilities as in the test rows.

The maps were fitted on a sample, and so are a little off for ever. A test of newer rows alone finds
that, the sooner the more rows there are. So newer rows are compared with held-out rows of the run:
of both the same maps are a little off, unless something has changed.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from hetcal.arrays import Floats, Groups
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.compiled import sigmoid
from hetcal.metrics.calibration import LEAST
from hetcal.metrics.delong import Lift
from hetcal.metrics.metrics import rows_of_leaves
from hetcal.results.evaluation import lift_of_cells

Matrix = NDArray[np.float64]


def leaf_p_values(
    reference: Cells, new: Cells, leaves: list[int], group: Groups | None = None
) -> Floats:
    """Test in every leaf whether newer rows have the labels that those of the run would have.

    In each leaf one map, a line, is fitted to both samples together. The score test asks whether
    the newer rows alone would move its height; it needs no map of either sample. That of all rows
    adds up by how much the newer rows of each leaf would move height and slope, so that rows that
    go from leaf to leaf do not count.

    Parameters
    ----------
    reference, new : Cells
        With logits of the same kind: calibrated ones, or scores, of which each leaf then has a map.
    leaves : list of int
        Ids of all leaves.
    group : array, optional
        Group of each new row. The rows of the reference are taken to depend on each other as much.

    Returns
    -------
    array
        P-values of all rows together, then of each leaf; not corrected, and NaN where fewer than
        about 5 rows of a class are expected in either sample.
    """
    maps = LeafCalibrator(min_rows=0).fit_cells(Cells.joined([reference, new]), leaves)
    old, young = (maps.predict_logit(each.score, each.leaf) for each in (reference, new))
    inside, here = (rows_of_leaves(each.leaf, leaves) for each in (reference, new))
    found, moved, variance = [], np.zeros(2), np.zeros((2, 2))
    for before, now in zip(inside, here, strict=True):
        one, other = (reference.chosen(before), old[before]), (new.chosen(now), young[now])
        tested = _score_test(one, other, None if group is None else group[now])
        if tested is None:
            found.append(math.nan)
            continue
        pull, spread = tested
        found.append(_p_value(pull[:1], spread[:1, :1]))
        moved, variance = moved + pull, variance + spread
    return np.array([_p_value(moved, variance), *found])


def _score_test(
    reference: tuple[Cells, Floats], new: tuple[Cells, Floats], group: Groups | None
) -> tuple[Floats, Matrix] | None:
    """Return by how much the new rows pull a common map, and the variance of that.

    Each side is cells, and their logits by that map. None where there are too few rows.
    """
    p = [sigmoid(np.asarray(logit)) for _, logit in (reference, new)]
    vary = [each * (1 - each) for each in p]
    cells = reference[0], new[0]
    information = [float(np.sum(c.weight * v)) for c, v in zip(cells, vary, strict=True)]
    squared = [float(np.sum(c.squares * v)) for c, v in zip(cells, vary, strict=True)]
    if any(not s or i**2 / s < LEAST for i, s in zip(information, squared, strict=True)):
        return None
    centre = sum(float(np.sum(c.weight * v * c.score)) for c, v in zip(cells, vary, strict=True))
    centre /= sum(information)
    x = [np.stack([np.ones(c.score.size), c.score - centre]) for c in cells]
    weighed, varied = (
        [(c_x * w * v) @ c_x.T for c_x, w, v in zip(x, by, vary, strict=True)]
        for by in ([c.weight for c in cells], [c.squares for c in cells])
    )
    share = weighed[0] @ np.linalg.pinv(weighed[0] + weighed[1])
    pull = x[1] * (cells[1].weight * (cells[1].y - p[1]))
    effect = _design_effect(pull, varied[1], group)
    rest = np.eye(2) - share
    spread = effect * (share @ varied[1] @ share.T + rest @ varied[0] @ rest.T)
    return pull.sum(axis=1), spread


def _design_effect(pull: Floats, varied: Matrix, group: Groups | None) -> float:
    """Return how much more sums over whole groups vary than those over single rows; at least 1."""
    if group is None:
        return 1.0
    codes = pd.factorize(group)[0]
    sums = np.stack([np.bincount(codes, each) for each in pull])
    return max(1.0, float(np.sum(sums[0] ** 2) / varied[0, 0]))


def _p_value(pull: Floats, spread: Matrix) -> float:
    """Return the chi-squared p-value of sums with this variance; NaN where it is 0."""
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    distance = pull @ np.linalg.pinv(spread, hermitian=True) @ pull
    return float(chdtrc(freedom, distance)) if freedom else math.nan


def leaf_rates(reference: Cells, new: Cells, leaves: list[int]) -> pd.DataFrame:
    """Compare labels with probabilities, in all rows (leaf 0) and in each leaf.

    Columns: `leaf`, `rows` (new), `rate` (of positive labels) and `expected` (mean probability),
    then the same two of the reference, `rate_reference` and `expected_reference`. The cells have
    calibrated logits.
    """
    found = []
    for leaf in (0, *leaves):
        old, now = (each.inside(leaf) if leaf else each for each in (reference, new))
        found.append(
            {
                "leaf": leaf,
                "rows": int(now.rows.sum()),
                "rate": _mean(now, now.y),
                "expected": _mean(now, sigmoid(now.score)),
                "rate_reference": _mean(old, old.y),
                "expected_reference": _mean(old, sigmoid(old.score)),
            }
        )
    return pd.DataFrame(found)


def _mean(cells: Cells, values: NDArray[Any]) -> float:
    return float(np.average(values, weights=cells.weight)) if cells.rows.size else math.nan


def auc_fall(reference: Cells, new: Cells, group: Groups | None = None) -> tuple[Lift, Lift, float]:
    """Compare the AUC of the model's own scores on test rows and on newer rows.

    Returns
    -------
    tuple
        Both AUCs against 0.5, and the one-sided p-value of one that has not fallen.
    """
    both = _above_chance(reference, None), _above_chance(new, group)
    error = math.hypot(both[0].se, both[1].se)
    p = float(ndtr((both[1].auc - both[0].auc) / error)) if error > 0 else math.nan
    return *both, p


def _above_chance(cells: Cells, group: Groups | None) -> Lift:
    zero = np.zeros(cells.score.size)
    return lift_of_cells(replace(cells, score=zero, low=zero, high=zero), cells, group)
