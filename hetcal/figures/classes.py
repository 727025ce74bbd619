"""Figures and tables of results on more than two classes."""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.columns import counted
from hetcal.figures.base import colour, draw, number, scatter, short_text, unmoved, zero_line
from hetcal.figures.results import reliability_figure
from hetcal.metrics.curves import ReliabilityCurve
from hetcal.partitions.partition import Partition
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.results.words import p_in_words

ALL = "all classes"


def class_lift_figure(found: Evaluation, shown: str | None = None) -> go.Figure:
    """Draw the lift of the macro AUC and of every class, with 95 % intervals.

    Parameters
    ----------
    found : Evaluation
        What was measured.
    shown : str, optional
        The class to write in bold.
    """
    table, lift = by_class(found).table, found.lift
    names = [ALL, *table["class"]]
    middle = [lift.auc, *table["lift"]]
    ends = [lift.low, *table["low"]], [lift.high, *table["high"]]
    places = list(range(len(names)))
    marks = scatter(
        x=middle,
        y=places,
        name="lift",
        mode="markers",
        marker={"size": [15, *[9] * len(table)], "color": colour("after")},
        error_x={
            "array": [high - each for each, high in zip(middle, ends[1], strict=True)],
            "arrayminus": [each - low for each, low in zip(middle, ends[0], strict=True)],
            "thickness": 2,
            "width": 4,
        },
        hovertext=_words(found),
        hovertemplate="%{hovertext}<extra></extra>",
    )
    # Half a narrow window is all that the title has.
    return draw(
        [marks],
        90 + 30 * len(names),
        x={"title": "AUC after − AUC before", "tickformat": ".6~f", **unmoved(middle)},
        y={
            "tickvals": places,
            "ticktext": [_bold(short_text(each, 24), each in (ALL, shown)) for each in names],
            "range": [len(places) - 0.4, -0.6],
            "showgrid": False,
        },
        shapes=[zero_line()],
        showlegend=False,
        margin={"t": 15},
    )


def top_label_figure(curves: tuple[ReliabilityCurve, ...]) -> go.Figure:
    """Draw how often the top label is right against how sure of it the model is."""
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


def _bold(text: str, chosen: bool) -> str:
    return f"<b>{text}</b>" if chosen else text


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
