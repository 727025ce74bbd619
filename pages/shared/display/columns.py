"""How the tables of the pages name and write their columns."""

import math
from typing import Any

import pandas as pd
import streamlit as st

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import Line
from hetcal.results.words import DEFINITIONS
from hetcal.runs.rows import OF_TABLE

Columns = dict[str, Any]

RULE_WIDTH = 390  # pixels: about three conditions, which is how deep a tree is by default
WIDE_RULE = 490  # where a table has few other columns

_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
_any = st.column_config.Column
_ROLES = {"train": "train", "validation": "valid.", "calibration": "calib.", "test": "test"}


def _measure(head: str, term: str, form: str = "%.4f") -> Any:
    """Write a measure under a short head, with its definition as the tooltip."""
    return _number(head, format=form, help=DEFINITIONS[term])


DESCRIBED: Columns = {
    "column": _text("column"),
    "kind": _text("kind"),
    "missing": _number("missing", format="localized", help="Rows without a value"),
    "distinct": _number("distinct", format="localized", help="Different values"),
    "example": _text("first value"),
}

BALANCE: Columns = {
    "role": _text("role"),
    "rows": _number("rows", format="localized"),
    "positives": _number("positive rows", format="localized"),
    "positive_rate": _number("positive rate", format="percent"),
    "share_of_rows": _number("share of all rows", format="percent"),
}


def balance_columns(balance: pd.DataFrame) -> Columns:
    """Name the columns of rows by role, with a share for every class if there are many."""
    shares = [name for name in balance if name.startswith("class ")]
    return BALANCE | {name: _number(name, format="percent") for name in shares}


NO_ROWS = "no rows of this role"
ONE_LABEL = "not defined: AUC and slope need rows of both labels, the other numbers need rows"
NO_SCORE = "the row has no finite score"
NO_CONTROL = "not known without the network"


def scored_columns(scored: pd.DataFrame) -> Columns:
    """Name the columns of scored rows, of two classes or of more."""
    numbers = ("score", "before", "after")
    return {
        name: _number(name, format="%.4f") if name.startswith(numbers) else _any(name)
        for name in map(str, scored)
    }


def leaf_columns(leaves: pd.DataFrame) -> Columns:
    """Name the columns of leaves, without roles that no row has."""
    roles = {role: name for role, name in _ROLES.items() if leaves[f"rows_{role}"].any()}
    counts = {
        f"{kind}_{role}": _number(
            f"{name} {sign}", width=_digits(leaves[f"rows_{role}"]), format=form
        )
        for role, name in roles.items()
        for kind, sign, form in (("rows", "n", "localized"), ("rate", "%", None))
    }
    distance = "Positive rate of the leaf minus that of all training rows"
    return {
        "leaf": _number("leaf", width=44),
        "rule": _text("rule", width=RULE_WIDTH),
        **counts,
        "distance": _number("vs. base", width=70, format="%+.3f", help=distance),
    }


def _digits(counts: pd.Series) -> int:
    """Return the width of a column of counts, at least that of its head."""
    return max(62, 18 + 7 * len(f"{counts.max():,}"))


DIAGNOSIS: Columns = {
    "leaf": _number("leaf", width=40, help="0: all rows"),
    "rule": _text("rule", width=240),
    "brief": _text("test scores …", width=330),
    "rows_test": _number("test n", width=62, format="localized"),
    "log_loss_gap": _number("gap", width=60, format="%+.3f", help=DEFINITIONS["Log-loss gap"]),
    "p_gap": _any("gap real? p", width=84, help=DEFINITIONS["Is the gap real? (p)"]),
    "slope": _number("slope needed", width=94, format="%.2f", help=DEFINITIONS["Slope needed"]),
    "p_before": _any("calibrated? p", width=94, help=DEFINITIONS["Is it calibrated? (p)"]),
}

MAPS: Columns = {
    "leaf": _number("leaf", width=50, help="0: the pooled map"),
    "rule": _text("rule", width=WIDE_RULE),
    "rows": _number("calib. n", format="localized"),
    "positives": _number("positive n", format="localized"),
    "map": _text("map", help="s: the logit of the model; p: its probability"),
    "slope": _measure("fitted slope", "Fitted slope", "%.3f"),
    "slope_se": _measure("± s.e.", "Standard error", "%.3f"),
    "intercept": _measure("intercept", "Slope and intercept", "%+.3f"),
    "intercept_se": _measure("± s.e. ", "Standard error", "%.3f"),
    "fallback": _text("pooled slope because"),
}


def errors_known(calibrator: LeafCalibrator) -> bool:
    """Whether the slopes of leaves have standard errors; those of a scheme have none."""
    return any(math.isfinite(each.slope_se) for each in calibrator.maps_)


