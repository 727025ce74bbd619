"""The calibration as one SELECT, in the dialects of several databases."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pandas as pd

from hetcal.exports.about import about_lines
from hetcal.exports.proof import Parity, compare, in_fresh_process, rows_json
from hetcal.exports.recipe import Document

TABLE, GIVEN = "your_table", "hetcal_given"
CANNOT = (
    "It does not run the network: it takes the network's score as a column.",
    "It compares categories as text: cast to text they have to be as in training.",
    "A probability outside 0 to 1 gives NULL, and so does a score that is missing or infinite.",
)
HELD = "\ue000"  # stands for a line break inside a name or a text, which are not to be indented
LARGEST = 1.7976931348623157e308
FAR = 1e100  # no score is taken farther, so that no product overflows
SURE, LEAST = 40.0, -700.0  # beyond, a sigmoid is 1, and some databases cannot take the exponential


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts, types, and what is not a number."""

    double: str = "DOUBLE PRECISION"
    text: str = "VARCHAR(1000)"
    quote: str = '"'
    backslashes: bool = False  # escape quotes in texts, in place of a second quote
    is_nan: str = ""  # a condition with {}; empty where there is no such number
    name_quote: str = ""  # a quote inside a name; empty: two quotes

    def name(self, name: str) -> str:
        """Quote the name of a column or a table."""
        if self.name_quote:
            name = name.replace("\\", "\\\\")
        inside = name.replace(self.quote, self.name_quote or 2 * self.quote)
        return f"{self.quote}{inside}{self.quote}".replace("\n", HELD)

    def literal(self, text: str) -> str:
        """Quote a text."""
        if self.backslashes:
            text = text.replace("\\", "\\\\").replace("\n", "\\n")
        inside = text.replace("'", "\\'" if self.backslashes else "''")
        return f"'{inside}'".replace("\n", HELD)


DIALECTS = {
    "ansi": Dialect(),
    "postgresql": Dialect(text="TEXT", is_nan="{} = CAST('NaN' AS DOUBLE PRECISION)"),
    "duckdb": Dialect("DOUBLE", "VARCHAR", is_nan="isnan({})"),
    "sqlite": Dialect("REAL", "TEXT"),
    "bigquery": Dialect("FLOAT64", "STRING", "`", True, "IS_NAN({})", "\\`"),
    "spark": Dialect("DOUBLE", "STRING", "`", True, "isnan({})"),
}


def use(dialect: str) -> list[str]:
    """Return how the file is used, in three lines."""
    place = "your database" if dialect == "ansi" else dialect
    return [
        f"Put the name of your table in the place of {TABLE}, and run it in {place}.",
        "hetcal_after is the calibrated probability of each row, hetcal_leaf its leaf.",
        "All columns of your table come along; other columns named hetcal_… are steps on the way.",
    ]


def sql_file(document: Document, about: Document, dialect: str) -> bytes:
    """Write the SELECT, after comments that say what it is of."""
    comments = [
        *about_lines(about),
        "Examples:",
        *(f"  {json.dumps(each, ensure_ascii=False)}" for each in about["examples"]),
    ]
    lines = (f"-- {line}" for each in comments for line in each.splitlines())
    return ("\n".join(lines) + "\n" + _Select(document, DIALECTS[dialect]).text() + "\n").encode()


