"""Watch: newer rows compared with those of the run or of an artifact, and maps fitted again."""

import streamlit as st

from hetcal.watch.check import with_gate
from pages.shared.controls.reopen import new_rows
from pages.shared.controls.watch import artifact_to_watch, gate_controls, offer_refit
from pages.shared.display.messages import plain
from pages.shared.display.watch import show_check
from pages.shared.flow.compute import artifact_of, checked_of
from pages.shared.frame import open_page, shown_errors
from pages.shared.links import next_page

open_page(
    "Watch",
    "Does it still hold? Newer rows are compared with the rows of the run: with labels, whether "
    "the maps of the leaves are still right; without labels, whether the rows have moved.",
)
watched = artifact_to_watch()
with shown_errors():
    artifact = artifact_of(watched.path, watched.run)
    given = new_rows(watched.run, artifact, "watch", "Newer rows (CSV, TSV or Parquet)")
    if given is None:
        st.caption(
            "A table with the columns of the run. Where it has the column "
            f"'{plain(artifact.roles.label)}' with labels, the maps are tested leaf by leaf."
        )
        next_page("pages/runs.py", "Runs")
        st.stop()
    checked = checked_of(watched.path, *given, watched.run)
gate = gate_controls(checked)
checked = with_gate(checked, gate)
show_check(checked, artifact.partition)
offer_refit(watched, given, checked)
st.subheader("In production", anchor=False)
st.markdown("The same check, for a schedule or before a release; the exit code tells:")
st.code(
    f"python -m hetcal check artifact.zip newer_rows.csv {gate.options}".strip(),
    language="bash",
    wrap_lines=True,
)
next_page("pages/runs.py", "Runs")
