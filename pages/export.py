"""Export: the artifact of the run, the scored table, and artifacts to reopen."""

from functools import partial

import streamlit as st

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.artifacts.report import result_json, scored_table, table_bytes
from hetcal.choices import Kind
from hetcal.data.table import ALL_ROWS
from hetcal.models.scoring import ModelScoring
from pages.shared.controls.exports import offer_exports
from pages.shared.controls.reopen import reopen_artifact
from pages.shared.display.messages import warn_of_score
from pages.shared.display.progress import shown_progress
from pages.shared.display.tables import HEAD_ROWS, scored_head
from pages.shared.display.widgets import downloads
from pages.shared.frame import need_run, open_page
from pages.shared.links import next_page

APPLIED: dict[Kind, tuple[str, str]] = {
    "none": ("leaves the score **as it is**", "the maps, which are not applied"),
    "calibration": ("**calibrates** the score", "the maps"),
    "correction": ("**corrects** the score by terms of the columns", "the curves and pairs"),
    "second model": ("sets a **second model** beside the score", "the boosted trees"),
}

open_page(
    "Export",
    "Download what is applied to the score. The artifact holds everything needed to score new "
    "rows, bit for bit as here, and to explore the run without its table. It contains no pickle, "
    "only JSON, arrays of numbers and your model file.",
)
downloaded, reopened = st.tabs(["Download", "Reopen an artifact"])

with reopened:
    reopen_artifact()

with downloaded:
    flow = need_run()
    warn_of_score(flow.whole.findings)
    scoring, run = flow.workspace.scoring, flow.whole
    st.subheader("The artifact", anchor=False)
    does, holds = APPLIED[run.kind]
    sketches = " and sketches of the scores"
    if isinstance(scoring, ModelScoring):
        sketches = ", sketches of the scores and the model"
    st.markdown(
        f"A zip file that {does}, with the manifest (settings, versions, digests of table and "
        f"model), the partition, {holds}, the metrics{sketches}."
    )
    downloads(
        {
            "artifact.zip": partial(artifact_bytes, run, scoring),
            "partition.json": run.partition.to_json,
            "result.json": partial(result_json, run, flow.named),
        },
        first="primary",
    )
    st.markdown("Score new rows on the command line:")
    st.code(
        "python -m hetcal score artifact.zip new_rows.csv --out scored.parquet",
        language="bash",
        wrap_lines=True,
    )

    offer_exports(flow)

    st.subheader("The scored table", anchor=False)
    with shown_progress() as progress:
        run.complete(progress)
    st.caption(f"{run.table.rows:,} rows of all roles. The first rows:")
    scored_head(scored_table(run, slice(HEAD_ROWS)))
    downloads(
        {
            name: lambda name=name: table_bytes(scored_table(run, ALL_ROWS), name)
            for name in ("scored.csv", "scored.parquet")
        }
    )
    next_page("pages/watch.py", "Watch")
