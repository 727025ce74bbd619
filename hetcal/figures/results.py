"""Figures and tables of the result on test rows: before and after calibration on the same axes."""

import math
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.columns import counted
from hetcal.figures.base import (
    AXIS,
    NO_NAMES,
    SQUARE_MARGIN,
    SQUARE_X,
    SQUARE_Y,
    Part,
    axis_name,
    bars,
    colour,
    draw,
    heat_map,
    interval,
    leaf_marks,
    names_axis,
    number,
    on_hover,
    scatter,
    short_text,
    translucent,
    unmoved,
    wrapped_text,
    zero_line,
)
from hetcal.metrics.curves import OperatingPoint, PrecisionRecallCurve, ReliabilityCurve, RocCurve
from hetcal.partitions.partition import Partition
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.results.words import interval_in_words, p_in_words

ALL = "all classes"
MOST_NUMBERS = 16  # of leaves, side by side below a map


_RATES = (
    "threshold T %{customdata:.4f}<br>true positive rate %{y:.3f}<br>false positive rate %{x:.3f}"
)


def roc_figure(curves: Sequence[RocCurve], points: Sequence[OperatingPoint] = ()) -> go.Figure:
    """Draw ROC curves, and mark a point of each; a curve's name gives its colour."""
    lines = [
        _curve(curve, f"AUC {number(curve.auc)}", _RATES)
        | {"x": curve.false_positive_rate, "y": curve.true_positive_rate}
        for curve in curves
    ]
    marks = [
        scatter(
            x=[point.false_positive_rate],
            y=[point.true_positive_rate],
            customdata=[point.probability],
            name=f"{curve.name} at one rate",
            mode="markers",
            showlegend=False,
            marker={
                "size": 12,
                "color": colour(curve.name),
                "line": {"width": 2, "color": "white"},
            },
            hovertemplate=_RATES + f"<br>n = {curve.rows:,}<extra>{curve.name}</extra>",
        )
        for curve, point in zip(curves, points, strict=False)
    ]
    return draw(
        [_dotted("random ranking", [0, 1]), *lines, *marks],
        460,
        x={"title": "false positive rate", "range": [0, 1], **SQUARE_X},
        y={"title": "true positive rate", "range": [0, 1.005], **SQUARE_Y},
        margin=SQUARE_MARGIN,
    )


def precision_recall_figure(curves: Sequence[PrecisionRecallCurve]) -> go.Figure:
    """Draw precision against recall, with the base rate, which is that of a random ranking."""
    words = "threshold T %{customdata:.4f}<br>precision %{y:.3f}<br>recall %{x:.3f}"
    lines = [
        _curve(curve, f"average precision {number(curve.average_precision)}", words)
        | {"x": curve.recall, "y": curve.precision}
        for curve in curves
    ]
    # With every row called positive, precision is the base rate.
    rates = [float(curve.precision[-1]) for curve in curves if curve.precision.size]
    base = [
        {**_dotted(f"base rate {rate:.3f}", [rate, rate]), "showlegend": True}
        for rate in rates[-1:]
    ]
    return draw(
        [*lines, *base],
        460,
        x={"title": "recall", "range": [0, 1], **SQUARE_X},
        y={"title": "precision", "range": [0, 1.005], **SQUARE_Y},
        margin={**SQUARE_MARGIN, "t": 68},  # the legend has long names
    )


def reliability_figure(curves: Sequence[ReliabilityCurve]) -> go.Figure:
    """Draw observed against predicted rates with 95 % intervals and the diagonal."""
    lines = [
        scatter(
            x=curve.predicted,
            y=curve.observed,
            customdata=curve.count,
            name=curve.name,
            mode="lines+markers",
            line={"width": 2, "color": colour(curve.name)},
            marker={"size": 7},
            error_y=interval(curve.low, curve.observed, curve.high, thickness=1.2, width=3),
            hovertemplate="predicted %{x:.3f}<br>observed %{y:.3f}<br>n = %{customdata:,}"
            f"<extra>{curve.name}</extra>",
        )
        for curve in curves
    ]
    reach = max(
        (max(*curve.predicted, *curve.high) for curve in curves if curve.count.size), default=1
    )
    return draw(
        [_dotted("perfectly calibrated", [0, 1]), *lines],
        460,
        x={"title": "predicted probability", "range": [0, min(1.0, 1.05 * reach)], **SQUARE_X},
        y={"title": "observed positive rate", "range": [0, min(1.02, 1.05 * reach)], **SQUARE_Y},
        margin=SQUARE_MARGIN,
    )


