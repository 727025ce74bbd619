"""Evaluations as JSON: written for an artifact, and read as untrusted input."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pandas as pd

from hetcal.artifacts.report import network_document, to_json
from hetcal.metrics.classes import ClassMetrics
from hetcal.metrics.curves import ReliabilityCurve
from hetcal.metrics.delong import Lift, lift_between
from hetcal.metrics.metrics import LossChange, Metrics
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.strict_json import Fields, JsonError, parse_object

SHARE = (-1e-9, 1 + 1e-9)  # sums over weighted rows may be rounded past the ends
SCHEMES = ("before", "pooled", "tree", "after")
COUNTS = ("leaf", "rows", "positives")
IN_LEAVES = (
    *("auc_before", "auc_after", "lift", "log_loss_before", "log_loss_after"),
    *("contribution", "contribution_se", "contribution_low", "contribution_high"),
)
CURVES = ("before", "after")
SHARES = ("predicted", "observed", "low", "high")
OF_CLASSES = {
    **dict.fromkeys(("auc_before", "auc_after"), SHARE),
    **dict.fromkeys(("lift", "low", "high"), (-math.inf, math.inf)),
    "p": SHARE,
}


def evaluation_json(evaluation: Evaluation) -> str:
    """Write an evaluation of two classes; numbers that are not defined become null."""
    document = {
        **{scheme: asdict(getattr(evaluation, scheme)) for scheme in SCHEMES},
        "lift": asdict(evaluation.lift),
        **network_document(evaluation),
        "leaves": evaluation.leaves.to_dict("records"),
        "rows": evaluation.rows,
        "groups": evaluation.groups,
    }
    return to_json(document)


def read_evaluation(text: bytes, leaves: Sequence[int]) -> Evaluation:
    """Read what `evaluation_json` wrote of these leaves."""
    content = parse_object(text)
    before, pooled, tree, after = (_metrics(content.fields(scheme)) for scheme in SCHEMES)
    read = Evaluation(
        before,
        pooled,
        tree,
        after,
        lift=_lift(content.fields("lift")),
        leaves=_leaves(content.objects("leaves"), leaves),
        rows=content.integer("rows", 1, 2**62),
        groups=_groups(content),
    )
    part = read_part(content)
    return read if part is None else part.added_to(read)


@dataclass(frozen=True)
class SavedPart:
    """What is saved of the part that the model has in a result, see `Evaluation`."""

    without: Metrics | ClassMetrics
    network_adds: Lift
    network_share: float
    loss: LossChange

    def added_to(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with these numbers."""
        return replace(evaluation, **vars(self))


def read_part(content: Fields, *, several: bool = False) -> SavedPart | None:
    """Read what `network_document` wrote; older artifacts do not say it."""
    if "network_adds" not in content or content.is_null("network_adds"):
        return None
    read = _class_metrics if several else _metrics
    return SavedPart(
        without=read(content.fields("without_network")),
        network_adds=_lift(content.fields("network_adds")),
        network_share=content.number_or_nan("network_share", *SHARE),
        loss=_loss(content.fields("loss")),
    )


def _loss(content: Fields) -> LossChange:
    names = [each.name for each in fields(LossChange)]
    return LossChange(**{name: content.number_or_nan(name) for name in names})


def read_class_evaluation(metrics: Fields, classes: tuple[str, ...]) -> Evaluation:
    """Read what `hetcal.artifacts.report.result_json` wrote of more than two classes."""
    before, pooled, after = (
        _class_metrics(metrics.fields(name)) for name in ("before", "pooled", "after")
    )
    curves = metrics.objects("top_label")
    if tuple(each.text("name") for each in curves) != CURVES:
        raise JsonError("its curves are not those before and after")
    per_class = _classes(metrics.objects("per_class"), classes)
    read = Evaluation(
        before,
        pooled,
        None,
        after,
        lift=_lift(metrics.fields("lift")),
        leaves=pd.DataFrame(),
        rows=metrics.fields("rows").integer("test", 1, 2**62),
        groups=_groups(metrics),
        by_class=ByClass(per_class, tuple(map(_curve, curves))),
    )
    part = read_part(metrics, several=True)
    return read if part is None else part.added_to(read)


def _lift(content: Fields) -> Lift:
    before, after = (content.number_or_nan(name, *SHARE) for name in ("before", "after"))
    lift = lift_between(before, after, content.number_or_nan("se", 0))
    low, high = (content.number_or_nan(name) for name in ("low", "high"))
    return replace(lift, p=content.number_or_nan("p", *SHARE), low=low, high=high)


def _groups(content: Fields) -> int | None:
    return None if content.is_null("groups") else content.integer("groups", 1, 2**62)


def _metrics(content: Fields) -> Metrics:
    return Metrics(**{each.name: content.number_or_nan(each.name, 0) for each in fields(Metrics)})


def _leaves(found: list[Fields], leaves: Sequence[int]) -> pd.DataFrame:
    counts = {name: [each.integer(name, 0, 2**62) for each in found] for name in COUNTS}
    if counts["leaf"] != list(leaves):
        raise JsonError("its results are not those of its leaves")
    numbers = {name: [each.number_or_nan(name) for each in found] for name in IN_LEAVES}
    return pd.DataFrame(counts | numbers)


def _class_metrics(content: Fields) -> ClassMetrics:
    return ClassMetrics(
        macro_auc=content.number_or_nan("macro_auc", *SHARE),
        log_loss=content.number_or_nan("log_loss"),
        accuracy=content.number("accuracy", *SHARE),
        top_label_error=content.number("top_label_error", *SHARE),
    )


def _classes(found: list[Fields], classes: tuple[str, ...]) -> pd.DataFrame:
    if tuple(each.text("class") for each in found) != classes:
        raise JsonError("its results are not those of its classes")
    numbers = {
        name: [each.number_or_nan(name, *ends) for each in found]
        for name, ends in OF_CLASSES.items()
    }
    rows = np.array([each.integer("rows", 0, 2**62) for each in found])
    return pd.DataFrame({"class": classes, "rows": rows, **numbers})


def _curve(content: Fields) -> ReliabilityCurve:
    shares = [np.array(content.numbers(name)) for name in SHARES]
    count = np.array(content.integers("count", 0, 2**62), dtype=np.int64)
    if {each.size for each in shares} != {count.size}:
        raise JsonError("the columns of a curve differ in length")
    if not all(((each >= SHARE[0]) & (each <= SHARE[1])).all() for each in shares):
        raise JsonError("a curve has shares outside 0 to 1")
    predicted, observed, low, high = shares
    return ReliabilityCurve(content.text("name"), predicted, observed, low, high, count)
