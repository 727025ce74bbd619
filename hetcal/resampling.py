"""Draw the rows of cells again: a Poisson number of times each."""

from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats

MANY_ROWS = 25  # from here on the normal distribution stands in for Poisson's


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
        some = self.weight > 0
        rows = np.divide(self.weight**2, self.squares, out=np.zeros(some.size), where=some)
        unit = np.divide(self.squares, self.weight, out=np.zeros(some.size), where=some)
        drawn = np.zeros((replicates, some.size))
        few = np.flatnonzero(some & (rows < MANY_ROWS))
        if few.size < np.count_nonzero(some):
            chance.standard_normal(out=drawn)
            drawn *= np.sqrt(rows)
            drawn += rows
            np.maximum(drawn, 0.0, out=drawn)
        drawn[:, few] = chance.poisson(rows[few], (replicates, few.size))
        drawn *= unit
        return drawn
