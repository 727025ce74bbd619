"""Over-confidence: scores of train rows against scores of test rows, leaf by leaf."""

import streamlit as st

from hetcal.figures.overconfidence import (
    drawn_leaves,
    leaf_histogram_figure,
    leaf_multiples_figure,
    overconfidence_figure,
)
from hetcal.results.overconfidence import in_brief, slope_interval, whether_overconfident
from hetcal.results.words import DEFINITIONS, p_in_words
from pages.shared.display.applied import HOLM, group_note, named_leaf, show_leaf_curves, whole_rule
from pages.shared.display.columns import DIAGNOSIS, ONE_LABEL
from pages.shared.display.messages import warn_of_score
from pages.shared.display.tables import leaf_rows
from pages.shared.display.widgets import (
    cards,
    chart,
    definitions,
    how_to_read,
    leaf_chart,
    leaf_name,
    leaf_picker,
    mark_names,
    mark_panels,
    one_of,
    say_computed_on,
    scrolled,
    shown,
)
from pages.shared.frame import need_results, open_page
from pages.shared.links import next_page
from pages.shared.state import ALL_ROWS

open_page(
    "Over-confidence",
    "A model is over-confident if its scores are too large for rows it was not trained on: its "
    "logits should be multiplied by less than 1. The usual reason is over-fitting: the labels are "
    "separated better on train rows than on new ones.",
)
flow = need_results()
warn_of_score(flow.whole.findings)
leaf = leaf_picker(flow.partition)
diagnosis = flow.diagnosis.merge(flow.leaf_tests, on="leaf")
chosen, members = flow.diagnosed(leaf), flow.partition.members(leaf)

st.markdown(f"**Is the model over-confident?** {whether_overconfident(flow.diagnosis)}")
cards(
    (
        "Slope needed on test rows",
        shown(chosen.slope, "z.2f"),
        DEFINITIONS["Slope needed"],
        slope_interval(chosen),
    ),
    (
        "Log-loss gap",
        shown(chosen.log_loss_gap, "+z.3f"),
        DEFINITIONS["Log-loss gap"],
        f"p-value {p_in_words(chosen.p_gap)}",
    ),
    (
        "AUC, train → test",
        f"{shown(chosen.auc_train, '.3f')} → {shown(chosen.auc_test, '.3f')}",
        DEFINITIONS["AUC"],
    ),
)
st.markdown(f"**{leaf_name(leaf)}:** {chosen.sentence}.", help=whole_rule(flow, leaf))
left, right = st.columns(2, gap="medium")
with left:
    st.markdown("**Where?** The leaves that lose most on rows the model was not trained on")
    with scrolled(len(diagnosis)):
        leaf_chart(
            overconfidence_figure(flow.diagnosis, names=flow.partition.names),
            key="overconfidence_rank",
            alt="Log-loss on train and on test rows of every leaf, the largest gap first",
            how="Leaves are ordered by what they lose from train to test rows, the length of their "
            "line; Results orders them by their share of the lift.",
        )
    mark_names("overconfidence_rank", members or (ALL_ROWS,))
with right:
    st.markdown(f"**Scores** · {named_leaf(flow, leaf)}")
    picture = st.container()
    with st.container(horizontal=True):
        density = one_of("Bar height", ("Density", "Rows"), "overconfidence_height") == "Density"
        axis = one_of("Score axis", ("logit", "probability"), "overconfidence_axis")
    scores = flow.histograms(axis)
    with picture:
        chart(
            leaf_histogram_figure(scores.together(members) if members else scores, 0, density),
            key="overconfidence_leaf",
            alt=f"Score histograms by label, train above test, {leaf_name(leaf)}",
            how="If the two colours overlap less on train rows (above) than on test rows (below), "
            "the model is over-fitted. The outermost bars include all scores beyond them.",
        )
leaf_rows(
    diagnosis.assign(brief=diagnosis["advice"].map(in_brief)).sort_values("rank"),
    "overconfidence_table",
    DIAGNOSIS,
    members,
    ONE_LABEL,
)
how_to_read(f"p below 0.05: more than chance. {HOLM}{group_note(flow)}")
st.subheader("Every leaf on the same axes", anchor=False)
multiples = flow.histograms(axis, bins=24)
chart(
    leaf_multiples_figure(multiples, density, flow.partition.names),
    key="overconfidence_leaves",
    alt="Score histograms by label of every leaf, train as outline, test filled",
    how="Outline: train rows; filled: test rows. Where they differ, the model is over-fitted.",
)
mark_panels("overconfidence_leaves", drawn_leaves(multiples), members)
st.subheader(f"Before and after · {named_leaf(flow, leaf)}", anchor=False)
show_leaf_curves(flow, leaf, "overconfidence")
say_computed_on(flow.diagnosis_computed_on)
definitions(
    "Over-confident",
    "Slope needed",
    "AUC",
    "Log-loss",
    "Log-loss gap",
    "Is the gap real? (p)",
    "Is it calibrated? (p)",
)
next_page("pages/calibration.py", "Calibration")
