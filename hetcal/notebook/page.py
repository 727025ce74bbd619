"""What a notebook shows of a run: the verdict, a picture, the numbers; HTML without scripts."""

import math
from base64 import b64encode
from collections.abc import Sequence
from html import escape

import pandas as pd

from hetcal.data.checks import Finding
from hetcal.metrics.delong import Lift
from hetcal.results.evaluation import Evaluation

# The colours of the figures, see `hetcal.figures.base`, which needs Plotly.
BEFORE, AFTER, QUIET = "#0072B2", "#D55E00", "#8C8C8C"
WIDTH, HEIGHT, EDGE = 330, 92, 14  # pixels of a panel
LINE = 50  # pixels from the top of a panel
COLUMNS = ["before", "after", "change", "low", "high", "without", "adds"]


def notebook_page(
    verdict: str,
    summary: pd.DataFrame | None = None,
    evaluation: Evaluation | None = None,
    findings: Sequence[Finding] = (),
) -> str:
    """Write the verdict, and below it the picture, the numbers and the warnings."""
    first, _, rest = verdict.partition(". ")
    parts = [f"<p><b>{escape(first.rstrip('.'))}.</b> {escape(rest)}</p>"]
    if evaluation is not None:
        parts.append(change_picture(evaluation))
    if summary is not None:
        numbers = {"float_format": "{:.4f}".format, "na_rep": "", "index_names": False}
        parts.append(summary.to_html(columns=COLUMNS, border=0, **numbers))
    warnings = [each.message for each in findings if each.level == "warning"]
    if warnings:
        listed = "".join(f"<li>{escape(each)}</li>" for each in warnings)
        parts.append(f"<details><summary>Warnings ({len(warnings)})</summary><ul>{listed}</ul>")
        parts.append("</details>")
    return f'<div style="max-width:{2 * WIDTH + 20}px">{"".join(parts)}</div>'


def change_picture(found: Evaluation) -> str:
    """Draw ranking and probabilities before and after, as `change_figure` does, as two images.

    Bars are 95 % intervals of the change, drawn around what is reached after. Hollow: the same
    scheme without the network.
    """
    lift, loss, alone = found.lift, found.loss, _alone(found)
    ranking, fell = "AUC" if found.by_class is None else "macro AUC", "log-loss"
    losses = found.before.log_loss, found.after.log_loss
    drawn = _panel(ranking, (lift.before, lift.after), (lift.low, lift.high), alone)
    drawn += _panel(fell, losses, (-loss.high, -loss.low))
    hollow = "" if math.isnan(alone) else f" Hollow: {alone:.4f} without the network."
    return f"<div>{drawn}</div><small>Bars: 95 % intervals of the change.{hollow}</small>"


def _image(words: str, marks: str) -> str:
    """Put a drawing into the page; Jupyter takes SVG tags, not images, out of untrusted ones."""
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    style = f'font-family="sans-serif" font-size="12" fill="{QUIET}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{marks}</svg>'
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{words}" {size} src="data:image/svg+xml;base64,{data}">'


def _alone(found: Evaluation) -> float:
    """Return what the scheme reaches without the model, if that is not far from the rest."""
    adds: Lift | None = found.network_adds
    near = adds is not None and found.lift.before - adds.before < 3 * abs(found.lift.auc)
    return adds.before if adds is not None and near else math.nan


def _between(low: float, high: float) -> str:
    return "" if math.isnan(low) else f" ({low:+.4f} to {high:+.4f})"


def _panel(
    measure: str, ends: tuple[float, float], change: tuple[float, float], alone: float = math.nan
) -> str:
    """Draw a mark before, one after with its interval, and a hollow one without the network."""
    before, after = ends
    title = f"{measure} {after - before:+.4f}{_between(*change)}"
    low, high = (before + each for each in change)
    known = [each for each in (before, after, low, high, alone) if not math.isnan(each)]
    least, span = min(known), (max(known) - min(known)) or 1.0

    def at(value: float) -> str:
        return f"{EDGE + (value - least) / span * (WIDTH - 2 * EDGE):.1f}"

    line = f'<line x1="{{}}" x2="{{}}" y1="{LINE}" y2="{LINE}" stroke="{{}}" stroke-width="{{}}"/>'
    dot = f'<circle cx="{{}}" cy="{LINE}" r="6" fill="{{}}" stroke="{{}}"/>'
    parts = [f'<text x="{EDGE}" y="16" font-weight="bold">{title}</text>']
    parts.append(line.format(at(before), at(after), QUIET, 1))
    if not math.isnan(low):
        parts.append(line.format(at(low), at(high), AFTER, 3))
    if not math.isnan(alone):
        parts.append(dot.format(at(alone), "none", AFTER))
    for value, name, y, colour in ((before, "before", 80, BEFORE), (after, "after", 36, AFTER)):
        words, left = f"{value:.4f} {name}", (value - least) / span < 0.5
        place = f'x="{at(value)}" y="{y}" text-anchor="{"start" if left else "end"}"'
        parts.append(dot.format(at(value), colour, colour))
        parts.append(f'<text {place} fill="{colour}">{words}</text>')
    return _image(title, "".join(parts))
