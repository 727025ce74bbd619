"""Results: before and after, on test rows that were not used for fitting."""

import streamlit as st

from hetcal.figures.results import (
    leaf_lift_figure,
    precision_recall_figure,
    roc_figure,
)
from hetcal.metrics.curves import points_in_words
from hetcal.results.evaluation import metrics_table
from hetcal.results.words import DEFINITIONS, same_order
from hetcal.schemes.candidates import in_words
from pages.shared.display.applied import (
    NO_ROWS,
    ONE_CLASS,
    ROC_HOW,
    named_leaf,
    show_reliability,
)
from pages.shared.display.cohorts import show_compared
from pages.shared.display.columns import LEAF_RESULTS, ONE_LABEL, ORDER_METRICS, PROBABILITY_METRICS
from pages.shared.display.measures import show_measures
from pages.shared.display.results import (
    ranking_words,
    show_change,
    show_class_results,
    show_inside,
    show_numbers,
    show_pairs,
    show_reasons,
    show_scheme,
    show_shown_class,
    show_verdict,
)
from pages.shared.display.runs import note_results
from pages.shared.display.tables import draw_table, leaf_rows
from pages.shared.display.thresholds import show_threshold
from pages.shared.display.widgets import (
    chart,
    definitions,
    how_to_read,
    leaf_chart,
    leaf_name,
    leaf_picker,
    mark_names,
    say_computed_on,
    scrolled,
)
from pages.shared.flow.applied import curves_inside, points_inside
from pages.shared.frame import need_results, open_page
from pages.shared.links import next_page
from pages.shared.state import ALL_ROWS, kept

open_page("Results", "Before and after, on **test rows** that were not used for fitting.")
flow = need_results()
note_results(flow)
if flow.classes:
    show_class_results(flow)
    show_shown_class(flow)
leaf = leaf_picker(flow.partition)
members = flow.partition.members(leaf)
with st.spinner("Evaluating the test rows"):
    evaluation, curves = flow.run.evaluation, curves_inside(flow, leaf)
lift = evaluation.lift
chosen = None if flow.choice is None else in_words(flow.choice.chosen)

show_verdict(flow)
if not flow.classes:
    show_scheme(flow)
say_computed_on(flow.run.computed_on)
show_numbers(evaluation)
definitions(
    "AUC",
    "Lift",
    "p-value",
    "TPR and FPR at (T, q)",
    "Average precision",
    "Class-balanced PR-AUC",
    "Log-loss",
    "Calibration part of the log-loss",
    "Refinement part of the log-loss",
    "Brier score",
    "Calibration error",
    "Calibration error, debiased",
    "Smooth calibration error",
    "Cumulative difference",
    "Interval",
    "Smallest detectable lift",
    "Share of the lift",
    "Without the network",
    "Network adds",
    "Kinds of schemes",
)
show_change(flow, "results_change")
if not flow.classes:
    show_reasons(flow)

st.subheader(f"Before and after · {named_leaf(flow, leaf)}", anchor=False)
with st.container():  # also where it is empty: what moves down the page is drawn anew
    if leaf != ALL_ROWS:
        show_inside(flow, leaf)
with st.container(horizontal=True, vertical_alignment="bottom"):
    rate = st.number_input(
        "False positive rate (%)",
        0.0,
        100.0,
        10.0,
        step=1.0,
        format="%.1f",
        help=DEFINITIONS["TPR and FPR at (T, q)"],
        width=240,
        **kept("results_rate"),
    )
    points = points_inside(flow, leaf, rate / 100)
    if points is not None:
        st.markdown(points_in_words(*points))
if points is None:
    st.caption(ONE_CLASS if curves.reliability else NO_ROWS)
else:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**ROC**")
        chart(
            roc_figure(curves.roc, points),
            key="results_roc",
            alt=f"ROC curves before and after, {leaf_name(leaf)}",
            how=ROC_HOW,
        )
    with right:
        st.markdown("**Precision and recall**")
        chart(
            precision_recall_figure(curves.precision_recall),
            key="results_pr",
            alt=f"Precision-recall curves before and after, {leaf_name(leaf)}",
            how="Higher is better: fewer false positives at the same recall.",
        )
left, right = st.columns(2, gap="medium")  # a row of their own, so that their titles align
with left:
    show_reliability(flow, leaf, "results_reliability")
with right:
    st.markdown("**Where the lift comes from** (all rows)")
    if same_order(lift):
        st.markdown("Calibration did not change the ranking, so no leaf has a share in a lift.")
    else:
        with scrolled(len(evaluation.leaves)):
            leaf_chart(
                leaf_lift_figure(evaluation.leaves, names=flow.partition.names),
                key="results_leaves",
                alt="Share of the AUC lift of every leaf",
                how="Leaves are ordered by their share of the lift, Over-confidence orders them by "
                "what they lose from train to test rows. A share counts the pairs with one row in "
                "the leaf; all add up to the lift. Thin lines: 95 % intervals.",
            )
        mark_names("results_leaves", members)
if not same_order(lift):
    show_pairs(flow, leaf)
show_threshold(flow, leaf)

show_measures(flow)
st.subheader("The same test rows, other schemes", anchor=False)
table = metrics_table(evaluation, chosen)
with st.container(horizontal=True):  # side by side, or one below the other in a narrow window
    for columns in (ORDER_METRICS, PROBABILITY_METRICS):
        draw_table(table, columns, width=500)
how_to_read(
    "One map for all rows keeps the AUC, unless it falls, and corrects probabilities; the tree "
    "alone, and a scheme without the model, ignore its score."
)
show_compared(flow, leaf)
st.subheader("Leaf by leaf", anchor=False)
rules = {each.id: each.rule for each in flow.partition.leaves}
table = evaluation.leaves.assign(rule=evaluation.leaves["leaf"].map(rules))
leaf_rows(table, "results_table", LEAF_RESULTS, members, ONE_LABEL)
how_to_read(ranking_words(flow))
next_page("pages/export.py", "Export")
