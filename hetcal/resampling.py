"""Draw the rows of cells again: a Poisson number of times each."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr

from hetcal.arrays import Floats

MANY_ROWS = 25  # from here on the normal distribution stands in for Poisson's
LEVELS = 2**16  # equally likely random numbers, each of which stands for a quantile


@dataclass(frozen=True, eq=False)
class Amounts:
    """Sum of the weights, and of their squares, in some cells; 0 where there are no rows."""

    weight: Floats
    squares: Floats

    def draw(self, replicates: int, chance: np.random.Generator) -> Floats:
        """Return weights of drawn rows by replicate and cell.

        Every row counts a Poisson number of times with mean 1, so that the weight of a cell
        keeps its mean and gets the variance `squares`. That is the variance of
        `weight² / squares` rows of equal weight: their Poisson number is what is drawn.
        """
        some = self.squares > 0  # the squares of rows next to far heavier ones may vanish
        rows = np.divide(self.weight**2, self.squares, out=np.zeros(some.size), where=some)
        unit = np.divide(self.squares, self.weight, out=np.zeros(some.size), where=some)
        levels = _random_levels((replicates, some.size), chance)
        drawn = _normal_quantiles().take(levels)
        drawn *= np.sqrt(rows)
        drawn += rows
        np.maximum(drawn, 0.0, out=drawn)
        few, whole = some & (rows < MANY_ROWS), rows == np.floor(rows)
        whole, broken = (np.flatnonzero(few & each) for each in (whole, ~whole))
        first = rows[whole].astype(np.int64) * LEVELS
        drawn[:, whole] = _poisson_quantiles().take(first + levels[:, whole])
        drawn[:, broken] = chance.poisson(rows[broken], (replicates, broken.size))
        if np.any(unit != 1):
            drawn *= unit
        return drawn


def _random_levels(shape: tuple[int, int], chance: np.random.Generator) -> NDArray[Any]:
    """Draw numbers of 16 bits, four of which are cut from each number of 64 bits."""
    count = shape[0] * shape[1]
    numbers = chance.integers(0, 2**64, -(-count // 4), dtype=np.uint64)
    return numbers.view(np.uint16)[:count].reshape(shape)


@cache
def _normal_quantiles() -> Floats:
    """Return one quantile of the normal distribution for each level; their variance is 1.

    Looking them up is several times faster than drawing normal numbers.
    """
    found = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
    return found / np.sqrt(np.mean(found**2))


@cache
def _poisson_quantiles() -> NDArray[np.uint8]:
    """Return the same of Poisson's distribution with mean 0, 1, 2, …, one after the other."""
    numbers = np.arange(4 * MANY_ROWS)
    level = (np.arange(LEVELS) + 0.5) / LEVELS
    tables = [np.searchsorted(pdtr(numbers, mean), level) for mean in range(MANY_ROWS)]
    return np.concatenate(tables).astype(np.uint8)
