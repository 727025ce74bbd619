"""Where the scores of more than two classes come from: a column per class, or a model."""

from dataclasses import replace

import streamlit as st

from hetcal.columns import column_kind
from hetcal.model_file import ModelFile
from hetcal.scoring import ColumnScoring, ModelScoring, guess_kind_of
from pages.shared.class_flow import ClassFlow, current_flow
from pages.shared.jobs import job_running, start_scoring_job
from pages.shared.messages import plain
from pages.shared.score_controls import confirmed_inputs, uploaded_model
from pages.shared.state import bound, is_column_scoring, update, workspace
from pages.shared.widgets import cards

BOXES = 3


def class_column_controls(flow: ClassFlow) -> None:
    """Let the user choose the score column of every class."""
    frame, classes = flow.classes.frame, flow.classes.classes
    numbers = [name for name in frame.columns if column_kind(frame[name]) == "number"]
    scoring = workspace().scoring
    chosen = scoring if is_column_scoring(scoring, len(classes)) else None
    preset = _guessed(numbers, classes) if chosen is None else chosen.columns
    grid = st.columns(min(len(classes), BOXES))
    columns = [
        grid[i % BOXES].selectbox(
            f"Score of class '{plain(name)}'",
            numbers,
            numbers.index(preset[i]) if i < len(preset) and preset[i] in numbers else None,
            placeholder="choose a column",
            key=f"scores_class {name}",
            persist_state="session",
        )
        for i, name in enumerate(classes)
    ]
    if st.button("Use these columns", type="primary", disabled=None in columns):
        kind = guess_kind_of(frame, columns)
        update(
            scoring=ColumnScoring(tuple(columns), kind),
            roles=replace(workspace().roles, score=None, class_scores=tuple(columns)),
            classes=None,
        )
        st.rerun()
    if chosen is not None:
        st.segmented_control(
            "They hold",
            ["logit", "probability"],
            required=True,
            help="Values between 0 and 1 are taken for probabilities unless you say otherwise.",
            **bound(
                "scores_class_kind",
                chosen.kind,
                lambda kind: update(scoring=replace(chosen, kind=kind)),
            ),
        )


def _guessed(numbers: list[str], classes: tuple[str, ...]) -> list[str | None]:
    """Find for each class the one column whose name ends like it."""
    found = []
    for name in classes:
        like = [each for each in numbers if each.lower().endswith(name.lower())]
        found.append(like[0] if len(like) == 1 else None)
    return found


def class_model_controls(flow: ClassFlow) -> None:
    """Let the user upload a model with one output per class and confirm its columns."""
    model = uploaded_model()
    if model is None:
        return
    inputs = confirmed_inputs(model, flow)
    output = None
    if len(model.outputs) > 1:
        output = st.selectbox(
            "Output that holds the scores",
            model.outputs,
            key="scores_output",
            persist_state="session",
        )
    order = _order(model, flow.classes.classes)
    whole = len(order) == len(flow.classes.classes)
    ready = inputs is not None and whole and not job_running()
    if st.button("Score the rows", type="primary", disabled=not ready):
        scoring = ModelScoring(model, inputs, output)
        roles = replace(workspace().roles, class_scores=())
        update(scoring=scoring, classes=order, roles=roles)
        here = current_flow()
        start_scoring_job(here.classes, here.rows_digest, scoring)
        st.rerun()


def _order(model: ModelFile, classes: tuple[str, ...]) -> tuple[str, ...]:
    order = st.multiselect(
        "Classes, in the order of the model's outputs",
        sorted(classes),
        default=list(classes),
        key=f"scores_order {model.digest} {sorted(classes)}",
        persist_state="session",
        help="A model names no classes: its first output stands for the first class here. "
        "Remove classes and add them again in another order to change that.",
    )
    if len(order) < len(classes):
        st.caption(f":orange[{len(order)} of {len(classes)} classes are in order.]")
    return tuple(order)


def show_class_scores(flow: ClassFlow) -> None:
    """Say how the scores were obtained, and which output stands for which class."""
    scores = flow.class_scores
    st.success(plain(scores.how), icon=":material/check:")
    cards(
        ("Classes", f"{len(flow.classes.classes)}"),
        ("Rows with scores", f"{len(scores.logit) - scores.excluded:,}"),
        ("Left out", f"{scores.excluded:,}", "Rows with a score that is missing or infinite"),
        ("Clipped", f"{scores.clipped:,}", "Probabilities below 1e-7, pulled up to that"),
    )
    st.caption(f"In this order: {plain(', '.join(flow.classes.classes))}.")
