"""A progress bar for long work: what is done now, the time left, and a way to cancel."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from hetcal.errors import HetcalError
from hetcal.progress import Progress, TimeLeft

PATIENCE = 0.4  # seconds without a bar; what ends before needs none


@contextmanager
def shown_progress(cancel: Callable[[], None] | None = None) -> Iterator[Progress]:
    """Draw a progress bar, if the work takes long enough, with a button if it can be cancelled.

    Each time that the bar is drawn Streamlit ends the work if the user has left the page, has
    changed a control or has pressed the button; it calls `cancel` before it runs the page again.
    """
    place, started, time_left = st.empty(), time.monotonic(), TimeLeft()
    # A cached function would draw again, on every later call, what was drawn inside it.
    outside, bars = copy_context(), list[DeltaGenerator]()

    def report(done: float, doing: str) -> None:
        share, left = min(max(done, 0.0), 1.0), time_left.after(done)
        if time.monotonic() - started <= PATIENCE:
            return
        if not bars:
            bars.append(outside.run(_frame, place, cancel))
        outside.run(bars[0].progress, share, f"{doing} … {share:.0%}{left and f', {left}'}")

    try:
        yield report
    except HetcalError:
        place.empty()
        raise
    place.empty()


def cancel_button(place: DeltaGenerator, label: str, cancel: Callable[[], None]) -> None:
    """Draw the button that ends running work."""
    place.button(label, icon=":material/stop_circle:", on_click=cancel)


def _frame(place: DeltaGenerator, cancel: Callable[[], None] | None) -> DeltaGenerator:
    """Draw what stays while the bar moves, and return the place of the bar."""
    if cancel is None:
        return place
    box = place.container(border=True)
    bar = box.empty()
    cancel_button(box, "Cancel", cancel)
    return bar
