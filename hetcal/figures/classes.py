"""Figures and tables of results on more than two classes."""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.columns import counted
from hetcal.figures.base import (
    colour,
    draw,
    interval,
    names_axis,
    number,
    on_hover,
    scatter,
    short_text,
    unmoved,
    zero_line,
)
from hetcal.figures.results import reliability_figure
from hetcal.metrics.curves import ReliabilityCurve
from hetcal.partitions.partition import Partition
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.results.words import p_in_words

ALL = "all classes"


def class_lift_figure(found: Evaluation, shown: str | None = None) -> go.Figure:
    """Draw the lift of the macro AUC and of every class, with 95 % intervals.

    The name of the class that is `shown` is bold.
    """
    table, lift = by_class(found).table, found.lift
    names = [ALL, *table["class"]]
    low, middle, high = (
        [getattr(lift, name), *table[column]]
        for name, column in (("low", "low"), ("auc", "lift"), ("high", "high"))
    )
    marks = scatter(
        x=middle,
        y=list(range(len(names))),
        name="lift",
        mode="markers",
        marker={"size": [15, *[9] * len(table)], "color": colour("after")},
        error_x=interval(low, middle, high, thickness=2, width=4),
        **on_hover(_words(found)),
    )
    short = [short_text(each, 24) for each in names]
    labels = [
        f"<b>{text}</b>" if each in (ALL, shown) else text
        for each, text in zip(names, short, strict=True)
    ]
    # Half a narrow window is all that the title has.
    return draw(
        [marks],
        90 + 30 * len(names),
        x={"title": "AUC after − AUC before", "tickformat": ".6~f", **unmoved(middle)},
        y=names_axis(labels),
        shapes=[zero_line()],
        showlegend=False,
        margin={"t": 15},
    )


def top_label_figure(curves: tuple[ReliabilityCurve, ...]) -> go.Figure:
    """Draw how often the most probable class is right against its probability."""
    figure = reliability_figure(curves)
    figure.update_xaxes(title="probability of the top label")
    figure.update_yaxes(title="share of right top labels")
    return figure


def class_maps_table(
    calibrator: ClassCalibrator, partition: Partition, classes: tuple[str, ...]
) -> pd.DataFrame:
    """List the maps of the log-probabilities, leaf by leaf and class by class.

    Returns
    -------
    DataFrame
        `leaf` (0 is the map of all rows), `rule`, `class`, `weight` of the class's own
        log-probability, `bias`.
    """
    rules = {0: "all rows", **{each.id: each.rule for each in partition.leaves}}
    maps = {0: calibrator.pooled_, **calibrator.maps_}
    rows = [
        (leaf, rules[leaf], name, own.weights[i, i], own.bias[i])
        for leaf, own in maps.items()
        for i, name in enumerate(classes)
    ]
    return pd.DataFrame(rows, columns=["leaf", "rule", "class", "weight", "bias"])


def by_class(found: Evaluation) -> ByClass:
    """Return what changed class by class, of more than two."""
    if found.by_class is None:
        raise TypeError("two classes have one lift")
    return found.by_class


def _words(found: Evaluation) -> list[str]:
    lift = found.lift
    together = (
        f"<b>{ALL}</b><br>macro AUC {number(lift.before)} before, {number(lift.after)} after"
        f"<br>{number(lift.auc, sign=True)}, p-value {escape(p_in_words(lift.p))}"
        f"<br>n = {counted(found.rows, 'test row')}"
    )
    alone = (
        f"<b>{short_text(row['class'], 40)}</b> against all others"
        f"<br>AUC {number(row['auc_before'])} before, {number(row['auc_after'])} after"
        f"<br>{number(row['lift'], sign=True)}, p-value {escape(p_in_words(row['p']))}"
        f"<br>n = {row['rows']:,} of {counted(found.rows, 'test row')}"
        for row in by_class(found).table.to_dict("records")
    )
    return [together, *alone]
