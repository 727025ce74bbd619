"""Columns of a network as they were prepared in training, outside of it: steps on tensors."""

from typing import Any

import numpy as np

from hetcal.data.columns import value_text
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import ModelScoring
from hetcal.models.steps import OF_CATEGORIES, ColumnStep

Tensor = Any  # of Keras
Document = dict[str, Any]


def prepared_inputs(scoring: ModelScoring) -> dict[str, tuple[str, ...]]:
    """Return the columns of the inputs for which a column is prepared: each is an own input."""
    done = {each.column for each in scoring.inputs.steps.steps}
    return {name: columns for name, columns in scoring.inputs.columns if done & set(columns)}


def columns_to_prepare(inputs: InputColumns, columns: tuple[str, ...]) -> list[Document]:
    """Say of each column what is done to it, and whether it is text."""
    steps = {each.column: each for each in inputs.steps.steps}
    return [_column(name, steps.get(name)) for name in columns]


def is_text(step: ColumnStep) -> bool:
    """Whether a column with this step holds text; codes such as 1 and 2 are numbers."""
    return step.way in OF_CATEGORIES and not all(map(_is_number, step.codes))


def _column(name: str, step: ColumnStep | None) -> Document:
    if step is None:
        return {"name": name, "way": "as is", "text": False}
    numbers = {"way": step.way, "shift": step.shift, "scale": step.scale}
    return {"name": name, "codes": list(step.codes), "text": is_text(step), **numbers}


def _is_number(code: str) -> bool:
    try:
        return value_text(float(code)) == code
    except ValueError:
        return False


def prepared(column: Document, request: Document, given: dict[str, Tensor]) -> Tensor:
    """Return what the network reads in place of a column, in the precision of logits.

    The input of the column is added to those that are given, or is one of them.
    """
    import keras
    from keras import ops

    name = column["name"]
    if name not in given:
        text = "string" if request["texts"] is None else "int32"
        dtype = text if column["text"] else "float32"
        given[name] = keras.Input((1,), dtype=dtype, name=request["layers"][name])
    if column["way"] in OF_CATEGORIES:
        return _places(column, given[name], request)
    values = ops.cast(given[name], request["precision"])
    if column["way"] in ("log", "log1p"):
        logs = ops.log(values) if column["way"] == "log" else ops.log1p(values)
        return ops.where(ops.isfinite(logs), logs, np.nan)
    if column["way"] == "as is":
        return values
    return (values - column["shift"]) / column["scale"]


def _places(column: Document, values: Tensor, request: Document) -> Tensor:
    """Return 0 and 1 for each of the codes, or the place of the one; missing if there is none."""
    import keras
    from keras import ops

    codes, texts, precision = column["codes"], request["texts"], request["precision"]
    if column["text"] and texts is None:
        lookup = keras.layers.StringLookup(vocabulary=codes, output_mode="one_hot")
        each = ops.cast(lookup(values), precision)[:, 1:]  # the first is for all others
    else:
        numbers = (
            np.array([[texts.index(code) + 2 for code in codes]], np.int32)  # see `converted`
            if column["text"]
            else np.array([list(map(float, codes))], np.float32)
        )
        each = ops.cast(ops.equal(values, numbers), precision)
    if column["way"] == "one-hot":
        return each
    place = ops.sum(each * np.arange(len(codes), dtype=precision), axis=1, keepdims=True)
    return ops.where(ops.sum(each, axis=1, keepdims=True) > 0, place, np.nan)
