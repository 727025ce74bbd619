"""Scores: the logit of every row, from columns, a Keras model, or a network trained here."""

from dataclasses import replace

import streamlit as st

from hetcal.data.checks import WITHOUT_VALIDATION
from pages.shared.controls.scores import (
    column_controls,
    model_controls,
    show_scales,
    training_controls,
)
from pages.shared.display.messages import plain, show_finding
from pages.shared.display.results import show_first_conditions
from pages.shared.display.widgets import cards
from pages.shared.frame import need_table, open_page, shown_errors
from pages.shared.links import next_page
from pages.shared.state import kept, workspace

SOURCES = {
    "A column of the table": column_controls,
    "A Keras model": model_controls,
    "Train the paper's network": training_controls,
}
CLASS_SOURCES = {"Columns of the table": column_controls, "A Keras model": model_controls}
CHECKBOX = "clear 'Fit and compare schemes on validation rows, too' on Data"
COMPARED = "Between the output of the model and the sigmoid of the logit, over all rows"

open_page(
    "Scores",
    "The score is the **logit**: the output of the last neuron before the sigmoid. Take it from a "
    "column or from your Keras model, or train the paper's network here.",
)
flow = need_table()
several = bool(flow.classes)
sources = CLASS_SOURCES if several else SOURCES
source = st.segmented_control(
    "Where do the scores come from?",
    list(sources),
    default=list(sources)[1 if workspace().model is not None else 0],
    required=True,
    **kept("scores_class_way" if several else "scores_way"),
)
with shown_errors():
    sources[source](flow)
if several:
    st.caption("Every class has a score. To train a network here, choose a positive value on Data.")
if workspace().scoring is None:
    st.stop()

with shown_errors():
    scores = flow.scores
if scores is None:
    st.stop()
st.divider()
st.success(plain(scores.how), icon=":material/check:")
for finding in flow.score_findings:
    message = finding.message.replace(WITHOUT_VALIDATION, CHECKBOX)
    show_finding(replace(finding, message=message.replace("on the Scores page", "above")))
with shown_errors():
    show_scales(flow)
difference = scores.largest_difference
known = difference is not None
clipped = "Probabilities closer than 1e-7 to 0 or 1, moved to that distance"
if several:
    clipped = "Probabilities below 1e-7, raised to that"
cards(
    *([("Classes", f"{len(flow.classes)}")] if several else []),
    ("Rows with scores" if several else "Rows with a score", f"{scores.usable.sum():,}"),
    ("Left out", f"{scores.excluded:,}", "Rows whose score is missing or infinite"),
    ("Clipped", f"{scores.clipped:,}", clipped),
    *([("Largest difference", f"{difference:.1e}", COMPARED)] if known else []),
)
if several:
    st.caption(f"Order of the classes: {plain(', '.join(flow.classes))}.")
conditions = st.container()
next_page("pages/partition.py", "Partition")
if not several and flow.table.roles.features:
    with conditions, shown_errors():
        show_first_conditions(flow)
