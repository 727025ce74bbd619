"""The controls of the Data page: how a file is read, what columns are for, how rows divide."""

from dataclasses import replace

import streamlit as st

from hetcal.data.reading import Source
from hetcal.data.splits import ROLES
from hetcal.data.table import Roles
from hetcal.data.text import Dialect, detect_dialect, is_parquet, is_readable
from hetcal.errors import HetcalError
from pages.shared.controls.guessed import assume_positive, assume_roles, show_guesses
from pages.shared.display.progress import shown_progress
from pages.shared.flow.flow import current_flow
from pages.shared.state import bound, role, setting, update, workspace

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1")
ALL_CLASSES = ""  # no value of a label is an empty text
DECIMALS = {".": "point", ",": "comma"}


def dialect_controls() -> None:
    """Show how the first text file is read, and let the user read it otherwise."""
    file = workspace().files[0]
    if not is_readable(file.path) or is_parquet(file.path):
        return
    try:
        dialect = file.dialect or detect_dialect(file.path)
    except HetcalError:
        # Reading the file says the same in full; there is nothing to override here.
        return
    how = st.expander(f"How the text is read: {_in_words(dialect)}", expanded=_unreadable())
    with how, st.container(horizontal=True):
        _dialect_box("Columns are separated by", "delimiter", dialect, DELIMITERS)
        _dialect_box("Characters", "encoding", dialect, {name: name for name in ENCODINGS})
        _dialect_box("Decimal sign", "decimal", dialect, DECIMALS)
        _dialect_tick("First row holds the names", "header", dialect)
        _dialect_tick("Skip bad rows (too many or too few fields)", "skip_bad_rows", dialect)


def _unreadable() -> bool:
    """Tell whether reading fails, since then the user looks for another way to read."""
    try:
        with shown_progress() as progress:
            _ = current_flow(progress).source
    except HetcalError:
        return True
    return False


def role_controls(source: Source) -> None:
    """Let the user say what each column is for, and say what was guessed."""
    assume_roles(source)
    guesses = st.container()
    roles: Roles = workspace().roles
    names = list(source.frame.columns)
    first = st.columns(4)
    first[0].selectbox("Label", names, **_label())
    values = assume_positive(source)
    with guesses:
        show_guesses()
    first[1].selectbox(
        "Positive value",
        values if len(values) == 2 else [ALL_CLASSES, *values],
        format_func=lambda value: value or "All classes",
        help="One value stands against all others. With more than two values, all classes can "
        "be calibrated together.",
        **_positive(),
    )
    first[2].selectbox(
        "Group (optional)",
        names,
        None,
        placeholder="none",
        help="All rows of one group stay on one side of the split, and of every fold; intervals "
        "count groups, not rows.",
        **role("group"),
    )
    first[3].selectbox("Row weight (optional)", names, None, placeholder="none", **role("weight"))
    st.multiselect(
        "Columns to leave out of the partition",
        [name for name in names if name != roles.label],
        placeholder="none: every column without another role is a feature",
        help="The label, group, weight, split and score columns are never features.",
        **role("ignore"),
    )
    if source.frame[roles.label].hasnans:
        st.checkbox("Leave rows without a label out", **role("drop_unlabelled"))


def _label() -> dict[str, object]:
    def store(column: str) -> None:
        # The positive value of another column means nothing here, even if it occurs.
        update(roles=replace(workspace().roles, label=column, positive=None), classes=None)

    return bound("role_label", workspace().roles.label, store)


def _positive() -> dict[str, object]:
    def store(value: str) -> None:
        update(roles=replace(workspace().roles, positive=value or None))

    return bound("role_positive", workspace().roles.positive or ALL_CLASSES, store)


def split_controls(source: Source) -> None:
    """Let the user divide the rows by a column, or by seeded fractions."""
    column, seed, *shares = st.columns([2.5, 1, 1, 1.2, 1.3, 1], vertical_alignment="bottom")
    column.selectbox(
        "Split column",
        list(source.frame.columns),
        None,
        placeholder="none: divide at random",
        help="Its values are train, validation (or val), calibration (or cal) and test.",
        **role("split"),
    )
    if workspace().roles.split is not None:
        return
    seed.number_input("Seed", 0, 2**31 - 1, **setting("seed"))
    for index, (box, name) in enumerate(zip(shares, ROLES, strict=True)):
        box.number_input(
            f"{name.capitalize()} %", 0.0, 100.0, step=1.0, format="%.2f", **_share(index)
        )


def _share(index: int) -> dict[str, object]:
    def store(percent: float) -> None:
        fractions = list(workspace().settings.fractions)
        fractions[index] = round(percent / 100, 6)
        update(settings=replace(workspace().settings, fractions=tuple(fractions)))

    return bound(f"fraction_{index}", 100 * workspace().settings.fractions[index], store)


def _dialect_box(label: str, field: str, dialect: Dialect, options: dict[str, str]) -> None:
    st.selectbox(label, list(options), format_func=options.get, **_dialect_field(field, dialect))


def _dialect_tick(label: str, field: str, dialect: Dialect) -> None:
    st.checkbox(label, **_dialect_field(field, dialect))


def _dialect_field(field: str, dialect: Dialect) -> dict[str, object]:
    def store(value: object) -> None:
        changed = replace(dialect, **{field: value})
        files = tuple(replace(file, dialect=changed) for file in workspace().files)
        update(files=files, roles=None, scoring=None, partition=None)

    return bound(f"dialect_{field}", getattr(dialect, field), store)


def _in_words(dialect: Dialect) -> str:
    packed = ", gzip" if dialect.gzip else ""
    sign = DELIMITERS.get(dialect.delimiter, dialect.delimiter)
    return f"{sign}-separated, {dialect.encoding}, decimal {DECIMALS[dialect.decimal]}{packed}"
