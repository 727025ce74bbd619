"""The four ways of scoring the test rows that are compared."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_map import LeafMap
from hetcal.scores import to_logits


@dataclass(frozen=True)
class Ways:
    """The same cells with the logits of four ways.

    Parameters
    ----------
    before : Cells
        The model as it is.
    pooled : Cells
        One map for all rows.
    tree : Cells
        The tree alone: every row has the rate of its leaf.
    after : Cells
        Heterogeneous calibration.
    """

    before: Cells
    pooled: Cells
    tree: Cells
    after: Cells


def score_in_four_ways(test: Cells, calibration: Cells, calibrator: LeafCalibrator) -> Ways:
    """Score test cells; the rates of the tree alone are those of the calibration cells.

    Two of the ways stay as they are when only the maps of leaves change, and so do the cells.
    """
    return Ways(
        before=test,
        pooled=test.once(_Scoring("pooled", calibration, calibrator.pooled_, calibrator)),
        tree=test.once(_Scoring("tree", calibration, None, calibrator)),
        after=score_in("after", test, calibration, calibrator),
    )


@dataclass(frozen=True)
class _Scoring:
    """A way that depends on no map but the given one, whatever else the calibrator holds."""

    way: str
    calibration: Cells
    map: LeafMap | None
    calibrator: LeafCalibrator = field(compare=False)

    def __call__(self, test: Cells) -> Cells:
        return score_in(self.way, test, self.calibration, self.calibrator)


def score_in(way: str, test: Cells, calibration: Cells, calibrator: LeafCalibrator) -> Cells:
    """Score test cells in the way of this name."""
    maps: dict[str, Callable[[Floats, Ints], Floats]] = {
        "pooled": lambda scores, _: calibrator.pooled_.logit(scores),
        "tree": lambda _, leaf: tree_alone(calibration, leaf),
        "after": calibrator.predict_logit,
    }
    return test.mapped(maps[way]) if way in maps else test


def tree_alone(calibration: Cells, leaf: Ints) -> Floats:
    """Logit of each leaf's rate: the paper's map with slope 0.

    The rates are those of the calibration rows, as in Section 5.2; a leaf without
    calibration rows has the rate of them all. A leaf of one class counts half a row of
    the other, for no rate is certain.
    """
    inside, weight = calibration.leaf, calibration.weight
    size = 1 + max(int(leaf.max(initial=0)), int(inside.max(initial=0)))
    total = np.bincount(inside, weight, size)
    positive = np.bincount(inside, weight * calibration.y, size)
    rows = np.bincount(inside, calibration.rows, size)
    overall = positive.sum() / total.sum()
    rate = np.divide(positive, total, out=np.full(size, overall), where=total > 0)
    half = np.divide(0.5, rows, out=np.zeros(size), where=rows > 0)
    return to_logits(np.clip(rate, half, 1 - half))[leaf]
