"""What partitions share that are grown on scores and labels."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Floats, Ints, Singles
from hetcal.errors import PartitionError
from hetcal.feature_values import feature_kind
from hetcal.kernels import use_compiled
from hetcal.map_difference import NodeMap
from hetcal.partition_estimator import PartitionEstimator
from hetcal.score_codes import ScoreCodes
from hetcal.score_tree import BinnedColumns, Chooser, ScoreTreeGrower
from hetcal.tree_encoding import EncodedColumn, encode_column, encode_columns, to_partition
from hetcal.tree_partition import default_min_leaf


@dataclass(frozen=True)
class Judged:
    """What was found out about a feature in a node.

    Parameters
    ----------
    node, feature : int
        Positions of the node in the tree and of the feature in the table.
    statistic : float
        What the feature was judged by.
    p : float
        Chance that the test finds as much where maps do not differ, corrected.
    chosen : bool
        Whether the node is cut there.
    """

    node: int
    feature: int
    statistic: float
    p: float
    chosen: bool


class JudgingChooser(Chooser, Protocol):
    """A chooser that keeps what it found out."""

    judged: list[Judged]


class ScorePartition(PartitionEstimator):
    """A tree on scores: what its two kinds share, see `AucGainPartition`."""

    def __init__(
        self, max_depth: int = 3, *, min_samples_leaf: int | None = None, alpha: float = 0.05
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.alpha = alpha

    def fit(self, X: Any, y: Any, scores: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : DataFrame or array, rows x columns
            Features.
        y : array
            Labels of two classes.
        scores : array of float
            Logits of the model, which was not trained on these rows.
        sample_weight : array of float, optional
            Importance weights.
        """
        self._check_parameters()
        rows, scores = self._training_rows(X, y, sample_weight), _checked_scores(scores)
        check_consistent_length(rows.used, scores)
        weight = None if rows.weight is None else rows.weight / rows.weight.mean()
        codes = ScoreCodes.of_rows(scores[rows.used], rows.y, weight)
        matrix, columns, source = _encode(rows.frame, codes)
        self._grow(matrix, columns, source, codes)
        return self

    def _chooser(self, codes: ScoreCodes) -> JudgingChooser:
        raise NotImplementedError

    def _grow(
        self, matrix: Singles, columns: list[EncodedColumn], source: Ints, codes: ScoreCodes
    ) -> None:
        levels = np.array([column.ranks.size for column in columns])
        binned = BinnedColumns.of_matrix(matrix, source, levels, compiled=use_compiled())
        chooser = self._chooser(codes)
        rows = len(matrix)
        fewest = default_min_leaf(rows) if self.min_samples_leaf is None else self.min_samples_leaf
        tree = ScoreTreeGrower(binned, chooser, self.max_depth, fewest).grow(codes)
        self.partition_ = to_partition(tree, columns)
        names = [column.feature.name for column in columns]
        self._judged = pd.DataFrame(
            {
                "node": [each.node for each in chooser.judged],
                "feature": [names[each.feature] for each in chooser.judged],
                "statistic": [each.statistic for each in chooser.judged],
                "p": [each.p for each in chooser.judged],
                "chosen": [each.chosen for each in chooser.judged],
            }
        )

    def _check_parameters(self) -> None:
        self._require_counts("tree", "max_depth", "min_samples_leaf")
        if not (isinstance(self.alpha, Real) and 0 < self.alpha < 1):
            raise PartitionError(
                f"The parameter 'alpha' of the tree is {self.alpha!r}.",
                "It is the chance of a cut where there is no difference: between 0 and 1.",
                "Choose such a number, as 0.05.",
            )


def _checked_scores(scores: Any) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise PartitionError(
            "The scores are not one finite number per row.",
            "A tree on scores needs the logit of the model for every row.",
            "Leave out rows without a score.",
        )
    return values


def _encode(frame: pd.DataFrame, codes: ScoreCodes) -> tuple[Singles, list[EncodedColumn], Ints]:
    """Encode columns for a tree; also tell which feature each column is.

    Label rates say nothing about maps. So categories stand in two orders: by the mean of
    their residuals after a single map for all rows, which tells intercepts apart, and by
    that of residuals times scores, which tells slopes apart.
    """
    kinds = [feature_kind(column) for _, column in frame.items()]
    categories = [i for i, kind in enumerate(kinds) if kind == "category"]
    weight = np.broadcast_to(1.0, len(frame)) if codes.weight is None else codes.weight
    height = slope = np.zeros(len(frame))
    pooled = NodeMap.of_rows(codes, np.arange(len(frame))) if categories else None
    if pooled is not None:
        height, slope = pooled.gradient[:, codes.code]
    matrix, columns = encode_columns(frame, height, weight)
    others = [encode_column(frame.iloc[:, i], slope, weight) for i in categories]
    if others:
        matrix = np.column_stack([matrix, *(column.values for column in others)])
    source = np.array([*range(len(columns)), *categories])
    return matrix, [*columns, *others], source
