"""One look at newer rows: what has changed, why that matters, what to do."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr

from hetcal.artifacts.artifact import Artifact, new_row_notes
from hetcal.artifacts.report import scored_rows, to_json
from hetcal.data.columns import counted, row_count
from hetcal.errors import TableError
from hetcal.metrics.delong import Lift
from hetcal.metrics.metrics import measure_cells
from hetcal.progress import Progress, silent
from hetcal.results.evaluation import lift_of_cells
from hetcal.results.leaf_tests import holm
from hetcal.results.words import p_in_words
from hetcal.watch.held import auc_fall, leaf_p_values, leaf_rates
from hetcal.watch.moved import ALPHA, movements
from hetcal.watch.rows import NewRows, Reference, new_columns, read_new_rows, reference_of

Action = Literal["nothing", "refit", "begin again", "label rows"]
TO_DO: dict[Action, str] = {
    "nothing": "Nothing is to be done.",
    "refit": "Fit the maps again on newer rows (--refit OUT): the scores still order the rows.",
    "begin again": "Begin again with newer rows, from the model on: other maps would not repair "
    "it.",
    "label rows": "Label some of these rows and check again: only labels tell whether the maps "
    "still hold.",
}
FALLEN = 0.02  # by so much the AUC of the model must be lower before it is to be trained again
GAP = ("leaf", "rows", "rate", "expected", "rate_reference", "expected_reference", "p", "status")


@dataclass(frozen=True)
class Gate:
    """What a team asks of an artifact; None is not asked."""

    min_lift: float | None = None  # least lift in AUC on the labelled rows
    max_error: float | None = None  # largest calibration error of their probabilities

    @property
    def options(self) -> str:
        """The same for the command line."""
        given = {"--min-lift": self.min_lift, "--max-calibration-error": self.max_error}
        named = (f"{name} {each:g}" for name, each in given.items() if each is not None)
        return " ".join(named)


@dataclass(frozen=True, eq=False)
class Labelled:
    """What is known only where rows have labels.

    Parameters
    ----------
    rows : int
        Rows with a label and a score.
    leaves : DataFrame
        As `hetcal.watch.held.leaf_rates`, with `p` (see `leaf_p_values`, corrected by Holm's
        method over all tests that can raise an alarm) and `status`: `holds`, `changed` or `too few
        rows`.
    lift : Lift
        In AUC, on these rows.
    error : float
        Their calibration error, without the bias of sampling noise.
    auc_reference, auc : float
        AUC of the model's own scores, on the test rows of the run and on these.
    fallen, harmed : float
        Corrected p-values: of an AUC that has not fallen, and of a lift that is not below 0.
    """

    rows: int
    leaves: pd.DataFrame
    lift: Lift
    error: float
    auc_reference: float
    auc: float
    fallen: float
    harmed: float

    @property
    def changed(self) -> list[int]:
        """The leaves whose maps no longer hold; 0 is all rows together."""
        found = self.leaves.loc[self.leaves["status"] == "changed", "leaf"]
        return [int(each) for each in found]

    @property
    def orders_worse(self) -> bool:
        """Whether the model itself ranks these rows worse than its test rows."""
        return self.fallen < ALPHA and self.auc_reference - self.auc >= FALLEN


@dataclass(frozen=True, eq=False)
class Checked:
    """What a check has found.

    Parameters
    ----------
    rows : int
        Rows with a score.
    rules : dict
        What is in each leaf, in words.
    moved : DataFrame
        As `hetcal.watch.moved.movements`.
    labelled : Labelled or None
        What labels tell; None without labels.
    reasons : tuple of str
        Why the check fails, in sentences; empty if it passes.
    action : str
        What to do, one of `TO_DO`.
    notes : tuple of str
        What else the user should know.
    """

    rows: int
    rules: dict[int, str]
    moved: pd.DataFrame
    labelled: Labelled | None
    reasons: tuple[str, ...]
    action: Action
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the artifact."""
        return not self.reasons

    @property
    def verdict(self) -> str:
        """What was found and what to do, in two sentences."""
        return f"{self._found} {TO_DO[self.action]}"

    @property
    def _found(self) -> str:
        here = row_count(self.rows)
        if self.labelled is None:
            moved = "have not moved" if self.passed else "have moved"
            return f"The {here} {moved} away from the test rows; without labels no more is known."
        rows = counted(self.labelled.rows, "labelled row")
        if self.labelled.changed:
            leaves = [each for each in self.labelled.changed if each]
            named = f"{'leaf' if len(leaves) == 1 else 'leaves'} {', '.join(map(str, leaves))}"
            return f"On {rows} the maps no longer hold in {named if leaves else 'all leaves'}."
        if not self.passed:
            return f"On {rows} the maps hold as on the test rows, but the check fails."
        moved = "" if (self.moved["size"] == "same").all() else ", though the rows have moved"
        return f"On {rows} the maps hold{moved}."