def map_columns(calibrator: LeafCalibrator, *, of_scheme: bool = False) -> Columns:
    """Name the columns of maps: slope and intercept if all are linear, otherwise in words.

    Standard errors are columns only if they are known, and reasons for the pooled slope only if
    a leaf has it. Maps of a scheme are fitted on more than the calibration rows that are counted.
    """
    maps = (calibrator.pooled_, *calibrator.maps_)
    linear = all(isinstance(each.shape, Line) for each in maps)
    left_out = {"map"} if linear else {"slope", "intercept"}
    if not linear or not errors_known(calibrator):
        left_out |= {"slope_se", "intercept_se"}
    if not any(each.fallback for each in calibrator.maps_):
        left_out.add("fallback")
    if of_scheme:
        left_out |= {"rows", "positives"}
    return {name: column for name, column in MAPS.items() if name not in left_out}


NO_TEST_ROWS = "no test rows"
APPLIED: Columns = {
    "leaf": _number("leaf", width=50, help="0: all rows"),
    "rule": _text("rule", width=300),
    "rows": _number("test n", format="localized"),
    "positive_rate": _number("positive", format="percent", help="Share of positive test rows"),
    "mean_before": _number("mean before", format="percent", help="Mean probability before"),
    "mean_after": _number("mean after", format="percent", help="Mean probability after"),
    "slope": _measure("applied slope", "Applied slope", "%.2f"),
    "explained": _number(
        "by the score",
        format="percent",
        help="Share of the variance of the logit after that the line of the applied slope "
        "explains; 100 % where one straight map of the score decides, less where columns decide, "
        "too",
    ),
    "p_before": _any("p before", help=DEFINITIONS["Is it calibrated? (p)"]),
    "p_after": _any("p after", help=DEFINITIONS["Is it calibrated? (p)"]),
}

TERMS: Columns = {
    "term": _text("term", width=200),
    "share": _number("share", format="percent", help="Of the variance of all terms"),
    "together": _number("together", format="percent", help="With the terms above it"),
    "low": _number("least", format="%+.2f", help="Added to the logit"),
    "high": _number("most", format="%+.2f", help="Added to the logit"),
    "words": _text("from … to", width=WIDE_RULE),
}

STEPS: Columns = {
    "name": _text("step", width=200),
    "value": _text("value", width=RULE_WIDTH),
    "change": _number("logit, change", format="%+.4f"),
    "logit": _number("logit, then", format="%.4f"),
    "probability": _number("probability, then", format="percent"),
}


def listed_columns(rows: pd.DataFrame) -> Columns:
    """Name the columns of rows to look at; those of the table begin with `OF_TABLE`."""
    own = [name for name in rows if name.startswith(OF_TABLE)]
    return {
        "row": _number("row", format="localized", help="Counted from 1"),
        "label": _text("label"),
        "before": _number("before", format="percent"),
        "after": _number("after", format="percent"),
        "change": _number("logit change", format="%+.2f"),
        "loss_before": _number("loss before", format="%.2f", help=DEFINITIONS["Log-loss"]),
        "loss": _number("loss after", format="%.2f", help=DEFINITIONS["Log-loss"]),
        **{name: _any(name.removeprefix(OF_TABLE)) for name in own},
    }


BEFORE_AFTER: Columns = {
    "measure": _text("measure", width=220),
    "before": _text("before (95 % interval)", width=190),
    "after": _text("after (95 % interval)", width=190),
    "change": _text("change (95 % interval)", width=210),
}

_SCHEME: Columns = {"scheme": _text("scheme", width=190)}
ORDER_METRICS: Columns = _SCHEME | {
    "auc": _measure("AUC", "AUC"),
    "average_precision": _measure("av. precision", "Average precision"),
    "balanced_precision_area": _measure("class-balanced PR-AUC", "Class-balanced PR-AUC"),
}
PROBABILITY_METRICS: Columns = _SCHEME | {
    "log_loss": _measure("log-loss", "Log-loss"),
    "brier": _measure("Brier", "Brier score"),
    "calibration_error": _measure("calib. error", "Calibration error"),
    "calibration_error_debiased": _measure("debiased", "Calibration error, debiased"),
}

LEAF_RESULTS: Columns = {
    "leaf": _number("leaf", width=44),
    "rule": _text("rule", width=240),
    "rows": _number("test n", format="localized"),
    "positives": _number("positive n", format="localized"),
    "auc_before": _measure("AUC before", "AUC"),
    "lift": _measure("lift inside", "Lift", "%+.4f"),
    "log_loss_before": _measure("log-loss before", "Log-loss"),
    "log_loss_after": _measure("log-loss after", "Log-loss"),
    "contribution": _measure("share of the lift", "Share of the lift", "%+.4f"),
    "contribution_low": _number("95 % from", format="%+.4f"),
    "contribution_high": _number("to", format="%+.4f"),
}

GROUPS: Columns = {
    "group": _text("rows of", width=250),
    "rows": _number("test n", format="localized"),
    "positive_rate": _number("positive", format="percent"),
    "auc_before": _measure("AUC before", "AUC"),
    "auc_after": _measure("AUC after", "AUC"),
    "log_loss_before": _measure("log-loss before", "Log-loss"),
    "log_loss_after": _measure("log-loss after", "Log-loss"),
    "brier_before": _measure("Brier before", "Brier score"),
    "brier_after": _measure("Brier after", "Brier score"),
}

