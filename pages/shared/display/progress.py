"""A progress bar for passes over the rows."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context

import streamlit as st

from hetcal.errors import HetcalError
from hetcal.progress import Progress

PATIENCE = 0.4  # seconds without a bar; what ends before needs none


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Draw a progress bar, if the work takes long enough.

    Each time that the bar is drawn Streamlit ends the work if the user has left the page or
    has changed a control.
    """
    place, started = st.empty(), time.monotonic()
    # A cached function would draw again, on every later call, what was drawn inside it.
    outside = copy_context()

    def report(done: float, doing: str) -> None:
        if time.monotonic() - started > PATIENCE:
            outside.run(place.progress, min(max(done, 0.0), 1.0), f"{doing} …")

    try:
        yield report
    except HetcalError:
        place.empty()
        raise
    place.empty()
