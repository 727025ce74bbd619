"""Arrays and images beside the table that a model reads: upload, look, confirm their order."""

from dataclasses import replace
from pathlib import Path

import streamlit as st

from hetcal.data.array_files import ArrayFile, in_axes, require_rows
from hetcal.data.columns import column_kind, row_count
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile
from hetcal.models.images import takes_images
from hetcal.models.inputs import (
    ArrayInput,
    InputColumns,
    array_doubts,
    require_arrays,
    takes_fractions,
)
from hetcal.models.scoring import ModelScoring
from pages.shared.display.messages import plain
from pages.shared.flow import compute
from pages.shared.flow.flow import Flow
from pages.shared.state import current_run, keep_file, kept, told_next, workspace

AS_IS, BYTES = "As they are", 255.0
FILES = ["npy", "npz", "parquet"]
ARRAY, IMAGES = "An array", "Image files"


def takes_array(spec: ModelInput, flow: Flow) -> bool:
    """Whether an array feeds this input: its rows are no columns of the table."""
    wide = (spec.width or 1) > flow.table.frame.shape[1]
    return spec.shape is not None or wide or (spec.ids is not None and spec.width != 1)


def array_controls(model: ModelFile, flow: Flow) -> tuple[ArrayInput, ...] | None:
    """Ask for the arrays of a model, and show and confirm them; None while one is missing."""
    wanted = [each for each in model.inputs if takes_array(each, flow)]
    arrays = [_array(model, spec, flow) for spec in wanted]
    given = tuple(each for each in arrays if each is not None)
    for each in array_doubts(model, InputColumns((), arrays=given)):
        st.warning(plain(each), icon=":material/warning:")
    if len(given) < len(wanted):
        return None
    if not wanted:
        return ()
    sure = st.checkbox(
        "The rows of the array are those of the table, in this order, as in training",
        help="Row by row, an array belongs to the table. Nothing in it says so: another order "
        "silently gives wrong scores.",
        **kept(f"scores_rows {model.digest} {[(each.file.digest, each.scale) for each in given]}"),
    )
    return given if sure else None


def _array(model: ModelFile, spec: ModelInput, flow: Flow) -> ArrayInput | None:
    taken = in_axes(spec.shape or (spec.width,))
    key = f"scores_array {model.digest} {spec.name}"
    kind = ARRAY
    if takes_images(spec):
        kind = st.segmented_control(
            f"Rows of the input '{plain(spec.name)}'",
            [ARRAY, IMAGES],
            default=ARRAY,
            required=True,
            **kept(f"{key} kind"),
        )
    ask = _array_file if kind == ARRAY else _image_files
    file = ask(spec, key, flow) or _scored_with(model, spec)
    if file is None:
        return None
    given = ArrayInput(spec.name, file)
    require_rows(file, flow.table.labelled.size)
    require_arrays(replace(model, inputs=(spec,)), InputColumns((), arrays=(given,)))
    first = file.first_row()
    scales = f"a layer of the kind {spec.scaler} is first" if spec.scaler else "no layer scales it"
    st.dataframe(
        {
            "": ["array", "its first row", "input of the model"],
            "rows": [
                row_count(file.rows),
                "1 row",
                f"{row_count(flow.table.labelled.size)} (table)",
            ],
            "shape of a row": [in_axes(file.shape[1:]), in_axes(first.shape), taken],
            "numbers": [
                f"{file.dtype}, {file.low:.6g} to {file.high:.6g}",
                f"{float(first.min()):.6g} to {float(first.max()):.6g}",
                f"{spec.dtype}; {scales}",
            ],
        },
        hide_index=True,
    )
    if not takes_fractions(spec):
        return given
    scale = st.radio(
        f"Numbers for the input '{plain(spec.name)}'",
        [1.0, BYTES],
        format_func=lambda each: AS_IS if each == 1 else f"Divided by {each:g}",
        horizontal=True,
        **kept(f"{key} scale"),
    )
    return replace(given, scale=scale)


def _array_file(spec: ModelInput, key: str, flow: Flow) -> ArrayFile | None:
    st.file_uploader(
        f"Array for the input '{plain(spec.name)}': rows of {in_axes(spec.shape or (spec.width,))}",
        FILES,
        help="A .npy or .npz file, or a Parquet file with a column of lists: one row for each row "
        "of the table. Of several arrays in a file, the one with the name of the input is used.",
        key=f"{key} file",
        on_change=_uploaded,
        args=(key,),
    )
    path, name = _kept(key)
    return None if path is None else compute.array_of(path, spec.name, name)


def _image_files(spec: ModelInput, key: str, flow: Flow) -> ArrayFile | None:
    left, right = st.columns(2)
    frame = flow.source.frame
    column = left.selectbox(
        f"Paths of images for '{plain(spec.name)}'",
        [name for name in frame.columns if column_kind(frame[name]) == "category"],
        None,
        placeholder="choose a column",
        help="Each row holds the path of its image in the zip.",
        **kept(f"{key} column"),
    )
    right.file_uploader(
        f"Zip of PNG or JPEG files of {in_axes(spec.shape[:2])} pixels",
        ["zip"],
        key=f"{key} images file",
        on_change=_uploaded,
        args=(f"{key} images",),
    )
    path, _ = _kept(f"{key} images")
    if path is None or column is None:
        return None
    return compute.images_of(flow.source, column, path, spec)


def _uploaded(key: str) -> None:
    """Keep a file in the run; the one before stays where the upload is taken back."""
    file = st.session_state[f"{key} file"]
    if file is not None:
        with told_next():
            path = keep_file(file.getvalue(), ".array")
            st.session_state[key] = current_run().id, path, file.name


def _kept(key: str) -> tuple[Path | None, str]:
    """Return path and name of a file that was uploaded for this run."""
    run, path, name = st.session_state.get(key, (None, None, ""))
    return (path, name) if run == current_run().id else (None, "")


def _scored_with(model: ModelFile, spec: ModelInput) -> ArrayFile | None:
    """Return the array with which the rows were scored; its upload may be forgotten."""
    scoring = workspace().scoring
    if not isinstance(scoring, ModelScoring) or scoring.model.digest != model.digest:
        return None
    return next((each.file for each in scoring.inputs.arrays if each.input == spec.name), None)
