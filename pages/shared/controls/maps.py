"""The choice of the maps in the leaves."""

from dataclasses import replace

import streamlit as st

from hetcal.calibrators.families import FAMILIES
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import Tamed
from hetcal.choices import CALIBRATORS
from hetcal.schemes.candidates import in_words
from pages.shared.display.messages import plain
from pages.shared.flow.flow import Flow
from pages.shared.state import LEAST_ROWS, bound, setting, update, workspace

NAMES = {
    "platt": "Platt (slope and intercept)",
    "bias": "Bias only (intercept)",
    "temperature": "Temperature (slope)",
    "beta": "Beta (three parameters)",
    "isotonic": "Isotonic",
    "histogram": "Histogram binning",
    "bbq": "Bayesian binning",
    "scaling-binning": "Scaling-binning",
}
STRENGTHS = {
    0.0: "none (the paper)",
    "cv": "by cross-validation",
    1.0: "1",
    10.0: "10",
    100.0: "100",
    float("inf"): "endless (one map)",
}

UNUSED = (
    "These maps are fitted in the leaves of the tree shown. They show where the score is wrong, "
    "but this run does not apply them."
)


def map_controls(flow: Flow) -> None:
    """Let the user choose the kind of map, its shrinkage and the fewest rows of a leaf."""
    saved = flow.saved is not None
    if flow.choice is not None:
        _tell_scheme(flow, saved)
    settings, scheme = workspace().settings, flow.choice is not None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if not saved:
            st.selectbox(
                "Map",
                CALIBRATORS,
                format_func=NAMES.__getitem__,
                width=240,
                disabled=scheme,
                **bound("setting_calibrator", settings.calibrator, _choose_map),
            )
            st.selectbox(
                "Shrinkage to the pooled map",
                list(STRENGTHS),
                format_func=STRENGTHS.__getitem__,
                width=220,
                disabled=scheme or settings.calibrator not in FAMILIES,
                help="A penalty shrinks every map towards the pooled map, which helps small "
                "leaves. Maps without parameters cannot be shrunk.",
                **setting("shrinkage"),
            )
        st.number_input(
            "Fewest rows for a map of its own",
            *LEAST_ROWS,
            step=10,
            width=240,
            disabled=scheme or settings.shrinkage != 0,
            help="A leaf with fewer calibration rows, one class, separated classes or a slope that "
            "is not positive uses the pooled map: never the raw score.",
            **setting("min_rows"),
        )


def say_untouched(flow: Flow) -> None:
    """Say that there are no maps where the model is left as it is, and where to look instead."""
    st.info(
        f"Nothing is calibrated: every score keeps its probability. {plain(flow.choice.why)}",
        icon=":material/info:",
    )
    st.page_link(
        "pages/overconfidence.py",
        label="See how sure the model is in every leaf",
        icon=":material/arrow_forward:",
    )


def _tell_scheme(flow: Flow, saved: bool) -> None:
    """Say that a scheme calibrates, and what the maps are for."""
    where = "" if saved else ", see Partition"
    use = _applied_words(flow.run.calibrator) if flow.run.applied else UNUSED
    chosen = plain(in_words(flow.choice.chosen))
    st.info(f"The scheme in use is '{chosen}'{where}. {use}", icon=":material/info:")


def _applied_words(calibrator: LeafCalibrator) -> str:
    """Say that the maps shown are those of the scheme, and where they are linear."""
    told = (
        "It applies the maps of the leaves, which are fitted on validation and calibration rows; "
        "the pooled map is shown for comparison."
    )
    shape = calibrator.maps_[0].shape
    if not isinstance(shape, Tamed):
        return told
    return (
        f"{told} They are linear for scores from {shape.low:.2f} to {shape.high:.2f} and grow "
        "logarithmically beyond."
    )


def _choose_map(method: str) -> None:
    """Take a map; one without parameters has nothing to shrink."""
    settings = workspace().settings
    shrinkage = settings.shrinkage if method in FAMILIES else 0.0
    update(settings=replace(settings, calibrator=method, shrinkage=shrinkage))
