"""The numbers of a run in small tables."""

import math

import pandas as pd

from hetcal.artifacts.saved_run import SavedRun
from hetcal.errors import ArtifactError
from hetcal.metrics.delong import Lift
from hetcal.runs.run import Run

FOR_TWO = {
    "AUC": "auc",
    "average precision": "average_precision",
    "log-loss": "log_loss",
    "Brier score": "brier",
    "calibration error": "calibration_error",
    "calibration error, debiased": "calibration_error_debiased",
}
SIDES, ENDS = ("before", "after"), ("low", "high")
FOR_MORE = {
    "macro AUC": "macro_auc",
    "log-loss": "log_loss",
    "accuracy": "accuracy",
    "top-label error": "top_label_error",
}


def summary_table(run: Run | SavedRun) -> pd.DataFrame:
    """Compare the test rows before and after, measure by measure.

    Returns
    -------
    DataFrame
        Indexed by measure: `before`, `after`, `change` with the 95 % interval `low` to `high` and
        the p-value `p`; `without` (the same scheme without the model) and `adds` (what the model
        adds to that) with `adds_low`, `adds_high` and `adds_p`. For two classes also the 95 %
        intervals `before_low` to `before_high` and `after_low` to `after_high`, by a paired
        bootstrap. NaN where it is not known.
    """
    found, loss = run.evaluation, run.evaluation.loss
    measures = run.measures if found.by_class is None else None
    rows = []
    for measure, field in (FOR_TWO if found.by_class is None else FOR_MORE).items():
        before, after = getattr(found.before, field), getattr(found.after, field)
        without = math.nan if found.without is None else getattr(found.without, field)
        row = {"measure": measure, "before": before, "after": after, "change": after - before}
        row |= dict.fromkeys(("low", "high", "p"), math.nan)
        if measures is not None:
            own = measures.loc[field]
            row |= {"low": own["change_low"], "high": own["change_high"]}
            row |= {f"{what}_{end}": own[f"{what}_{end}"] for what in SIDES for end in ENDS}
        row |= {"without": without, "adds": after - without}
        row |= dict.fromkeys(("adds_low", "adds_high", "adds_p"), math.nan)
        if measure.endswith("AUC"):
            row |= _tested(found.lift, "") | _tested(found.network_adds, "adds_")
        if measure == "log-loss":
            row |= {"low": -loss.high, "high": -loss.low}
        rows.append(row)
    return pd.DataFrame(rows).set_index("measure")


def _tested(lift: Lift | None, prefix: str) -> dict[str, float]:
    """Return the interval and the p-value of a change."""
    if lift is None:
        return {}
    return {f"{prefix}{name}": getattr(lift, name) for name in ("low", "high", "p")}


def ladder_of(run: Run | SavedRun) -> pd.DataFrame:
    """Return the schemes that were compared, as far as they were saved; see `Run.ladder`."""
    if isinstance(run, Run):
        return run.ladder
    if run.choice is None or run.choice.candidates is None:
        raise ArtifactError(
            "No ladder was saved with this run.",
            "It is saved where schemes were compared, as partition='auto' does.",
            "Calibrate again with partition='auto'.",
        )
    return run.choice.candidates
