"""Finished runs side by side, and paired tests between those that share their test rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Groups, Ints
from hetcal.cells.cells import Cells
from hetcal.data.columns import counted
from hetcal.errors import HetcalError
from hetcal.metrics.classes import macro_lift, one_against_rest
from hetcal.metrics.curves import RocCurve, threshold_curves
from hetcal.metrics.delong import Lift, paired_delong
from hetcal.metrics.metrics import LossChange, auc, loss_of_rows, mean_fall
from hetcal.results.words import interval_in_words, p_in_words

MOST_POINTS = 1_980  # of all curves together, so that a figure stays within 2,000 points
SHOWN = 60  # characters of a setting in a line of text
NO_LIFT, NO_LOSS = Lift(*[math.nan] * 9), LossChange(*[math.nan] * 4)


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """What a comparison needs of a finished run: its test rows and its settings.

    Parameters
    ----------
    name : str
        Of the run; no two runs of a comparison have the same.
    y : array of int
        1 where the label is positive; with more than two classes the number of the class.
    before, after : array of float
        Logits; with more than two classes log-probabilities, rows x classes.
    rows : array of int
        The number of each row in its table.
    columns : mapping
        By feature, a digest of its values in these rows.
    settings : mapping
        What was chosen, in words, by the name of the setting.
    classes : tuple of str
        In the order of their numbers, where there are more than two.
    weight, group : array, optional
        Of each row.
    """

    name: str
    y: Ints
    before: Floats
    after: Floats
    rows: Ints
    columns: Mapping[str, str]
    settings: Mapping[str, str]
    classes: tuple[str, ...] = ()
    weight: Floats | None = None
    group: Groups | None = None

    @property
    def measure(self) -> str:
        """What is compared: the AUC, or its mean over more than two classes."""
        return "macro AUC" if self.classes else "AUC"


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Runs side by side.

    Parameters
    ----------
    runs : DataFrame
        One row each: `run`, `measure`, `rows`, `before` and `after` (AUC or macro AUC), `lift`
        with `low` and `high` (95 % interval) and `p`, `log_loss_before`, `log_loss_after`.
    differences : DataFrame
        One row for every run but the first: `run`, `against` (the first), `same_rows`, `why` (they
        are not the same; empty where they are), `measure`, `rows`, `auc` (or macro AUC, after
        calibration, minus that of the first) with `low`, `high` and `p`, `log_loss` (minus that
        of the first) with `log_loss_low` and `log_loss_high`; NaN without the same rows.
    settings : DataFrame
        `setting`, `run`, `value` of all settings that are not the same in all runs.
    curves : tuple of RocCurve
        After calibration, run by run.
    before : tuple of RocCurve
        The score before: one curve if it is the same in all runs, else one each.
    shown : str or None
        The class whose curves they are, against all others; None where there are two.
    """

    runs: pd.DataFrame
    differences: pd.DataFrame
    settings: pd.DataFrame
    curves: tuple[RocCurve, ...]
    before: tuple[RocCurve, ...]
    shown: str | None = None


def compare_runs(runs: Sequence[ComparedRun], shown: int = 0) -> RunComparison:
    """Compare runs, each with its own score before and with the first run.

    Between runs the test is paired, by DeLong for the AUC and by t for the log-loss; rows of one
    group, of the first run that has groups, count as one. There is no test where the test rows
    are not the same, see `other_rows`. Every interval is that of one comparison alone.

    Parameters
    ----------
    runs : sequence of ComparedRun
        Two or more.
    shown : int
        The class whose ROC curves are computed, where there are more than two.

    Raises
    ------
    HetcalError
        With fewer than two runs, or where two have the same name.
    """
    if len(runs) < 2 or len({each.name for each in runs}) < len(runs):
        raise HetcalError(
            f"{counted(len(runs), 'run')} cannot be compared.",
            "A comparison needs at least two, each with a name of its own.",
            "Name two runs or more.",
        )
    first, *others = runs
    curves, before = _all_curves(runs, shown)
    return RunComparison(
        runs=pd.DataFrame([_measured(each) for each in runs]),
        differences=pd.DataFrame([_difference(first, each) for each in others]),
        settings=_different_settings(runs),
        curves=curves,
        before=before,
        shown=first.classes[shown] if first.classes else None,
    )


