"""How a text file is read, and controls to change that."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from hetcal.data.text import Dialect, detect_dialect, is_parquet, is_readable
from hetcal.errors import HetcalError
from hetcal.store.workspace import BESIDE
from pages.shared.state import TableFile, bound

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1")
DECIMALS = {".": "point", ",": "comma"}
Files = tuple[TableFile, ...]


def dialect_controls(files: Files, change: Callable[[Files], None], expanded: bool = False) -> None:
    """Show how the first text file is read, and let the user change that for all files."""
    file = files[0]
    if not is_readable(file.path) or is_parquet(file.path):
        return
    try:
        dialect = file.dialect or detect_dialect(file.path)
    except HetcalError:
        # Reading the file says the same in full; there is nothing to override here.
        return

    def tied(field: str) -> dict[str, object]:
        def store(value: object) -> None:
            changed = replace(dialect, **{field: value})
            change(
                tuple(
                    each if each.role in BESIDE else replace(each, dialect=changed)
                    for each in files
                )
            )

        return bound(f"dialect_{field}", getattr(dialect, field), store)

    def box(label: str, field: str, options: dict[str, str]) -> None:
        st.selectbox(label, list(options), format_func=options.get, **tied(field))

    how = st.expander(f"How the text is read: {_in_words(dialect)}", expanded=expanded)
    with how, st.container(horizontal=True):
        box("Delimiter", "delimiter", DELIMITERS)
        box("Encoding", "encoding", {name: name for name in ENCODINGS})
        box("Decimal sign", "decimal", DECIMALS)
        st.checkbox("First row holds the column names", **tied("header"))
        st.checkbox("Skip bad rows (too many or too few fields)", **tied("skip_bad_rows"))


def _in_words(dialect: Dialect) -> str:
    packed = ", gzip" if dialect.gzip else ""
    sign = DELIMITERS.get(dialect.delimiter, dialect.delimiter)
    return f"{sign}-separated, {dialect.encoding}, decimal {DECIMALS[dialect.decimal]}{packed}"
