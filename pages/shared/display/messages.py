"""Messages in the user's words, safe to show."""

import streamlit as st

from hetcal.artifacts.saved_run import SavedRun
from hetcal.data.checks import Finding
from hetcal.errors import HetcalError
from hetcal.metrics.delong import Lift
from hetcal.results.evaluation import Evaluation
from hetcal.results.words import outcome, same_order, verdict
from hetcal.runs.run import Run
from hetcal.schemes.candidates import in_words

MARKDOWN_SIGNS = "\\`*_{}[]<>#$~|:"


def show_error(error: HetcalError) -> None:
    """Say what is wrong, what is needed and what to do."""
    text = f"**{plain(error.wrong)}**\n\n{plain(error.needed)} {plain(error.remedy)}"
    st.error(text, icon=":material/error:")


def show_verdict(evaluation: Evaluation, one_map: bool = False) -> None:
    """Say what to do with the model, in the colour of what was found."""
    lift, rows, groups = evaluation.lift, evaluation.rows, evaluation.groups
    say_outcome(lift, verdict(lift, rows, one_map, groups))


def say_outcome(lift: Lift, text: str) -> None:
    """Say something about a lift in the colour of what was found."""
    bad = dict.fromkeys(("harm", "backwards"), st.error)
    show = {"gain": st.success, "unclear": st.info, "same": st.info, **bad}
    show[outcome(lift)](unbroken(text))


def show_scheme(chosen: str, why: str, *, at_length: bool = True) -> None:
    """Name the scheme that calibrates, and say why it does: at length, or on hover."""
    named, reason = f"Scheme: **{plain(in_words(chosen))}**.", plain(why)
    if at_length:
        st.markdown(f"{named} {reason}")
    else:
        st.markdown(named, help=reason)


def order_words(run: Run | SavedRun, lift: Lift) -> str:
    """Say what became of the order of the rows inside each leaf."""
    if not run.applied:
        return (
            "The scheme divides the rows more finely than these leaves, so the order inside them "
            "changes, too."
        )
    if same_order(lift):
        return "The order of all rows stays, in every leaf and between leaves."
    if all(each.shape.rises for each in run.calibrator.maps_):
        return (
            "Within a leaf the order of the rows stays, so its own AUC does too: the lift is the "
            "new order between leaves."
        )
    return "A decreasing map reverses the ranking inside its leaf; an increasing one keeps it."


def show_finding(finding: Finding) -> None:
    """Show what a careful reader would remark about the data."""
    if finding.level == "warning":
        st.warning(plain(finding.message), icon=":material/warning:")
    else:
        st.info(plain(finding.message), icon=":material/info:")


def unbroken(text: str) -> str:
    """Keep a number and its percent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def plain(text: str) -> str:
    """Keep Markdown from reading signs in the user's own names."""
    return "".join(f"\\{sign}" if sign in MARKDOWN_SIGNS else sign for sign in text)
