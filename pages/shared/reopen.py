"""Reopen an artifact: what it holds, and new rows scored with it."""

from pathlib import Path

import streamlit as st

from hetcal.artifacts import Artifact
from hetcal.class_artifacts import ClassArtifact
from hetcal.class_figures import class_maps_table
from hetcal.definitions import DEFINITIONS
from hetcal.errors import HetcalError
from hetcal.maps_table import maps_table
from hetcal.new_rows import scored_rows_in_words
from hetcal.partition import Partition
from hetcal.report import table_bytes
from hetcal.tree_figure import tree_figure
from pages.shared.compute import artifact_of, scored_by_artifact
from pages.shared.files import keep
from pages.shared.messages import plain, show_error, show_scheme
from pages.shared.progress import shown_progress
from pages.shared.state import TableFile, open_saved, update
from pages.shared.tables import CLASS_MAPS, map_columns
from pages.shared.widgets import cards, chart, draw_table, scored_head


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
    saved = TableFile(path, file.name, path.name)
    if isinstance(artifact, ClassArtifact):
        _show_classes(artifact)
        _explore(saved, None if artifact.saved is None else artifact.saved.min_rows)
    else:
        _show(artifact)
        _explore(saved, None if artifact.cells is None else artifact.calibrator.min_rows)
    _score(path)


def _show(artifact: Artifact) -> None:
    cards(
        ("AUC before", f"{artifact.auc_before:.4f}", DEFINITIONS["AUC"]),
        ("AUC after", f"{artifact.auc_after:.4f}", DEFINITIONS["AUC"]),
        ("Leaves", f"{len(artifact.partition.leaves)}"),
        ("Test rows", f"{artifact.test_rows:,}"),
    )
    st.caption(f"Saved by hetcal {plain(artifact.version)}; measured when it was saved.")
    if artifact.choice is not None:
        show_scheme(artifact.choice.chosen, artifact.choice.why)
    if not artifact.applied:
        st.caption(
            "The tree below stands for the scheme: its maps tell where the score is wrong, and do "
            "not calibrate."
        )
    _draw_tree(artifact.partition)
    maps = maps_table(artifact.calibrator, artifact.partition)
    draw_table(maps, map_columns(artifact.calibrator))
    _use_partition(artifact.partition)


def _show_classes(artifact: ClassArtifact) -> None:
    cards(
        ("Macro AUC before", f"{artifact.auc_before:.4f}"),
        ("Macro AUC after", f"{artifact.auc_after:.4f}"),
        ("Classes", f"{len(artifact.classes)}"),
        ("Leaves", f"{len(artifact.partition.leaves)}"),
        ("Test rows", f"{artifact.test_rows:,}"),
    )
    st.caption(
        f"Saved by hetcal {plain(artifact.version)}; measured when it was saved. Classes in the "
        f"order of the scores: {plain(', '.join(artifact.classes))}."
    )
    if artifact.chosen is not None:
        show_scheme(artifact.chosen, artifact.why or "")
    _draw_tree(artifact.partition)
    maps = class_maps_table(artifact.calibrator, artifact.partition, artifact.classes)
    draw_table(maps, CLASS_MAPS)
    _use_partition(artifact.partition)


def _draw_tree(partition: Partition) -> None:
    chart(
        tree_figure(partition, None),
        key="reopen_tree",
        alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
        how="Read from the top: each indent asks one more question. Rows and rates are those of "
        "the training rows.",
    )


def _use_partition(partition: Partition) -> None:
    st.button(
        "Use its partition for the table at hand",
        on_click=update,
        kwargs={"partition": partition},
    )


def _explore(file: TableFile, min_rows: int | None) -> None:
    """Offer to explore a run, with the least rows of a map that it had; None without sketches."""
    st.subheader("Explore its run", anchor=False)
    if min_rows is None:
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
        open_saved(file, min_rows)
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
