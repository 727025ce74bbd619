"""What pages show of a run: verdict, lift and scheme, and the results of all classes together."""

import streamlit as st

from hetcal.artifacts.saved_run import SavedRun
from hetcal.figures.results import class_lift_figure, lift_figure, top_label_figure
from hetcal.results.evaluation import Evaluation, metrics_table
from hetcal.results.words import DEFINITIONS, outcome, same_order, verdict
from hetcal.runs.run import Run
from hetcal.schemes.candidates import IDENTITY, in_words
from pages.shared.display.columns import (
    ACCURACY,
    CLASS_METRICS,
    CLASSES,
    MACRO_AUC,
    ONE_LABEL,
)
from pages.shared.display.messages import plain, unbroken
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import cards, chart, how_to_read
from pages.shared.flow.flow import Flow


def show_verdict(flow: Flow) -> None:
    """Show the verdict, in the colour of its outcome."""
    _say_outcome(flow.run.evaluation, _verdict(flow, flow.run))


def show_lift(flow: Flow, key: str) -> None:
    """Draw the lift with its interval, unless the ranking is unchanged."""
    evaluation = flow.run.evaluation
    if not same_order(evaluation.lift):
        chart(
            lift_figure(evaluation.lift, evaluation.rows),
            key=key,
            alt=_verdict(flow, flow.run),
            how="Bar: 95 % interval of the lift. A gain is significant if it lies right of zero.",
        )


def show_scheme(chosen: str, why: str, *, at_length: bool = True) -> None:
    """Name the scheme that calibrates, and say why it does: at length, or on hover."""
    named, reason = f"Scheme: **{plain(in_words(chosen))}**.", plain(why)
    if at_length:
        st.markdown(f"{named} {reason}")
    else:
        st.markdown(named, help=reason)


def ranking_words(flow: Flow) -> str:
    """Say how calibration changed the ranking inside each leaf, and the probabilities."""
    changed = flow.choice is None or flow.choice.chosen != IDENTITY.name
    log_loss = " The log-loss shows how much better the probabilities have become."
    return f"{_ranking_inside(flow)}{log_loss if changed else ''}"


def _ranking_inside(flow: Flow) -> str:
    same = same_order(flow.run.evaluation.lift)
    if flow.classes and not same:
        return "A map changes all classes at once, so the ranking inside a leaf can change, too."
    if not flow.run.applied:
        return (
            "The scheme divides the rows more finely than these leaves, so the ranking inside them "
            "changes, too."
        )
    if same:
        return "The ranking of all rows is unchanged, within leaves and between them."
    if all(each.shape.rises for each in flow.run.calibrator.maps_):
        return (
            "The ranking within a leaf is unchanged, and so is its AUC: the lift comes from the "
            "ranking between leaves."
        )
    return "A decreasing map reverses the ranking inside its leaf; an increasing one keeps it."


def show_class_verdict(flow: Flow) -> None:
    """Say what to do with the model and why, and the numbers of all classes together."""
    found, choice = flow.whole.evaluation, flow.whole.choice
    _say_outcome(found, _verdict(flow, flow.whole))
    if choice is not None:
        show_scheme(choice.chosen, choice.why)
    before, after = found.before, found.after
    cards(
        ("Macro AUC before", f"{before.macro_auc:.4f}", MACRO_AUC),
        ("Macro AUC after", f"{after.macro_auc:.4f}", MACRO_AUC),
        ("Log-loss", f"{before.log_loss:.4f} → {after.log_loss:.4f}", DEFINITIONS["Log-loss"]),
        ("Accuracy", f"{before.accuracy:.1%} → {after.accuracy:.1%}", ACCURACY),
    )


def show_class_lifts(flow: Flow) -> None:
    """Draw the lift of every class."""
    found = flow.whole.evaluation
    chart(
        class_lift_figure(found, flow.shown),
        key="classes_lift",
        alt=_verdict(flow, flow.whole),
        how="Bars: 95 % intervals of the lift, of all classes together and of each class against "
        "all others. A gain is significant if its bar lies right of zero.",
    )


def show_class_results(flow: Flow) -> None:
    """Show what calibration changed for all classes together."""
    run = flow.whole
    found, choice = run.evaluation, run.choice
    show_class_verdict(flow)
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Class by class", anchor=False)
        show_class_lifts(flow)
    with right:
        st.subheader("Top label", anchor=False)
        chart(
            top_label_figure(found.by_class.top_label),
            key="classes_top_label",
            alt="Share of right top labels against the probability of the top label",
            how="On the diagonal, a top label with a probability of 80 % is right 80 % of the "
            "time. Below it, the model is over-confident.",
        )
    draw_table(found.by_class.table, CLASSES, ONE_LABEL)
    compared = metrics_table(found, None if choice is None else in_words(choice.chosen))
    draw_table(compared, CLASS_METRICS)
    how_to_read(
        "One map for all rows corrects the probabilities; separate maps in the leaves also correct "
        "the ranking between leaves."
    )


def show_shown_class(flow: Flow) -> None:
    """Say which class the rest of the page is about."""
    st.subheader(f"Class {plain(flow.shown)} against all others", anchor=False)
    st.caption(
        "Below, rows of this class are positive and all others negative. Choose the class in the "
        "sidebar."
    )


def _say_outcome(evaluation: Evaluation, text: str) -> None:
    """Show a message about a result, in the colour of its outcome."""
    bad = dict.fromkeys(("harm", "backwards"), st.error)
    doubtful = dict.fromkeys(("columns", "ranking"), st.warning)
    show = {"gain": st.success, "unclear": st.info, "same": st.info, **doubtful, **bad}
    show[outcome(evaluation)](unbroken(text))


def _verdict(flow: Flow, run: Run | SavedRun) -> str:
    """Say what to do with the model; the run of a page does not know what was found before it."""
    findings = flow.score_findings if flow.saved is None else flow.whole.findings
    ladder = None if run.choice is None else run.choice.candidates
    one_map = bool(flow.classes) and not flow.whole.divided
    return verdict(run.evaluation, run.kind, ladder, findings, one_map=one_map)
