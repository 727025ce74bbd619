"""What people have in Python as plain columns: frames of any library, arrays and lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import log_softmax

from hetcal.data.columns import check_names, column_kind, counted, named_columns, row_count
from hetcal.data.parquet import from_arrow
from hetcal.data.scores import ScoreKind, unit_name
from hetcal.data.table import require_column
from hetcal.errors import HetcalError, ScoreError, TableError
from hetcal.metrics.classes import one_against_rest

SCORE = "score"
NESTED = (list, tuple, dict, set, np.ndarray)


def to_frame(X: Any, names: Sequence[str] | None = None, what: str = "X") -> pd.DataFrame:
    """Turn a table of any library, an array or lists into a pandas frame with names of text.

    A frame of another library is read through Arrow if it can be, or else by its `to_pandas`.
    Columns of an array are called x0, x1, … unless they are named.
    """
    try:
        frame = _frame(X)
    except HetcalError:
        raise
    except (TypeError, ValueError) as error:
        raise _no_table(X, what) from error
    if names is not None:
        if len(names) != frame.shape[1]:
            raise TableError(
                f"There are {counted(len(names), 'name')} for {counted(frame.shape[1], 'column')}.",
                "Each column needs a name.",
                "Give as many names as there are columns.",
            )
        frame = frame.set_axis(list(names), axis=1)
    frame = named_columns(frame).reset_index(drop=True)
    check_names(list(frame.columns))
    return _plain(frame)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns of Arrow's types the types that hetcal reads; leave nested ones out."""
    nested = [name for name in frame if _is_nested(frame[name])]
    if nested and len(nested) == frame.shape[1]:
        raise TableError(
            f"The column '{nested[0]}' holds nested values, as all columns do.",
            "Every cell must hold a single number, text, boolean or date.",
            "Unfold these columns into plain columns.",
        )
    frame = frame.drop(columns=nested)
    typed = [name for name in frame if isinstance(frame[name].dtype, pd.ArrowDtype)]
    converted = from_arrow(pa.Table.from_pandas(frame[typed], preserve_index=False))
    return frame.assign(**{name: converted[name] for name in typed})


def _is_nested(column: pd.Series) -> bool:
    return column_kind(column) == "other" and any(isinstance(each, NESTED) for each in column)


def _frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame | pd.Series):
        return pd.DataFrame(X)
    if hasattr(X, "__arrow_c_stream__"):
        return from_arrow(pa.table(X))
    if hasattr(X, "to_pandas"):
        return pd.DataFrame(X.to_pandas())
    if isinstance(X, Mapping):
        return pd.DataFrame({name: np.asarray(column) for name, column in X.items()})
    if isinstance(X, list | tuple):
        return _numbered(pd.DataFrame(X))
    values = np.asarray(X)
    if values.ndim not in (1, 2):
        raise TypeError(f"{values.ndim} dimensions")
    return _numbered(pd.DataFrame(values).infer_objects())


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)


def _no_table(X: Any, what: str) -> TableError:
    shape = f" and the shape {X.shape}" if isinstance(X, np.ndarray) else ""
    return TableError(
        f"{what} is of the type {type(X).__name__}{shape}.",
        "It has to be a table: a frame of pandas, polars or Arrow, or an array of rows by columns.",
        "Turn it into one, such as X.toarray() of a sparse matrix, or X.collect() of a lazy frame.",
    )


def to_column(values: Any, what: str, rows: int) -> pd.Series:
    """Turn what has one value per row into a column, with its name if it has one."""
    column = _column(values, what)
    require_rows(len(column), what, rows)
    return column.reset_index(drop=True)


def _column(values: Any, what: str) -> pd.Series:
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        return values.iloc[:, 0]
    if isinstance(values, pd.Series | pd.Categorical):
        return pd.Series(values)
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        shape = f" and the shape {array.shape}" if array.shape else ""
        raise TableError(
            f"The {what} is of the type {type(values).__name__}{shape}.",
            "One value for each row is needed, or the name of a column.",
            f"Give an array with one dimension, or name the column of the {what}.",
        )
    return pd.Series(array).infer_objects()


def _array(values: Any) -> NDArray[Any]:
    """Return values as an array; those that are of no common length have no dimension."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None, dtype=object)


def require_rows(found: int, what: str, rows: int) -> None:
    """Refuse a column that is longer or shorter than the table."""
    if found != rows:
        raise TableError(
            f"The table has {row_count(rows)}, and the {what} {row_count(found)}.",
            "Each row of the table needs one value, in the same order.",
            f"Give the {what} of the same rows.",
        )


def with_column(frame: pd.DataFrame, given: Any, what: str) -> tuple[pd.DataFrame, str]:
    """Return a frame that has a column, and its name; `given` is its name or its values.

    A pandas column that is named like one of the frame takes its place, so that a label which was
    taken out of the frame is no feature.
    """
    if isinstance(given, str):
        require_column(frame, given, f"{what} column")
        return frame, given
    column = to_column(given, what, len(frame))
    known = column.name is not None and str(column.name) in frame
    if isinstance(column.name, str) or (known and frame[str(column.name)].equals(column)):
        return frame.assign(**{str(column.name): column}), str(column.name)
    name = free_name(frame, what)
    return frame.assign(**{name: column}), name


def free_name(frame: pd.DataFrame, name: str) -> str:
    """Return a name that no column has.

    >>> free_name(pd.DataFrame({"label": [1]}), "label")
    'label_'
    """
    return name if name not in frame else free_name(frame, f"{name}_")


def to_scores(frame: pd.DataFrame, score: Any) -> pd.DataFrame:
    """Return scores as columns: of names in the frame, of one value per row, or of one per class.

    Columns of an array are called `score`, or score[0], score[1], … where there are several.
    """
    if score is None:
        raise ScoreError(
            "No score is given.",
            "Calibration improves the scores of a model: logits or probabilities, one per row.",
            "Give them, such as model.predict_proba(X), or name the column that has them.",
        )
    if _are_names(score, len(frame)):
        names = [score] if isinstance(score, str) else list(score)
        for name in names:
            require_column(frame, name, "score column")
        return frame[names]
    if hasattr(score, "predict") or callable(score):
        raise ScoreError(
            f"The score is of the type {type(score).__name__}: a model, not its scores.",
            "A logit or a probability for each row is needed.",
            "Give what the model says, such as model.predict_proba(X).",
        )
    if hasattr(score, "columns") or _array(score).ndim == 2:
        found = to_frame(score, what="The score")
        require_rows(len(found), SCORE, len(frame))
        if found.shape[1] > 1:
            named = hasattr(score, "columns")
            units = [free_name(frame, unit_name(SCORE, i)) for i in range(found.shape[1])]
            return found if named else found.set_axis(units, axis=1)
    column = to_column(score, SCORE, len(frame))
    named = isinstance(column.name, str)
    return column.to_frame(column.name if named else free_name(frame, SCORE))


def one_of(scores: pd.DataFrame, number: int, kind: ScoreKind) -> pd.Series:
    """Return the score of one class against all others, of the scores of all classes.

    >>> one_of(pd.DataFrame({"no": [1.0], "yes": [3.0]}), 1, "logit").tolist()
    [2.0]
    """
    values = scores.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "probability":
        return pd.Series(values[:, number])
    return pd.Series(one_against_rest(log_softmax(values, axis=1), number))


def _are_names(score: Any, rows: int) -> bool:
    """Whether a score is the name of a column, or a few of them, and not a text for each row."""
    if isinstance(score, str):
        return True
    some = isinstance(score, list | tuple) and 0 < len(score) != rows
    return some and all(isinstance(each, str) for each in score)
