"""The maps of the leaves, of two classes or of more, and which of them are used."""

from dataclasses import replace

import streamlit as st

from hetcal.calibrators.methods import FAMILIES
from hetcal.calibrators.shapes import Tamed
from hetcal.choices import CALIBRATORS
from hetcal.figures.results import class_maps_table
from hetcal.results.term_words import correction_words
from hetcal.runs.run import maps_in_words
from hetcal.schemes.candidates import IDENTITY, in_words
from pages.shared.display.columns import CLASS_MAPS
from pages.shared.display.messages import plain, unbroken
from pages.shared.display.tables import draw_table
from pages.shared.flow.applied import scheme_of
from pages.shared.flow.flow import Flow
from pages.shared.links import page_link
from pages.shared.state import LEAST_ROWS, bound, choice, setting, update, workspace

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
CLASS_NAMES = {"temperature": "Temperature", "vector": "Vector", "dirichlet": "Dirichlet"}
STRENGTHS = {
    0.0: "none (the paper)",
    "cv": "by cross-validation",
    1.0: "1",
    10.0: "10",
    100.0: "100",
    float("inf"): "infinite (one map)",
}

MANY_TREES = (
    "Every row passes many trees, so no leaf has one map. The bands below show what becomes of the "
    "scores of each leaf of the tree shown."
)


def map_controls(flow: Flow) -> None:
    """Let the user choose the kind of map, its shrinkage and the minimum of the rarer class.

    A scheme comes with its own maps, and a saved run with those that were fitted.
    """
    if flow.choice is not None:
        return
    settings = workspace().settings
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if flow.saved is None:
            st.selectbox(
                "Map",
                CALIBRATORS,
                format_func=NAMES.__getitem__,
                width=240,
                **bound("setting_calibrator", settings.calibrator, _choose_map),
            )
            st.selectbox(
                "Shrinkage towards pooled map",
                list(STRENGTHS),
                format_func=STRENGTHS.__getitem__,
                width=220,
                disabled=settings.calibrator not in FAMILIES,
                help="A penalty shrinks every map towards the pooled map, which helps small "
                "leaves. Maps without parameters cannot be shrunk.",
                **setting("shrinkage"),
            )
        st.number_input(
            "Minimum rows of the rarer class",
            *LEAST_ROWS,
            step=10,
            width=240,
            disabled=settings.shrinkage != 0,
            help="Calibration rows of the rarer class that a leaf needs for a slope of its own. "
            "With fewer, with separated classes or a slope that is not positive, it has the pooled "
            "slope and an intercept of its own.",
            **setting("min_rows"),
        )


def class_method_controls(flow: Flow) -> None:
    """Offer the maps for all classes, and list those that were fitted."""
    run = flow.whole
    if flow.saved is not None:
        chosen = CLASS_NAMES[run.calibrator.method]
        if run.choice is not None:
            chosen = in_words(run.choice.chosen)
        st.markdown(f"Map of all classes in the saved run: **{plain(chosen)}**.")
    elif run.choice is None:
        st.segmented_control(
            "Map of all classes",
            list(CLASS_NAMES),
            format_func=CLASS_NAMES.get,
            required=True,
            help="What is applied to z, the log-probabilities of a row, before the softmax. "
            "Temperature: one factor. Vector: a weight and a bias per class. Dirichlet: a matrix "
            "of weights and a bias per class.",
            **choice("class_method"),
        )
    else:
        st.markdown(
            f"Chosen for all classes: **{plain(in_words(run.choice.chosen))}**, see Partition. "
            "Choose Algorithm 1 there to choose the map yourself."
        )
    st.caption(maps_in_words(run.calibrator, run.divided))
    with st.expander("The maps of all classes"):
        maps = class_maps_table(run.calibrator, run.partition, run.classes)
        draw_table(maps, CLASS_MAPS)
    source = "model as it is" if run.calibrator.pooled_.is_identity else "map of all classes"
    st.info(
        f"Below is what the {source} does to the probability of class {plain(flow.shown)}: it "
        "depends on the scores of all classes, so it is not one map of its own score.",
        icon=":material/info:",
    )


def say_applied(flow: Flow) -> None:
    """Say in a sentence or two what is applied to the scores of two classes."""
    if flow.choice is None:
        return
    if flow.choice.chosen == IDENTITY.name:
        st.info(
            f"Nothing is calibrated: the model is left as it is. {plain(flow.choice.why)}",
            icon=":material/info:",
        )
        page_link("pages/overconfidence.py", "See how over-confident the model is in every leaf")
        return
    where = "" if flow.saved is not None else ", see Partition"
    chosen = plain(in_words(flow.choice.chosen))
    st.info(f"The scheme in use is '{chosen}'{where}. {_use(flow)}", icon=":material/info:")


def _use(flow: Flow) -> str:
    scheme = scheme_of(flow)
    correction = None if scheme is None else correction_words(scheme)
    if correction is not None:
        return unbroken(correction)
    return _applied_words(flow) if flow.run.applied else MANY_TREES


def _applied_words(flow: Flow) -> str:
    """Say which maps are applied, what they are fitted on, and where they are linear."""
    maps = flow.run.calibrator.maps_
    if flow.run.divided:
        used = (
            f"It uses the maps of the leaves, fitted on {_fitted_on(flow)}; the pooled map of the "
            "calibration rows is shown for comparison."
        )
    else:
        used = f"It has the fitted slope {maps[0].slope:.3f} and intercept {maps[0].intercept:+.3f}"
        used = f"{used}, fitted on {_fitted_on(flow)}."
    shape = maps[0].shape
    if not isinstance(shape, Tamed):
        return used
    subject, grow = ("They are", "grow") if flow.run.divided else ("It is", "grows")
    return (
        f"{used} {subject} linear for scores from {shape.low:.2f} to {shape.high:.2f} and {grow} "
        "logarithmically beyond."
    )


def _fitted_on(flow: Flow) -> str:
    """Count the rows on which schemes are fitted and compared; a saved run may not know which."""
    known, candidates = flow.saved is None, flow.choice.candidates
    kind = "held-out rows"
    if known:
        reused = flow.settings.reuses_validation
        kind = "validation and calibration rows" if reused else "calibration rows"
    return kind if candidates is None else f"{int(candidates['rows'].max()):,} {kind}"


def _choose_map(method: str) -> None:
    """Choose a map; one without parameters has nothing to shrink."""
    settings = workspace().settings
    shrinkage = settings.shrinkage if method in FAMILIES else 0.0
    update(settings=replace(settings, calibrator=method, shrinkage=shrinkage))
