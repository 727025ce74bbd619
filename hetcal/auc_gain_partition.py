"""Grow a partition where calibrating both sides of a cut gains AUC."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.auc_gain import AucGain, score_moments
from hetcal.instability_test import column_tests
from hetcal.map_difference import NodeMap
from hetcal.score_codes import Rows, ScoreCodes
from hetcal.score_partition import Judged, ScorePartition
from hetcal.score_sums import ValueTables
from hetcal.score_tree import NodePlace, NodeSums
from hetcal.split_search import Cut


class AucGainPartition(ScorePartition):
    """Partition the feature space where it raises the AUC most, after the paper's appendix.

    A cut is judged by the AUC of the node's rows once both sides are calibrated, see
    `auc_gain`. The AUC can gain only where both sides need different maps, but on the
    rows that the tree is grown on every cut seems to gain a little. So a feature is cut only
    if the test of `InstabilityPartition` rejects a single map along it; features are tested
    in the order of their gains, with chances corrected as there.

    Missing values and rare categories are treated as in `TreePartition`.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest rows of a leaf; None means `default_min_leaf`.
    alpha : float, default=0.05
        Highest corrected chance of a cut.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    """

    @property
    def gains_(self) -> pd.DataFrame:
        """The features that were tested, node by node.

        Columns: `node` (position in the partition), `feature` (name), `gain` (of AUC in the
        node, between bins), `p` (corrected), `chosen` (the node is cut there).
        """
        return self._judged.rename(columns={"statistic": "gain"})

    def _chooser(self, codes: ScoreCodes) -> "GainChooser":
        return GainChooser(codes, self.alpha)


@dataclass(eq=False)
class GainChooser:
    """Cuts where the AUC gains most, among features along which the map surely differs.

    Parameters
    ----------
    codes : ScoreCodes
        All rows.
    alpha : float
        Highest corrected chance of a cut.
    judged : list of Judged
        The gains of the features that were tested.
    """

    codes: ScoreCodes
    alpha: float
    judged: list[Judged] = field(default_factory=list)
    steady: bool = True

    def __post_init__(self) -> None:
        self._moments = score_moments(self.codes)

    def values(self, rows: Rows) -> ValueTables | None:
        """Return the moments of scores by label."""
        return self._moments

    def choose(self, place: NodePlace, node: NodeSums) -> Cut | None:
        """Look for the largest gain that is sure."""
        gains = node.best_scores(AucGain())
        for column, feature, p in self._candidates(place, node, gains):
            cut = node.cut(AucGain(), feature) if p < self.alpha else None
            found = feature, float(gains[column]), p
            self.judged.append(Judged(place.position, *found, cut is not None))
            if cut is not None:
                return cut
        return None

    def _candidates(
        self, place: NodePlace, node: NodeSums, gains: Floats
    ) -> Iterator[tuple[int, int, float]]:
        """Yield column, feature and corrected chance, the largest gain first.

        It is mostly sure, so its column is tested alone, and the others once it has failed.
        """
        order = list(_by_gain(gains, node))
        fitted = NodeMap.of_rows(self.codes, node.rows) if order else None
        if fitted is None:
            return
        gradients = fitted.tables()
        column, feature = order[0]
        features = np.unique(node.columns.source[gains > -np.inf]).size
        alone = NodeSums.of_rows(node.columns.select(column), node.rows, gradients, node.min_rows)
        yield column, feature, float(column_tests(alone, features * place.tests).p[0])
        if len(order) > 1:
            node = NodeSums.of_rows(node.columns, node.rows, gradients, node.min_rows)
            p = column_tests(node, place.tests).p
            yield from ((column, feature, float(p[column])) for column, feature in order[1:])


def _by_gain(gains: Floats, node: NodeSums) -> Iterator[tuple[int, int]]:
    """Yield column and feature of each gain above 0, the largest first; features once."""
    done = set()
    for column in np.argsort(-gains, kind="stable").tolist():
        feature = int(node.columns.source[column])
        if gains[column] > 0 and feature not in done:
            done.add(feature)
            yield column, feature
