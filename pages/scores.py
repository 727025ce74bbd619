"""Scores: one logit per row, from a column, from a Keras model, or from a network trained here."""

import streamlit as st

from pages.shared.class_flow import ClassFlow
from pages.shared.class_scores import (
    class_column_controls,
    class_model_controls,
    show_class_scores,
)
from pages.shared.frame import need_table, open_page, shown_errors
from pages.shared.jobs import job_running, watch_job
from pages.shared.messages import plain, show_finding
from pages.shared.score_controls import column_controls, model_controls, training_controls
from pages.shared.state import workspace
from pages.shared.widgets import cards

WAYS = {
    "A column of the table": column_controls,
    "A Keras model": model_controls,
    "Train the paper's network": training_controls,
}
COMPARED = "Between the model's own output and the sigmoid of the logit, over all rows"
CLASS_WAYS = {"Columns of the table": class_column_controls, "A Keras model": class_model_controls}

open_page(
    "Scores",
    "The score is the **logit**: what the last neuron says before the sigmoid. Take it from a "
    "column, from your Keras model, or train the paper's network here.",
)
flow = need_table()
several = isinstance(flow, ClassFlow)
ways = CLASS_WAYS if several else WAYS
way = st.segmented_control(
    "Where do the scores come from?",
    list(ways),
    default=list(ways)[1 if workspace().model is not None else 0],
    required=True,
    key="scores_class_way" if several else "scores_way",
    persist_state="session",
)
with shown_errors():
    ways[way](flow)
if several:
    st.caption("One score per class. A network is trained here only for a single positive value.")
watch_job()
if job_running() or workspace().scoring is None:
    st.stop()

with shown_errors():
    scores = flow.scores
if scores is None:
    st.stop()
st.divider()
if several:
    show_class_scores(flow)
    st.page_link("pages/partition.py", label="Next: partition", icon=":material/arrow_forward:")
    st.stop()
st.success(plain(scores.how), icon=":material/check:")
for finding in flow.score_findings:
    show_finding(finding)
difference = scores.largest_difference
known = difference is not None
cards(
    ("Rows with a score", f"{len(scores.logit) - scores.excluded:,}"),
    ("Left out", f"{scores.excluded:,}", "Rows whose score is missing or infinite"),
    ("Clipped", f"{scores.clipped:,}", "Probabilities within 1e-7 of 0 or 1, pulled in by that"),
    *([("Largest difference", f"{difference:.1e}", COMPARED)] if known else []),
)
st.page_link("pages/partition.py", label="Next: partition", icon=":material/arrow_forward:")
