"""A run as one page of HTML for people: it opens without a connection, and prints.

It is made of what the artifact holds, that is of aggregates: it has no row of the table. Its own
policy forbids it to load anything from elsewhere.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from hetcal.artifacts.artifact import Artifact
from hetcal.artifacts.saved_run import SavedRun, saved_run
from hetcal.artifacts.summary import summary_table
from hetcal.choices import plain_name
from hetcal.errors import ExportError, HetcalError
from hetcal.exports.about import about_lines
from hetcal.exports.proof import Parity, in_fresh_process
from hetcal.exports.recipe import Document
from hetcal.figures.named import draw
from hetcal.results.words import DEFINITIONS

NAME = "calibration_report.html"
USE = (
    f"Open {NAME} in a browser; it needs no connection.",
    "Print it, or save it as PDF, from there: charts keep their size.",
    "Point at a mark for its numbers; drag to look closer, double-click to go back.",
)
CANNOT = (
    "It scores no rows: it says what the artifact was measured to do.",
    "It holds no row of the table, so nothing in it can be counted again.",
)
WIDTH, HALF = 700, 346  # pixels; a printed page is not wider
HEIGHTS = {"roc": 330, "reliability": 330, "maps": 340, "applied_map": 340}
LADDER = {
    "name": "scheme",
    "auc": "AUC",
    "lift": "lift",
    "low": "low",
    "high": "high",
    "without": "lift without the model",
    "log_loss": "log-loss",
    "numbers": "numbers",
}
SIGNED = ("change", "low", "high", "adds", "lift", "lift without the model")
DEFINED = (
    *("AUC", "Lift", "Interval", "p-value", "Log-loss", "Brier score", "Average precision"),
    *("Calibration error", "Calibration error, debiased", "Over-confident", "Slope and intercept"),
    *("Without the model", "What the model adds", "Share of the lift", "Kinds of schemes"),
)
FIGURES = (
    ("ladder", "What would help how much", "Right of the line is better; bars: 95 % intervals."),
    ("roc", "ROC", "Further up and to the left is better."),
    ("reliability", "Reliability", "On the diagonal, probabilities are right."),
    ("leaf_lift", "Where the lift comes from", "The shares of the leaves add up to the lift."),
    ("class_lift", "Class by class", "Each class against all others; bars: 95 % intervals."),
    ("top_label", "How sure, and how often right", "On the diagonal, the top label is as sure."),
    ("tree", "The leaves", "Rows and positive rate of each leaf on training rows."),
    ("overconfidence", "Over-confidence", "The further train and test are apart, the stronger."),
    ("maps", "The maps of the leaves", "The diagonal leaves the score as it is."),
    ("applied_map", "What is done to the score", "Bands: what rows of one score become."),
    ("curves", "The curves", "What each column adds to the logit."),
)
BESIDE = ("roc", "reliability")  # two in a line
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
STYLE = f"""
:root {{ color-scheme: light }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: #262730; background: #fff;
  max-width: {WIDTH}px; margin: 2.5rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.5rem; line-height: 1.3; margin: .2rem 0 .6rem }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .4rem; break-after: avoid }}
