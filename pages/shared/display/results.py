"""What pages show of a run: verdict, lift and scheme, and the results of all classes together."""

from functools import partial

import streamlit as st

from hetcal.artifacts.archive import SavedScheme
from hetcal.artifacts.saved_run import SavedRun
from hetcal.figures.ladder import LADDER_HOW, ladder_figure
from hetcal.figures.results import class_lift_figure, lift_figure, top_label_figure
from hetcal.metrics.delong import Lift
from hetcal.results.evaluation import Evaluation, metrics_table
from hetcal.results.ladder import ladder_table, price_in_words
from hetcal.results.words import DEFINITIONS, outcome, same_order, verdict
from hetcal.runs.run import Run
from hetcal.schemes.candidates import IDENTITY, in_words
from hetcal.schemes.choice import Choice
from pages.shared.display.columns import (
    ACCURACY,
    CLASS_METRICS,
    CLASSES,
    MACRO_AUC,
    NO_CONTROL,
    ONE_LABEL,
    ladder_columns,
)
from pages.shared.display.messages import plain, unbroken
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import cards, chart, how_to_read, rung_chart
from pages.shared.flow.flow import Flow
from pages.shared.state import bound, change_settings

CROSS_FITTED = (
    "Cross-fitted on validation and calibration rows; the test rows are not used. Of the schemes "
    "that may be chosen and are significantly better than your model in both AUC and log-loss, "
    "the simplest within one standard error of the best is recommended."
)


def show_verdict(evaluation: Evaluation, one_map: bool = False) -> None:
    """Show the verdict, in the colour of its outcome."""
    lift, rows, groups = evaluation.lift, evaluation.rows, evaluation.groups
    _say_outcome(lift, verdict(lift, rows, one_map, groups))


def show_lift(evaluation: Evaluation, key: str, one_map: bool = False) -> None:
    """Draw the lift with its interval, unless the ranking is unchanged."""
    lift, rows, groups = evaluation.lift, evaluation.rows, evaluation.groups
    if not same_order(lift):
        chart(
            lift_figure(lift, rows),
            key=key,
            alt=verdict(lift, rows, one_map, groups),
            how="Bar: 95 % interval of the lift. A gain is significant if it lies right of zero.",
        )


def show_scheme(choice: Choice | SavedScheme, *, at_length: bool = True) -> None:
    """Name the scheme in use and its kind, and say why it is used: at length, or on hover."""
    named, reason = f"In use: **{plain(scheme_in_words(choice))}**.", plain(choice.why)
    if at_length:
        st.markdown(f"{named} {reason}")
    else:
        st.markdown(named, help=reason)


def scheme_in_words(choice: Choice | SavedScheme) -> str:
    """Say what the scheme in use does, and of which kind it is."""
    if not isinstance(choice, Choice):
        return in_words(choice.chosen)
    rung = choice.candidates.set_index("name").loc[choice.chosen]
    return rung["words"] if rung["kind"] == "none" else f"{rung['words']} ({rung['kind']})"


def show_ladder(flow: Flow, key: str) -> None:
    """Draw what every scheme gives, with the price of the one in use, and let another be taken."""
    choice = flow.choice
    if not isinstance(choice, Choice):
        return
    rungs, measure = choice.candidates, choice.measure
    st.markdown(unbroken(price_in_words(rungs, choice.more, measure)))
    alt = f"{measure} of every scheme on rows that it was not fitted on, with and without the model"
    figure = ladder_figure(rungs, measure)
    if flow.climbable:
        # Another key for every rung in use, so that no mark stays selected.
        rung_chart(figure, f"{key}_{choice.chosen}", alt, LADDER_HOW, take=partial(_take, flow))
        _rung_buttons(flow, key)
    else:
        chart(figure, key=f"{key}_{choice.chosen}", alt=alt, how=LADDER_HOW)
    with st.expander("Table of the ladder"):
        draw_table(ladder_table(rungs, measure), ladder_columns(measure), NO_CONTROL)
        st.caption(CROSS_FITTED)


def _rung_buttons(flow: Flow, key: str) -> None:
    """Offer every rung that may be taken, and the way back to the recommended one."""
    rungs, used, recommended = flow.choice.candidates, flow.choice.chosen, flow.recommended
    free = rungs["allowed"] if flow.settings.only else rungs["allowed"] | True
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.pills(
            "Use another rung",
            rungs.loc[free, "name"].tolist(),
            required=True,
            format_func=lambda name: (
                rung_name(name) + (" (recommended)" if name == recommended else "")
            ),
            help="The schemes are not compared again.",
            **bound(f"{key}_rung", used, partial(_take, flow)),
        )
        if used != recommended:
            st.button(
                "Back to the recommended one",
                key=f"{key}_back",
                icon=":material/undo:",
                on_click=change_settings,
                kwargs={"take": None},
            )


def _take(flow: Flow, name: str) -> None:
    """Take a rung, unless the settings rule it out."""
    rungs = flow.choice.candidates.set_index("name")
    if flow.settings.only is None or rungs.at[name, "allowed"]:
        change_settings(take=None if name == flow.recommended else name)


def rung_name(name: str) -> str:
    """Name a rung in a few letters."""
    return {"identity": "leave it", "pooled": "one map", "additive": "curves"}.get(name, name)


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


def show_class_verdict(run: Run | SavedRun) -> None:
    """Say what to do with the model and why, and the numbers of all classes together."""
    found, choice = run.evaluation, run.choice
    _say_outcome(found.lift, _verdict(run))
    if choice is not None:
        show_scheme(choice)
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
        alt=_verdict(flow.whole),
        how="Bars: 95 % intervals of the lift, of all classes together and of each class against "
        "all others. A gain is significant if its bar lies right of zero.",
    )


def show_class_results(flow: Flow) -> None:
    """Show what calibration changed for all classes together."""
    run = flow.whole
    found, choice = run.evaluation, run.choice
    show_class_verdict(run)
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


def _say_outcome(lift: Lift, text: str) -> None:
    """Show a message about a lift, in the colour of its outcome."""
    bad = dict.fromkeys(("harm", "backwards"), st.error)
    show = {"gain": st.success, "unclear": st.info, "same": st.info, **bad}
    show[outcome(lift)](unbroken(text))


def _verdict(run: Run | SavedRun) -> str:
    found = run.evaluation
    parts = found.lift, found.rows, not run.divided, found.groups
    return verdict(*parts, several_classes=True)
