"""Which artifact is watched, and maps fitted again on newer rows."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from hetcal.store.store import StoredRun
from hetcal.watch.check import NO_GATE, Checked, Gate
from pages.shared.controls.reopen import run_of_artifact
from pages.shared.display.messages import plain
from pages.shared.display.widgets import downloads
from pages.shared.flow.compute import packed_of, refitted_of
from pages.shared.frame import need_run, shown_errors
from pages.shared.state import current_run, kept, workspace

ASKED = {
    "lift": ("Least lift (AUC)", -1.0, "Less lift than that on these rows fails the check."),
    "error": (
        "Largest calibration error",
        0.0,
        "More than that, without the bias of sampling noise, fails the check.",
    ),
}
Given = tuple[Path, str, dict[str, tuple[Path, str]]]


@dataclass(frozen=True)
class Watched:
    """An artifact that is kept in a run."""

    path: Path
    run: StoredRun


def artifact_to_watch() -> Watched:
    """Take the run that is open, or let the user upload an artifact."""
    here, run = workspace(), current_run()
    if run is not None and here.saved is not None:
        return Watched(here.saved.path, run)
    if run is not None and here.files:
        flow = need_run()
        return Watched(packed_of(flow.whole, flow.workspace.scoring, run), run)
    file = st.file_uploader("Artifact (zip)", ["zip"], key="watch_artifact")
    if file is None:
        st.caption(
            "The zip that the Export page or `python -m hetcal run` wrote. Where a run is open, "
            "its own artifact is taken."
        )
        st.stop()
    run = run_of_artifact(file, "watched")
    return Watched(run.keep_file(file.getvalue()), run)


def gate_controls(checked: Checked) -> Gate:
    """Let the user ask more of labelled rows than that nothing has changed."""
    if checked.labelled is None:
        return NO_GATE
    with st.container(horizontal=True, gap="medium"):
        return Gate(*(_asked(key, *told) for key, told in ASKED.items()))


def _asked(key: str, label: str, least: float, told: str) -> float | None:
    return st.number_input(
        label,
        least,
        1.0,
        None,
        0.001,
        format="%g",
        placeholder="not asked",
        width=240,
        help=told,
        **kept(f"watch_{key}"),
    )


def offer_refit(watched: Watched, given: Given, checked: Checked) -> None:
    """Offer to fit the maps again where a check fails."""
    if checked.passed or checked.labelled is None:
        return
    st.subheader("Fit the maps again", anchor=False)
    st.markdown(
        "On half of the labelled rows; the others judge them. Partition, trees and curves stay, "
        "and the new artifact names the one that it comes from."
    )
    asked = watched.path.name, given[0].name
    if st.button("Fit the maps again", icon=":material/tune:", key="watch_refit"):
        st.session_state["refit_asked"] = asked
    if st.session_state.get("refit_asked") != asked:
        return
    with shown_errors():
        refitted = refitted_of(watched.path, *given, watched.run)
    st.success(plain(refitted.words), icon=":material/check:")
    downloads({"refitted.zip": lambda: refitted.content}, key="watch", first="primary")
