"""Read back what a run on more than two classes was worth, from JSON of strangers."""

import math

import numpy as np
import pandas as pd

from hetcal.class_metrics import ClassMetrics
from hetcal.class_run import ClassEvaluation
from hetcal.evaluation_json import SHARE, read_groups, read_lift
from hetcal.reliability import ReliabilityCurve
from hetcal.strict_json import Fields, JsonError

CURVES = ("before", "after")
SHARES = ("predicted", "observed", "low", "high")
CLASS_NUMBERS = {
    **dict.fromkeys(("auc_before", "auc_after"), SHARE),
    **dict.fromkeys(("lift", "low", "high"), (-math.inf, math.inf)),
    "p": SHARE,
}


def read_class_evaluation(metrics: Fields, classes: tuple[str, ...]) -> ClassEvaluation:
    """Read what `hetcal.class_report.class_result_json` wrote."""
    before, pooled, after = (
        _metrics(metrics.fields(name)) for name in ("before", "pooled", "after")
    )
    return ClassEvaluation(
        before,
        pooled,
        after,
        lift=read_lift(metrics.fields("lift")),
        classes=_classes(metrics.objects("per_class"), classes),
        top_label=_curves(metrics.objects("top_label")),
        rows=metrics.fields("rows").integer("test", 1, 2**62),
        groups=read_groups(metrics),
    )


def _metrics(fields: Fields) -> ClassMetrics:
    return ClassMetrics(
        macro_auc=fields.number_or_nan("macro_auc", *SHARE),
        log_loss=fields.number_or_nan("log_loss"),
        accuracy=fields.number("accuracy", *SHARE),
        top_label_error=fields.number("top_label_error", *SHARE),
    )


def _classes(found: list[Fields], classes: tuple[str, ...]) -> pd.DataFrame:
    if tuple(each.text("class") for each in found) != classes:
        raise JsonError("its results are not those of its classes")
    numbers = {
        name: [each.number_or_nan(name, *ends) for each in found]
        for name, ends in CLASS_NUMBERS.items()
    }
    rows = np.array([each.integer("rows", 0, 2**62) for each in found])
    return pd.DataFrame({"class": classes, "rows": rows, **numbers})


def _curves(found: list[Fields]) -> tuple[ReliabilityCurve, ...]:
    if tuple(each.text("name") for each in found) != CURVES:
        raise JsonError("its curves are not those before and after")
    return tuple(map(_curve, found))


def _curve(fields: Fields) -> ReliabilityCurve:
    shares = [np.array(fields.numbers(name)) for name in SHARES]
    count = np.array(fields.integers("count", 0, 2**62), dtype=np.int64)
    if {each.size for each in shares} != {count.size}:
        raise JsonError("a curve of it has numbers too many")
    if not all(((each >= SHARE[0]) & (each <= SHARE[1])).all() for each in shares):
        raise JsonError("a curve of it has shares that cannot be")
    predicted, observed, low, high = shares
    return ReliabilityCurve(fields.text("name"), predicted, observed, low, high, count)