def other_rows(first: ComparedRun, second: ComparedRun) -> str:
    """Say why the test rows of two runs are not the same; nothing if they are.

    The same are rows with the same numbers in their tables, the same labels and weights, and the
    same values of every feature that both runs have; they must have one in common.
    """
    shared = first.columns.keys() & second.columns.keys()
    other = sorted(name for name in shared if first.columns[name] != second.columns[name])
    for differs, why in (
        (first.classes != second.classes, "the classes are others"),
        (first.y.size != second.y.size, f"{first.y.size:,} against {second.y.size:,} rows"),
        (not np.array_equal(first.rows, second.rows), "their numbers in the table are others"),
        (not np.array_equal(first.y, second.y), "the labels are others"),
        (not _same_weight(first, second), "the weights are others"),
        (not shared, "no feature is in both, by which rows could be known"),
        (other, f"the column '{', '.join(other[:1])}' has other values"),
    ):
        if differs:
            return why
    return ""


def comparison_lines(comparison: RunComparison) -> list[str]:
    """Write a comparison as text: a table of the runs, the tests, and what is set differently."""
    return [
        *_run_lines(comparison.runs),
        *(difference_line(each) for each in comparison.differences.to_dict("records")),
        *_setting_lines(comparison),
    ]


def _same_weight(first: ComparedRun, second: ComparedRun) -> bool:
    own, other = (
        np.ones(each.y.size) if each.weight is None else each.weight for each in (first, second)
    )
    return np.array_equal(own, other)


def _losses(run: ComparedRun, scores: Floats) -> Floats:
    if run.classes:
        return -scores[np.arange(run.y.size), run.y]
    return loss_of_rows(run.y, scores)


def _measured(run: ComparedRun) -> dict[str, object]:
    lift = _lift(run, run.before, run.after, run.group)
    before, after = (
        float(np.average(_losses(run, each), weights=run.weight))
        for each in (run.before, run.after)
    )
    return {
        "run": run.name,
        "measure": run.measure,
        "rows": run.y.size,
        "before": lift.before,
        "after": lift.after,
        "lift": lift.auc,
        "low": lift.low,
        "high": lift.high,
        "p": lift.p,
        "log_loss_before": before,
        "log_loss_after": after,
    }


def _difference(first: ComparedRun, run: ComparedRun) -> dict[str, object]:
    why, lift, loss = other_rows(first, run), NO_LIFT, NO_LOSS
    if not why:
        group = run.group if first.group is None else first.group
        lift = _lift(first, first.after, run.after, group)
        rises = _losses(run, run.after) - _losses(first, first.after)
        loss = mean_fall(rises, first.weight, group=group)
    return {
        "run": run.name,
        "against": first.name,
        "same_rows": not why,
        "why": why,
        "measure": first.measure,
        "rows": run.y.size,
        **{name: asdict(lift)[name] for name in ("auc", "low", "high", "p")},
        "log_loss": loss.fall,
        "log_loss_low": loss.low,
        "log_loss_high": loss.high,
    }


def _lift(run: ComparedRun, before: Floats, after: Floats, group: Groups | None) -> Lift:
    if run.classes:
        return macro_lift(run.y, before, after, run.weight, group)
    return paired_delong(run.y, before, after, run.weight, group=group)


def _different_settings(runs: Sequence[ComparedRun]) -> pd.DataFrame:
    names = dict.fromkeys(name for run in runs for name in run.settings)
    found = [
        (name, run.name, run.settings.get(name, ""))
        for name in names
        if len({each.settings.get(name, "") for each in runs}) > 1
        for run in runs
    ]
    return pd.DataFrame(found, columns=["setting", "run", "value"])


