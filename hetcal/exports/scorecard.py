"""Curves as a scorecard: points for each column and bin, as a table to calculate with or to print.

The table has a line for each entry of each term. Columns: `term`; for its first column `column`,
`kind` (number, category, other or missing), `above` and `up_to` (numbers; empty: no limit) and
`categories` (a list in JSON); the same with `_2` for the second column of a pair; `logit` that
the entry adds, `odds` that it multiplies by, and whole `points`. The line `base` is added for
every row. The line `score` is for one logit of the score: within its limits, and by the logarithm
of 1 + the distance beyond them.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise, product

import pandas as pd

from hetcal.exports.about import about_lines
from hetcal.exports.proof import Parity, compare, in_fresh_process, rows_json
from hetcal.exports.recipe import Document

CSV, HTML = "scorecard.csv", "scorecard.html"
DOUBLING = 20  # points that double the odds
PER_LOGIT = DOUBLING / math.log(2)
AXIS = ("column", "kind", "above", "up_to", "categories")
ENDS = ("", "_2")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
FIELDS = ("term", *AXIS, *(f"{each}_2" for each in AXIS), "logit", "odds", "points")
USE = (
    f"Add up the points of a row: base, score and one line of each term. {DOUBLING} points double "
    "the odds.",
    f"Odds = 2 ^ (points / {DOUBLING}); probability = odds / (1 + odds).",
    f"{HTML} is to print, {CSV} to calculate with: its column logit is exact.",
)
CANNOT = (
    "It does not run the network: it takes the network's score as a column.",
    "Whole points are rounded; the column logit is not.",
)


def is_scorecard(document: Document) -> bool:
    """Whether the steps are curves, after one map of the score or without it."""
    return [each["step"] for each in document["steps"]] in (["add"], ["tame", "add"])


def lines(document: Document) -> list[Document]:
    """Return the lines of the table."""
    *before, add = document["steps"]
    line = before[0] if before else {"slope": 1.0, "intercept": 0.0}
    base = add["slope"] * line["intercept"] + add["intercept"]
    score = {"kind": document["score"]["kind"], "column": document["score"]["column"]}
    limits = {"above": line.get("low"), "up_to": line.get("high")}
    found = [
        {"term": "base", **_worth(base)},
        {"term": "score", **score, **limits, **_worth(add["slope"] * line["slope"])},
    ]
    for number, term in enumerate(add["terms"], 1):
        entries = [list(_entries(axis, document)) for axis in term["axes"]]
        for parts, value in zip(product(*entries), term["values"], strict=True):
            ends = zip(ENDS, parts, strict=False)  # of a pair there are two
            named = {f"{key}{end}": each[key] for end, each in ends for key in each}
            found.append({"term": number, **named, **_worth(value)})
    return found


def _worth(logit: float) -> Document:
    return {"logit": logit, "odds": math.exp(logit), "points": round(logit * PER_LOGIT)}


def _entries(axis: Document, document: Document) -> Iterator[Document]:
    """Describe the entries of an axis in their order."""
    column = document["columns"][axis["column"]]
    name = {"column": column["name"]}
    if "limits" in axis:
        bounds = [None, *axis["limits"], None]
        for above, up_to in pairwise(bounds):
            yield {**name, "kind": "number", "above": above, "up_to": up_to}
    else:
        for entry in range(axis["entries"] - 2):
            places = zip(column["categories"], axis["places"][:-2], strict=True)
            listed = [each for each, place in places if place == entry]
            yield {**name, "kind": "category", "categories": listed}
        yield {**name, "kind": "other"}
    yield {**name, "kind": "missing"}


def csv_file(document: Document) -> bytes:
    """Write the table as CSV; numbers can be read back bit for bit."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for line in lines(document):
        shown = {key: "" if value is None else value for key, value in line.items()}
        lists = {key: json.dumps(value) for key, value in shown.items() if isinstance(value, list)}
        names = {key: _no_formula(shown[key]) for key in ("column", "column_2") if key in shown}
        writer.writerow(shown | lists | names)
    return text.getvalue().encode()


