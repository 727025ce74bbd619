"""What calibration changed, as JSON: written for an artifact, and read from strangers."""

from collections.abc import Sequence
from dataclasses import asdict, fields

import pandas as pd

from hetcal.delong import Lift, lift_between
from hetcal.evaluation import Evaluation
from hetcal.metrics import Metrics
from hetcal.report import to_json
from hetcal.strict_json import Fields, JsonError, parse_object

SHARE = (-1e-9, 1 + 1e-9)  # sums over weighted rows may be rounded past the ends
WAYS = ("before", "pooled", "tree", "after")
COUNTS = ("leaf", "rows", "positives")
IN_LEAVES = (
    *("auc_before", "auc_after", "lift", "log_loss_before", "log_loss_after"),
    *("contribution", "contribution_se", "contribution_low", "contribution_high"),
)


def evaluation_json(evaluation: Evaluation) -> str:
    """Write an evaluation of rows; numbers that are not defined become null."""
    document = {
        **{way: asdict(getattr(evaluation, way)) for way in WAYS},
        "lift": asdict(evaluation.lift),
        "leaves": evaluation.leaves.to_dict("records"),
        "rows": evaluation.rows,
        "groups": evaluation.groups,
    }
    return to_json(document)


def read_evaluation(text: bytes, leaves: Sequence[int]) -> Evaluation:
    """Read what `evaluation_json` wrote of these leaves."""
    content = parse_object(text)
    before, pooled, tree, after = (_metrics(content.fields(way)) for way in WAYS)
    return Evaluation(
        before,
        pooled,
        tree,
        after,
        lift=read_lift(content.fields("lift")),
        leaves=_leaves(content.objects("leaves"), leaves),
        rows=content.integer("rows", 1, 2**62),
        groups=read_groups(content),
    )


def read_lift(content: Fields) -> Lift:
    """Read both areas and the standard error, from which all else follows."""
    before, after = (content.number_or_nan(name, *SHARE) for name in ("before", "after"))
    return lift_between(before, after, content.number_or_nan("se", 0))


def read_groups(content: Fields) -> int | None:
    """Read the number of groups, where rows are in groups."""
    return None if content.is_null("groups") else content.integer("groups", 1, 2**62)


def _metrics(content: Fields) -> Metrics:
    return Metrics(**{each.name: content.number_or_nan(each.name, 0) for each in fields(Metrics)})


def _leaves(found: list[Fields], leaves: Sequence[int]) -> pd.DataFrame:
    counts = {name: [each.integer(name, 0, 2**62) for each in found] for name in COUNTS}
    if counts["leaf"] != list(leaves):
        raise JsonError("its results are not those of its leaves")
    numbers = {name: [each.number_or_nan(name) for each in found] for name in IN_LEAVES}
    return pd.DataFrame(counts | numbers)