NO_GATE = Gate()


def check_rows(
    artifact: Artifact,
    frame: pd.DataFrame,
    digest: str = "",
    gate: Gate = NO_GATE,
    progress: Progress = silent,
) -> Checked:
    """Compare newer rows with what an artifact keeps of its test rows.

    The chance of any alarm is at most 5 % where nothing has changed: all tests that can raise one
    are corrected together by Holm's method.
    """
    reference = reference_of(artifact)
    return check_new_rows(
        artifact, reference, read_new_rows(artifact, frame, digest, progress), gate
    )


def check_new_rows(
    artifact: Artifact, reference: Reference, new: NewRows, gate: Gate = NO_GATE
) -> Checked:
    """Check rows that were read already."""
    if new.y is None and gate != NO_GATE:
        raise TableError(
            f"The table has no column '{artifact.roles.label}' with labels.",
            "Lift and calibration error can be asked for only of labelled rows.",
            "Leave --min-lift and --max-calibration-error out, or use a table with labels.",
        )
    leaves = [each.id for each in artifact.partition.leaves]
    known, labelled = new.cells(new.labelled), None
    if new.y is not None:
        labelled = _labelled(reference, new, leaves)
    moved = movements(
        reference.before,
        new.cells(new.scored),
        leaves,
        (artifact.columns, new_columns(artifact, new)),
        None if labelled is None else (reference.before, known),
    )
    rules = {0: "all rows"} | {each.id: each.rule for each in artifact.partition.leaves}
    if labelled is None:
        reasons = tuple(moved_words(each) for each in _alarming(moved))
        action: Action = "label rows" if reasons else "nothing"
    else:
        reasons = tuple(_reasons(labelled, rules))
        action = _action(labelled, reasons, NO_GATE)
    logits = np.arange(new.leaf.size), new.leaf, new.scores.logit, new.after
    about = new_row_notes(artifact, new.frame, scored_rows(*logits))
    if labelled is not None:
        about += [moved_words(each) for each in _alarming(moved)]
    notes = (*new.notes, *about)
    rows = int(new.scored.sum())
    return with_gate(Checked(rows, rules, moved, labelled, reasons, action, notes), gate)


def with_gate(checked: Checked, gate: Gate) -> Checked:
    """Ask of labelled rows that were checked without a gate what it asks."""
    found = checked.labelled
    if found is None or gate == NO_GATE:
        return checked
    reasons = (*_gate_reasons(found, gate), *checked.reasons)
    return replace(checked, reasons=reasons, action=_action(found, reasons, gate))


def _labelled(reference: Reference, new: NewRows, leaves: list[int]) -> Labelled:
    rows = new.labelled
    before, after, group = new.cells(rows), new.cells(rows, after=True), new.groups(rows)
    if reference.fitted is None:
        changed = leaf_p_values(reference.after, after, leaves, group)
    else:
        changed = leaf_p_values(reference.fitted, before, leaves, group)
    was, now, fallen = auc_fall(reference.before, before, group)
    lift = lift_of_cells(before, after, group)
    harmed = float(ndtr(lift.z)) if lift.se > 0 else math.nan
    *p, fallen, harmed = holm(np.array([*changed, fallen, harmed])).tolist()
    status = ["too few rows" if math.isnan(each) else _held(each) for each in p]
    return Labelled(
        rows=int(rows.sum()),
        leaves=leaf_rates(reference.after, after, leaves).assign(p=p, status=status),
        lift=lift,
        error=measure_cells(after).calibration_error_debiased,
        auc_reference=was.after,
        auc=now.after,
        fallen=fallen,
        harmed=harmed,
    )


def _held(p: float) -> str:
    return "changed" if p < ALPHA else "holds"


def _alarming(moved: pd.DataFrame) -> list[dict[str, object]]:
    return moved[moved["size"] != "same"].to_dict("records")


def moved_words(found: dict[str, object]) -> str:
    """Say what has moved, in a sentence."""
    size = "far" if found["size"] == "far" else "clearly"
    told = f"stability index {found['index']:.2f}, {_p_words(found['p'])}"
    if found["what"] == "leaves":
        return f"The shares of rows in the leaves have moved {size} ({told})."
    if found["what"] == "scores":
        return f"The scores have moved {size} ({told})."
    shares = f"from {found['reference']:.1%} to {found['new']:.1%}"
    if found["what"] == "labels":
        return f"The share of positive labels has moved {size}, {shares} ({told})."
    what = "missing values" if found["what"] == "missing" else "rare or unseen categories"
    return f"In column '{found['column']}' {what} have moved {size}, {shares} ({told})."


