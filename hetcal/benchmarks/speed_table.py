"""The measured speeds as a table of text and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

NAMES = ("whole-job", "auc", "slider", "interval", "apply", "tree", "auc-gain", "instability")
FIELDS = (
    *("name", "rows", "compiled", "seconds", "rival"),
    *("rival_seconds", "ratio", "limit_ratio", "difference"),
)
WIDTHS = (9, 10, 10, 27, 10, 10, 13, 8, 8, 7)
HEADINGS = (
    *("job", "rows", "time", "rival", "its time", "faster by"),
    *("over limit", "differs", "memory", "growth"),
)
NOTES = (
    "time: shortest of three runs, one thread; a rival that takes over 20 s runs once.",
    "over limit: time over adding up the feature matrix once (stream) or sorting the scores once.",
    "differs: maps, AUC, average precision, log loss and counts (whole-job, slider); AUC and",
    "  average precision (auc); standard error of the lift (interval); probability (apply);",
    "  share of rows in another leaf (tree).",
    "auc-gain, instability: trees that read scores, against a tree on labels alone.",
    "fit: tree, maps and probabilities against calibrators whose results are not the same.",
    "memory: peak of the process, with the rows. growth: time over that of the size before.",
)


@dataclass(frozen=True)
class Measured:
    """One job, as hetcal and as a rival does it on the same rows.

    Parameters
    ----------
    name : str
        One of `NAMES`; "fit" for calibrators that give other results.
    rows, compiled : int, bool
        Number of rows, and whether kernels were compiled.
    seconds, rival_seconds, rival : float, float, str
        Times, and the name of the rival.
    ratio, limit_ratio : float
        Time of the rival over ours, and our time over the limit.
    limit : str
        "stream": adding up all features once; "sort": sorting the scores once.
    difference : float or None
        Largest difference of the results, where they should be the same.
    memory : int
        Peak memory of the process in bytes, including the rows.
    remark : str
        How the rival was timed, where that was not as usual.
    """

    name: str
    rows: int
    compiled: bool
    seconds: float
    rival: str
    rival_seconds: float
    ratio: float
    limit_ratio: float
    limit: str
    difference: float | None
    memory: int
    remark: str


def heading() -> str:
    """Return the first line."""
    return table_row(HEADINGS, WIDTHS, (0, 3))


def table_line(one: Measured, earlier: Sequence[Measured] = ()) -> str:
    """Return the line of one job; `earlier` holds the same job at smaller sizes."""
    before = [each for each in earlier if (each.name, each.rival) == (one.name, one.rival)]
    growth = f"{one.seconds / before[-1].seconds:.1f} ×" if before else ""
    differs = "" if one.difference is None else f"{one.difference:.0e}"
    texts = (
        one.name,
        f"{one.rows:,}",
        duration(one.seconds),
        one.rival,
        duration(one.rival_seconds),
        f"{short_number(one.ratio)} ×",
        f"{short_number(one.limit_ratio)} {one.limit}",
        differs,
        f"{one.memory / 1e9:.2f} GB",
        growth,
    )
    return f"{table_row(texts, WIDTHS, (0, 3))}  {one.remark}".rstrip()


def to_json(measured: Sequence[Measured]) -> str:
    """Write the jobs of `NAMES` as a JSON list."""
    chosen = [asdict(each) for each in measured if each.name in NAMES]
    return json.dumps([{name: each[name] for name in FIELDS} for each in chosen], indent=1) + "\n"


def duration(seconds: float) -> str:
    """Write a time in a unit that suits it.

    Examples
    --------
    >>> duration(0.01234), duration(1.5), duration(12345.0)
    ('12.3 ms', '1.50 s', '12,345 s')
    """
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.2f} s" if seconds < 1000 else f"{seconds:,.0f} s"


def short_number(value: float) -> str:
    """Write a ratio with about two digits.

    >>> short_number(1234.5), short_number(12.34), short_number(0.1234)
    ('1,234', '12.3', '0.12')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def table_row(texts: Sequence[str], widths: Sequence[int], left: Sequence[int] = (0,)) -> str:
    """Join texts to a line of a table; the columns `left` are left-aligned."""
    return "  ".join(
        text.ljust(width) if place in left else text.rjust(width)
        for place, (text, width) in enumerate(zip(texts, widths, strict=True))
    ).rstrip()
