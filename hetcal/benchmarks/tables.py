"""The printed tables: of the benchmark, by model and over all models, and of the speed."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from hetcal.benchmarks.benchmark import ContenderResult, ModelResult
from hetcal.benchmarks.contenders import AUTO, NETWORK, UNIT
from hetcal.benchmarks.speed import Measured
from hetcal.choices import plain_name

HARM = -1.96
AS_GOOD = 0.0005
HEADINGS = ("scheme", "AUC", "lift", "z", "log loss", "time")
NAMES = 48  # characters
WIDTHS = (NAMES, 8, 9, 7, 9, 9)
SUMMARY_HEADINGS = ("scheme", "models", "median lift", "harmed", "helped", "auto as good", "time")
SUMMARY_WIDTHS = (NAMES, 7, 12, 7, 7, 13, 9)
NOTES = (
    "AUC, log loss: on the test rows. lift: AUC minus AUC of the network; z: paired DeLong test.",
    f"harmed, helped: models with z below {HARM} and above {-HARM}.",
    "auto as good: share of models where the AUC of the recommended scheme (auto) is at least that",
    f"  of the scheme, within {AS_GOOD}.",
    f"time: to fit and to score the test rows, as a multiple of the {UNIT}; that of the first",
    "  model includes compiling the kernels.",
)


def model_table(result: ModelResult) -> str:
    """Return the table of one model."""
    facts, unit = f"{result.test_rows:,} test rows", result.contender(UNIT)
    if result.training_seconds is not None and unit is not None:
        facts += f", trained in {_times(result.training_seconds, unit)}"
    rows = [table_row(HEADINGS, WIDTHS)]
    rows += [table_row(_cells(each, result), WIDTHS) for each in result.contenders]
    return "\n".join([f"\n{result.model}: {facts}", *rows])


def summary_table(results: Sequence[ModelResult]) -> str:
    """Return the table over all models, a line for each contender."""
    names = list(dict.fromkeys(each.name for result in results for each in result.contenders))
    counted = "1 model" if len(results) == 1 else f"{len(results):,} models"
    lines = [table_row(_summary(name, results), SUMMARY_WIDTHS) for name in names]
    return "\n".join([f"\n{counted}", table_row(SUMMARY_HEADINGS, SUMMARY_WIDTHS), *lines, *NOTES])


def data_set_table(results: Sequence[ModelResult]) -> str:
    """Return the median lift of each contender by data set, and the median of these.

    Networks of one data set share their rows, so the data sets are the sample.
    """
    of_sets: dict[str, list[ModelResult]] = {}
    for result in results:
        of_sets.setdefault(result.model.split("-")[0], []).append(result)
    names = list(dict.fromkeys(each.name for result in results for each in result.contenders))
    widths = (NAMES, *(max(len(name), 8) for name in of_sets), 8)
    lines = [table_row(("median lift", *of_sets, "median"), widths)]
    for name in names:
        if name == NETWORK:
            continue
        medians = [_median_lift(name, each) for each in of_sets.values()]
        known = [each for each in medians if each is not None]
        shown = ["" if each is None else f"{each:+.4f}" for each in medians]
        lines.append(table_row((_in_words(name), *shown, f"{np.median(known):+.4f}"), widths))
    return "\n".join(["", *lines])


def _in_words(name: str) -> str:
    """Call a scheme as the pages do, also where it stands without the network.

    >>> _in_words("additive, without network")
    'curves, without network'
    """
    scheme, comma, control = name.partition(", ")
    return f"{plain_name(scheme)}{comma}{control}"


def _median_lift(name: str, results: Sequence[ModelResult]) -> float | None:
    both = [(each.contender(name), each.contender(NETWORK)) for each in results]
    lifts = [one.auc - net.auc for one, net in both if one is not None and net is not None]
    return float(np.median(lifts)) if lifts else None


def _cells(one: ContenderResult, result: ModelResult) -> tuple[str, ...]:
    network = result.contender(NETWORK)
    compared = ("", "")
    if network is not None and one.name != NETWORK:
        compared = (f"{one.auc - network.auc:+.4f}", f"{one.z:+.1f}")
    time = "" if one.name == NETWORK else _times(one.seconds, result.contender(UNIT))
    return _in_words(one.name), f"{one.auc:.4f}", *compared, f"{one.log_loss:.4f}", time


def _summary(name: str, results: Sequence[ModelResult]) -> tuple[str, ...]:
    pairs = [(one, each) for each in results if (one := each.contender(name)) is not None]
    lifts = [
        one.auc - net.auc for one, each in pairs if (net := each.contender(NETWORK)) is not None
    ]
    autos = [
        auto.auc - one.auc for one, each in pairs if (auto := each.contender(AUTO)) is not None
    ]
    units = [one.seconds / unit.seconds for one, each in pairs if (unit := each.contender(UNIT))]
    alone = name == NETWORK
    return (
        _in_words(name),
        f"{len(pairs):,}",
        "" if alone or not lifts else f"{np.median(lifts):+.4f}",
        "" if alone else f"{sum(one.z < HARM for one, _ in pairs):,}",
        "" if alone else f"{sum(one.z > -HARM for one, _ in pairs):,}",
        "" if name == AUTO or not autos else _share(autos),
        "" if alone or not units else f"{short_number(float(np.median(units)))} ×",
    )


def _share(differences: Sequence[float]) -> str:
    # An AUC is a fraction of pairs: beyond twelve digits there is rounding only.
    good = np.mean(np.array(differences) >= -AS_GOOD - 1e-12)
    return f"{100 * good:.0f} %"


def _times(seconds: float, unit: ContenderResult | None) -> str:
    return "" if unit is None else f"{short_number(seconds / unit.seconds)} ×"


SPEED_NAMES = ("whole-job", "auc", "slider", "interval", "apply", "tree", "auc-gain", "instability")
SPEED_WIDTHS = (9, 10, 10, 27, 10, 10, 13, 8, 8, 7)
SPEED_HEADINGS = (
    *("job", "rows", "time", "rival", "its time", "faster by"),
    *("over limit", "differs", "memory", "growth"),
)
SPEED_NOTES = (
    "time: shortest of three runs, one thread; another tool that takes over 20 s is timed once.",
    "over limit: time over adding up the feature matrix once (stream) or sorting the scores once.",
    "differs: maps, AUC, average precision, log loss and counts (whole-job, slider); AUC and",
    "  average precision (auc); standard error of the lift (interval); probability (apply);",
    "  share of rows in another leaf (tree).",
    "auc-gain, instability: trees that read scores, against a tree on labels alone.",
    "fit: tree, maps and probabilities against calibrators whose results are not the same.",
    "memory: peak of the process, with the rows. growth: time over that of the size before.",
)


def speed_heading() -> str:
    """Return the first line of the table of speed."""
    return table_row(SPEED_HEADINGS, SPEED_WIDTHS, (0, 3))


def speed_line(one: Measured, earlier: Sequence[Measured] = ()) -> str:
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
    return f"{table_row(texts, SPEED_WIDTHS, (0, 3))}  {one.remark}".rstrip()


def speed_json(measured: Sequence[Measured]) -> str:
    """Write the jobs of `SPEED_NAMES` as a JSON list."""
    shown = [asdict(each) for each in measured if each.name in SPEED_NAMES]
    for each in shown:
        del each["limit"], each["memory"], each["remark"]
    return json.dumps(shown, indent=1) + "\n"


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