def _p_words(p: object) -> str:
    """Write a p-value: p = 0.02, or p < 1e-300."""
    words = p_in_words(float(str(p)))
    return f"p {words}" if words.startswith("<") else f"p = {words}"


def _gate_reasons(found: Labelled, gate: Gate) -> list[str]:
    reasons, rows = [], counted(found.rows, "labelled row")
    if gate.min_lift is not None and not found.lift.auc >= gate.min_lift:
        reasons.append(
            f"The lift is {found.lift.auc:+.4f} AUC on {rows}; at least {gate.min_lift:+.4f} was "
            "asked for."
        )
    if gate.max_error is not None and not found.error <= gate.max_error:
        reasons.append(
            f"The calibration error is {found.error:.4f} on {rows}; at most {gate.max_error:.4f} "
            "was asked for."
        )
    return reasons


def _reasons(found: Labelled, rules: dict[int, str]) -> list[str]:
    changed = found.leaves[found.leaves["status"] == "changed"]
    reasons = [_changed_words(each, rules) for each in changed.to_dict("records")]
    if found.orders_worse:
        reasons.append(
            f"The model itself ranks worse: AUC {found.auc:.4f} on these rows and "
            f"{found.auc_reference:.4f} on the test rows ({_p_words(found.fallen)})."
        )
    if found.harmed < ALPHA:
        reasons.append(
            f"Calibration makes the order worse: {found.lift.auc:+.4f} AUC ("
            f"{_p_words(found.harmed)})."
        )
    return reasons


def _changed_words(leaf: dict[str, object], rules: dict[int, str]) -> str:
    number = int(str(leaf["leaf"]))
    where = f"In leaf {number} ({rules[number]}), "
    if not number:
        where = "In all leaves together the height or the slope of the maps has changed: "
    return (
        f"{where}{leaf['rate']:.1%} of {leaf['rows']:,} labels are positive where "
        f"{leaf['expected']:.1%} were expected; on the test rows {leaf['rate_reference']:.1%} "
        f"where {leaf['expected_reference']:.1%} were ({_p_words(leaf['p'])})."
    )


def _action(found: Labelled, reasons: tuple[str, ...], gate: Gate) -> Action:
    if not reasons:
        return "nothing"
    if found.orders_worse:
        return "begin again"
    uncalibrated = gate.max_error is not None and not found.error <= gate.max_error
    return "refit" if found.changed or uncalibrated else "begin again"


def check_json(checked: Checked, table: str) -> str:
    """Write what a check has found; numbers that are not defined become null."""
    found = checked.labelled
    document = {
        "table": table,
        "passed": checked.passed,
        "action": checked.action,
        "verdict": checked.verdict,
        "reasons": list(checked.reasons),
        "rows": checked.rows,
        "labelled": None,
        "moved": checked.moved.to_dict("records"),
        "notes": list(checked.notes),
    }
    if found is not None:
        leaves = found.leaves.assign(rule=found.leaves["leaf"].map(checked.rules))
        document["labelled"] = {
            **{
                name: value for name, value in vars(found).items() if name not in ("leaves", "lift")
            },
            "lift": asdict(found.lift),
            "leaves": leaves.to_dict("records"),
        }
    return to_json(document)


def check_lines(checked: Checked) -> list[str]:
    """Write what a check has found as lines of text."""
    found, lines = checked.labelled, []
    if found is not None:
        lines += _leaf_lines(found, checked.rules)
        low = (
            ""
            if math.isnan(found.lift.low)
            else f" ({found.lift.low:+.4f} to {found.lift.high:+.4f})"
        )
        lines.append(
            f"Lift {found.lift.auc:+.4f} AUC{low}, calibration error {found.error:.4f}, AUC of the "
            f"model {found.auc:.4f} ({found.auc_reference:.4f} on the test rows)."
        )
    lines += [
        f"{'passed' if checked.passed else 'failed'}: {checked.verdict}",
        *(f"- {each}" for each in checked.reasons),
    ]
    return lines


def _leaf_lines(found: Labelled, rules: dict[int, str]) -> list[str]:
    rows = [("leaf", "rows", "positive", "expected", "p", "map", "rule")]
    for each in found.leaves.to_dict("records"):
        shares = (
            "–" if math.isnan(each[name]) else f"{each[name]:.1%}" for name in ("rate", "expected")
        )
        number = int(each["leaf"])
        told = p_in_words(each["p"]), each["status"], rules[number]
        rows.append((str(number or "all"), f"{each['rows']:,}", *shares, *told))
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    return [
        "  ".join([*(each.rjust(w) for each, w in zip(row, widths, strict=False)), row[6]])
        for row in rows
    ]