def _all_curves(
    runs: Sequence[ComparedRun], shown: int
) -> tuple[tuple[RocCurve, ...], tuple[RocCurve, ...]]:
    """Compute the curves after and before calibration, with few enough points for a browser."""
    first = runs[0]
    same = all(
        each.classes == first.classes
        and np.array_equal(each.y, first.y)
        and np.array_equal(each.before, first.before)
        and _same_weight(each, first)
        for each in runs
    )
    after = [_curve(run, run.name, run.after, shown) for run in runs]
    before = [_curve(first, "before", first.before, shown)]
    if not same:
        before = [_curve(run, f"{run.name} before", run.before, shown) for run in runs]
    most = MOST_POINTS // (len(after) + len(before))
    thinned = [_thinned(each, most) for each in (*after, *before)]
    return tuple(thinned[: len(after)]), tuple(thinned[len(after) :])


def _curve(run: ComparedRun, name: str, scores: Floats, shown: int) -> RocCurve:
    y = run.y
    if run.classes:
        y, scores = (y == shown).astype(np.int8), one_against_rest(scores, shown)
    area = auc(y, scores, run.weight)
    cells = Cells.of_rows(scores, y, np.zeros(y.size, dtype=np.int64), run.weight)
    return threshold_curves(name, cells, area, math.nan)[0]


def _thinned(curve: RocCurve, most: int) -> RocCurve:
    """Keep some points in even steps, with both ends."""
    size = curve.threshold.size
    if size <= most:
        return curve
    kept = np.unique(np.linspace(0, size - 1, most).round().astype(np.int64))
    return replace(
        curve,
        false_positive_rate=curve.false_positive_rate[kept],
        true_positive_rate=curve.true_positive_rate[kept],
        threshold=curve.threshold[kept],
    )


def _run_lines(runs: pd.DataFrame) -> list[str]:
    heads = ("run", "test rows", "measure", "before", "after", "lift", "log-loss before", "after")
    table = [heads]
    for each in runs.itertuples():
        interval = "" if math.isnan(each.low) else f" ({each.low:+.4f} to {each.high:+.4f})"
        areas = f"{each.before:.4f}", f"{each.after:.4f}", f"{each.lift:+.4f}{interval}"
        losses = f"{each.log_loss_before:.4f}", f"{each.log_loss_after:.4f}"
        table.append((each.run, f"{each.rows:,}", each.measure, *areas, *losses))
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, wide)).rstrip() for row in table]


def difference_line(found: dict[str, object]) -> str:
    """Write a row of the differences in a sentence."""
    run, against = found["run"], found["against"]
    if not found["same_rows"]:
        return (
            f"'{run}' and '{against}' are on other test rows ({found['why']}): they are side by "
            "side without a test."
        )
    lift = replace(
        NO_LIFT, **{name: float(str(found[name])) for name in ("auc", "low", "high", "p")}
    )
    low, high = (float(str(found[f"log_loss_{end}"])) for end in ("low", "high"))
    between = "" if math.isnan(low) else f" (95 % interval {low:+.4f} to {high:+.4f})"
    return (
        f"'{run}' {_better(lift)} '{against}' on the same "
        f"{counted(int(str(found['rows'])), 'test row')}: {found['measure']} {lift.auc:+.4f}, "
        f"{interval_in_words(lift)}, p-value {p_in_words(lift.p)}; log-loss "
        f"{found['log_loss']:+.4f}{between}."
    )


def _better(lift: Lift) -> str:
    if lift.low > 0:
        return "ranks better than"
    return "ranks worse than" if lift.high < 0 else "is not shown to rank otherwise than"


def _setting_lines(comparison: RunComparison) -> list[str]:
    if comparison.settings.empty:
        return ["Their settings are the same."]
    lines = ["Set differently:"]
    for name, rows in comparison.settings.groupby("setting", sort=False):
        values = (f"{each.run}: {_short(each.value)}" for each in rows.itertuples())
        lines.append(f"  {name}  {'; '.join(values)}")
    return lines


def _short(text: str) -> str:
    if not text:
        return "–"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
