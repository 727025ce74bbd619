"""Reopen an artifact: what it holds, its run, and new rows scored with it."""

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.artifacts.artifact import Artifact, scored_rows_in_words
from hetcal.artifacts.report import table_bytes
from hetcal.data.array_files import EMBEDDING
from hetcal.errors import HetcalError
from hetcal.figures.results import class_maps_table
from hetcal.figures.tree import tree_figure
from hetcal.models.scoring import ModelScoring
from hetcal.partitions.partition import maps_table
from hetcal.results.words import DEFINITIONS
from hetcal.store.store import StoredRun
from hetcal.store.workspace import EMBEDDINGS, RAW_TABLE, UNDONE
from pages.shared.controls.uploads import ASKED
from pages.shared.display.columns import CLASS_MAPS, map_columns
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import show_job
from pages.shared.display.results import show_choice
from pages.shared.display.tables import draw_table, scored_head
from pages.shared.display.widgets import cards, chart, downloads
from pages.shared.flow.compute import artifact_of, scored_by_artifact
from pages.shared.jobs import Unfinished
from pages.shared.links import run_again
from pages.shared.state import (
    TableFile,
    current_run,
    is_draft,
    open_saved,
    store,
    told_next,
    update,
    workspace,
)


def reopen_artifact() -> None:
    """Let the user open an artifact, look at it and score rows with it."""
    file = st.file_uploader("Artifact (zip)", ["zip"], key="reopen_artifact")
    if file is None:
        st.caption("The zip file written by this page or by `python -m hetcal run`.")
        return
    try:
        run = run_of_artifact(file)
        path = run.keep_file(file.getvalue())
        artifact = artifact_of(path, run)
    except Unfinished as unfinished:
        show_job(unfinished.job)
        return
    except HetcalError as error:
        show_error(error)
        return
    _show(artifact)
    _explore(run, TableFile(path, file.name, path.name), artifact)
    _score(run, path, artifact)


def run_of_artifact(file: Any, key: str = "reopened") -> StoredRun:
    """Return the run that the artifact would become; one for another file goes."""
    name, number = st.session_state.get(key, (None, None))
    if name != file.file_id:
        if number is not None and is_draft(store().get(number)):
            store().delete(number)
        name, number = file.file_id, store().new(file.name).id
        st.session_state[key] = name, number
    return store().get(number)


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
        f"Saved by hetcal {plain(artifact.version)}; the numbers were measured then."
        + (f" Classes in the order of the scores: {order}." if several else "")
    )
    if artifact.choice is not None:
        show_choice(artifact.choice)
    if not artifact.applied:
        st.caption(
            "The tree below is for diagnosis: its maps show where the score is wrong; the scheme "
            "has others."
        )
    chart(
        tree_figure(artifact.partition, None),
        key="reopen_tree",
        alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
        how="Read from the top: each indent adds one condition. Rows and rates are those of the "
        "training rows.",
    )
    if several:
        maps = class_maps_table(artifact.calibrator, artifact.partition, artifact.classes)
        draw_table(maps, CLASS_MAPS)
    else:
        maps = maps_table(artifact.calibrator, artifact.partition)
        draw_table(maps, map_columns(artifact.calibrator))
    st.button(
        "Use its partition for the current table",
        disabled=not workspace().files,
        on_click=update,
        kwargs={"partition": artifact.partition},
    )


def _explore(run: StoredRun, file: TableFile, artifact: Artifact) -> None:
    """Offer to explore the run, with its own minimum of rows for a map."""
    st.subheader("Explore its run", anchor=False)
    if not artifact.cells:
        st.caption(
            "This artifact was saved by an older version of hetcal, without sketches of its rows: "
            "it can score new rows, but its run cannot be explored."
        )
        return
    st.markdown(
        "It holds sketches of its train, calibration and test scores, so Over-confidence, "
        "Calibration and Results work without the table."
    )
    if st.button("Explore this run", icon=":material/bar_chart:", type="primary"):
        with told_next():
            open_saved(run, file, artifact.min_rows)
            st.switch_page("pages/results.py", query_params={"run": current_run().id})
        run_again()


def _arrays_of(artifact: Artifact) -> dict[str, str]:
    """Name the arrays that new rows need beside their table, each with what it has to hold."""
    scoring = artifact.scoring
    arrays = scoring.inputs.arrays if isinstance(scoring, ModelScoring) else ()
    needed = {each.input: f"Array for the input {each.words}" for each in arrays}
    if any(name.startswith(EMBEDDING) for name in artifact.kinds):
        needed[EMBEDDINGS] = "Embeddings"
    return needed


def new_rows(
    run: StoredRun, artifact: Artifact, key: str, label: str = "Table (CSV, TSV or Parquet)"
) -> tuple[Path, str, dict[str, tuple[Path, str]]] | None:
    """Let the user upload rows with the arrays they need; None until all are there."""
    table = st.file_uploader(label, key=f"{key}_table")
    arrays = {
        name: st.file_uploader(plain(each), ["npy", "npz", "parquet"], key=f"{key}_array {name}")
        for name, each in _arrays_of(artifact).items()
    }
    with st.expander("Raw columns of these rows, as the run was given them"):
        raw = {
            role: st.file_uploader(ASKED[role][0], ASKED[role][1], key=f"{key}_{role}")
            for role in (RAW_TABLE, UNDONE)
        }
    if table is None or None in arrays.values():
        return None
    beside = {
        name: (run.keep_file(file.getvalue(), ".array"), file.name)
        for name, file in {**arrays, **raw}.items()
        if file is not None
    }
    return run.keep_file(table.getvalue()), table.name, beside


def _score(run: StoredRun, path: Path, artifact: Artifact) -> None:
    st.subheader("Score new rows", anchor=False)
    try:
        given = new_rows(run, artifact, "reopen")
        if given is None:
            return
        scored, notes = scored_by_artifact(path, *given, run)
    except Unfinished as unfinished:
        show_job(unfinished.job)
        return
    except HetcalError as error:
        show_error(error)
        return
    done = f"{scored_rows_in_words(scored)} of {plain(given[1])} scored."
    st.success(done, icon=":material/check:")
    for note in notes:
        st.caption(plain(note))
    scored_head(scored)
    names = "scored.csv", "scored.parquet"
    downloads({name: partial(table_bytes, scored, name) for name in names}, key="reopen")
