"""Messages, safe to show as Markdown."""

import re
from collections.abc import Iterable

import streamlit as st

from hetcal.data.checks import Finding
from hetcal.errors import HetcalError, without_controls
from hetcal.results.words import SCORE_FINDINGS

MARKDOWN_SIGNS = "\\`*_{}[]<>#$~|:"
OPTION = re.compile(r' \(--(?:"[^"]*"|[^)"])*\)')  # of the command line, in brackets


def show_error(error: HetcalError) -> None:
    """Say what is wrong, what is needed and what to do."""
    text = f"**{plain(error.wrong)}**\n\n{plain(error.needed)} {plain(error.remedy)}"
    st.error(text, icon=":material/error:")


def show_finding(finding: Finding) -> None:
    """Show a possible problem of data or scores."""
    warning = finding.level == "warning"
    show, icon = (st.warning, "warning") if warning else (st.info, "info")
    show(plain(without_options(finding.message)), icon=f":material/{icon}:")


def warn_of_score(findings: Iterable[Finding]) -> None:
    """Repeat on a later page what puts all results in doubt: a score that ranks nothing."""
    for finding in findings:
        if finding.code in SCORE_FINDINGS:
            show_finding(finding)


def without_options(text: str) -> str:
    """Leave out what only a command line can use.

    >>> without_options('Leave it out (--ignore "a (b)").')
    'Leave it out.'
    """
    return OPTION.sub("", text)


def unbroken(text: str) -> str:
    """Keep a number and its percent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def plain(text: str) -> str:
    """Keep Markdown from reading signs in the user's own names, and the screen controls."""
    return "".join(
        f"\\{sign}" if sign in MARKDOWN_SIGNS else sign for sign in without_controls(text)
    )
