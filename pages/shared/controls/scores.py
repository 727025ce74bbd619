"""The three sources of scores: columns, a Keras model, a network trained here."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from hetcal.choices import Scale
from hetcal.data.columns import column_kind
from hetcal.data.raw_columns import columns_for_model
from hetcal.data.scores import guess_kind
from hetcal.errors import HetcalError
from hetcal.figures.training import training_figure
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile, inspect_model
from hetcal.models.inputs import (
    InputColumns,
    cells_as_seen,
    coded_columns,
    column_inputs,
    float_columns,
    suggest_inputs,
    text_columns,
    unlike_training,
)
from hetcal.models.network import NetworkSettings
from hetcal.models.sandbox import reduced_isolation
from hetcal.models.scoring import ColumnScoring, ModelScoring, guess_kind_of
from hetcal.models.steps import (
    OF_CATEGORIES,
    WITHOUT_NUMBERS,
    Asked,
    ColumnStep,
    Way,
    fit_steps,
    scale_all,
    sorted_values,
    steps_from_text,
)
from hetcal.store.keys import scores_key
from pages.shared.controls.arrays import array_controls, takes_array
from pages.shared.controls.uploads import text_of
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import show_job
from pages.shared.display.widgets import chart
from pages.shared.flow import compute
from pages.shared.flow.flow import Flow, current_flow, uses_network
from pages.shared.flow.training import train_network, use_network
from pages.shared.jobs import let_begin_again, training_job
from pages.shared.links import run_again
from pages.shared.state import (
    bound,
    is_column_scoring,
    keep_file,
    kept,
    told_next,
    update,
    workspace,
)

DONE: dict[str, Scale] = {
    "Standardised (mean 0, deviation 1)": "standardise",
    "Scaled to 0 to 1 (min-max)": "min-max",
}
NOTHING, BY_COLUMN, BY_FILE = "Nothing", "Different for each column", "As a file says"
LEARNING_RATES = (5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)
BOXES = 3  # side by side
SIZES = {1: "64 / 32 / 16", 2: "128 / 64 / 32", 4: "256 / 128 / 64"}


def column_controls(flow: Flow) -> None:
    """Let the user choose the column that holds the score, or one for each class."""
    frame, scoring = flow.table.frame, workspace().scoring
    numbers = [name for name in frame.columns if column_kind(frame[name]) == "number"]
    chosen = scoring if is_column_scoring(scoring, len(flow.classes) or 1) else None
    if flow.classes:
        _class_columns(flow, numbers, chosen)
        box = st
    else:
        left, box = st.columns([2, 1], vertical_alignment="bottom")
        left.selectbox(
            "Score column",
            numbers,
            None,
            placeholder="choose a column",
            **bound("scores_column", chosen.columns[0] if chosen else None, _choose_column),
        )
    if chosen is not None:
        box.segmented_control(
            "The columns hold" if flow.classes else "The column holds",
            ["logit", "probability"],
            required=True,
            help="Values between 0 and 1 are read as probabilities unless you choose logit.",
            **bound(
                "scores_kind", chosen.kind, lambda kind: update(scoring=replace(chosen, kind=kind))
            ),
        )


def _choose_column(column: str | None) -> None:
    # Streamlit keeps a function for long: this one does not hold the rows.
    rows = current_flow().table.frame
    scoring = None if column is None else ColumnScoring((column,), guess_kind(rows[column]))
    update(scoring=scoring, roles=replace(workspace().roles, score=column, class_scores=()))


def _class_columns(flow: Flow, numbers: list[str], chosen: ColumnScoring | None) -> None:
    classes = flow.classes
    preset = _guessed(numbers, classes) if chosen is None else chosen.columns
    grid = st.columns(min(len(classes), BOXES))
    columns = [
        grid[i % BOXES].selectbox(
            f"Score of class '{plain(name)}'",
            numbers,
            numbers.index(preset[i]) if i < len(preset) and preset[i] in numbers else None,
            placeholder="choose a column",
            **kept(f"scores_class {name}"),
        )
        for i, name in enumerate(classes)
    ]
    st.button(
        "Use these columns",
        type="primary",
        disabled=None in columns,
        on_click=_use_columns,
        args=(tuple(columns),),
    )


def _use_columns(columns: tuple[str, ...]) -> None:
    kind = guess_kind_of(current_flow().table.frame, columns)
    roles = replace(workspace().roles, score=None, class_scores=columns)
    update(scoring=ColumnScoring(columns, kind), roles=roles, classes=None)


def _guessed(numbers: list[str], classes: tuple[str, ...]) -> list[str | None]:
    """Find for each class the one column whose name ends like it."""
    found = []
    for name in classes:
        like = [each for each in numbers if each.lower().endswith(name.lower())]
        found.append(like[0] if len(like) == 1 else None)
    return found


def model_controls(flow: Flow) -> None:
    """Let the user upload a model and confirm which columns feed it."""
    model = uploaded_model()
    if model is None:
        return
    arrays = array_controls(model, flow)
    others = tuple(each for each in model.inputs if not takes_array(each, flow))
    inputs: InputColumns | None = InputColumns(())
    if others:
        inputs = confirmed_inputs(replace(model, inputs=others), flow)
    if inputs is not None:
        inputs = _with_steps(model, inputs, flow)
    if inputs is not None and inputs.needed:
        _show_cells(model, inputs, flow)
    if inputs is not None:
        inputs = None if arrays is None else replace(inputs, arrays=arrays)
    output = None
    if len(model.outputs) > 1:
        label = "Output with the scores" if flow.classes else "Output with the score"
        output = st.selectbox(label, model.outputs, **kept("scores_output"))
    order = _order(model, flow.classes) if flow.classes else ()
    unit, known = (None, True) if flow.classes else _positive_unit(model)
    ready = inputs is not None and known and len(order) == len(flow.classes)
    scoring = ModelScoring(model, inputs, output, unit) if ready else None
    st.button(
        "Score the rows", type="primary", disabled=not ready, on_click=_score, args=(scoring, order)
    )


def _score(scoring: ModelScoring, order: tuple[str, ...]) -> None:
    """Take the scores of a model, before a click on another page can come in between."""
    roles = replace(workspace().roles, class_scores=())
    update(scoring=scoring, classes=order, roles=roles)
    let_begin_again(scores_key(current_flow().rows_digest, workspace().scoring))


def _with_steps(model: ModelFile, inputs: InputColumns, flow: Flow) -> InputColumns | None:
    """Ask what was done to the columns in training; None while something is missing."""
    training = flow.table.frame.iloc[flow.split.train]
    coded = coded_columns(model, inputs, training)
    numbers = [name for name in float_columns(model, inputs) if name not in coded]
    done = NOTHING
    if numbers or coded:
        done = st.selectbox(
            "Done to the columns of numbers in training, outside the model",
            [NOTHING, *DONE, BY_COLUMN, BY_FILE],
            help="A scaler that was fitted before the model is not part of its file. Means, "
            "deviations and ranges are those of the training rows, unless a file says others.",
            **kept(f"scores_done {model.digest}"),
        )
    if done == BY_FILE:
        asked = _steps_of_file()
        if asked is None:
            return None
        steps = fit_steps(asked, training)
    else:
        chosen = _steps_by_column(model, numbers, training) if done == BY_COLUMN else {}
        chosen |= _codes_by_column(model, coded, training)
        if not set(coded) <= set(chosen):
            return None
        steps = fit_steps(chosen, training)
        if done in DONE:
            steps = scale_all(DONE[done], numbers, training, chosen)
    inputs = replace(inputs, steps=steps)
    unlike = unlike_training(model, inputs, flow.table.frame)
    if unlike is not None:
        st.warning(plain(unlike), icon=":material/warning:")
    return inputs if _fits(model, inputs) else None


def _steps_of_file() -> dict[str, Asked] | None:
    file = st.file_uploader(
        "Steps of the columns (.json or .csv)",
        ["json", "csv"],
        help='Such as {"age": {"mean": 39, "scale": 10.5}, "pay": "log1p", "plan": {"one-hot": '
        '["basic", "plus"]}}, or lines under the headings column, mean, scale or column, min, '
        "max or column, step.",
        key="scores_steps",
    )
    if file is None:
        return None
    return steps_from_text(text_of(file), file.name)


def _steps_by_column(
    model: ModelFile, columns: Sequence[str], training: pd.DataFrame
) -> dict[str, Asked]:
    grid = st.columns(BOXES)
    ways: dict[str, str] = {
        name: grid[i % BOXES].selectbox(
            f"'{plain(name)}'", WITHOUT_NUMBERS, **kept(f"scores_step {model.digest} {name}")
        )
        for i, name in enumerate(columns)
    }
    return {
        name: _in_order(model, way, training[name]) if way in OF_CATEGORIES else way
        for name, way in ways.items()
    }


def _codes_by_column(
    model: ModelFile, columns: Sequence[str], training: pd.DataFrame
) -> dict[str, Asked]:
    """Ask how columns of text were given as numbers."""
    steps: dict[str, Asked] = {}
    for name in columns:
        way = st.selectbox(
            f"'{plain(name)}' holds text, and the model takes numbers: given in training as",
            OF_CATEGORIES,
            None,
            placeholder="choose, or take another column",
            **kept(f"scores_codes {model.digest} {name}"),
        )
        if way is not None:
            steps[name] = _in_order(model, way, training[name])
    return steps


def _in_order(model: ModelFile, way: Way, column: pd.Series) -> ColumnStep:
    """Ask for the order in which the values of a column had codes."""
    values = sorted_values(column)
    order = st.multiselect(
        f"Values of '{plain(str(column.name))}', in the order of training",
        values,
        default=values,
        accept_new_options=True,
        help="Encoders sort the values unless told otherwise; to change the order, remove values "
        "and add them again. Codes begin with 0. A value that is not listed is missing as a code, "
        "and all 0 as one-hot: remove the first value where training dropped it.",
        **kept(f"scores_codes {model.digest} {column.name} {values}"),
    )
    return ColumnStep(str(column.name), way, codes=tuple(order))


def _fits(model: ModelFile, inputs: InputColumns) -> bool:
    """Say where columns and what they were made of are not as many as an input takes."""
    for each in column_inputs(model, inputs):
        given = len(inputs.prepared.of(each.name))
        if each.width not in (None, given):
            st.caption(
                f":orange[Input '{plain(each.name)}' takes {each.width} numbers a row, and these "
                f"columns give {given}.]"
            )
            return False
    return True


def show_scales(flow: Flow) -> None:
    """Show what scales of the columns would do to the scores, and let the user take one."""
    tried = flow.scales
    if tried is None:
        return
    st.markdown("**What scaling the model's columns does**, on rows that it was not trained on")
    shown = tried.rename(columns={"way": "columns", "auc": "AUC", "saturated": "near 0 or 1"})
    st.dataframe(
        shown,
        width="content",
        hide_index=True,
        column_config={
            "AUC": st.column_config.NumberColumn(format="%.4f"),
            "near 0 or 1": st.column_config.NumberColumn(
                format="percent", help="Rows with a probability within 0.00005 of 0 or 1"
            ),
        },
    )
    st.caption(
        "Where another line ranks better, choose above what was done in training, and score the "
        "rows again."
    )


def _show_cells(model: ModelFile, inputs: InputColumns, flow: Flow) -> None:
    texts = text_columns(model, inputs, flow.table.frame)
    rows = compute.source_of(workspace().files, texts).frame if texts else flow.table.frame
    with st.expander("Three rows as the model sees them", icon=":material/visibility:"):
        st.dataframe(cells_as_seen(model, rows, inputs), hide_index=True)
        st.caption("Text is in quotes. Text inputs get what the file says, letter by letter.")


def _positive_unit(model: ModelFile) -> tuple[int | None, bool]:
    """Ask for the positive one of two units; also return whether it is known by now."""
    softmax = model.activation in ("softmax", "log_softmax")
    units = model.units or (2 if softmax else 1)
    if units == 1:
        return None, True
    sure = softmax and units == 2
    unit = st.radio(
        "Unit of the positive class",
        list(range(units)),
        1 if sure else None,
        horizontal=True,
        **kept(f"scores_unit {model.digest}"),
    )
    if not softmax and units == 2:
        st.caption(
            "The model ends in two numbers without a softmax. They give a score only if they are "
            "the logits of the two classes; those of a regression with two targets do not."
        )
    return unit, unit is not None


def _order(model: ModelFile, classes: tuple[str, ...]) -> tuple[str, ...]:
    order = st.multiselect(
        "Classes, in the order of the model's outputs",
        sorted(classes),
        default=list(classes),
        help="Models do not name their classes: the first output belongs to the first class here. "
        "To change the order, remove classes and add them again.",
        **kept(f"scores_order {model.digest} {sorted(classes)}"),
    )
    if len(order) < len(classes):
        st.caption(f":orange[{len(order)} of {len(classes)} classes chosen.]")
    return tuple(order)


def uploaded_model() -> ModelFile | None:
    """Let the user upload a model, and describe it; a rejected file changes nothing."""
    file = st.file_uploader(
        "Keras model (.keras or .h5)",
        ["keras", "h5", "hdf5"],
        key="scores_model",
        on_change=_model_uploaded,
    )
    number, error = st.session_state.get("model_error", (None, None))
    rejected = file is not None and file.file_id == number
    if rejected:
        show_error(error)
    model = workspace().model
    if model is None:
        st.caption(
            "The file is inspected before Keras starts: Lambda layers and unknown classes are "
            "rejected. "
            + (
                reduced_isolation()
                or "The model then runs in a process of its own, with limits on time and memory, "
                "and without access to other files, other processes and the network."
            )
        )
        return None
    st.markdown(f"Still in use: {_in_words(model)}" if rejected else _in_words(model))
    return model


def _model_uploaded() -> None:
    """Take a model once it was looked into; one that is rejected leaves the run as it was.

    Only when it comes: later, the user may have gone back to the scores before it.
    """
    st.session_state.pop("model_error", None)
    file = st.session_state["scores_model"]
    if file is None:
        return
    with told_next():
        path = keep_file(file.getvalue(), ".model")
        try:
            model = inspect_model(path, name=file.name)
        except HetcalError as error:
            path.unlink()
            st.session_state["model_error"] = file.file_id, error
        else:
            update(model=model, scoring=None, network=None)


def training_controls(flow: Flow) -> None:
    """Let the user train the paper's network on the training rows."""
    table = flow.table
    categories = [name for name in table.X.columns if column_kind(table.X[name]) == "category"]
    with st.form("training"):
        first = st.columns(3)
        size = first[0].selectbox(
            "Size (neurons per layer)", list(SIZES), format_func=SIZES.get, **kept("training_size")
        )
        regularisation = first[1].selectbox(
            "Regularisation", ["none", "batch norm", "dropout"], **kept("training_regularisation")
        )
        rate = first[2].select_slider(
            "Learning rate", LEARNING_RATES, 1e-3, **kept("training_rate")
        )
        second = st.columns(3)
        batch = second[0].number_input("Batch size", 8, 8192, 128, **kept("training_batch"))
        epochs = second[1].number_input(
            "Epochs", 1, 500, 20, help="The paper trains for 100.", **kept("training_epochs")
        )
        seed = second[2].number_input("Seed", 0, 2**31 - 1, 0, **kept("training_seed"))
        embed = st.multiselect(
            "Categories to embed (8 dimensions); the others are one-hot encoded",
            categories,
            **kept("training_embed"),
        )
        started = st.form_submit_button("Train", type="primary", disabled=_training())
    if started:
        settings = NetworkSettings(
            size=size,
            regularisation=regularisation,
            learning_rate=rate,
            batch_size=int(batch),
            epochs=int(epochs),
            embed=tuple(embed),
            seed=int(seed),
        )
        train_network(flow, settings)
        run_again()
    job = training_job()
    if job is not None and job.state == "failed":
        show_error(job.error)
    elif job is not None:
        show_job(job)
    elif workspace().network is not None:
        _show_network()


