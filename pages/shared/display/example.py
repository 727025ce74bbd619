"""What the demo will show, before anything was pressed: found by hetcal, kept beside the page."""

import json
from pathlib import Path

import pandas as pd
import streamlit as st

from hetcal.figures.ladder import LADDER_HOW, ladder_figure
from pages.shared.display.messages import plain, unbroken
from pages.shared.display.widgets import chart

EXAMPLE = Path(__file__).with_name("example.json")
"""Written by ``python -m tests.pages.runs.demo_example``."""


@st.cache_data(show_spinner=False)
def _example() -> tuple[str, float, float, pd.DataFrame]:
    found = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    ladder = pd.DataFrame(found["ladder"]["data"], columns=found["ladder"]["columns"])
    return found["verdict"], found["before"], found["after"], ladder


def show_example() -> None:
    """Draw the ladder of the demo, with its verdict."""
    verdict, before, after, ladder = _example()
    with st.container(border=True):
        st.markdown(
            unbroken(
                f"**What the demo will show: {plain(verdict)}.** AUC {before:.3f} → {after:.3f} on "
                "test rows, for 16,000 synthetic customers and a network trained for too long."
            )
        )
        chart(
            ladder_figure(ladder),
            key="example_ladder",
            alt=f"The AUC that each scheme reaches in the demo. {verdict}.",
            how=LADDER_HOW,
        )
