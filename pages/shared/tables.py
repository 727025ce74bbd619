"""How the tables of the pages name and write their columns."""

from typing import Any

import pandas as pd
import streamlit as st

Columns = dict[str, Any]

_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
_ROLES = {"train": "train", "validation": "valid.", "calibration": "calib.", "test": "test"}

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


LEAVES: Columns = {
    "leaf": _number("leaf", width=50),
    "rule": _text("rule", width=260),
    **{
        f"{kind}_{role}": _number(f"{name} {sign}", width=62, format=form)
        for role, name in _ROLES.items()
        for kind, sign, form in (("rows", "n", "localized"), ("rate", "%", None))
    },
    "distance": _number(
        "from base rate",
        format="%+.3f",
        help="Positive rate of the leaf minus that of all training rows",
    ),
}

DIAGNOSIS: Columns = {
    "leaf": _number("leaf", width=50, help="0: all rows"),
    "sentence": _text("in words", width=470),
    "rows_test": _number("test n", format="localized"),
    "auc_train": _number("train AUC", format="%.3f"),
    "auc_test": _number("test AUC", format="%.3f"),
    "log_loss_train": _number("train log-loss", format="%.3f"),
    "log_loss_test": _number("test log-loss", format="%.3f"),
    "log_loss_gap": _number("gap", format="%+.3f", help="Test minus train log-loss"),
    "confidence_gap": _number("confidence − accuracy", format="%+.3f"),
    "slope": _number("slope", format="%.2f"),
    "intercept": _number("intercept", format="%+.2f"),
}

MAPS: Columns = {
    "leaf": _number("leaf", width=50, help="0: the pooled map"),
    "rule": _text("rule", width=300),
    "rows": _number("calib. n", format="localized"),
    "positives": _number("positive n", format="localized"),
    "map": _text("map", help="s: the logit of the model; p: its probability"),
    "slope": _number("slope", format="%.3f"),
    "slope_se": _number("± s.e.", format="%.3f"),
    "intercept": _number("intercept", format="%+.3f"),
    "intercept_se": _number("± s.e. ", format="%.3f"),
    "fallback": _text("pooled map because"),
}

METRICS: Columns = {
    "scheme": _text("scheme", width="medium"),
    "auc": _number("AUC", format="%.4f", help="Ties count one half; higher is better"),
    "average_precision": _number("average precision", format="%.4f", help="Higher is better"),
    "log_loss": _number("log-loss", format="%.4f", help="Lower is better"),
    "brier": _number("Brier score", format="%.4f", help="Mean squared error; lower is better"),
    "calibration_error": _number(
        "calibration error",
        format="%.4f",
        help="L2: root of the mean squared gap between predicted and observed, over 15 bins of "
        "equal mass; lower is better. It need not fall when leaves are calibrated apart.",
    ),
}

LEAF_RESULTS: Columns = {
    "leaf": _number("leaf", width=50),
    "rows": _number("test n", format="localized"),
    "positives": _number("positive n", format="localized"),
    "auc_before": _number("AUC before", format="%.4f"),
    "auc_after": _number("AUC after", format="%.4f"),
    "lift": _number("lift inside", format="%+.4f"),
    "log_loss_before": _number("log-loss before", format="%.4f"),
    "log_loss_after": _number("log-loss after", format="%.4f"),
    "contribution": _number("share of the lift", format="%+.4f"),
    "contribution_low": _number("95 % from", format="%+.4f"),
    "contribution_high": _number("to", format="%+.4f"),
}

CANDIDATES: Columns = {
    "name": _text("candidate"),
    "words": _text("what it does", width="large"),
    "lift": _number("lift", format="%+.4f", help="AUC against the model as it is, cross-fitted"),
    "se": _number("± s.e.", format="%.4f"),
    "low": _number("95 % from", format="%+.4f"),
    "high": _number("to", format="%+.4f"),
    "log_loss": _number("log-loss", format="%.4f"),
    "strength": _number("shrinkage", format="%g"),
    "chosen": st.column_config.CheckboxColumn("chosen"),
}

CLASSES: Columns = {
    "class": _text("class", width="medium"),
    "rows": _number("test n", format="localized"),
    "auc_before": _number("AUC before", format="%.4f", help="The class against all others"),
    "auc_after": _number("AUC after", format="%.4f"),
    "lift": _number("lift", format="%+.4f"),
    "low": _number("95 % from", format="%+.4f"),
    "high": _number("to", format="%+.4f"),
    "p": _number("p-value", format="%.2g"),
}

CLASS_METRICS: Columns = {
    "scheme": _text("scheme", width="medium"),
    "macro_auc": _number(
        "macro AUC",
        format="%.4f",
        help="Mean of the AUCs of all classes, each against all others; higher is better",
    ),
    "log_loss": _number("log-loss", format="%.4f", help="Lower is better"),
    "accuracy": _number(
        "accuracy", format="percent", help="Share of rows whose most probable class is theirs"
    ),
    "top_label_error": _number(
        "top-label error",
        format="%.4f",
        help="Root of the mean squared gap between how sure of its top label the model is and how "
        "often that label is right, over bins of equal mass; lower is better",
    ),
}

CLASS_MAPS: Columns = {
    "leaf": _number("leaf", width=50, help="0: the map of all rows"),
    "rule": _text("rule", width=300),
    "class": _text("class"),
    "weight": _number(
        "weight", format="%.3f", help="Of the logarithm of the class's own probability"
    ),
    "bias": _number("bias", format="%+.3f", help="Added to it"),
}