def change_figure(found: Evaluation) -> go.Figure:
    """Draw the ranking and the probabilities of the test rows before and after, side by side.

    Bars are 95 % intervals of the change, drawn around what is reached after. Hollow: the same
    scheme without the network.
    """
    lift, loss = found.lift, found.loss
    measure = "AUC" if found.by_class is None else "macro AUC"
    adds, alone = found.network_adds, []
    if adds is not None:
        alone.append(_hollow(adds.before, f"{measure} {number(adds.before)} without the network"))
    n = f"<br>n = {counted(found.rows, 'test row')}"
    ranking = f"{measure} {number(lift.auc, sign=True)}"
    between = f"{interval_in_words(lift)}, p-value {escape(p_in_words(lift.p))}{n}"
    before, after = found.before.log_loss, found.after.log_loss
    fell = f"log-loss {number(after - before, sign=True)}"
    loss_between = "no interval"
    if not math.isnan(loss.low):
        loss_between = f"95 % interval {-loss.high:+.4f} to {-loss.low:+.4f}"
    left = _dumb_bell(lift.before, lift.after, (lift.low, lift.high), f"{ranking}<br>{between}")
    right = _dumb_bell(before, after, (-loss.high, -loss.low), f"{fell}<br>{loss_between}{n}")
    axis = {"tickformat": ".6~f", "nticks": 5}
    heads = (
        (0.0, f"<b>Ranking</b>: {ranking}"),
        (0.53, f"<b>Probabilities</b>: {fell}"),
    )
    return draw(
        [*alone, *left, *({**each, "xaxis": "x2", "showlegend": False} for each in right)],
        185,
        x={**axis, "domain": [0.0, 0.47], "title": f"{measure} (higher is better)"},
        y={"visible": False, "fixedrange": True, "range": [-1, 1]},
        xaxis2={**AXIS, **axis, "domain": [0.53, 1.0], "title": "log-loss (lower is better)"},
        margin={"t": 75, "l": 20, "b": 64},
        annotations=[_head(*each) for each in heads],
    )


def _dumb_bell(
    before: float, after: float, change: tuple[float, float], words: str
) -> tuple[Part, ...]:
    """Join what is before with what is after; `change` is the interval of their difference."""
    ends = interval([before + change[0]], [after], [before + change[1]], thickness=2, width=7)
    line = {"width": 3, "color": translucent("quiet", 0.6)}
    common = {"y": [0], "mode": "markers", **on_hover([words])}
    return (
        scatter(
            x=[before, after], y=[0, 0], mode="lines", line=line, hoverinfo="skip", showlegend=False
        ),
        scatter(
            x=[before], name="before", marker={"size": 14, "color": colour("before")}, **common
        ),
        scatter(
            x=[after],
            name="after",
            marker={"size": 14, "symbol": "diamond", "color": colour("after")},
            error_x=ends,
            **common,
        ),
    )


def _hollow(value: float, words: str) -> Part:
    return scatter(
        x=[value],
        y=[0],
        name="after, without the network",
        mode="markers",
        legendrank=1001,  # drawn first, so that it hides neither of the others
        marker={
            "size": 20,
            "symbol": "circle-open",
            "color": colour("quiet"),
            "line": {"width": 2},
        },
        **on_hover([words]),
    )


def _head(x: float, text: str) -> Part:
    """Write above a panel, at its left edge."""
    edge = {"x": x, "xanchor": "left", "y": 1, "yanchor": "bottom", "xref": "paper"}
    return {"text": text, **edge, "yref": "paper", "showarrow": False, "align": "left"}


