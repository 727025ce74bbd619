"""The calibration as one file of Python that needs nothing else."""

import json
from pathlib import Path

import pandas as pd

from hetcal.exports.proof import Parity, compare, in_fresh_process, rows_json
from hetcal.exports.recipe import Document, trees_of

NAME = "calibrated.py"
CANNOT = (
    "It does not run the network: it takes the network's score as a column.",
    "It does not read files, and it does not learn.",
)
MANY_TREES, FEWER_ROWS = 10, 1_000  # from so many trees on fewer rows are scored one by one
SINGLE = """
import json
from calibrated import score_row
found = [score_row(row) for row in json.load(open("rows.json"))]
print(json.dumps([[each[key] for each in found] for key in ("leaf", "after")]))
"""
MANY = """
import json, sys
from calibrated import score_rows
rows = json.load(open("rows.json"))
found = score_rows({name: [row[name] for row in rows] for name in rows[0]})
print(json.dumps([found[key].tolist() for key in ("leaf", "after")]))
"""
HERE = "import sys; sys.path.insert(0, '')\n"


def use(document: Document) -> list[str]:
    """Return how the file is used, in three lines."""
    names = [document["score"]["column"], *(each["name"] for each in document["columns"])]
    return [
        "from calibrated import score_row, score_rows",
        f"score_row(row)['after']  # row has the keys {', '.join(map(repr, names))}",
        "score_rows(table)['after']  # the same as arrays by name, or a data frame; needs numpy",
    ]


def python_file(document: Document, about: Document) -> bytes:
    """Write the file: the scorer with this calibration in it."""
    text = Path(__file__).with_name("scorer.py").read_text(encoding="utf-8")
    for name, content in (("ABOUT", about), ("RECIPE", document)):
        before = f'{name} = json.loads("{{}}")'
        text = text.replace(before, f"{name} = json.loads({_literal(content, name)})")
    return text.encode()


def _literal(content: Document, name: str) -> str:
    """Write JSON as text of Python, so that no value of it can end the text."""
    shown = json.dumps(content, indent=1 if name == "ABOUT" else None)
    shown = shown.replace("'", "\\u0027")
    return f"r'''\n{shown}\n'''"


def check(content: bytes, document: Document, rows: pd.DataFrame, expected: pd.DataFrame) -> Parity:
    """Compare both ways through the file with the artifact, each in a fresh process."""
    few = len(rows) if len(trees_of(document)) < MANY_TREES else FEWER_ROWS
    files = {NAME: content, "rows.json": rows_json(rows[:few])}
    # Without site packages there is the standard library only.
    found = in_fresh_process(HERE + SINGLE, files, "-S")
    single = compare(expected[:few], found, "the standard library of Python")
    found = in_fresh_process(HERE + MANY, {**files, "rows.json": rows_json(rows)})
    many = compare(expected, found, "numpy")
    by = f"numpy, and {few:,} of them by Python's standard library alone"
    return Parity(many.rows, max(single.difference, many.difference), by)
