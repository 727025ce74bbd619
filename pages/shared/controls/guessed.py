"""What the columns of a new table are taken for, until the user says otherwise."""

from dataclasses import replace

import streamlit as st

from hetcal.data.guess import guess_roles
from hetcal.data.reading import Source
from hetcal.data.scores import guess_kind
from hetcal.data.table import guess_positive, label_values
from hetcal.models.scoring import ColumnScoring
from pages.shared.display.messages import plain
from pages.shared.state import update, workspace

GUESSED = {
    "label": "label",
    "positive": "positive value",
    "weight": "row weight",
    "split": "split",
    "score": "score",
}


def assume_roles(source: Source) -> None:
    """Guess the roles of the columns, unless they are known."""
    if workspace().roles is not None:
        return
    roles = guess_roles(source.frame, source.split_column)
    columns = {name: getattr(roles, name) for name in GUESSED}
    if source.split_column is not None:
        del columns["split"]  # the files say it
    update(roles=roles, guessed=tuple((name, each) for name, each in columns.items() if each))
    if roles.score is not None:
        kind = guess_kind(source.frame[roles.score])
        update(scoring=ColumnScoring((roles.score,), kind))


def assume_positive(source: Source) -> list[str]:
    """Guess the positive value, unless it is known; return the values of the label."""
    roles = workspace().roles
    values = label_values(source.frame[roles.label])[:50]
    if roles.positive not in values:
        positive = guess_positive(values)
        found = () if positive is None else (("positive", positive),)
        update(roles=replace(roles, positive=positive), guessed=(*_standing(), *found))
    return values


def show_guesses() -> None:
    """Say in one line what was guessed, until the user has confirmed or changed it."""
    update(guessed=_standing())
    guessed = dict(workspace().guessed)
    if not guessed:
        return
    words = [f"{GUESSED[name]} **{plain(guessed[name])}**" for name in GUESSED if name in guessed]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f":material/help: Guessed: {', '.join(words)}. Change what is wrong.",
            width="content",
        )
        st.button(
            "All is right",
            type="tertiary",
            icon=":material/check:",
            on_click=update,
            kwargs={"guessed": ()},
        )


def _standing() -> tuple[tuple[str, str], ...]:
    """Return the guesses that the user has not changed."""
    here = workspace()
    return tuple((name, each) for name, each in here.guessed if getattr(here.roles, name) == each)
