"""Overview: what hetcal does, the demo, and what the run says now."""

import streamlit as st

from hetcal.verdict import outcome, verdict
from pages.shared.demo_controls import demo_buttons, demo_files
from pages.shared.frame import need_run, open_page
from pages.shared.jobs import job_running, watch_job
from pages.shared.state import workspace

open_page(
    "Overview",
    "hetcal makes an over-confident classifier better **after** it was trained. A small tree "
    "divides the rows into leaves; in each leaf the score is calibrated on its own; the order "
    "*between* leaves becomes right, and the AUC rises. When it does not, hetcal says so.",
)

demo_buttons()
watch_job()
if job_running():
    st.stop()

if workspace().files:
    flow = need_run()
    lift = flow.run.evaluation.lift
    show = {"gain": st.success, "harm": st.error, "unclear": st.info}[outcome(lift)]
    show(verdict(lift, flow.run.evaluation.rows))
    cards = st.columns(4)
    cards[0].metric("AUC before", f"{lift.before:.4f}", border=True, height="stretch")
    cards[1].metric(
        "AUC after", f"{lift.after:.4f}", f"{lift.auc:+.4f}", border=True, height="stretch"
    )
    cards[2].metric("Leaves", len(flow.partition.leaves), border=True, height="stretch")
    cards[3].metric("Test rows", f"{flow.run.evaluation.rows:,}", border=True, height="stretch")
    for page, label in (
        ("pages/overconfidence.py", "See where the model is over-confident"),
        ("pages/results.py", "Read the results"),
        ("pages/export.py", "Download the calibrated artifact"),
    ):
        st.page_link(page, label=label, icon=":material/arrow_forward:")
else:
    demo_files()
