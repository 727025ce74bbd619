"""Export: the calibrated artifact, the scored table, and the way back in."""

import streamlit as st

from hetcal.artifacts.report import table_bytes
from hetcal.data.table import ALL_ROWS
from pages.shared.controls.reopen import reopen_artifact
from pages.shared.controls.takeaway import to_take
from pages.shared.display.progress import shown_progress
from pages.shared.display.widgets import HEAD_ROWS, scored_head
from pages.shared.frame import need_run, open_page

open_page(
    "Export",
    "Take the calibration with you. The artifact holds everything that is needed to score new "
    "rows, bit for bit as here, and to explore the run without its table: no pickle, only JSON, "
    "plain numbers and your model's own file.",
)
downloads, reopened = st.tabs(["Download", "Reopen an artifact"])

with reopened:
    reopen_artifact()

with downloads:
    flow = need_run()
    taken = to_take(flow)
    st.subheader("The calibrated artifact", anchor=False)
    st.markdown(
        "A zip with the manifest (settings, versions, digests of table and model), the partition, "
        f"the maps, the metrics{taken.also}."
    )
    files = (
        ("artifact.zip", taken.artifact, "application/zip"),
        ("partition.json", taken.partition, "application/json"),
        ("result.json", taken.result, "application/json"),
    )
    with st.container(horizontal=True):
        for name, make, mime in files:
            st.download_button(
                name,
                make,
                name,
                mime,
                on_click="ignore",
                icon=":material/download:",
                type="primary" if name == "artifact.zip" else "secondary",
            )
    st.markdown("Score new rows on the command line:")
    st.code(
        "python -m hetcal score artifact.zip new_rows.csv --out scored.parquet",
        language="bash",
        wrap_lines=True,
    )

    st.subheader("The scored table", anchor=False)
    with shown_progress() as progress:
        taken.score(progress)
    st.caption(f"{taken.rows:,} rows of all roles; the first ones:")
    scored_head(taken.scored(slice(HEAD_ROWS)))
    with st.container(horizontal=True):
        for name, mime in (
            ("scored.csv", "text/csv"),
            ("scored.parquet", "application/vnd.apache.parquet"),
        ):
            st.download_button(
                name,
                lambda name=name: table_bytes(taken.scored(ALL_ROWS), name),
                name,
                mime,
                on_click="ignore",
                icon=":material/download:",
            )
