"""Reopen an artifact: what it holds, and new rows scored with it."""

from pathlib import Path

import streamlit as st

from hetcal.artifacts.artifact import Artifact
from hetcal.artifacts.new_rows import scored_rows_in_words
from hetcal.artifacts.report import table_bytes
from hetcal.errors import HetcalError
from hetcal.figures.results import class_maps_table
from hetcal.figures.tree import tree_figure
from hetcal.partitions.partition import Partition, maps_table
from hetcal.results.words import DEFINITIONS
from pages.shared.controls.files import keep
from pages.shared.display.messages import plain, show_error, show_scheme
from pages.shared.display.progress import shown_progress
from pages.shared.display.tables import CLASS_MAPS, map_columns
from pages.shared.display.widgets import cards, chart, draw_table, scored_head
from pages.shared.flow.compute import artifact_of, scored_by_artifact
from pages.shared.state import TableFile, open_saved, update


def reopen_artifact() -> None:
    """Let the user open an artifact, look at it and score rows with it."""
    file = st.file_uploader("Artifact (zip)", ["zip"], key="reopen_artifact")
    if file is None:
        st.caption("The zip that this page or `python -m hetcal run` wrote.")
        return
    path = keep(file.getvalue())
    try:
        artifact = artifact_of(path)
    except HetcalError as error:
        show_error(error)
        return
    _show(artifact)
    _explore(TableFile(path, file.name, path.name), artifact)
    _score(path)


def _show(artifact: Artifact) -> None:
    several = bool(artifact.classes)
    auc = ("Macro AUC",) if several else ("AUC", DEFINITIONS["AUC"])
    cards(
        (f"{auc[0]} before", f"{artifact.auc_before:.4f}", *auc[1:]),
        (f"{auc[0]} after", f"{artifact.auc_after:.4f}", *auc[1:]),
        *([("Classes", f"{len(artifact.classes)}")] if several else []),
        ("Leaves", f"{len(artifact.partition.leaves)}"),
        ("Test rows", f"{artifact.test_rows:,}"),
    )
    order = plain(", ".join(artifact.classes))
    st.caption(
        f"Saved by hetcal {plain(artifact.version)}; measured when it was saved."
        + (f" Classes in the order of the scores: {order}." if several else "")
    )
    if artifact.choice is not None:
        show_scheme(artifact.choice.chosen, artifact.choice.why)
    if not artifact.applied:
        st.caption(
            "The tree below stands for the scheme: its maps tell where the score is wrong, and do "
            "not calibrate."
        )
    _draw_tree(artifact.partition)
    if several:
        maps = class_maps_table(artifact.calibrator, artifact.partition, artifact.classes)
        draw_table(maps, CLASS_MAPS)
    else:
        maps = maps_table(artifact.calibrator, artifact.partition)
        draw_table(maps, map_columns(artifact.calibrator))
    st.button(
        "Use its partition for the table at hand",
        on_click=update,
        kwargs={"partition": artifact.partition},
    )


def _draw_tree(partition: Partition) -> None:
    chart(
        tree_figure(partition, None),
        key="reopen_tree",
        alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
        how="Read from the top: each indent asks one more question. Rows and rates are those of "
        "the training rows.",
    )


def _explore(file: TableFile, artifact: Artifact) -> None:
    """Offer to explore a run, with the least rows of a map that it had."""
    st.subheader("Explore its run", anchor=False)
    if not artifact.cells:
        st.caption(
            "An older version of hetcal saved this artifact, without sketches of its rows: it "
            "scores new rows, but its run cannot be explored."
        )
        return
    st.markdown(
        "It holds sketches of its train, calibration and test scores, so Over-confidence, "
        "Calibration and Results are live without the table."
    )
    if st.button("Explore this run", icon=":material/bar_chart:", type="primary"):
        open_saved(file, artifact.min_rows)
        st.switch_page("pages/results.py")


def _score(artifact: Path) -> None:
    st.subheader("Score new rows with it", anchor=False)
    table = st.file_uploader("Table (CSV, TSV or Parquet)", key="reopen_table")
    if table is None:
        return
    try:
        with shown_progress() as progress:
            scored, notes = scored_by_artifact(
                artifact, keep(table.getvalue()), table.name, progress
            )
    except HetcalError as error:
        show_error(error)
        return
    done = f"{scored_rows_in_words(scored)} of {plain(table.name)} scored."
    st.success(done, icon=":material/check:")
    for note in notes:
        st.caption(plain(note))
    scored_head(scored)
    with st.container(horizontal=True):
        for name in ("scored.csv", "scored.parquet"):
            st.download_button(
                name,
                lambda name=name: table_bytes(scored, name),
                name,
                on_click="ignore",
                key=f"reopen_{name}",
                icon=":material/download:",
            )
