"""How far numbers of some cells are off at most, and whether that is too far.

A number from cells stands while the bound of its error is below its standard error; otherwise
the rows are asked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hetcal.arrays import Floats
from hetcal.bounds import confidence_gap, log_loss, mean_probability
from hetcal.cells import Cells
from hetcal.metrics import loss_of_rows, rightly_predicted
from hetcal.rank_bounds import rank_cells
from hetcal.rank_statistics import class_variance
from hetcal.sigmoid import sigmoid

COUNTED = "Rows are counted in fine bins of the score"


@dataclass(frozen=True)
class Doubt:
    """How far numbers of cells are off at most.

    Parameters
    ----------
    bounds : mapping of str to float
        The bounds by name; what is exact or not defined need not be there.
    wide : frozenset of str
        Which numbers have a bound that is not below their standard error.
    """

    bounds: Mapping[str, float] = field(default_factory=dict)
    wide: frozenset[str] = frozenset()

    def of(self, name: str) -> float:
        """Return the bound of a number."""
        return self.bounds.get(name, 0.0)

    def without(self, names: Collection[str]) -> "Doubt":
        """Leave out numbers that are exact by now."""
        kept = {name: bound for name, bound in self.bounds.items() if name not in names}
        return Doubt(kept, self.wide.difference(names))


def doubt(cells: Cells, bent: bool = False) -> Doubt:
    """Bound `auc` and `log_loss` of cells; where maps are bent, the log-loss has no bound."""
    if np.array_equal(cells.low, cells.high):
        return Doubt()
    ranks, one = rank_cells(cells), cells.y == 1
    bounds = {"auc": ranks.auc.error, "log_loss": np.inf if bent else log_loss(cells).error}
    order = sum(_variance(cells.chosen(side), ranks.placed[side]) for side in (one, ~one))
    loss = _variance(cells, loss_of_rows(cells.y, cells.score))
    return judged(bounds, {"auc": np.sqrt(order), "log_loss": np.sqrt(loss)})


def probability_doubt(cells: Cells) -> Doubt:
    """Bound `mean_probability` and `confidence_gap` of cells."""
    if np.array_equal(cells.low, cells.high):
        return Doubt()
    bounded = {"mean_probability": mean_probability, "confidence_gap": confidence_gap}
    right = rightly_predicted(cells.y, cells.score)
    values = sigmoid(cells.score), sigmoid(np.abs(cells.score)) - right
    errors = (np.sqrt(_variance(cells, each)) for each in values)
    bounds = {name: bound(cells).error for name, bound in bounded.items()}
    return judged(bounds, dict(zip(bounded, errors, strict=True)))


def judged(bounds: Mapping[str, float], errors: Mapping[str, float]) -> Doubt:
    """Compare bounds with standard errors; what is NaN is not defined."""
    defined = {name: bound for name, bound in bounds.items() if not np.isnan(bound)}
    # Without a standard error, as of a single row, a number is as unsure as can be.
    wide = {name for name, bound in defined.items() if bound >= errors[name]}
    return Doubt(defined, frozenset(wide))


def worst(doubts: Sequence[Doubt]) -> Doubt:
    """Return the largest bounds, and all that is too wide anywhere."""
    names = {name: None for each in doubts for name in each.bounds}
    bounds = {name: max(each.of(name) for each in doubts) for name in names}
    return Doubt(bounds, frozenset().union(*(each.wide for each in doubts)))


def rounded_up(value: float) -> str:
    """Write an upper bound with one digit, never below its value.

    >>> rounded_up(0.00031)
    '0.0004'
    """
    unit = 10.0 ** np.floor(np.log10(value))
    return f"{np.ceil(value / unit) * unit:.1g}"


def _variance(cells: Cells, values: Floats) -> float:
    return class_variance(values, cells.weight, cells.squares, float(cells.rows.sum()))
