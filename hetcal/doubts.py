"""How far numbers of some cells are off at most, and whether that is too far.

A number from cells stands while the bound of its error is below its standard error; otherwise
the rows are asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats
from hetcal.bounds import log_loss
from hetcal.cells import Cells
from hetcal.metrics import loss_of_rows
from hetcal.rank_bounds import rank_cells
from hetcal.rank_statistics import class_variance

COUNTED = "Rows are counted in fine bins of the score"


@dataclass(frozen=True)
class Doubt:
    """How far numbers of cells are off at most.

    Parameters
    ----------
    auc, log_loss, share : float
        The bounds, that of a leaf's share of the lift among them; 0 where the number is exact
        or not defined.
    wide : frozenset of str
        Which of these are not below their standard errors.
    """

    auc: float = 0.0
    log_loss: float = 0.0
    share: float = 0.0
    wide: frozenset[str] = frozenset()


def doubt(cells: Cells, bent: bool = False) -> Doubt:
    """Bound AUC and log-loss of cells; where maps are bent, the log-loss has no bound."""
    if np.array_equal(cells.low, cells.high):
        return Doubt()
    ranks, one = rank_cells(cells), cells.y == 1
    bounds = {"auc": ranks.auc.error, "log_loss": np.inf if bent else log_loss(cells).error}
    order = sum(_variance(cells.chosen(side), ranks.placed[side]) for side in (one, ~one))
    loss = _variance(cells, loss_of_rows(cells.y, cells.score))
    variances = {"auc": order, "log_loss": loss}
    # Without a standard error, as of a single row, a number is as unsure as can be.
    wide = {name for name, bound in bounds.items() if bound >= np.sqrt(variances[name])}
    auc = 0.0 if np.isnan(bounds["auc"]) else bounds["auc"]
    return Doubt(auc, bounds["log_loss"], wide=frozenset(wide))


def worst(doubts: Sequence[Doubt]) -> Doubt:
    """Return the largest bounds, and all that is too wide anywhere."""
    return Doubt(
        auc=max((each.auc for each in doubts), default=0.0),
        log_loss=max((each.log_loss for each in doubts), default=0.0),
        share=max((each.share for each in doubts), default=0.0),
        wide=frozenset().union(*(each.wide for each in doubts)),
    )


def rounded_up(value: float) -> str:
    """Write an upper bound with one digit, never below its value.

    >>> rounded_up(0.00031)
    '0.0004'
    """
    unit = 10.0 ** np.floor(np.log10(value))
    return f"{np.ceil(value / unit) * unit:.1g}"


def _variance(cells: Cells, values: Floats) -> float:
    return class_variance(values, cells.weight, cells.squares, float(cells.rows.sum()))
