"""Parts that several pages share: cards, charts, downloads, and the choice of a leaf."""

import math
import mimetypes
from collections.abc import Callable, Collection, Iterable
from copy import copy
from functools import partial
from threading import Thread, Timer
from typing import Any
from uuid import uuid4

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from hetcal.artifacts.report import table_bytes
from hetcal.cells.sketch import SKETCHED
from hetcal.figures.data import figure_table
from hetcal.partitions.partition import Partition
from hetcal.results.words import DEFINITIONS
from pages.shared.display.messages import plain, unbroken
from pages.shared.links import run_again
from pages.shared.state import ALL_ROWS, choice, kept, update, workspace

FETCHED = 60.0  # seconds in which the browser fetches a file that a click has made
PLAIN = {"displayModeBar": False}
"""Without Plotly's toolbar, which would cover the legend: a double click ends a zoom, too."""

MANY_LEAVES, SCROLLED = 16, 640  # leaves, and pixels of a picture of more of them
DASH = "–"
"""Written for a number that is not defined."""


def leaf_picker(partition: Partition) -> int:
    """Offer the leaves in the sidebar, and branches; return the chosen one, 0 for all rows."""
    rules = {each.id: each.rule for each in (*partition.leaves, *partition.branches)}
    if workspace().leaf not in rules:
        update(leaf=ALL_ROWS)
    with st.sidebar:
        st.divider()
        st.selectbox(
            "Leaf shown on every page",
            [ALL_ROWS, *rules],
            format_func=lambda leaf: partition.names.get(leaf, leaf_name(ALL_ROWS)),
            help="You can also click a leaf in a chart or in a table, or a branch of the tree.",
            **choice("leaf"),
        )
        leaf = workspace().leaf
        if leaf != ALL_ROWS:
            st.caption(plain(rules[leaf]))
            st.button("Show all rows", icon=":material/close:", on_click=_show_all)
    return leaf


def _show_all() -> None:
    update(leaf=ALL_ROWS)


def class_picker(classes: tuple[str, ...]) -> None:
    """Offer the classes in the sidebar, if any; pages show the chosen one against all others."""
    show_known_class(classes)
    if not classes:
        return
    with st.sidebar:
        st.divider()
        st.selectbox(
            "Class shown on every page",
            classes,
            help="Pages show one class against all others; Results starts with all classes.",
            **choice("class_shown"),
        )


def show_known_class(classes: tuple[str, ...]) -> None:
    """Look at the first class, or at none, where the one in the address is of another label."""
    if workspace().class_shown not in (classes or (None,)):
        update(class_shown=classes[0] if classes else None)
        run_again()  # the address has been written already


def leaf_name(leaf: int) -> str:
    """Name a leaf as every page does."""
    if leaf == ALL_ROWS:
        return "All rows"
    return f"Leaf {leaf}" if leaf > ALL_ROWS else f"Branch {-leaf}"


def shown(value: float, form: str) -> str:
    """Write a number, or a dash where it is not defined."""
    return DASH if math.isnan(value) else format(value, form)


def one_of(label: str, options: tuple[str, ...], key: str) -> str:
    """Offer a few options; the choice lasts across pages."""
    return st.segmented_control(label, options, default=options[0], required=True, **kept(key))


def cards(*numbers: tuple[str, ...]) -> None:
    """Draw numbers side by side: label, value, where a word needs it an explanation, and a note."""
    with st.container(horizontal=True):  # unlike columns, it wraps before a number is cut off
        for label, value, *more in numbers:
            help_text, note = (*more, None, None)[:2]
            st.metric(
                label,
                value,
                note,
                help=help_text,
                border=True,
                height="stretch",
                delta_color="off",
                delta_arrow="off",
            )


def definitions(*terms: str, label: str = "What the numbers mean") -> None:
    """Offer what the numbers of a page or a chart mean, one click away."""
    with st.popover(label, icon=":material/menu_book:"):
        for term in terms:
            st.markdown(f"**{term}.** {DEFINITIONS[term]}")


def say_computed_on(words: str) -> None:
    """Say what the numbers were computed on, and offer all rows in place of a sketch."""
    st.caption(plain(words))
    if words == SKETCHED or workspace().all_rows:
        st.toggle(
            "Compute on all rows",
            help="Exact numbers, but with a million test rows every change of the maps takes "
            "several seconds.",
            **choice("all_rows"),
        )


def chart(figure: go.Figure, key: str, alt: str, how: str) -> None:
    """Draw a figure, with a text for those who cannot see it and one line on how to read it."""
    st.plotly_chart(figure, key=key, alt=alt, config=PLAIN)
    below_chart(figure, key, how)


def leaf_chart(figure: go.Figure, key: str, alt: str, how: str) -> None:
    """Draw a figure in which a click on a leaf chooses it."""
    clicked = partial(_figure_clicked, key)
    # A chart that stays as it is keeps its selection, and a second click on it would undo it.
    figure.update_layout(meta=st.session_state.get(f"{key}_clicks", 0))
    st.plotly_chart(
        figure, key=key, on_select=clicked, selection_mode="points", alt=alt, config=PLAIN
    )
    below_chart(figure, key, f"{how} Click a leaf to choose it.")


