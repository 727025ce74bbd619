"""Messages in the user's words, safe to show."""

import streamlit as st

from hetcal.errors import HetcalError

MARKDOWN_SIGNS = "\\`*_{}[]<>#$~|:"


def show_error(error: HetcalError) -> None:
    """Say what is wrong, what is needed and what to do."""
    text = f"**{plain(error.wrong)}**\n\n{plain(error.needed)} {plain(error.remedy)}"
    st.error(text, icon=":material/error:")


def plain(text: str) -> str:
    """Keep Markdown from reading signs in the user's own names."""
    return "".join(f"\\{sign}" if sign in MARKDOWN_SIGNS else sign for sign in text)