def _training() -> bool:
    job = training_job()
    return job is not None and job.open


def _show_network() -> None:
    network = workspace().network
    if not uses_network(workspace()):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown("**The network is trained.** The scores in use are those from before.")
            st.button("Use its scores", type="primary", on_click=use_network)
    chart(
        training_figure(network.history, network.best_epoch),
        key="training_done",
        alt="AUC on train and validation rows after every epoch",
        how=f"Epoch {network.best_epoch} has the best validation AUC and is kept. Where the train "
        "curve rises and the validation curve falls, the network over-fits.",
    )
    st.download_button(
        "Download the trained model (.keras)",
        network.content,
        "network.keras",
        on_click="ignore",
        icon=":material/download:",
    )


def confirmed_inputs(model: ModelFile, flow: Flow) -> InputColumns | None:
    """Match named inputs by name; ask for the columns of a matrix input, in order."""
    names = list(flow.table.frame.columns)
    suggested = suggest_inputs(model, names)
    if suggested is not None:
        st.caption(f"Each of its {len(model.inputs)} inputs has the name of a column.")
        return suggested
    chosen = tuple((each.name, _columns_for(each, flow)) for each in model.inputs)
    # One column may give several numbers, so there may be fewer columns than the input takes.
    complete = all(
        columns and len(columns) <= (each.width or len(columns))
        for each, (_, columns) in zip(model.inputs, chosen, strict=True)
    )
    sure = st.checkbox(
        "The model was trained on these columns, in this order",
        disabled=not complete,
        help="Keras does not check the column order: a wrong order silently gives wrong scores.",
        **kept(f"scores_sure {model.digest} {chosen}"),  # another order needs a new confirmation
    )
    return InputColumns(chosen) if complete and sure else None