def leaf_lift_figure(
    leaves: pd.DataFrame, selected: Collection[int] = (), names: Mapping[int, str] = NO_NAMES
) -> go.Figure:
    """Draw what each leaf contributes to the lift in AUC, with 95 % intervals, the largest first.

    `leaves` is that of `Evaluation`. The bars add up to the lift; the selected leaves are
    outlined.
    """
    leaves = leaves.sort_values("contribution", ascending=False, kind="stable")
    chosen = [leaf in selected for leaf in leaves["leaf"]]
    shares = bars(
        x=leaves["contribution"].tolist(),
        y=list(range(len(leaves))),
        orientation="h",
        name="contribution",
        error_x={
            "array": (leaves["contribution_high"] - leaves["contribution"]).tolist(),
            "color": colour("quiet"),
            "thickness": 1.5,
            "width": 3,
        },
        marker={
            "color": [
                translucent("before" if value < 0 else "after", 0.5)
                for value in leaves["contribution"]
            ],
            "line": {"color": colour("selected"), "width": [3 if each else 0 for each in chosen]},
        },
        **leaf_marks(leaves["leaf"].tolist(), [_leaf_words(row) for row in leaves.itertuples()]),
    )
    return draw(
        [shares],
        90 + 34 * len(leaves),
        x={
            "title": "share of the lift in AUC",
            "tickformat": ".6~f",
            **unmoved(leaves["contribution"].tolist()),
        },
        y=names_axis([axis_name(leaf, leaf in selected, names) for leaf in leaves["leaf"]]),
        shapes=[zero_line()],
        showlegend=False,
        bargap=0.25,
        margin={"t": 15},
    )


def pair_gain_figure(
    pairs: pd.DataFrame, names: Mapping[int, str], selected: Collection[int] = ()
) -> go.Figure:
    """Draw what each pair of leaves gained as a map: negative rows across, positive ones down.

    `pairs` is what `hetcal.results.contributions.pair_gains` returns; the cells add up to the lift.
    """
    table = pairs.pivot_table("gain", "positive", "negative", dropna=False)
    called = {leaf: wrapped_text(name) for leaf, name in names.items()}
    words = [
        [
            f"positive rows of {called[one]}<br>negative rows of "
            f"{called[zero]}<br>gain {number(gain, sign=True)}"
            for zero, gain in row.items()
        ]
        for one, row in table.iterrows()
    ]
    reach = float(table.abs().max(axis=None)) or 0.01
    heat = heat_map(table.to_numpy().tolist(), reach, "gain", words)
    places = list(range(len(table)))
    numbers = [f"<b>{each}</b>" if each in selected else each for each in table.columns]
    many = len(table) > MOST_NUMBERS  # side by side they would overlap; hovering tells them
    ticks = {"tickvals": places, "showgrid": False}
    across = ticks | {"ticktext": numbers, "showticklabels": not many, "tickangle": 0}
    if many:
        down = ticks | {"ticktext": numbers, "tickfont": {"size": 9}}
    else:
        named = [axis_name(each, each in selected, names) for each in table.index]
        down = ticks | {"ticktext": named}
    return draw(
        [heat],
        max(300, 130 + (12 if many else 30) * len(table)),
        x={"title": "leaf of the negative row", **across},
        y={"title": "leaf of the positive row", **down, "autorange": "reversed"},
        margin={"t": 15},
    )


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
        **on_hover(_class_words(found)),
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


def _curve(curve: RocCurve | PrecisionRecallCurve, area: str, words: str) -> dict[str, Any]:
    return scatter(
        customdata=curve.threshold,
        name=f"{curve.name} · {area}",
        mode="lines",
        line={"width": 2.5, "color": colour(curve.name)},
        hovertemplate=f"{words}<br>n = {curve.rows:,}<extra>{curve.name}</extra>",
    )


def _dotted(name: str, heights: Sequence[float]) -> Part:
    """Draw a line to compare with; it has no legend entry, which would need a second line."""
    return scatter(
        x=[0, 1],
        y=heights,
        name=name,
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"dash": "dot", "width": 1.5, "color": colour("quiet")},
    )


def _leaf_words(row: Any) -> str:
    return (
        f"<b>Leaf {row.leaf}</b><br>n = {counted(row.rows, 'test row')}, {row.positives:,} positive"
        f"<br>contribution {number(row.contribution, sign=True)}, 95 % interval "
        f"{number(row.contribution_low, sign=True)} to {number(row.contribution_high, sign=True)}"
        f"<br>log-loss {number(row.log_loss_before)} before, {number(row.log_loss_after)} after"
    )


def _class_words(found: Evaluation) -> list[str]:
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
