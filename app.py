"""Overview: what hetcal does, the demo, and the verdict of the current run."""

import streamlit as st

from pages.shared.controls.demo import begin_buttons, demo_files, demo_networks
from pages.shared.display.example import show_small_example
from pages.shared.display.measures import show_roles
from pages.shared.display.results import (
    show_change,
    show_class_lifts,
    show_class_verdict,
    show_conditions,
    show_ladder,
    show_numbers,
    show_reasons,
    show_scheme,
    show_verdict,
)
from pages.shared.display.runs import go_on, note_results
from pages.shared.display.widgets import definitions
from pages.shared.frame import need_results, open_page
from pages.shared.links import next_page
from pages.shared.state import started

open_page("Overview")
if not started():
    st.markdown(
        "Is your classifier over-confident, where, and does repairing it help? hetcal answers on "
        "rows that no fit has seen, and repairs it **after** training: by **calibrating** the "
        "score leaf by leaf, by **curves** of the columns, or by a **second model** beside it. "
        "Where nothing helps, it says so."
    )
    begin_buttons()
    demo_networks()
    go_on()
    show_small_example()
    demo_files()
    st.stop()

demo_networks()
answer, others = st.container(), st.container()
with others:  # drawn first: there is no answer while a job runs
    st.subheader("Begin another run", anchor=False)
    begin_buttons()
with answer:
    flow = need_results()
    note_results(flow)
    if flow.classes:
        show_class_verdict(flow)
        show_class_lifts(flow)
    else:
        show_verdict(flow)
        show_numbers(flow.run.evaluation)
        show_change(flow, "overview_change")
        show_reasons(flow)
        show_scheme(flow, at_length=False)
        st.caption(
            "**Leaf**: a group of rows. **Map**: what corrects the score. **Lift**: the gain in "
            "AUC. **Scheme**, or **rung** of the ladder below: one way to repair the model."
        )
        show_conditions(flow)
        show_roles(flow)
    show_ladder(flow, "overview_ladder")
    definitions(
        "AUC",
        "Lift",
        "Heterogeneous calibration",
        "Slope needed",
        "Smallest detectable lift",
        "Log-loss",
        "Without the network",
        "Network adds",
        "Kinds of schemes",
    )
    next_page("pages/overconfidence.py", "Over-confidence")
