"""The kinds of partition, and the settings of each."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd
import streamlit as st

from hetcal.data.columns import column_kind
from hetcal.models.scoring import ModelScoring
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import default_min_leaf
from hetcal.results.words import DEFINITIONS
from hetcal.runs.settings import CHOOSING, FOR_CLASSES, TREE_SIZES
from hetcal.schemes.choice import Choice
from pages.shared.controls.uploads import loaded_partition
from pages.shared.flow.flow import Flow
from pages.shared.state import bound, change_settings, setting, update, workspace

PAPER_LEAVES = (1000, 2000)
LEAF_SIZES = (25, 50, 100, 250, 500, *PAPER_LEAVES, 5000)
NAMES = {
    "auto": "Recommended",
    "best": "Best, also a second model",
    "tree": "Algorithm 1: one tree",
    "forest": "Forest",
    "boosted": "Nested trees",
    "additive": "Curves",
    "stacked": "Boosted trees beside the score",
    "auc-gain": "AUC-gain tree",
    "instability": "Instability tree",
    "layer": "Tree on a layer",
    "columns": "Your own columns",
}
WORDS = {
    "auto": "Compares all schemes, and the model as it is, on rows they were not fitted on. Of "
    "calibrations and corrections, the simplest that is as good as the best is recommended.",
    "best": "Compares all schemes, and the model as it is, on rows they were not fitted on, and "
    "chooses the one with the largest lift beyond its standard error: also a second model beside "
    "yours.",
    "tree": "**Calibration.** A small tree divides the **training rows** where the label is more, "
    "or less, common; every leaf has its own map of the score, fitted on **calibration rows** only "
    "(the rung 'one tree' of the ladder uses validation rows, too).",
    "forest": "**Calibration.** Many trees, with a map in every leaf that is shrunk towards the "
    "pooled map. Their logits are averaged.",
    "boosted": "**Calibration.** Small trees one after another, each on what the calibrated score "
    "still gets wrong, each with a map of that score in its leaves: the paper's nested "
    "calibration.",
    "additive": "**Correction.** The score plus one curve per column and a few pairs of columns: a "
    "scorecard that one can read.",
    "stacked": "**Second model.** Boosted trees on the columns, and the score beside them. They "
    "may do as well without your model: see what it adds.",
    "auc-gain": "**Calibration.** A tree that splits where calibrating both sides separately gains "
    "most AUC. It reads scores, so it is grown on **validation rows**.",
    "instability": "**Calibration.** A tree that splits where a test finds that the map differs, "
    "and stops where it finds no difference. It is grown on **validation rows**.",
    "layer": "**Calibration.** A tree on the activations of an internal layer of the network: for "
    "images, texts and other rows without readable columns.",
    "columns": "**Calibration.** Your own segments, such as markets or groups: every combination "
    "is a leaf with its own map.",
}
ONLY_MAPS = {
    "auto": "Compares all schemes, and the model as it is, on rows they were not fitted on. Of "
    "calibrations, the simplest that is as good as the best is recommended.",
    "best": "Compares all schemes, and the model as it is, on rows they were not fitted on, and "
    "chooses the calibration with the largest lift beyond its standard error.",
}
CLASS_WORDS = WORDS | {
    "auto": "Compares one map for all rows, maps in the leaves of a tree (temperature, vector and "
    "Dirichlet scaling) and the model as it is, on rows they were not fitted on, and chooses the "
    "simplest that is as good as the best. Other schemes need two classes: choose a positive "
    "value on the Data page.",
    "tree": "**Calibration.** A small tree divides the **training rows** where the classes are "
    "more, or less, common; every leaf has its own map.",
}
OF_CLASSES = tuple(name for name in FOR_CLASSES if name != "best")  # there is no second model
SIZES = {
    "given": "as set here",
    "cv": "by cross-validation",
    "pruned": "pruned by cross-validation",
}
LEFT = "The model is left as it is, so no leaf has a map."
ONE_MAP = "All rows share one map, so no leaf has its own."
STILL = (
    "The leaves show how the rows differ, and Over-confidence how far to trust the model in each."
)
DIVIDES = {
    "calibration": "has too many trees to show",
    "correction": "adds curves to the score and has no leaves",
    "second model": "has too many trees to show",
}
ONLY_SHOWS = "This tree only shows where the model is over-confident, and what is applied there."
OF_TRAIN_ROWS = ("tree", "shrunken tree")
WITH_DEPTH = ("tree", "auc-gain", "instability", "layer")
MOST_PAIRS = 100


def partition_controls(flow: Flow) -> None:
    """Let the user choose the kind of partition and its details, or load one."""
    kind, several = flow.settings.partition, bool(flow.classes)
    if not _offered(flow, OF_CLASSES if several else NAMES, CLASS_WORDS if several else WORDS):
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if kind == "additive":
            _term_controls(flow)
        if kind in WITH_DEPTH:
            _tree_controls(flow, kind)
        if kind == "columns":
            _segment_controls(flow)
        if kind == "layer":
            _layer_controls(flow)


def undecided() -> str | None:
    """Say what the user still has to choose for this partition; that is not an error."""
    here, scoring = workspace(), workspace().scoring
    if here.partition is not None:
        return None
    if here.settings.partition == "columns" and not here.settings.segments:
        return "Choose one or more columns: every combination of their values becomes a leaf."
    layers = scoring.model.layers if isinstance(scoring, ModelScoring) else ()
    if here.settings.partition == "layer" and layers and scoring.layer is None:
        return "Choose a layer: the tree splits on its activations."
    return None


def show_tree_words(choice: Choice) -> None:
    """Say how the tree that is shown relates to the scheme in use."""
    if choice.scheme.partition is not None:
        title = "The tree"
        words = "These are the leaves of the scheme in use; Calibration shows their maps."
    elif not choice.divided:
        title = "A tree of these rows"
        words = f"{ONE_MAP if choice.scheme.stages else LEFT} {STILL}"
    else:
        title = "A tree for diagnosis"
        words = f"The scheme in use {DIVIDES[choice.kind]}. {ONLY_SHOWS}"
    st.subheader(title, anchor=False)
    st.markdown(words)


def grown_words(partition: Partition, leaves: pd.DataFrame, chosen: str | None) -> str:
    """Say which rows the chart counts if these are not the train rows of the table."""
    grown, train = partition.nodes[0].rows, int(leaves["rows_train"].sum())
    if grown == train:
        return ""
    if chosen in OF_TRAIN_ROWS:
        return (
            f" The tree was grown on a sample of {grown:,} of {train:,} train rows, which the "
            "chart counts; the table counts all rows."
        )
    return f" The chart counts the {grown:,} rows that the tree was grown on; the table counts all."


def _offered(flow: Flow, kinds: Iterable[str], words: dict[str, str]) -> bool:
    """Offer the kinds of partition; False if a loaded one takes their place."""
    kind = flow.settings.partition
    if workspace().partition is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            edited = workspace().partition.edited
            words = "A tree that was edited by hand" if edited else "A loaded partition"
            icon = ":material/edit:" if edited else ":material/upload_file:"
            st.info(f"{words} is in use.", icon=icon)
            st.button("Grow a tree instead", on_click=update, kwargs={"partition": None})
        return False

    def store(chosen: str) -> None:
        change_settings(partition=chosen, take=None)

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(
            "Partition",
            list(kinds),
            format_func=NAMES.__getitem__,
            width=260,
            help=DEFINITIONS["Kinds of schemes"],
            **bound("setting_partition", kind, store),
        )
        if kind in CHOOSING and not flow.classes:
            _only_maps()
            with st.popover("Curves", icon=":material/ssid_chart:"):
                _term_controls(flow)
        with st.popover("Load a partition", icon=":material/upload_file:"):
            loaded_partition()
    restricted = kind in CHOOSING and flow.settings.only is not None
    st.markdown((ONLY_MAPS if restricted else words)[kind])
    return True


def _only_maps() -> None:
    """Offer to restrict the choice to maps of the score."""

    def store(restricted: bool) -> None:
        change_settings(only="calibration" if restricted else None, take=None)

    st.toggle(
        "Only maps of the score",
        help="Choose among calibrations only, so that your network stays in charge: within a leaf "
        "nothing but its score decides. The schemes are not compared again.",
        **bound("setting_only", workspace().settings.only is not None, store),
    )


def _term_controls(flow: Flow) -> None:
    """Offer how many pairs of columns the curves may have, and which curves only rise or fall."""
    table, settings = flow.table, flow.settings
    numbers = [name for name in table.X if column_kind(table.X[name]) == "number"]
    st.number_input(
        "Most pairs of columns",
        0,
        MOST_PAIRS,
        width=200,
        help="A pair is kept only if it helps. With 0 there is one curve per column.",
        **setting("pairs"),
    )
    for name, other, words in (
        ("increasing", settings.decreasing, "rise"),
        ("decreasing", settings.increasing, "fall"),
    ):
        st.multiselect(
            f"Columns whose curves only {words}",
            [each for each in numbers if each not in other],
            placeholder="none",
            width=320,
            **setting(name),
        )


def _tree_controls(flow: Flow, kind: str) -> None:
    role = "train" if kind in ("tree", "layer") else "validation"
    given = kind not in ("tree", "layer") or flow.settings.tree_size == "given"
    if kind in ("tree", "layer") and not flow.classes:
        st.selectbox(
            "Size of the tree",
            TREE_SIZES,
            format_func=SIZES.__getitem__,
            width=230,
            help="Cross-validation on the training rows chooses the smallest tree whose log-loss "
            "is within one standard error of the best.",
            **setting("tree_size"),
        )
    st.slider("Maximum depth", 1, 6, width=220, disabled=not given, **setting("max_depth"))
    st.selectbox(
        f"Minimum leaf size ({role} rows)",
        LEAF_SIZES,
        None,
        format_func=lambda size: f"{size:,}" + (" (paper)" if size in PAPER_LEAVES else ""),
        placeholder=f"{default_min_leaf(len(flow.split.of(role))):,} (by table size)",
        width=240,
        **setting("min_leaf"),
    )


def _segment_controls(flow: Flow) -> None:
    special = {column for _, column in flow.table.roles.special}
    frame = flow.table.frame
    usable = [
        name
        for name in frame.columns
        if name not in special and column_kind(frame[name]) in ("number", "category")
    ]
    st.multiselect("Columns", usable, width=420, **setting("segments"))
    st.number_input("Bins per numeric column", 2, 20, width=200, **setting("bins"))


def _layer_controls(flow: Flow) -> None:
    scoring = workspace().scoring
    layers = scoring.model.layers if isinstance(scoring, ModelScoring) else ()
    if not layers:
        return  # growing the tree raises an error that says what is missing
    widths = {each.name: each.width for each in layers}

    def choose(layer: str | None) -> None:
        update(scoring=replace(workspace().scoring, layer=layer))

    st.selectbox(
        "Layer",
        list(widths),
        None,
        format_func=lambda name: f"{name} ({widths[name] or '?'} units)",
        placeholder="choose a layer",
        width=300,
        help="The model runs again to compute the activations of this layer.",
        **bound("partition_layer", scoring.layer, choose),
    )