h3 {{ font-size: 1rem; margin: 1.2rem 0 0; break-after: avoid }}
.quiet {{ color: #5f6368; font-size: 13px }}
.pair {{ display: flex; gap: 8px }}
figure {{ margin: .4rem 0 0; break-inside: avoid }}
figcaption {{ color: #5f6368; font-size: 13px }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }}
th, td {{ border-bottom: 1px solid #ddd; padding: .25rem .7rem .25rem 0; text-align: right;
  vertical-align: top }}
th:first-child, td:first-child, td.words, th.words {{ text-align: left }}
tr {{ break-inside: avoid }}
dt {{ font-weight: 600; margin-top: .5rem; break-after: avoid }}
dd {{ margin: 0; break-inside: avoid }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; color: #5f6368 }}
li {{ margin: .2rem 0 }}
@page {{ margin: 14mm }}
@media print {{ body {{ margin: 0 auto; padding: 0 }} .scroll {{ overflow: visible }}
  .modebar {{ display: none }} }}
"""
DRAWING = """
for (const place of document.querySelectorAll("div[data-figure]")) {
  const drawn = JSON.parse(document.getElementById(place.dataset.figure).textContent);
  Plotly.newPlot(place, drawn.data, drawn.layout, {displaylogo: false, displayModeBar: false});
}
"""


def report_page(artifact: Artifact, about: Document) -> bytes:
    """Write the page."""
    run = saved_run(artifact, artifact.min_rows)
    first, _, rest = run.verdict.partition(". ")
    rows = artifact.test_rows
    body = [
        '<p class="quiet">Calibration report</p>',
        f"<h1>{escape(first.rstrip('.'))}.</h1>",
        f"<p>{escape(rest)}</p>",
        f'<p class="quiet">{escape(_given(artifact))} Measured on {rows:,} test rows that nothing '
        f"was fitted on. {escape(run.computed_on if not run.classes else '')}</p>",
        *_figure("change", draw(run, "change", artifact=artifact), ""),
        _table(measures(run), "measures"),
        *_sections(run, artifact),
        *_leaves(run),
        *_findings(run),
        "<h2>Settings</h2>",
        _pairs(artifact.settings),
        "<h2>What the numbers mean</h2>",
        "<dl>",
        *(f"<dt>{escape(name)}</dt><dd>{escape(DEFINITIONS[name])}</dd>" for name in DEFINED),
        "</dl>",
        "<h2>What this is of</h2>",
        f"<pre>{escape(chr(10).join(_carried(about)))}</pre>",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>Calibration report</title><style>{STYLE}</style>"
    )
    text = (
        f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}'
        f"<script>{get_plotlyjs()}</script><script>{DRAWING}</script></body></html>"
    )
    return text.encode()


def measures(run: SavedRun) -> pd.DataFrame:
    """Return the measures of the test rows as text, measure by measure."""
    table = summary_table(run)[["before", "after", "change", "low", "high", "without", "adds"]]
    return _written(table.reset_index())


def _written(table: pd.DataFrame) -> pd.DataFrame:
    """Write numbers to four digits, changes with their sign, and nothing where none is known."""
    forms = {name: "+.4f" if name in SIGNED else ".4f" for name in table}
    return table.assign(
        **{
            str(name): [_number(each, forms[name]) for each in table[name]]
            for name in table.select_dtypes("number")
        }
    )


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _given(artifact: Artifact) -> str:
    """Name the label, and the value that counts as positive."""
    label, positive = (artifact.settings.get(name) for name in ("label", "positive"))
    if label is None:
        return ""
    return f"Label: {label}." if positive is None else f"Label: {label}, positive: {positive}."


def _sections(run: SavedRun, artifact: Artifact) -> Iterator[str]:
    """Yield the figures that this run has; two small ones share a line."""
    shown = {name: _drawn(run, name, artifact) for name, *_ in FIGURES}
    titles = {name: (title, how) for name, title, how in FIGURES}
    together = [name for name in BESIDE if shown[name] is not None]
    for name, figure in shown.items():
        if figure is None or (name in together and name != together[0]):
            continue
        group = together if name in together else [name]
        yield '<div class="pair">' if len(group) > 1 else ""
        for each in group:
            title, how = titles[each]
            drawn = shown[each]
            if drawn is not None:
                yield f"<div><h2>{escape(title)}</h2>"
                yield from _figure(each, drawn, how, len(group) > 1)
                yield "</div>"
        yield "</div>" if len(group) > 1 else ""
        if name == "ladder":
            yield from _ladder(run)


def _drawn(run: SavedRun, name: str, artifact: Artifact) -> go.Figure | None:
    """Draw a figure, if this run has it."""
    try:
        return draw(run, name, artifact=artifact)
    except HetcalError:  # such a run has none: it says which have
        return None


def _figure(name: str, figure: go.Figure, how: str, half: bool = False) -> Iterator[str]:
    layout = {"width": HALF if half else WIDTH, "font": {"color": "#262730"}}
    layout["height"] = HEIGHTS.get(name, figure.layout.height)
    figure = go.Figure(figure).update_layout(**layout, template="plotly_white")
    # No text of a figure can end the script.
    content = (figure.to_json() or "").replace("<", "\\u003c")
    yield f'<script type="application/json" id="figure_{name}">{content}</script>'
    yield f'<figure class="scroll"><div data-figure="figure_{name}"></div>'
    yield f"<figcaption>{escape(how)}</figcaption></figure>"


def _ladder(run: SavedRun) -> Iterator[str]:
    ladder = None if run.choice is None else run.choice.candidates
    if ladder is not None:
        names = [
            f"{plain_name(name)}{' (in use)' if chosen else ''}"
            for name, chosen in zip(ladder["name"], ladder["chosen"], strict=True)
        ]
        numbers = [f"{each:,}" for each in ladder["numbers"]]
        shown = ladder.assign(name=names, numbers=numbers)[list(LADDER)].rename(columns=LADDER)
        yield _table(_written(shown))


def _leaves(run: SavedRun) -> Iterator[str]:
    """Yield the table of the leaves: their rules, what test rows say, and their maps."""
    leaves = pd.DataFrame(
        {
            "leaf": [str(each.id) for each in run.partition.leaves],
            "rule": [each.rule for each in run.partition.leaves],
            "training rows": [f"{each.rows:,}" for each in run.partition.leaves],
            "positive": [f"{each.positive_rate:.1%}" for each in run.partition.leaves],
        }
    )
    if not run.classes:
        found = run.evaluation.leaves
        for name in ("log_loss_before", "log_loss_after"):
            leaves[name.replace("_", " ").replace("log ", "log-")] = _written(found)[name]
        if run.applied:
            leaves["map"] = [each.shape.words for each in run.leaf_maps.maps_]
    yield "<h2>Leaf by leaf</h2>"
    yield _table(leaves)


def _findings(run: SavedRun) -> Iterator[str]:
    if run.findings:
        yield "<h2>What was noticed</h2><ul>"
        yield from (f"<li>{escape(each.message)}</li>" for each in run.findings)
        yield "</ul>"


def _pairs(settings: Mapping[str, Any]) -> str:
    known = {name: each for name, each in settings.items() if each not in (None, [], "", {})}
    words = {
        name: ", ".join(map(str, each)) if isinstance(each, list) else str(each)
        for name, each in known.items()
    }
    table = pd.DataFrame({"setting": list(words), "value": list(words.values())})
    return _table(table, words=("value",))


def _carried(about: Document) -> list[str]:
    examples = [json.dumps(each, ensure_ascii=False) for each in about["examples"]]
    return [*about_lines(about), *(["Examples, made up:", *examples] if examples else [])]


def _table(
    table: pd.DataFrame, id: str = "", words: Sequence[str] = ("rule", "map", "value")
) -> str:
    """Write a table of text; columns of words begin at their left."""

    def line(cells: Sequence[object], tag: str) -> str:
        named = zip(table.columns, cells, strict=True)
        return "".join(
            f"<{tag}{' class=words' if name in words else ''}>{escape(str(cell))}</{tag}>"
            for name, cell in named
        )

    rows = "".join(f"<tr>{line(each, 'td')}</tr>" for each in table.itertuples(index=False))
    return (
        f'<div class="scroll"><table id="{id}"><thead><tr>{line(list(table.columns), "th")}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


READER = """
import json
from html.parser import HTMLParser

class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.elsewhere, self.inside, self.cell = [], [], False, None
    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.elsewhere += [tag for key in ("src", "href", "action", "data") if given.get(key)]
        if tag == "table":
            self.inside = given.get("id") == "measures"
        if tag == "td" and self.inside:
            self.cells.append("")
            self.cell = True
    def handle_endtag(self, tag):
        self.cell = None if tag == "td" else self.cell
    def handle_data(self, data):
        if self.cell:
            self.cells[-1] += data

reader = Reader()
reader.feed(open("calibration_report.html", encoding="utf-8").read())
print(json.dumps([reader.cells, reader.elsewhere]))
"""


def check(content: bytes, artifact: Artifact) -> Parity:
    """Read the measures back from the page in a fresh process, and look for what it would load."""
    shown, elsewhere = in_fresh_process(READER, {NAME: content}, "-S")
    wanted = measures(saved_run(artifact, artifact.min_rows)).to_numpy().ravel().tolist()
    if shown != wanted or elsewhere:
        raise ExportError(
            "The page does not show the artifact's measures, or loads something from elsewhere.",
            "A report is given out only if it says what the artifact says.",
            "Score with the artifact itself, and report this.",
        )
    return Parity(len(wanted), 0.0, "Python's standard library", "cells of its first table")
