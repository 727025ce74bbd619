"""What a run needs of its table, its scores and its partition."""

import numpy as np

from hetcal.columns import row_count
from hetcal.errors import PartitionError, ScoreError, SplitError
from hetcal.partition import Partition
from hetcal.scores import Scores
from hetcal.splits import NEEDED_ROLES, Split
from hetcal.table import Table


def refuse_role_columns(partition: Partition, table: Table) -> None:
    """Refuse a loaded partition that asks for the label, the split or the score."""
    roles = table.roles
    for feature in partition.features:
        if feature.name in (roles.label, roles.split, roles.score, *roles.class_scores):
            raise PartitionError(
                f"The partition splits on '{feature.name}', which is the label, the split or the "
                "score of this table.",
                "A partition may use features only.",
                "Load a partition that was made for this table, or grow a tree.",
            )


def require_scored_classes(table: Table, scores: Scores, split: Split) -> None:
    """Refuse calibration or test rows of which too few have a finite score."""
    needed = "Several classes of" if table.classes else "Positive and negative"
    for role in ("calibration", "test"):
        rows = split.of(role)
        if np.unique(table.y[rows]).size < 2:
            raise ScoreError(
                f"Too few {role} rows have a finite score: of the {rows.size:,} that are left, "
                "none or only one class.",
                f"{needed} {role} rows with a score are needed; "
                f"there is none for {row_count(scores.excluded)} of the table.",
                "Fill the missing scores, or divide the rows otherwise.",
            )


def require_weight(table: Table, split: Split) -> None:
    """Refuse weights that leave less than two classes of some role with any."""
    if table.weight is None:
        return
    for role in NEEDED_ROLES:
        rows = split.of(role)
        weighted = set(np.unique(table.y[rows[table.weight[rows] > 0]]).tolist())
        if len(weighted) > 1:
            continue
        remedy = f"Check the weight column '{table.roles.weight}', or the split."
        if table.classes:
            raise SplitError(
                f"The weight is 0 for all {role} rows but those of one class, or for all.",
                f"Several classes need some weight among the {role} rows.",
                remedy,
            )
        kind = "positive" if 0 in weighted else "negative"
        raise SplitError(
            f"All {kind} {role} rows have the weight 0.",
            f"Both classes need some weight among the {role} rows.",
            remedy,
        )
