"""A look at the scores before anything is fitted to them: the three conditions for a lift."""

import numpy as np

from hetcal.data.scores import Scores
from hetcal.data.splits import Split
from hetcal.data.table import Table
from hetcal.metrics.delong import lift_of, placements
from hetcal.progress import Progress, silent
from hetcal.results.conditions import Condition, first_conditions
from hetcal.results.overconfidence import diagnose
from hetcal.runs.fitting import grow_partition
from hetcal.runs.role_cells import groups_of, row_cells
from hetcal.runs.run import scored_rows
from hetcal.runs.settings import Settings


def look_first(
    table: Table, scores: Scores, split: Split, settings: Settings, progress: Progress = silent
) -> tuple[Condition, ...]:
    """Judge the three conditions for the scores of two classes as they are.

    A tree of the labels of train rows, grown as `settings` say, divides the rows. Test rows are
    only measured, as they are to diagnose over-confidence.
    """
    tree = grow_partition(table, split, settings, progress=progress)
    progress(0.7, "Looking at the scores")
    rows, leaf = scored_rows(table, scores, split), tree.apply(table.X)
    train, test = (row_cells(table, scores, each, leaf) for each in (rows.train, rows.test))
    placed = placements(test.y, test.score, test.given_weight)
    random = np.full_like(placed, 0.5)  # of a score that ranks nothing
    area = lift_of(test.y, random, placed, test.given_weight, group=groups_of(table, rows.test))
    return first_conditions(diagnose(train, test, tree.leaves), test, area)
