"""The controls of the Data page: column roles with their guesses, and the split."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from hetcal.data.columns import column_kind
from hetcal.data.groups import FoundGroup
from hetcal.data.guess import guess_roles
from hetcal.data.raw_columns import roles_with_raw
from hetcal.data.reading import Source
from hetcal.data.scores import guess_kind
from hetcal.data.splits import ROLES
from hetcal.data.table import Roles, guess_positive, label_values
from hetcal.models.scoring import ColumnScoring
from pages.shared.display.messages import plain
from pages.shared.state import bound, role, setting, update, workspace

ALL_CLASSES = ""  # no value of a label is an empty text
GUESSED = {
    "label": "label",
    "positive": "positive value",
    "weight": "row weight",
    "split": "split",
    "score": "score",
}


def role_controls(source: Source) -> None:
    """Let the user say what each column is for, and say what was guessed."""
    assume_roles(source)
    guesses = st.container()
    roles: Roles = workspace().roles
    names = list(source.frame.columns)
    first = st.columns(4)
    first[0].selectbox("Label", names, **_label())
    values = _assume_positive(source)
    with guesses:
        _show_guesses()
    first[1].selectbox(
        "Positive value",
        values if len(values) == 2 else [ALL_CLASSES, *values],
        format_func=lambda value: value or "All classes",
        help="The value to predict, against all others. With more than two values, all classes "
        "can be calibrated together.",
        **_positive(),
    )
    first[2].selectbox(
        "Group (optional)",
        names,
        None,
        placeholder="none",
        help="Rows of one group, such as a patient, stay together in the split and in every fold; "
        "intervals count groups, not rows.",
        **role("group"),
    )
    first[3].selectbox("Weight (optional)", names, None, placeholder="none", **role("weight"))
    st.multiselect(
        "Columns to leave out of the partition",
        [name for name in names if name != roles.label],
        placeholder="none: every column without another role is a feature",
        help="The label, group, weight, split and score columns are never features.",
        **role("ignore"),
    )
    if source.frame[roles.label].hasnans:
        st.checkbox("Leave rows without a label out", **role("drop_unlabelled"))


def assume_roles(source: Source) -> None:
    """Guess the roles of the columns, unless they are known."""
    if workspace().roles is not None:
        return
    rows = source.frame.drop(columns=list(source.raw))
    roles = roles_with_raw(source, guess_roles(rows, source.split_column))
    columns = {name: getattr(roles, name) for name in GUESSED}
    if source.split_column is not None:
        del columns["split"]  # the files say it
    update(roles=roles, guessed=tuple((name, each) for name, each in columns.items() if each))
    if roles.score is not None:
        kind = guess_kind(source.frame[roles.score])
        update(scoring=ColumnScoring((roles.score,), kind))


def _assume_positive(source: Source) -> list[str]:
    """Guess the positive value, unless it is known; return the values of the label."""
    roles = workspace().roles
    values = label_values(source.frame[roles.label])[:50]
    if roles.positive not in values:
        positive = guess_positive(values)
        found = () if positive is None else (("positive", positive),)
        update(roles=replace(roles, positive=positive), guessed=(*_unchanged(), *found))
    return values


def _show_guesses() -> None:
    """Say in one line what was guessed, until the user has confirmed or changed it."""
    update(guessed=_unchanged())
    guessed = dict(workspace().guessed)
    if not guessed:
        return
    words = [f"{GUESSED[name]} **{plain(guessed[name])}**" for name in GUESSED if name in guessed]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f":material/help: Guessed: {', '.join(words)}. Change any that are wrong.",
            width="content",
        )
        st.button(
            "Confirm",
            type="tertiary",
            icon=":material/check:",
            on_click=update,
            kwargs={"guessed": ()},
        )


def _unchanged() -> tuple[tuple[str, str], ...]:
    """Return the guesses that the user has not changed."""
    here = workspace()
    return tuple((name, each) for name, each in here.guessed if getattr(here.roles, name) == each)


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
    """Let the user split the rows by a column, by time, or at random."""
    column, seed, *shares = st.columns([2.5, 1, 1, 1.2, 1.3, 1], vertical_alignment="bottom")
    column.selectbox(
        "Split column",
        list(source.frame.columns),
        None,
        placeholder="none: random split",
        help="Its values are train, validation (or val), calibration (or cal) and test. A column "
        "of dates splits by time: earlier rows train, later rows test.",
        **_split(source.frame),
    )
    st.checkbox(
        "Fit and compare schemes on validation rows, too",
        help="If they chose the network's epoch, it looks better on them than on new rows.",
        **setting("use_validation"),
    )
    if workspace().roles.split is not None:
        return
    if workspace().roles.time is None:
        seed.number_input("Seed", 0, 2**31 - 1, **setting("seed"))
    for index, (box, name) in enumerate(zip(shares, ROLES, strict=True)):
        box.number_input(
            f"{name.capitalize()} %", 0.0, 100.0, step=1.0, format="%.2f", **_share(index)
        )


def _split(frame: pd.DataFrame) -> dict[str, object]:
    """Tie the box to the column of roles, or to that of dates."""
    roles = workspace().roles

    def store(name: str | None) -> None:
        dates = name is not None and column_kind(frame[name]) == "date"
        chosen = {"split": None, "time": name} if dates else {"split": name, "time": None}
        update(roles=replace(workspace().roles, **chosen))

    return bound("role_split", roles.split or roles.time, store)


def group_controls(found: FoundGroup) -> None:
    """Let the user confirm a group column that nobody named, or say that there are no groups."""
    roles = workspace().roles
    confirmed = replace(roles, group=found.column, ignore=(*roles.ignore, *found.same))
    declined = replace(roles, assume_group=False)
    with st.container(horizontal=True):
        for label, chosen in (
            (f"Keep rows of '{plain(found.column)}' together", confirmed),
            ("Use it as a feature", declined),
        ):
            st.button(label, on_click=update, kwargs={"roles": chosen})


def leave_out_control(name: str) -> None:
    """Let the user leave a column out of the features."""
    roles = workspace().roles
    features = None
    if roles.features is not None:
        features = tuple(each for each in roles.features if each != name)
    without = replace(roles, features=features, ignore=(*roles.ignore, name))
    st.button(
        f"Leave '{plain(name)}' out",
        key=f"leave_out {name}",
        icon=":material/remove_circle_outline:",
        on_click=update,
        kwargs={"roles": without},
    )


def _share(index: int) -> dict[str, object]:
    def store(percent: float) -> None:
        fractions = list(workspace().settings.fractions)
        fractions[index] = round(percent / 100, 6)
        update(settings=replace(workspace().settings, fractions=tuple(fractions)))

    return bound(f"fraction_{index}", 100 * workspace().settings.fractions[index], store)
