"""What a finished run gives to take along."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.artifacts.report import result_json, scored_table
from hetcal.models.scoring import ModelScoring
from hetcal.progress import Progress
from pages.shared.flow.flow import Flow


@dataclass(frozen=True)
class Takeaway:
    """Files and tables, made when they are asked for.

    Parameters
    ----------
    artifact, partition, result : callable
        Contents of the files.
    score : callable
        Scores all rows; to be called before the next one.
    scored : callable
        Gives scored rows as a table.
    rows : int
        Number of all rows.
    also : str
        Says what else the artifact holds.
    """

    artifact: Callable[[], bytes]
    partition: Callable[[], str]
    result: Callable[[], str]
    score: Callable[[Progress], None]
    scored: Callable[[slice], pd.DataFrame]
    rows: int
    also: str


def to_take(flow: Flow) -> Takeaway:
    """Return what the run at hand gives, on all classes."""
    scoring, run = flow.workspace.scoring, flow.whole
    model = " and the model" if isinstance(scoring, ModelScoring) else ""
    return Takeaway(
        lambda: artifact_bytes(run, scoring),
        run.partition.to_json,
        lambda: result_json(run),
        run.complete,
        partial(scored_table, run),
        run.table.rows,
        f", sketches of the scores{model}",
    )