def mark_panels(key: str, leaves: Iterable[int], chosen: Collection[int]) -> None:
    """Make the titles of the panels of chosen leaves bold; one without rows has none."""
    panels = {leaf: i for i, leaf in enumerate(each for each in leaves if each != ALL_ROWS)}
    places = [panels[leaf] for leaf in chosen if leaf in panels]
    _make_bold(key, [f'.annotation[data-index="{place}"] text' for place in places])


def mark_names(key: str, chosen: Iterable[int], axes: str = "y") -> None:
    """Make the names of chosen leaves beside axes bold: a rule with its number, or the number."""
    names = [
        name
        for leaf in chosen
        for name in ([f'$="({leaf})"', f'="{leaf}"'] if leaf else [f'="{leaf_name(leaf)}"'])
    ]
    _make_bold(
        key, [f".{axis}tick text[data-unformatted{name}]" for axis in axes for name in names]
    )


def _make_bold(key: str, texts: Iterable[str]) -> None:
    """Make texts of a chart bold without the figure, which would be drawn anew, all of it.

    Letters with an outline take no more room, and Plotly has none left.
    """
    chosen = ", ".join(f".st-key-{key} {text}" for text in texts)
    st.html(f"<style>{chosen} {{stroke: currentColor; stroke-width: 0.6px}}</style>")


def scrolled(leaves: int) -> DeltaGenerator:
    """Make room for a picture with a line for every leaf; of many it scrolls beside the rest."""
    many = leaves > MANY_LEAVES
    return st.container(height=SCROLLED if many else "content", border=many)


def rung_chart(
    figure: go.Figure, key: str, alt: str, how: str, take: Callable[[str], None]
) -> None:
    """Draw the ladder, in which a click on a rung takes it."""

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            take(str(_first_of(points[0])))

    st.plotly_chart(
        figure, key=key, on_select=clicked, selection_mode="points", alt=alt, config=PLAIN
    )
    below_chart(figure, key, f"{how} Click a rung to use it.")


def below_chart(figure: go.Figure, key: str, how: str) -> None:
    """Say how to read a chart, and offer its data."""
    name = f"{key}.csv"
    with st.container(horizontal=True, gap="small"):
        with st.container(width="stretch"):  # or a long line would push the button below it
            how_to_read(how)
        st.download_button(
            "CSV",
            _held(lambda: table_bytes(figure_table(figure), name), name, "text/csv"),
            name,
            "text/csv",
            key=f"{key}_csv",
            help="The data of this chart",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
            width="content",
        )


def how_to_read(text: str) -> None:
    """Add one line on how to read the chart or table above it."""
    st.caption(f":material/lightbulb: {unbroken(text)}")


def downloads(
    files: dict[str, Callable[[], bytes | str]], key: str = "download", first: str = "secondary"
) -> None:
    """Offer files side by side, each made when clicked; `first` is the type of the first button."""
    with st.container(horizontal=True):
        for i, (name, make) in enumerate(files.items()):
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            st.download_button(
                name,
                _held(make, name, kind),
                name,
                kind,
                key=f"{key}_{name}",
                on_click="ignore",
                icon=":material/download:",
                type="secondary" if i else first,
            )


def _held(make: Callable[[], bytes | str], name: str, kind: str) -> Callable[[], bytes]:
    """Make a file that the server holds until the browser has fetched it.

    Streamlit drops a file that was made by a click as soon as two pages were drawn, of whomever,
    which may be before the browser has asked for it. One that a session shows it holds until that
    is drawn again; so what is held is shown by a session of its own, which nobody draws.
    """
    session = get_script_run_ctx()

    def made() -> bytes:
        content = make()
        content = content.encode() if isinstance(content, str) else content
        files, apart = get_instance().media_file_mgr, copy(session)
        apart.session_id = f"held {uuid4()}"
        hold = partial(files.add, content, kind, name, name, True)
        holding = add_script_run_ctx(Thread(target=hold), apart)
        holding.start()
        holding.join()
        later = Timer(FETCHED, files.clear_session_refs, [apart.session_id])
        later.daemon = True
        later.start()
        return content

    return made


def _figure_clicked(key: str) -> None:
    st.session_state[f"{key}_clicks"] = st.session_state.get(f"{key}_clicks", 0) + 1
    points = st.session_state[key]["selection"]["points"]
    update(leaf=_leaf_of(points[0]) if points else ALL_ROWS)


def _leaf_of(point: dict[str, Any]) -> int:
    return int(_first_of(point) or ALL_ROWS)


def _first_of(point: dict[str, Any]) -> Any:
    """Return what a mark stands for; None if it stands for nothing."""
    data = point.get("customdata")
    if isinstance(data, dict):
        data = data["0"]
    return data[0] if isinstance(data, list | tuple) else data