class _Select:
    """Writes the steps of a recipe, each as a table that adds one column to the one before."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self.document = document
        self.dialect = dialect

    def text(self) -> str:
        """Return the whole statement."""
        columns = self.document["columns"]
        given = [(self._column(each), _place(i)) for i, each in enumerate(columns)]
        score = self.document["score"]
        given.append((self._number(score["column"]), GIVEN))
        tables = [_table(0, given, f"{TABLE} AS h"), self._next(1, _score(score), "hetcal_score")]
        tables.append(self._next(2, self._leaf(self.document["leaf"]), "hetcal_leaf"))
        logit = "hetcal_score"
        for number, step in enumerate(self.document["steps"], 1):
            leaf = "hetcal_leaf"
            if "maps" in step and step["trees"] != [self.document["leaf"]]:
                leaf = f"hetcal_leaf_{number}"
                tables.append(self._next(len(tables), self._leaf(step["trees"][0]), leaf))
            mapped = self._step(step, logit, leaf)
            logit = f"hetcal_logit_{number}"
            tables.append(self._next(len(tables), mapped, logit))
        joined = ",\n".join(tables)
        last = f"FROM hetcal_{len(tables) - 1} AS h"
        after = f"SELECT h.*,\n{_shifted(_sigmoid(logit))} AS hetcal_after"
        return f"WITH {joined}\n{after}\n{last};".replace(HELD, "\n")

    @staticmethod
    def _next(number: int, expression: str, name: str) -> str:
        """Write the table that adds one column to the one before."""
        return _table(number, [(expression, name)], f"hetcal_{number - 1} AS h")

    def _column(self, column: Document) -> str:
        if column["kind"] == "number":
            return self._number(column["name"])
        return f"CAST({self.dialect.name(column['name'])} AS {self.dialect.text})"

    def _number(self, name: str) -> str:
        value = f"CAST({self.dialect.name(name)} AS {self.dialect.double})"
        if not self.dialect.is_nan:
            return value
        return f"CASE WHEN {self.dialect.is_nan.format(value)} THEN NULL ELSE {value} END"

    def _leaf(self, tree: int, at: int = 0) -> str:
        node = self.document["trees"][tree][at]
        if len(node) == 1:
            return str(node[0])
        column, rule, missing_left, left, right = node
        goes_left = self._goes_left(column, rule, missing_left)
        return _cases([(goes_left, self._leaf(tree, left))], self._leaf(tree, right))

    def _goes_left(self, column: int, rule: Any, missing_left: bool) -> str:
        place = _place(column)
        if isinstance(rule, list):
            names = self.document["columns"][column]["categories"]
            left = [name for code, name in enumerate(names) if code in set(rule)]
            right = [name for code, name in enumerate(names) if code not in set(rule)]
            if missing_left:
                return f"{place} IS NULL OR NOT {self._among(place, right)}"
            return f"{place} IS NOT NULL AND {self._among(place, left)}"
        below = "1 = 1" if rule is None else f"{place} <= {_n(rule)}"
        return f"{place} IS NULL OR {below}" if missing_left else f"{place} IS NOT NULL AND {below}"

    def _among(self, place: str, names: Sequence[str]) -> str:
        listed = ", ".join(map(self.dialect.literal, names))
        return f"({place} IN ({listed}))" if names else "(1 = 0)"

    def _step(self, step: Document, x: str, leaf: str) -> str:
        if step["step"] == "tame":
            return _line(step, _tamed(step, x))
        if step["step"] == "leaves":
            maps = [(f"{leaf} = {i}", _map(each, x)) for i, each in enumerate(step["maps"], 1)]
            return _cases(maps, "NULL")
        terms = (self._term(each["axes"], each["values"]) for each in step["terms"])
        return "\n+ ".join([_line(step, x), *terms])

    def _term(self, axes: Sequence[Document], values: Sequence[float]) -> str:
        """Write the entry of each axis, and inside it that of the next one."""
        if not axes:
            return _n(values[0])
        axis, size = axes[0], len(values) // axes[0]["entries"]
        inside = [
            self._term(axes[1:], values[i * size : (i + 1) * size]) for i in range(axis["entries"])
        ]
        place = _place(axis["column"])
        absent = (f"{place} IS NULL", inside[-1])
        if "limits" in axis:
            below = [f"{place} <= {_n(each)}" for each in axis["limits"]]
            return _cases([absent, *zip(below, inside[:-2], strict=True)], inside[-2])
        names = self.document["columns"][axis["column"]]["categories"]
        places = dict(zip(names, axis["places"][:-2], strict=True))
        entries = [
            (self._among(place, [name for name in names if places[name] == i]), each)
            for i, each in enumerate(inside[:-2])
        ]
        return _cases([absent, *entries], inside[-2])


def _table(number: int, added: Sequence[tuple[str, str]], source: str) -> str:
    columns = ",\n".join(_shifted(f"{value} AS {name}", 4) for value, name in added)
    return f"hetcal_{number} AS (\n  SELECT h.*,\n{columns}\n  FROM {source}\n)"


def _shifted(text: str, by: int = 2) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))


def _score(score: Document) -> str:
    """Write the logit of the score that is given, NULL if it has none."""
    if score["kind"] == "logit":
        return _cases([(f"ABS({GIVEN}) <= {_n(LARGEST)}", _between(-FAR, FAR))], "NULL")
    p = _between(score["clip"], 1 - score["clip"])
    return _cases([(f"{GIVEN} >= 0 AND {GIVEN} <= 1", f"LN(({p}) / (1 - ({p})))")], "NULL")


def _between(low: float, high: float) -> str:
    beyond = [(f"{GIVEN} < {_n(low)}", _n(low)), (f"{GIVEN} > {_n(high)}", _n(high))]
    return _cases(beyond, GIVEN)


def _place(column: int) -> str:
    return f"hetcal_column_{column + 1}"


def _n(value: float) -> str:
    """Write a number in double precision, so that it is read back bit for bit."""
    if value in (float("inf"), float("-inf")):
        return _n(LARGEST if value > 0 else -LARGEST)
    shown = repr(float(value)).upper()
    return f"({shown if 'E' in shown else shown + 'E0'})"


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    if not cases:
        return otherwise
    whens = "\n".join(f"WHEN {condition} THEN {value}" for condition, value in cases)
    return f"CASE\n{_shifted(whens)}\n{_shifted(f'ELSE {otherwise}')}\nEND"


def _line(numbers: Document, x: str) -> str:
    return f"{_n(numbers['slope'])} * ({x}) + {_n(numbers['intercept'])}"


def _tamed(limits: Document, x: str) -> str:
    low, high = _n(limits["low"]), _n(limits["high"])
    above = f"{high} + LN(1 + ({x} - {high}))"
    below = f"{low} - LN(1 + ({low} - {x}))"
    return _cases([(f"{x} > {high}", above), (f"{x} < {low}", below)], x)


def _map(shape: Document, x: str) -> str:
    kind = shape["kind"]
    if kind == "affine":
        return _line(shape, x)
    if kind == "tamed":
        return _line(shape, _tamed(shape, x))
    if kind == "beta":
        rest = _cases([(f"ABS({x}) > {_n(SURE)}", "0")], f"LN(1 + EXP(-ABS({x})))")
        low = _cases([(f"{x} < 0", x)], "0")
        high = _cases([(f"{x} > 0", x)], "0")
        a, b, c = (_n(shape[key]) for key in "abc")
        return f"{a} * (({low}) - ({rest})) + {b} * (({high}) + ({rest})) + {c}"
    if kind == "steps":
        below = [f"{x} < {_n(each)}" for each in shape["edges"]]
        logits = [_n(each) for each in shape["logits"]]
        return _cases(list(zip(below, logits[:-1], strict=True)), logits[-1])
    return _knots(shape["scores"], shape["probabilities"], x)


def _knots(scores: Sequence[float], levels: Sequence[float], x: str) -> str:
    pieces = [(f"{x} <= {_n(scores[0])}", _n(levels[0]))]
    for i in range(1, len(scores)):
        slope = (levels[i] - levels[i - 1]) / (scores[i] - scores[i - 1])
        between = f"{_n(levels[i - 1])} + {_n(slope)} * ({x} - {_n(scores[i - 1])})"
        pieces.append((f"{x} <= {_n(scores[i])}", between if slope else _n(levels[i])))
    p = f"({_cases(pieces, _n(levels[-1]))})"
    return f"LN({p} / (1 - {p}))"


def _sigmoid(x: str) -> str:
    cases = [
        ("hetcal_score IS NULL", "NULL"),
        (f"{x} > {_n(SURE)}", _n(1.0)),
        (f"{x} >= 0", f"1 / (1 + EXP(-({x})))"),
        (f"{x} > {_n(LEAST)}", f"EXP({x}) / (1 + EXP({x}))"),
    ]
    return _cases(cases, _n(0.0))


IN_SQLITE = f"""
import json, sqlite3
rows = json.load(open("rows.json"))
types = json.load(open("types.json"))
quoted = ", ".join('"' + name.replace('"', '""') + '" ' + kind for name, kind in types.items())
base = sqlite3.connect(":memory:")
base.row_factory = sqlite3.Row
base.execute(f"CREATE TABLE {TABLE} ({{quoted}})")
marks = ", ".join("?" * len(types))
values = ([row[name] for name in types] for row in rows)
base.executemany(f"INSERT INTO {TABLE} VALUES ({{marks}})", values)
found = base.execute(open("calibrated.sql", encoding="utf-8").read()).fetchall()
print(json.dumps([[row[key] for row in found] for key in ("hetcal_leaf", "hetcal_after")]))
"""
IN_DUCKDB = f"""
import json, duckdb
base = duckdb.connect()
base.execute("CREATE TABLE {TABLE} AS SELECT * FROM 'rows.parquet'")
found = base.execute(open("calibrated.sql", encoding="utf-8").read()).fetchnumpy()
order = found["hetcal_row"].argsort()
leaf, after = (found[key][order].tolist() for key in ("hetcal_leaf", "hetcal_after"))
print(json.dumps([leaf, after]))
"""


def check(
    content: bytes, document: Document, dialect: str, rows: pd.DataFrame, expected: pd.DataFrame
) -> Parity:
    """Compare what a database makes of the rows with the artifact, in a fresh process.

    What is written for a database that is not here is run by the one that is nearest.
    """
    if dialect in ("duckdb", "postgresql") and find_spec("duckdb") is not None:
        numbered = rows.assign(hetcal_row=range(len(rows)))
        files = {"calibrated.sql": content, "rows.parquet": numbered.to_parquet(index=False)}
        by = "DuckDB" if dialect == "duckdb" else "DuckDB (PostgreSQL itself was not run)"
        return compare(expected, in_fresh_process(IN_DUCKDB, files), by)
    by = "SQLite"
    if dialect not in ("ansi", "sqlite"):
        content = _Select(document, DIALECTS["sqlite"]).text().encode()
        by = f"SQLite in its own dialect ({dialect} itself was not run)"
    kinds = {each["name"]: each["kind"] for each in document["columns"]}
    types = {name: "TEXT" if kinds.get(name) == "category" else "REAL" for name in rows}
    files = {"calibrated.sql": content, "rows.json": rows_json(rows)}
    files["types.json"] = json.dumps(types).encode()
    return compare(expected, in_fresh_process(IN_SQLITE, files, "-S"), by)
