"""The choices of a run."""

from dataclasses import dataclass
from typing import Literal, get_args

from hetcal.choices import CALIBRATORS, CLASS_CALIBRATORS, PAPER_FRACTIONS
from hetcal.errors import HetcalError, SplitError, did_you_mean

PartitionName = Literal[
    "auto",
    "best",
    "tree",
    "forest",
    "boosted",
    "additive",
    "stacked",
    "auc-gain",
    "instability",
    "layer",
    "columns",
]
TreeSize = Literal["given", "cv", "pruned"]
PARTITIONS: tuple[PartitionName, ...] = get_args(PartitionName)
TREE_SIZES: tuple[TreeSize, ...] = get_args(TreeSize)

CHOOSING = ("auto", "best")
"""Choices among schemes: `best` takes the largest lift, also that of a second model."""

ENSEMBLES = (*CHOOSING, "forest", "boosted", "additive", "stacked")
"""Schemes of more than one partition, or of a choice among schemes."""

FOR_CLASSES = (*CHOOSING, "tree", "layer", "columns")
"""Partitions for more than two classes."""

READ_SCORES = ("auc-gain", "instability")
"""Partitions that are grown on scores, so on rows that the model did not learn from."""


@dataclass(frozen=True)
class Settings:
    """The choices of one run; the defaults are those of the paper's Algorithm 1.

    Parameters
    ----------
    fractions : tuple of float
        Shares of train, validation, calibration and test rows, used when the
        table has no split column.
    seed : int
        Seed of the split, of the trees and of cross-validation.
    partition : str
        How the rows are divided, one of `PARTITIONS`.
    max_depth : int
        Greatest depth of a tree.
    min_leaf : int or None
        Fewest training rows of a leaf; None chooses by the number of rows.
    tree_size : {"given", "cv", "pruned"}
        Take depth and leaf size as given, choose both by cross-validation, or prune a deep
        tree by cross-validation.
    segments : tuple of str
        The columns of the partition `columns`.
    bins : int
        Bins of each number among them.
    calibrator : str
        The kind of map in every leaf, one of `hetcal.choices.CALIBRATORS`; with more than two
        classes one of `hetcal.choices.CLASS_CALIBRATORS`, or vector scaling.
    shrinkage : float or "cv"
        How strongly the map of a leaf is shrunk towards that of all rows; "cv" chooses.
    min_rows : int
        Fewest calibration rows of the rarer class for a leaf to have a slope of its own, if there
        is no shrinkage; with fewer it has the slope of all rows and an intercept of its own.
    only : "calibration" or None
        Restricts what `auto` and `best` may choose to maps of the score.
    take : str or None
        The rung of the ladder of `auto` or `best` that is used in place of the chosen one.
    pairs : int
        Most pairs of columns of the scheme `additive`.
    increasing, decreasing : tuple of str
        Columns of numbers with which its terms may only rise, or only fall.
    use_validation : bool
        Whether schemes are fitted and compared on validation rows, too. If these chose the
        network's epoch, it looks better on them than on new rows.
    """

    fractions: tuple[float, ...] = PAPER_FRACTIONS
    seed: int = 0
    partition: str = "tree"
    max_depth: int = 3
    min_leaf: int | None = None
    tree_size: TreeSize = "given"
    segments: tuple[str, ...] = ()
    bins: int = 4
    calibrator: str = "platt"
    shrinkage: float | Literal["cv"] = 0.0
    min_rows: int = 100
    only: Literal["calibration"] | None = None
    take: str | None = None
    pairs: int = 15
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    use_validation: bool = True

    @property
    def reuses_validation(self) -> bool:
        """Whether the partition or scheme reads validation rows."""
        return self.use_validation and self.partition in (*ENSEMBLES, *READ_SCORES)

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise SplitError(
                f"The seed is {self.seed}.",
                "A seed is a whole number from 0 to 4,294,967,295.",
                "Choose such a number.",
            )
        for what, value, known in (
            ("partition", self.partition, PARTITIONS),
            ("tree size", self.tree_size, TREE_SIZES),
            ("calibrator", self.calibrator, (*CALIBRATORS, *CLASS_CALIBRATORS)),
        ):
            if value not in known:
                raise HetcalError(
                    f"There is no {what} called '{value}'.",
                    f"It has to be one of {', '.join(known)}.",
                    did_you_mean(value, known),
                )
