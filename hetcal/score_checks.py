"""Look scores over for what would make their results misleading."""

import numpy as np

from hetcal.finding import Finding
from hetcal.labels import positive_rate
from hetcal.roles import Roles
from hetcal.scores import Scores
from hetcal.sigmoid import sigmoid
from hetcal.table import Table

LARGEST_PERCENTAGE = 100


def check_scores(table: Table, scores: Scores) -> tuple[Finding, ...]:
    """Look for percentages that were taken for the logits of two classes."""
    if table.classes:
        return ()
    rows = scores.usable
    logits, rate = scores.logit[rows], positive_rate(table.y[rows])
    if not logits.size or logits.min() < 0 or logits.max() > LARGEST_PERCENTAGE:
        return ()
    if float(np.mean(sigmoid(logits))) <= rate:
        return ()
    return (
        Finding(
            "warning",
            table.roles.score,
            f"No logit is below 0: the model would call all {logits.size:,} rows more likely "
            f"positive than not, of which {rate:.1%} are. The scores go from {logits.min():.3g} "
            f"to {logits.max():.3g}; if they are percentages, divide them by 100 and say that "
            "they are probabilities.",
        ),
    )


def check_training(roles: Roles) -> tuple[Finding, ...]:
    """Point out that nobody has said which rows a model from elsewhere was trained on."""
    if roles.split is not None:
        return ()
    return (
        Finding(
            "warning",
            None,
            "The rows were divided at random, and nothing says which of them the model was "
            "trained on. If it has seen test or calibration rows, it looks better there than it "
            "is, and the lift is not that of fresh rows. Name a split column that says which rows "
            "it was trained on.",
        ),
    )
