"""Results: before and after, on test rows that no fit has seen."""

import streamlit as st

from hetcal.evaluation import metrics_table
from hetcal.result_figures import (
    leaf_lift_figure,
    lift_figure,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
)
from hetcal.verdict import verdict
from pages.shared.frame import how_to_read, need_run, open_page
from pages.shared.messages import show_verdict
from pages.shared.widgets import clickable_figure, leaf_picker, leaf_rows

open_page("Results", "Before and after calibration, on **test rows** that no fit has seen.")
flow = need_run()
leaf = leaf_picker(flow.partition)
evaluation, curves = flow.run.evaluation, flow.curves
lift = evaluation.lift

show_verdict(evaluation)
before, after, gain, certainty = st.columns(4)
before.metric("AUC before", f"{lift.before:.4f}", border=True, height="stretch")
after.metric("AUC after", f"{lift.after:.4f}", f"{lift.auc:+.4f}", border=True, height="stretch")
gain.metric(
    "Lift in percent",
    f"{lift.percent:+.2f} %",
    help="AUC after over AUC before, minus one: the paper's percent",
    border=True,
    height="stretch",
)
certainty.metric(
    "p-value",
    f"{lift.p:.2g}",
    help="Paired DeLong test of no difference between the two AUCs",
    border=True,
    height="stretch",
)
st.plotly_chart(
    lift_figure(lift, evaluation.rows), key="results_lift", alt=verdict(lift, evaluation.rows)
)
how_to_read("The bar is the 95 % interval of the lift. Only a bar clear of zero is a gain.")

roc, precision_recall = st.columns(2, gap="large")
with roc:
    st.subheader("ROC", anchor=False)
    st.plotly_chart(roc_figure(curves.roc), key="results_roc", alt="ROC curves before and after")
    how_to_read("Higher is better: more true positives for the same false positives.")
with precision_recall:
    st.subheader("Precision and recall", anchor=False)
    st.plotly_chart(
        precision_recall_figure(curves.precision_recall),
        key="results_pr",
        alt="Precision-recall curves before and after",
    )
    how_to_read("Higher is better: fewer false alarms for the same share of positives found.")

reliability, shares = st.columns(2, gap="large")
with reliability:
    st.subheader("Reliability", anchor=False)
    st.plotly_chart(
        reliability_figure(curves.reliability),
        key="results_reliability",
        alt="Observed frequency against predicted probability before and after",
    )
    how_to_read("On the diagonal, a predicted 30 % happens 30 % of the time. Bars: 95 % intervals.")
with shares:
    st.subheader("Where the lift comes from", anchor=False)
    clickable_figure(
        leaf_lift_figure(evaluation.leaves, leaf or None),
        key="results_leaves",
        alt="Share of the AUC lift of every leaf",
    )
    how_to_read(
        "A leaf's share counts the pairs of rows with one row in it. The bars add up to the lift. "
        "Click a leaf to choose it."
    )

st.subheader("Against simpler ways", anchor=False)
number = st.column_config.NumberColumn
st.dataframe(
    metrics_table(evaluation),
    hide_index=True,
    column_config={
        "scheme": st.column_config.TextColumn("scheme", width="medium"),
        "auc": number("AUC", format="%.4f", help="Ties count one half; higher is better"),
        "average_precision": number("average precision", format="%.4f", help="Higher is better"),
        "log_loss": number("log-loss", format="%.4f", help="Lower is better"),
        "brier": number("Brier score", format="%.4f", help="Mean squared error; lower is better"),
        "calibration_error": number(
            "calibration error",
            format="%.4f",
            help="L2: root of the mean squared gap between predicted and observed, over 15 bins of "
            "equal mass; lower is better. It need not fall when leaves are calibrated apart.",
        ),
    },
)
how_to_read(
    "One increasing map for all rows keeps the AUC and mends the probabilities; the tree alone "
    "ignores the model. Heterogeneous calibration joins the two."
)

st.subheader("Leaf by leaf", anchor=False)
leaf_rows(
    evaluation.leaves,
    key="results_table",
    columns={
        "leaf": number("leaf", width=50),
        "rows": number("test n", format="localized"),
        "positives": number("positive n", format="localized"),
        "auc_before": number("AUC before", format="%.4f"),
        "auc_after": number("AUC after", format="%.4f"),
        "lift": number("lift inside", format="%+.4f"),
        "log_loss_before": number("log-loss before", format="%.4f"),
        "log_loss_after": number("log-loss after", format="%.4f"),
        "contribution": number("share of the lift", format="%+.4f"),
    },
)
how_to_read(
    "Within a leaf the order of the rows stays, so its own AUC does too: the lift is the new order "
    "between leaves. The log-loss shows how much better its probabilities have become."
)
