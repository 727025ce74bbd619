"""Overview: what hetcal does, the demo, and the verdict of the current run."""

import streamlit as st

from pages.shared.controls.demo import demo_buttons, demo_files
from pages.shared.display.example import show_example
from pages.shared.display.measures import show_roles
from pages.shared.display.results import (
    show_change,
    show_class_lifts,
    show_class_verdict,
    show_conditions,
    show_ladder,
    show_numbers,
    show_scheme,
    show_verdict,
)
from pages.shared.display.runs import go_on, note_results
from pages.shared.display.widgets import definitions
from pages.shared.frame import need_results, open_page
from pages.shared.links import page_link
from pages.shared.state import workspace

NEXT = (
    ("pages/overconfidence.py", "See where the model is over-confident"),
    ("pages/calibration.py", "See what is applied to the score"),
    ("pages/results.py", "Read the results"),
    ("pages/export.py", "Download the artifact"),
)

open_page(
    "Overview",
    "hetcal improves an over-confident classifier **after** training. It says what helps how much: "
    "**calibrating** the score leaf by leaf, **correcting** it by curves of the columns, or a "
    "**second model** beside it. And what your network is worth. Where nothing helps, it says so.",
)
demo_buttons()
if not workspace().files and workspace().saved is None:
    go_on()
    show_example()
    demo_files()
    st.stop()

flow = need_results()
note_results(flow)
if flow.classes:
    show_class_verdict(flow)
    show_class_lifts(flow)
else:
    show_verdict(flow)
    show_scheme(flow, at_length=False)
    show_numbers(flow.run.evaluation)
    show_change(flow, "overview_change")
    show_conditions(flow)
    show_roles(flow)
show_ladder(flow, "overview_ladder")
definitions(
    "AUC",
    "Lift",
    "Smallest detectable lift",
    "Log-loss",
    "Without the network",
    "Network adds",
    "Kinds of schemes",
)
for page, label in NEXT:
    page_link(page, label)