def _columns_for(wanted: ModelInput, flow: Flow) -> tuple[str, ...]:
    roles, key = flow.table.roles, f"scores_input_{wanted.name}"
    names = [name for name in flow.table.frame.columns if name != roles.label]
    source = flow.source
    ignore = [name for name in roles.ignore if name not in source.prepared]
    features = list(columns_for_model(source, roles, ignore))
    named = [wanted.name] if wanted.name in names else []
    preset = features if wanted.width == len(features) else named
    count = "columns" if wanted.width is None else f"{wanted.width} columns"
    columns = st.multiselect(
        f"Input '{plain(wanted.name)}': {count}, in the model's order",
        names,
        default=preset,
        **kept(key),
    )
    if wanted.width not in (None, len(columns)):
        st.caption(
            f":orange[{len(columns)} of {wanted.width} columns chosen.] A column that was one-hot "
            "in training counts as several: confirm the order, then say which."
        )
    if wanted.width != 1:
        _paste_columns(key, names)
    return tuple(columns)


def _paste_columns(key: str, names: list[str]) -> None:
    """Let the user paste many names at once, in the model's order."""
    with st.popover("Paste the names", icon=":material/content_paste:"):
        text = st.text_area(
            "Column names, one per line or separated by commas", key=f"{key} pasted"
        )
        given = listed_names(text)
        unknown = [name for name in given if name not in names]
        if unknown:
            st.caption(f":orange[No such column: {plain(', '.join(unknown))}.]")
        repeated = len(given) - len(set(given))
        if repeated:
            st.caption(":orange[A name is listed twice.]")
        st.button(
            "Use these columns",
            disabled=not given or bool(unknown) or repeated > 0,
            on_click=lambda: st.session_state.update({key: given}),
            key=f"{key} use",
        )


def listed_names(text: str) -> list[str]:
    r"""Read a list of names as a person or a program writes it.

    >>> listed_names('["age", "job"]'), listed_names("last, first\nage")
    (['age', 'job'], ['last, first', 'age'])
    """
    lines = text.strip().strip("[]()").splitlines()
    parts = lines if len(lines) > 1 else ",".join(lines).split(",")
    found = (part.strip().removesuffix(",").strip().strip("\"'") for part in parts)
    return [name for name in found if name]


def _in_words(model: ModelFile) -> str:
    size = "" if model.parameters is None else f", {model.parameters:,} parameters"
    inputs = f"{len(model.inputs)} input{'s' if len(model.inputs) > 1 else ''}"
    return (
        f"**{plain(model.name)}**: {inputs}{size}, last activation {model.activation or 'linear'}."
    )
