"""How much memory a table may take, and how wide it may be; refused before it is read."""

import math
import os

from hetcal.errors import TableError

VARIABLE, DEFAULT = "HETCAL_TABLE_GB", 4.0
GB = 10**9
MOST_COLUMNS = 50_000  # each takes the pages a fraction of a millisecond, however few its rows


def budget() -> int:
    """Return the most bytes that a table may take in memory: 4 GB, or `HETCAL_TABLE_GB`."""
    given = os.environ.get(VARIABLE) or DEFAULT
    try:
        size = float(given)
    except ValueError:
        size = math.nan
    if not 0 < size < math.inf:
        raise TableError(
            f"The variable {VARIABLE} is '{given}'.",
            "It says how many GB of memory a table may take, as a number such as 4 or 0.5.",
            "Correct it, or leave it out.",
        )
    return int(size * GB)


def refuse_above_budget(size: float, name: str, what: str) -> None:
    """Refuse a table that would take more bytes than the budget; `what` makes it so large."""
    allowed = budget()
    if size > allowed:
        raise TableError(
            f"'{name}' would take about {_words(size)} of memory ({what}).",
            f"A table may take {_words(allowed)}.",
            "Keep fewer columns or a sample of the rows, or set the variable "
            f"{VARIABLE} where hetcal is started.",
        )


def refuse_too_wide(columns: int, name: str) -> None:
    """Refuse a table of more columns than can be looked at one by one."""
    if columns > MOST_COLUMNS:
        raise TableError(
            f"'{name}' has {columns:,} columns or more.",
            f"A table may have at most {MOST_COLUMNS:,}.",
            "Keep fewer columns; a row of numbers such as an embedding goes into an array beside "
            "the table.",
        )


def _words(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB else f"{1000 * size / GB:,.1f} MB"
