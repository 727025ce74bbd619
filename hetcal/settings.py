"""The choices of a run."""

from dataclasses import dataclass

from hetcal.errors import SplitError
from hetcal.splits import PAPER_FRACTIONS


@dataclass(frozen=True)
class Settings:
    """The choices of one run; the defaults are the paper's.

    Parameters
    ----------
    fractions : tuple of float
        Shares of train, validation, calibration and test rows, used when the
        table has no split column.
    seed : int
        Seed of the split and of the tree.
    max_depth : int
        Greatest depth of the tree.
    min_leaf : int or None
        Fewest training rows of a leaf; None chooses by the number of rows.
    min_rows : int
        Fewest calibration rows for a leaf to have a map of its own.
    calibrator : str
        The kind of map in every leaf.
    """

    fractions: tuple[float, ...] = PAPER_FRACTIONS
    seed: int = 0
    max_depth: int = 3
    min_leaf: int | None = None
    min_rows: int = 50
    calibrator: str = "platt"

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise SplitError(
                f"The seed is {self.seed}.",
                "A seed is a whole number from 0 to 4,294,967,295.",
                "Choose such a number.",
            )
