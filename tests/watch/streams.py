"""Streams of newer rows whose truth is known, and artifacts to check them against."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

PLANS = ("basic", "plus", "pro", "trial")
HEIGHTS = np.array([-1.5, -0.5, 0.5, 1.5])
FRACTIONS = (0.4, 0.0, 0.3, 0.3)
SCORING = ColumnScoring(("score",), "logit")


@dataclass(frozen=True)
class Change:
    """What differs from the rows of the run."""

    plan: str = ""  # whose true logits are higher
    by: float = 0.0
    shares: tuple[float, ...] = (0.25,) * 4  # of the plans
    noise: float = 0.0  # that is added to the scores


SAME = Change()


def draw_rows(rows: int, rng: np.random.Generator, change: Change = SAME) -> pd.DataFrame:
    """Draw rows: an over-confident score, plans of different height, a column without meaning."""
    frame, logit = draw_logits(rows, rng, change)
    return frame.assign(label=draw_labels(logit, rng))


def draw_logits(rows: int, rng: np.random.Generator, change: Change = SAME):
    """Draw rows without labels, and their true logits."""
    plan = rng.choice(len(PLANS), rows, p=change.shares)
    known, size = rng.normal(size=(2, rows))
    logit = 0.8 * known + HEIGHTS[plan]
    logit += change.by * (np.array(PLANS)[plan] == change.plan)
    score = 2 * known + change.noise * rng.normal(size=rows)
    return pd.DataFrame(
        {"plan": np.array(PLANS)[plan], "size": size.round(3), "score": score}
    ), logit


def draw_labels(logit, rng: np.random.Generator):
    return np.where(rng.uniform(size=logit.size) < expit(logit), "yes", "no")


def artifact_of(frame: pd.DataFrame, partition: str = "tree", **roles: str) -> bytes:
    """Make an artifact of a table as `draw_rows` gives it."""
    given = Roles("label", "yes", features=("plan", "size"), score="score", **roles)
    table = make_table(frame, given)
    scores = scores_from_column(table.frame["score"], "logit")
    finished = run(table, scores, Settings(partition=partition, fractions=FRACTIONS))
    return artifact_bytes(finished, SCORING)
