"""What a finished run gives to take along."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd

from hetcal.artifacts import artifact_bytes
from hetcal.class_artifacts import class_artifact_bytes
from hetcal.class_report import class_result_json, class_scored_table
from hetcal.progress import Progress
from hetcal.report import result_json, scored_table
from hetcal.scoring import ModelScoring
from pages.shared.class_flow import ClassFlow
from pages.shared.flow import Flow


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
    """Return what the run at hand gives, for two classes or for more."""
    scoring = flow.workspace.scoring
    model = " and the model" if isinstance(scoring, ModelScoring) else ""
    also = f", sketches of the scores{model}"
    if isinstance(flow, ClassFlow):
        run = flow.class_run
        return Takeaway(
            lambda: class_artifact_bytes(run, scoring),
            run.partition.to_json,
            lambda: class_result_json(run),
            lambda _: None,
            partial(class_scored_table, run),
            run.table.rows,
            also,
        )
    return Takeaway(
        lambda: artifact_bytes(flow.run, scoring),
        flow.run.partition.to_json,
        lambda: result_json(flow.run),
        flow.run.complete,
        partial(scored_table, flow.run),
        flow.run.table.rows,
        also,
    )