def _no_formula(name: str) -> str:
    """Keep a spreadsheet from running a name that begins like a formula."""
    return f"'{name}" if name.startswith(FORMULAS) else name


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 0 0 1.5rem; break-inside: avoid }
th, td { border-bottom: 1px solid #ccc; padding: .2rem .8rem; text-align: right }
th:first-child, td:first-child { text-align: left }
pre { white-space: pre-wrap; font-size: 12px; color: #555 }
"""


def html_file(document: Document, about: Document) -> bytes:
    """Write the table as a page to print: no script, and nothing from elsewhere."""
    base, score, *entries = lines(document)
    kind = "logit" if score["kind"] == "logit" else "logit of the probability"
    parts = [
        "<h1>Scorecard</h1>",
        *(f"<p>{escape(each)}</p>" for each in USE[:2]),
        _table(
            ("for every row", "points", "odds times"),
            [
                ("base", *_shown(base)),
                (
                    f"each 1 of the {kind} in {score['column']}",
                    f"{score['logit'] * PER_LOGIT:.1f}",
                    f"{score['odds']:.3g}",
                ),
            ],
        ),
    ]
    if score["above"] is not None:
        parts.append(
            f"<p>A logit below {score['above']:.4g} or above {score['up_to']:.4g} counts up to "
            "there, and beyond by the natural logarithm of 1 + the distance.</p>"
        )
    for _, group in groupby(entries, key=lambda each: each["term"]):
        term = _joined(list(group))
        heads = [term[0][f"column{end}"] for end in ENDS if f"column{end}" in term[0]]
        cells = [
            (" and ".join(_words(each, end) for end in ENDS[: len(heads)]), *_shown(each))
            for each in term
        ]
        parts += [
            f"<h2>{escape(' × '.join(heads))}</h2>",
            _table(("value", "points", "odds times"), cells),
        ]
    parts += ["<h2>What a total means</h2>", _totals()]
    carried = "\n".join([*about_lines(about), json.dumps(about["examples"], ensure_ascii=False)])
    parts.append(f"<pre>{escape(carried)}</pre>")
    head = f'<meta charset="utf-8"><title>Scorecard</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'.encode()


def _joined(term: list[Document]) -> list[Document]:
    """Join numbers beside each other that have the same points, if the term is of one column."""
    joined = term[:1]
    for each in term[1:]:
        last = joined[-1]
        numbers = each["kind"] == last["kind"] == "number" and "column_2" not in each
        if numbers and each["points"] == last["points"]:
            joined[-1] = {**last, "up_to": each["up_to"]}
        else:
            joined.append(each)
    return joined


def _shown(line: Document) -> tuple[str, str]:
    """Write the points, and the odds that these mean."""
    points: int = line["points"]
    return str(points).replace("-", "−"), f"{2 ** (points / DOUBLING):.3g}"


def _words(line: Document, end: str) -> str:
    """Write what is in an entry for a person."""
    kind = line[f"kind{end}"]
    if kind == "category":
        return ", ".join(line[f"categories{end}"])
    if kind != "number":
        return str(kind)
    above, up_to = line[f"above{end}"], line[f"up_to{end}"]
    if above is None:
        return "any number" if up_to is None else f"up to {up_to:.6g}"
    return f"above {above:.6g}" if up_to is None else f"{above:.6g} to {up_to:.6g}"


def _totals() -> str:
    rows = []
    for total in range(-6 * DOUBLING, 7 * DOUBLING, DOUBLING):
        odds = 2.0 ** (total / DOUBLING)
        rows.append((total, f"{odds:.4g}", f"{odds / (1 + odds):.1%}"))
    return _table(("points", "odds", "probability"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(each))}</{tag}>" for each in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(each, "td") for each in rows) + "</table>"


READER = """
import csv, json, math
from bisect import bisect_left

def parts(line, end):
    kind = line["kind" + end]
    if kind == "number":
        return [float(line["up_to" + end] or "inf")]
    return json.loads(line["categories" + end])

base, score, *lines = csv.DictReader(open("scorecard.csv", encoding="utf-8", newline=""))
for line in (score, *lines):
    for key in ("column", "column_2"):
        if line[key][:1] == "'" and line[key][1:2] in set("=+-@\\t\\r"):
            line[key] = line[key][1:]
terms = {}
for line in lines:
    ends = [end for end in ("", "_2") if line["column" + end]]
    term = terms.setdefault(line["term"], {"columns": [line["column" + e] for e in ends], "to": {}})
    term["known"] = term.get("known") or [set() for _ in ends]
    keys = [()]
    for known, end in zip(term["known"], ends):
        special = line["kind" + end] in ("other", "missing")
        values = [("special", line["kind" + end])] if special else parts(line, end)
        known.update(() if special else values)
        keys = [(*key, value) for key in keys for value in values]
    for key in keys:
        term["to"].setdefault(key, float(line["logit"]))
for term in terms.values():
    numbers = [any(isinstance(each, float) for each in known) for known in term["known"]]
    term["sorted"] = [sorted(k) if n else None for k, n in zip(term["known"], numbers)]

def entry(value, known, limits):
    if value is None:
        return ("special", "missing")
    if limits is not None:
        return limits[bisect_left(limits, value)]
    return value if value in known else ("special", "other")

def probability(row):
    s = row[score["column"]]
    if s is None or not math.isfinite(s):
        return None
    if score["kind"] == "probability":
        s = min(max(s, 1e-7), 1 - 1e-7)
        s = math.log(s / (1 - s))
    if score["above"]:
        low, high = float(score["above"]), float(score["up_to"])
        beyond = math.log1p(max(s - high, 0)) - math.log1p(max(low - s, 0))
        s = min(max(s, low), high) + beyond
    logit = float(base["logit"]) + float(score["logit"]) * s
    for term in terms.values():
        axes = zip(term["columns"], term["known"], term["sorted"])
        logit += term["to"][tuple(entry(row[name], *known) for name, *known in axes)]
    e = math.exp(-abs(logit))
    return 1 / (1 + e) if logit >= 0 else e / (1 + e)

print(json.dumps([probability(row) for row in json.load(open("rows.json"))]))
"""


def check(content: bytes, rows: pd.DataFrame, expected: pd.DataFrame) -> Parity:
    """Calculate rows from the table alone in a fresh process, and compare them.

    Curves have no leaves of their own.
    """
    files = {CSV: content, "rows.json": rows_json(rows)}
    after = in_fresh_process(READER, files, "-S")
    found = expected["leaf"].tolist(), after
    return compare(expected, found, "the column logit of the table")
