"""The grid of logit bins that a sketch counts in."""

import math
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.errors import CalibrationError

BINS = 4096
REACH = 16.0
MOST_BINS = 2**20
MOST = 0.999
SAMPLE = 100_000
SMALLEST = 2.0**-90


@dataclass(frozen=True)
class Grid:
    """Equal bins from `-reach` to `reach`; the first and the last hold all that lies beyond.

    Parameters
    ----------
    reach : float
        A power of two. So the width of a bin is one as well, and dividing by it is exact
        (but for numbers below 1e-300): a score is in the same bin on every engine.
    bins : int
        A power of two, at least 2.
    """

    reach: float = REACH
    bins: int = BINS

    def __post_init__(self) -> None:
        sound = math.isfinite(self.reach) and self.reach >= 2.0**-100
        if not sound or not 2 <= self.bins <= MOST_BINS or not self._powers_of_two():
            raise CalibrationError(
                f"A grid cannot have reach {self.reach!r} and {self.bins!r} bins.",
                f"Both must be powers of two, with 2 to {MOST_BINS:,} bins.",
                f"Use a reach of {REACH:g} and {BINS} bins, for example.",
            )

    def _powers_of_two(self) -> bool:
        return all(math.frexp(value)[0] == 0.5 for value in (self.reach, self.bins))

    @property
    def width(self) -> float:
        """Width of a bin."""
        return self.reach / (self.bins // 2)

    def bin_of(self, scores: Floats) -> Ints:
        """Return the bin of each finite score."""
        # Clipped first: dividing must not overflow.
        steps = np.clip(scores, -self.reach, self.reach)
        steps /= self.width
        np.floor(steps, out=steps)
        steps += self.bins // 2
        return np.minimum(steps, self.bins - 1, out=steps).astype(np.int64)

    def low(self, bins: Ints) -> Floats:
        """Return the smallest number of each bin; minus infinity for the first."""
        edge = (bins - self.bins // 2) * self.width
        return np.where(bins == 0, -np.inf, edge)

    def high(self, bins: Ints) -> Floats:
        """Return the largest number of each bin; infinity for the last."""
        edge = (bins + 1 - self.bins // 2) * self.width
        return np.where(bins == self.bins - 1, np.inf, np.nextafter(edge, -np.inf))


def grid_for(scores: Floats, bins: int = BINS) -> Grid:
    """Return the grid with the smallest reach of 16, 32, 64, … that holds all finite scores."""
    largest = max(-float(scores.min(initial=0.0)), float(scores.max(initial=0.0)))
    if not math.isfinite(largest):
        largest = float(np.max(np.abs(scores), initial=0.0, where=np.isfinite(scores)))
    reach = REACH
    while reach <= largest and reach < 2.0**1023:
        reach *= 2
    return Grid(reach, bins)


def grid_for_most(scores: Floats, bins: int = BINS) -> Grid:
    """Return a grid whose inner bins hold all but about one in a thousand finite scores.

    So a few extreme scores, which the end bins hold, do not make all bins coarse. The reach is at
    most 4 times the largest of the others. It is estimated from evenly spaced rows.
    """
    size = np.abs(scores[:: max(1, len(scores) // SAMPLE)])
    size = size[np.isfinite(size)]
    most = float(np.quantile(size, MOST)) if size.size else REACH
    holding = 2.0 ** math.ceil(math.log2(min(max(most, SMALLEST), 2.0**1022)))
    return Grid(max(holding, min(REACH, 2 * holding)), bins)
