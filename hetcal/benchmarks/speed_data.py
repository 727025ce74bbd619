"""The rows that the speed of hetcal is measured on, and the result of a job.

The truth is a Platt map in each of eight cells: data that suit the method, of any size.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from hetcal.arrays import Floats, Ints

GAUSSIAN, WHOLE, BINARY, LOG_NORMAL = 8, 5, 4, 3
SLOPES = np.array([0.6, 1.4, 0.5, 1.1, 0.8, 1.6, 0.4, 1.0])
INTERCEPTS = np.array([-2.6, -3.7, -3.1, -1.6, -3.4, -0.9, -2.9, -0.4])
DEPTH = 4
CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Rows:
    """A table in memory: features, the same as a frame (not a copy), logits and labels.

    The features of a column lie together, as in a table that was read from a file.
    """

    X: NDArray[np.float32]
    frame: pd.DataFrame
    scores: NDArray[Any]
    y: NDArray[np.int8]

    @property
    def min_leaf(self) -> int:
        """Fewest rows of a leaf: the paper's 1,000 if there are plenty."""
        return min(1000, len(self.y) // 4)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a job.

    Parameters
    ----------
    maps : array
        Slopes and intercepts, by leaf from left to right.
    measures : array
        AUC, average precision and log loss, before and after calibration.
    counts : array of int
        Rows by leaf, bin of the histogram and label.
    """

    maps: Floats
    measures: Floats
    counts: Ints

    def difference(self, other: "Outcome") -> float:
        """Return the largest difference of any two numbers; infinite with other leaves."""
        if self.counts.shape != other.counts.shape:
            return float("inf")
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return max(float(np.max(np.abs(one - two))) for one, two in pairs)


def make_rows(rows: int, seed: int = 0) -> Rows:
    """Draw rows with 20 features of four kinds; about one label in eight is positive.

    Examples
    --------
    >>> made = make_rows(2000)
    >>> made.X.shape, made.X.dtype.name, made.scores.dtype.name
    ((2000, 20), 'float32', 'float32')
    """
    rng = np.random.default_rng(seed)
    X = np.empty((rows, GAUSSIAN + WHOLE + BINARY + LOG_NORMAL), dtype=np.float32, order="F")
    whole, binary, log_normal = np.cumsum([GAUSSIAN, WHOLE, BINARY])
    for column in range(X.shape[1]):
        if column < whole or column >= log_normal:
            rng.standard_normal(out=X[:, column], dtype=np.float32)
        else:
            X[:, column] = rng.integers(0, 100 if column < binary else 2, rows, dtype=np.int8)
    np.exp(X[:, log_normal:], out=X[:, log_normal:])
    scores = rng.standard_normal(rows, dtype=np.float32)
    scores *= np.float32(1.5)
    y = np.empty(rows, dtype=np.int8)
    for start in range(0, rows, CHUNK):
        part = slice(start, start + CHUNK)
        cell = _cells(X[part])
        probability = expit(SLOPES[cell] * scores[part] + INTERCEPTS[cell])
        y[part] = rng.random(cell.size) < probability
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])], copy=False)
    return Rows(X, frame, scores, y)


def _cells(X: NDArray[np.float32]) -> Ints:
    """Return the true cell of each row: one cut each of a number, a count and a price."""
    return 4 * (X[:, 0] > 0.4) + 2 * (X[:, GAUSSIAN] >= 60) + (X[:, -1] > 1.5)
