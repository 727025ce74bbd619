"""Marks beside the pages in the menu: what is done, what is needed, where there is a finding."""

import streamlit as st

from pages.shared.state import current_run, workspace

DONE, NEEDED, FOUND = ("✓", "#009E73"), ("●", "#E69F00"), ("!", "#D55E00")
# The mark has no words of its own: a screen reader says the name of the page, which says the rest.
RULE = """[data-testid="stSidebar"] a[href^="{page}?"]::after {{
    content: "{sign}" / ""; color: {colour}; font-weight: 600; line-height: 1; margin-left: auto;
}}"""


def mark_menu() -> None:
    """Mark the pages of this run, by what is known of it without computing anything."""
    run = current_run()
    if run is None:
        return
    here, about = workspace(), run.about
    marks = {}
    if here.saved is None:
        marks["data"] = DONE if about.get("label") else NEEDED
        marks["scores"] = DONE if here.scoring else NEEDED
    if "lift" in about:
        marks |= dict.fromkeys(("partition", "calibration", "results"), DONE)
    if "marked" in about:  # runs of the command line do not have it before they are looked at
        marks |= {"overconfidence": DONE} | dict.fromkeys(about["marked"], FOUND)
    rules = [
        RULE.format(page=page, sign=sign, colour=colour) for page, (sign, colour) in marks.items()
    ]
    st.html(f"<style>{''.join(rules)}</style>")
