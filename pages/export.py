"""Export: the calibrated artifact, the scored table, and the way back in."""

import streamlit as st

from hetcal.artifacts import artifact_bytes
from hetcal.report import result_json, scored_table, table_bytes
from hetcal.scoring import ModelScoring
from pages.shared.frame import need_run, open_page
from pages.shared.reopen import reopen_artifact
from pages.shared.state import workspace

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
    run, scoring = flow.run, workspace().scoring
    st.subheader("The calibrated artifact", anchor=False)
    st.markdown(
        "A zip with the manifest (settings, versions, digests of table and model), the partition, "
        "the maps, the metrics, sketches of the scores"
        + (", and the model." if isinstance(scoring, ModelScoring) else ".")
    )
    files = (
        ("artifact.zip", lambda: artifact_bytes(run, scoring), "application/zip"),
        ("partition.json", run.partition.to_json, "application/json"),
        ("result.json", lambda: result_json(run), "application/json"),
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
        "python -m hetcal score artifact.zip new_rows.csv --out scored.parquet", language="bash"
    )

    st.subheader("The scored table", anchor=False)
    scored = scored_table(run)
    st.caption(f"{len(scored):,} rows of all roles; the first ones:")
    st.dataframe(scored.head(8), hide_index=True)
    with st.container(horizontal=True):
        for name, mime in (
            ("scored.csv", "text/csv"),
            ("scored.parquet", "application/vnd.apache.parquet"),
        ):
            st.download_button(
                name,
                lambda name=name: table_bytes(scored, name),
                name,
                mime,
                on_click="ignore",
                icon=":material/download:",
            )
