"""Data: choose a table, say what each column is for, split its rows."""

import streamlit as st

from pages.shared.controls.data import (
    group_controls,
    leave_out_control,
    role_controls,
    split_controls,
)
from pages.shared.controls.dialect import dialect_controls
from pages.shared.controls.uploads import choose_table, read_otherwise
from pages.shared.display.columns import DESCRIBED, NO_ROWS, balance_columns
from pages.shared.display.messages import plain, show_finding
from pages.shared.display.progress import shown_progress
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import how_to_read, show_known_class
from pages.shared.flow.flow import current_flow
from pages.shared.frame import open_page, shown_errors
from pages.shared.links import next_page, page_link
from pages.shared.state import workspace

PREVIEW_ROWS = 8

open_page(
    "Data",
    "Choose a table, say what each column is for, and split its rows. No data leaves the machine "
    "that runs hetcal.",
)
choose_table()
if not workspace().files:
    page_link("app.py", "Or start with the demo", ":material/play_circle:")
    st.stop()

if "draft" not in st.session_state:
    dialect_controls(workspace().files, read_otherwise)
with shown_errors(), shown_progress() as progress:
    source = current_flow(progress).source
names = ", ".join(file.name for file in workspace().files)
st.subheader(plain(names), anchor=False)
st.caption(f"In use: {len(source.frame):,} rows, {source.frame.shape[1]} columns")
for note in source.notes:
    st.info(plain(note), icon=":material/info:")

preview, columns = st.tabs(["First rows", "Columns"])
preview.dataframe(source.frame.head(PREVIEW_ROWS), hide_index=True, placeholder="")
with shown_errors(), shown_progress() as progress:
    described = current_flow(progress).columns
with columns:
    draw_table(described, DESCRIBED)

st.subheader("What each column is for", anchor=False)
role_controls(source)
st.subheader("Train, validation, calibration, test", anchor=False)
split_controls(source)

with shown_errors(), shown_progress() as progress:
    flow = current_flow(progress)
    balance, findings = flow.balance, flow.findings
show_known_class(flow.classes)
draw_table(balance, balance_columns(balance), NO_ROWS)
how_to_read(
    "Network and tree are fitted on train rows, the best epoch is chosen on validation rows, maps "
    "are fitted on calibration rows, and every result is measured on test rows."
)
for finding in findings:
    show_finding(finding)
    if finding.code == "unnamed-group":
        group_controls(flow.table.assumed_group)
    if finding.code == "identifier":
        leave_out_control(finding.column)
if not findings:
    st.success(
        "No sign of label leakage, no duplicate rows, enough rows to train, calibrate and test.",
        icon=":material/check:",
    )
next_page("pages/scores.py", "Scores")
