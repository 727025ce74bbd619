"""Exports to other systems: choose formats, see size and parity, download."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

import streamlit as st

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.choices import DIALECTS, EXPORTS
from hetcal.errors import HetcalError
from hetcal.exports.export import Export
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import offer_again, show_job
from pages.shared.display.widgets import downloads
from pages.shared.flow.compute import exports_of
from pages.shared.flow.flow import Flow
from pages.shared.jobs import Unfinished
from pages.shared.state import current_run

FORMATS = {
    "python": "Python file",
    "sql": "SQL",
    "keras": "Keras model",
    "savedmodel": "SavedModel",
    "onnx": "ONNX",
    "tflite": "LiteRT",
    "mlflow": "MLflow",
    "scorecard": "Scorecard",
    "sklearn": "scikit-learn",
    "report": "Report",
    "table": "Scored table",
}
DATABASES = {
    "ansi": "ANSI",
    "postgresql": "PostgreSQL",
    "duckdb": "DuckDB",
    "sqlite": "SQLite",
    "bigquery": "BigQuery",
    "spark": "Spark SQL",
}
ASKED = "exports_asked"  # what was asked for, and of which run


def offer_exports(flow: Flow) -> None:
    """Let the user choose formats, and offer each file once it was compared with the artifact."""
    st.subheader("For other systems", anchor=False)
    st.markdown(
        "The calibrated model in formats of other systems, a report and scored rows. A fresh "
        "process runs every model on 20,000 rows with missing, unseen and extreme values; it is "
        "offered only if it gives the artifact's probabilities."
    )
    formats = _some_of("Formats", EXPORTS, FORMATS)
    dialects = (
        _some_of("Dialects of SQL", DIALECTS, DATABASES) if "sql" in formats else DIALECTS[:1]
    )
    carried = _columns(flow) if "table" in formats else ()
    pressed = st.button(
        "Make and check",
        icon=":material/fact_check:",
        disabled=not (formats and dialects),
        key="export_make",
    )
    wanted = flow.whole.digest, tuple(formats), tuple(dialects), carried
    if pressed:
        st.session_state[ASKED] = wanted
    if st.session_state.get(ASKED) == wanted:
        _make(flow, *wanted[1:])


def _some_of(label: str, options: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Let the user choose, beginning with the first."""
    return st.pills(
        label,
        options,
        selection_mode="multi",
        default=options[0],
        format_func=names.get,
        key=f"export {label}",
    )


def _columns(flow: Flow) -> tuple[str, ...]:
    """Let the user choose columns of the table that come along, an id first."""
    columns = [str(name) for name in flow.table.frame.columns]
    return tuple(
        st.multiselect(
            "Columns of the table that come along",
            columns,
            placeholder="None: the number of the row names it",
            key="export_columns",
        )
    )


def _make(
    flow: Flow, formats: tuple[str, ...], dialects: tuple[str, ...], carried: tuple[str, ...]
) -> None:
    try:
        kept = current_run().keep_file(artifact_bytes(flow.whole, flow.workspace.scoring))
        made = exports_of(kept, formats, dialects, carried, flow.whole)
    except Unfinished as unfinished:
        show_job(unfinished.job)
        return
    except HetcalError as error:
        show_error(error)
        if isinstance(error.__cause__, Unfinished):
            offer_again(error.__cause__.job)
        return
    for _, files in groupby(made, key=lambda each: (each.format, each.parity, each.use)):
        _show(list(files))


def _show(files: list[Export]) -> None:
    """Show the files of a format: size and parity, how they are used, downloads."""
    first, *_ = files
    with st.container(border=True):
        sizes = [f"**{plain(each.name)}** · {each.size_words}" for each in files]
        st.markdown(" &nbsp; ".join(sizes))
        st.caption(f":material/check: Compared with the artifact: {plain(first.parity.words)}.")
        st.code("\n".join(first.use), language=None, wrap_lines=True)
        downloads({each.name: partial(_content, each) for each in files}, key="export")


def _content(made: Export) -> bytes:
    return made.content
