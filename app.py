"""Overview: what hetcal does, the demo, and the verdict of the current run."""

import streamlit as st

from hetcal.results.words import DEFINITIONS
from pages.shared.controls.demo import demo_buttons, demo_files
from pages.shared.display.results import (
    show_class_lifts,
    show_class_verdict,
    show_lift,
    show_scheme,
    show_verdict,
)
from pages.shared.display.widgets import cards, definitions
from pages.shared.frame import need_results, open_page
from pages.shared.jobs import job_running, watch_job
from pages.shared.state import workspace

NEXT = (
    ("pages/overconfidence.py", "See where the model is over-confident"),
    ("pages/calibration.py", "See the map of every leaf"),
    ("pages/results.py", "Read the results"),
    ("pages/export.py", "Download the calibrated artifact"),
)

open_page(
    "Overview",
    "hetcal improves an over-confident classifier **after** training. A small tree divides the "
    "rows into leaves, and the score is calibrated separately in each leaf. This corrects the "
    "ranking *between* leaves and can raise the AUC. Where it does not help, hetcal says so.",
)
demo_buttons()
watch_job()
if job_running():
    st.stop()
if not workspace().files and workspace().saved is None:
    demo_files()
    st.stop()

flow = need_results()
if flow.classes:
    show_class_verdict(flow)
    show_class_lifts(flow)
else:
    evaluation = flow.run.evaluation
    lift = evaluation.lift
    show_verdict(flow)
    if flow.choice is not None:
        show_scheme(flow.choice.chosen, flow.choice.why, at_length=False)
    leaves = ("Leaves", f"{len(flow.partition.leaves)}")
    cards(
        ("AUC before", f"{lift.before:.4f}", DEFINITIONS["AUC"]),
        ("AUC after", f"{lift.after:.4f}", DEFINITIONS["AUC"]),
        *((leaves,) if flow.choice is None else ()),  # a scheme is more than the tree shown
        ("Test rows", f"{evaluation.rows:,}"),
    )
    show_lift(flow, key="overview_lift")
    definitions("AUC", "Lift", "p-value")
for page, label in NEXT:
    st.page_link(page, label=label, icon=":material/arrow_forward:")