NOBODY = "nobody is called positive, or nobody is"
DECISIONS: Columns = {
    "scored": _text("scores", width=62),
    "true_positives": _number("hits", format="localized", help="Positive, and called so"),
    "false_positives": _number(
        "false alarms", format="localized", help="Negative, but called positive"
    ),
    "false_negatives": _number("misses", format="localized", help="Positive, but not called so"),
    "true_negatives": _number("rest", format="localized", help="Negative, and not called positive"),
    "precision": _measure("precision", "Precision and recall", "%.3f"),
    "recall": _measure("recall", "Precision and recall", "%.3f"),
    "cost": _measure("cost of a row", "Expected cost"),
}

SIDES: Columns = {
    "leaf": _number("leaf", width=44, help="0: all rows"),
    "rule": _text("rule", width=200),
    "raised": _number("rightly raised", help="Newly called positive, and positive"),
    "raised_wrongly": _number("wrongly", help="Newly called positive, but negative"),
    "lowered": _number("rightly lowered", help="No longer called positive, and negative"),
    "lowered_wrongly": _number("wrongly ", help="No longer called positive, but positive"),
}

_INTERVAL: Columns = {
    "low": _number("95 % from", format="%+.4f"),
    "high": _number("to", format="%+.4f"),
}


def ladder_columns(measure: str) -> Columns:
    """Name the columns of the rungs of the ladder, whose lifts are in this measure."""
    return {
        "rung": _text("rung", width=190, help=DEFINITIONS["Rung"]),
        "in use": st.column_config.CheckboxColumn("in use", width=52),
        "lift": _number(
            "lift",
            width=64,
            format="%+.4f",
            help=f"{measure} minus that of your model. {DEFINITIONS['Cross-fitted']}",
        ),
        "interval": _text("95 % interval", width=132),
        f"{measure} without the network": _number(
            "without", width=64, format="%.4f", help=DEFINITIONS["Without the network"]
        ),
        "network adds": _number(
            "network adds", width=92, format="%+.4f", help=DEFINITIONS["Network adds"]
        ),
        "interval of that": _text("95 % interval ", width=132),
        "log-loss": _number("log-loss", width=66, format="%.4f", help=DEFINITIONS["Log-loss"]),
        "numbers": _number(
            "numbers", width=68, format="localized", help=DEFINITIONS["Numbers and time"]
        ),
        "seconds": _number("seconds", width=64, format="%.1f", help="To fit and compare it here"),
        "exports": _text(
            "exports",
            width=190,
            help="Formats of the Export page that hold the whole scheme; the artifact and the "
            "scored table hold any",
        ),
        "kind": _text("kind", help=DEFINITIONS["Kinds of schemes"]),
        "what it does": _text("what it does", width=300),
    }


CLASSES: Columns = {
    "class": _text("class", width="medium"),
    "rows": _number("test n", format="localized"),
    "auc_before": _number("AUC before", format="%.4f", help="The class against all others"),
    "auc_after": _number("AUC after", format="%.4f"),
    "lift": _number("lift", format="%+.4f"),
    **_INTERVAL,
    "p": _number("p-value", help=DEFINITIONS["p-value"]),
}

MACRO_AUC = "Mean of the AUCs of all classes, each against all others; higher is better"
ACCURACY = "Share of test rows whose most probable class is the true one; higher is better"
CLASS_METRICS: Columns = {
    "scheme": _text("scheme", width="medium"),
    "macro_auc": _number("macro AUC", format="%.4f", help=MACRO_AUC),
    "log_loss": _measure("log-loss", "Log-loss"),
    "accuracy": _number("accuracy", format="percent", help=ACCURACY),
    "top_label_error": _number(
        "top-label error",
        format="%.4f",
        help="Root mean squared gap between the probability of the top label and how often it is "
        "right, over bins of equal mass; lower is better",
    ),
}

CLASS_MAPS: Columns = {
    "leaf": _number("leaf", width=50, help="0: the pooled map"),
    "rule": _text("rule", width=WIDE_RULE),
    "class": _text("class"),
    "weight": _number(
        "weight", format="%.3f", help="Of the logarithm of the class's own probability"
    ),
    "bias": _number("bias", format="%+.3f", help="Added to it"),
}

WATCHED: Columns = {
    "leaf": _number("leaf", width=50, help="0: all rows"),
    "rule": _text("rule", width=RULE_WIDTH),
    "status": _text("map"),
    "rows": _number("n", format="localized", help="Newer rows with labels"),
    "rate_new": _any("positive", help="Share of positive labels"),
    "rate_expected": _any("expected", help="Mean probability after"),
    "p": _text("p", help="Corrected by Holm's method over all tests of the check"),
    "rate_reference": _any("positive, test", help="The same on the test rows of the run"),
    "rate_expected_reference": _any("expected, test"),
}

WATCHED_MOVES: Columns = {
    "what": _text("what"),
    "column": _text("column"),
    "size": _text("moved?"),
    "index": _measure("stability index", "Stability index", "%.3f"),
    "p": _text("p", help="Corrected by Holm's method over all that is compared"),
    "reference": _text("test rows of the run"),
    "new": _text("newer rows"),
}
