"""Grow a partition where the calibration map itself differs: model-based partitioning."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hetcal.instability_test import column_tests
from hetcal.map_difference import MapDifference, NodeMap
from hetcal.score_codes import Rows, ScoreCodes
from hetcal.score_partition import Judged, ScorePartition
from hetcal.score_sums import ValueTables
from hetcal.score_tree import NodePlace, NodeSums
from hetcal.split_search import Cut


class InstabilityPartition(ScorePartition):
    """Partition the feature space where the Platt map of the score differs, by tests.

    In each node a single map is fitted and every feature is tested: is the map the same all
    along it? The feature with the lowest chance is cut where two maps raise the likelihood
    most (Zeileis, Hothorn and Hornik: model-based recursive partitioning). Chances are
    corrected for the number of features, and for the number of nodes: half of `alpha` is
    for the root, a quarter for its two children, and so on. So the chance of any cut where
    nothing differs is at most `alpha` for the whole tree.

    Missing values and rare categories are treated as in `TreePartition`.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest rows of a leaf; None means `default_min_leaf`.
    alpha : float, default=0.05
        A node is cut if its lowest corrected chance is below.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    """

    @property
    def tests_(self) -> pd.DataFrame:
        """All tests.

        Columns: `node` (position in the partition), `feature` (name), `statistic`
        (chi-square: the largest over cuts for numbers, that of all categories for
        categories), `p` (corrected), `chosen` (the node is cut there).
        """
        return self._judged

    def _chooser(self, codes: ScoreCodes) -> "InstabilityChooser":
        return InstabilityChooser(codes, self.alpha)


@dataclass(eq=False)
class InstabilityChooser:
    """Cuts the feature along which the map differs most surely, where it differs most.

    Parameters
    ----------
    codes : ScoreCodes
        All rows.
    alpha : float
        A node is cut if its lowest corrected chance is below.
    judged : list of Judged
        All tests.
    """

    codes: ScoreCodes
    alpha: float
    judged: list[Judged] = field(default_factory=list)
    steady: bool = False

    def values(self, rows: Rows) -> ValueTables | None:
        """Return the gradients of the node's own map."""
        fitted = NodeMap.of_rows(self.codes, rows)
        return None if fitted is None else fitted.tables()

    def choose(self, place: NodePlace, node: NodeSums) -> Cut | None:
        """Test all features."""
        tests = column_tests(node, place.tests)
        feature = int(tests.feature[np.lexsort((-tests.statistic, tests.p))[0]])
        cut = node.cut(MapDifference(), feature) if tests.p.min() < self.alpha else None
        for column, each in zip(*np.unique(tests.feature, return_index=True)[::-1], strict=True):
            if tests.statistic[column] > -np.inf:
                chosen = cut is not None and each == feature
                found = float(tests.statistic[column]), float(tests.p[column])
                self.judged.append(Judged(place.position, int(each), *found, chosen))
        return cut
