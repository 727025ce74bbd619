"""What pages show of a run: verdict, lift and scheme, and the results of all classes together."""

import math
import re
from collections.abc import Sequence
from functools import partial

import streamlit as st

from hetcal.artifacts.archive import SavedScheme
from hetcal.choices import plain_name
from hetcal.figures.ladder import LADDER_HOW, ladder_figure
from hetcal.figures.results import (
    change_figure,
    class_lift_figure,
    pair_gain_figure,
    top_label_figure,
)
from hetcal.metrics.metrics import LossChange
from hetcal.results.conditions import Condition
from hetcal.results.contributions import gains_in_words
from hetcal.results.evaluation import Evaluation, metrics_table
from hetcal.results.ladder import ladder_table, price_in_words, worth_in_words
from hetcal.results.overconfidence import OVERCONFIDENT, state_of_model
from hetcal.results.words import DEFINITIONS, Outcome, measured_on, outcome, same_order, verdict
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
from pages.shared.display.messages import plain, unbroken, without_options
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import (
    cards,
    chart,
    definitions,
    how_to_read,
    mark_names,
    rung_chart,
    shown,
)
from pages.shared.flow.applied import changes_inside, measures_inside, pairs_of
from pages.shared.flow.flow import Flow
from pages.shared.links import page_link
from pages.shared.state import bound, change_settings, update

CROSS_FITTED = (
    "Compared on validation and calibration rows, by fits that have not seen them: lifts, and what "
    "the network adds, differ from those on test rows."
)
RECOMMENDED = (
    "Of the schemes that may be chosen and are significantly better than your model in both AUC "
    "and log-loss, the simplest is recommended whose lift falls short of the best by no more than "
    "one standard error of the difference between the two. 'Best, also a second model' takes the "
    "best itself, and asks for one standard error only."
)
NOT_ALGORITHM_1 = (
    "The rung 'one tree' has maps fitted on all of these rows; Algorithm 1 of the paper, on the "
    "Partition page, fits the maps of the same tree on calibration rows only."
)

OF_THE_LADDER = (
    "Rung",
    "Cross-fitted",
    "Lift",
    "Without the network",
    "Network adds",
    "Numbers and time",
    "Kinds of schemes",
)
LEVELS = {
    "holds": ("green", "check", "yes"),
    "open": ("orange", "question_mark", "not known"),
    "fails": ("red", "close", "no"),
}
TAKE_IT = (
    "Score new rows with what was found here: download the artifact.",
    "pages/export.py",
    "To the download",
)
NEXT_STEPS: dict[Outcome, tuple[str, str, str]] = {
    "gain": TAKE_IT,
    "columns": (
        "Check that these scores belong to these rows. If they do, replace the model.",
        "pages/scores.py",
        "To the scores",
    ),
    "ranking": (
        "Use it to rank rows, or calibrate on rows that are like the test rows.",
        "pages/data.py",
        "To the roles of the rows",
    ),
    "harm": (
        "Keep the model as it is: take 'leave it' where schemes are compared.",
        "pages/partition.py",
        "To the schemes",
    ),
    "same": (
        "Nothing. Look again when the model or its rows change.",
        "pages/overconfidence.py",
        "See how well it fits",
    ),
    "unclear": (
        "Keep the model as it is. More test rows would tell smaller lifts from zero.",
        "pages/data.py",
        "To the roles of the rows",
    ),
    "backwards": (
        "Check the positive value of the label, and the sign of the score.",
        "pages/data.py",
        "To the label",
    ),
}
"""What to do after each outcome, and the page where that is done."""
ANOTHER_ORDER = "the lift may come from others: *Where the lift comes from* on Results."
WORST = 2  # leaves that are named beside the verdict
MEASURED = re.compile(r"(?:Macro )?AUC \d")


def show_verdict(flow: Flow) -> None:
    """Show the verdict, in the colour of its outcome, and what to do."""
    state = "" if flow.classes else state_of_model(flow.diagnosis)
    _say_verdict(flow.run.evaluation, _verdict(flow), state)
    if state == OVERCONFIDENT:
        _say_where(flow)
    if not flow.classes:
        _say_next_step(flow.run.evaluation)


def show_numbers(found: Evaluation) -> None:
    """Show what the scheme reaches on the test rows, without the network, and what that adds."""
    lift, loss, adds = found.lift, found.loss, found.network_adds
    measure, meaning = ("AUC", DEFINITIONS["AUC"])
    if found.by_class is not None:
        measure, meaning = "Macro AUC", MACRO_AUC
    before, after = found.before.log_loss, found.after.log_loss
    more = ()
    if found.by_class is not None:
        accuracy = f"{found.before.accuracy:.1%} → {found.after.accuracy:.1%}"
        more = (("Accuracy", accuracy, ACCURACY),)
    if adds is not None and adds.before != 0.5:  # a map that reads no column is nothing without it
        alone = f"{DEFINITIONS['Without the network']} It reaches {adds.before:.4f}."
        more = (
            *more,
            (
                "Network adds to this scheme",
                f"{adds.auc:+.4f}",
                f"{DEFINITIONS['Network adds']} {alone}",
                _between(adds.low, adds.high),
            ),
        )
    cards(
        (f"{measure} before", f"{lift.before:.4f}", meaning),
        (
            f"{measure} after",
            f"{lift.after:.4f}",
            meaning,
            _change(lift.auc, lift.low, lift.high),
        ),
        (
            "Log-loss",
            f"{before:.4f} → {after:.4f}",
            DEFINITIONS["Log-loss"],
            _change(after - before, -loss.high, -loss.low),
        ),
        *more,
    )


def _change(value: float, low: float, high: float) -> str:
    """Write a change with its interval, where it has one."""
    if value == low == high == 0:
        return "unchanged"
    return f"{value:+.4f} {_between(low, high)}".strip()


def _between(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"({low:+.4f} to {high:+.4f})"


def show_inside(flow: Flow, leaf: int) -> None:
    """Show how right the probabilities of a leaf or branch are on test rows, before and after."""
    before, after = measures_inside(flow, leaf)
    changes = changes_inside(flow, leaf) or (None, None)
    kinds = ("Log-loss", "log_loss"), ("Brier score", "brier")
    cards(
        *(
            (
                f"{label}, these rows",
                f"{shown(getattr(before, name), '.4f')} → {shown(getattr(after, name), '.4f')}",
                DEFINITIONS[label],
                *_fallen(change),
            )
            for (label, name), change in zip(kinds, changes, strict=True)
        )
    )


def _fallen(change: LossChange | None) -> tuple[str, ...]:
    """Write the change of a loss with its interval, where it is known."""
    if change is None or math.isnan(change.fall):
        return ()
    return (_change(-change.fall, -change.high, -change.low),)


def show_change(flow: Flow, key: str) -> None:
    """Draw ranking and probabilities before and after, unless nothing was changed."""
    found = flow.run.evaluation
    if same_order(found.lift) and not found.loss.fall:
        return
    chart(
        change_figure(found),
        key=key,
        alt=_verdict(flow),
        how="Bars: 95 % intervals of the change. It is significant if its bar does not reach back "
        "to the blue mark. The closer the hollow mark, the less the network adds.",
    )


def show_conditions(flow: Flow) -> None:
    """Show the three conditions under which calibrating leaf by leaf helps."""
    st.subheader("Is there something to gain? What a lift needs", anchor=False)
    _draw_conditions(flow.conditions)


def show_first_conditions(flow: Flow) -> None:
    """Show the three conditions before anything is fitted to the scores."""
    st.subheader("Before anything is fitted: what a lift needs", anchor=False)
    _draw_conditions(flow.first_conditions)
    how_to_read(
        "Measured on test rows, with the leaves of a tree of the labels of train rows. The "
        "Overview has the same numbers after calibration."
    )


def _draw_conditions(conditions: Sequence[Condition]) -> None:
    with st.container(key="conditions"):
        places = st.columns(3)
    for place, each in zip(places, conditions, strict=True):
        colour, icon, word = LEVELS[each.level]
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{each.name}** :{colour}-badge[:material/{icon}: {word}]")
            st.markdown(f"{each.number} before, {each.after} after" if each.after else each.number)
            st.caption(plain(each.reason))


def show_scheme(flow: Flow, *, at_length: bool = True) -> None:
    """Name the scheme in use and its kind, and say why it is used: at length, or on hover."""
    used = in_use(flow.run.evaluation)
    if flow.choice is not None:
        show_choice(flow.choice, used, at_length=at_length)
    else:
        leaves = len(flow.partition.leaves)
        st.markdown(f"{used}: **a map in each of {leaves} leaves** (calibration).")


def in_use(found: Evaluation) -> str:
    """Say that a scheme is in use, and of a model to be replaced for how long."""
    return "In use until the model is replaced" if outcome(found) == "columns" else "In use"


def show_choice(
    choice: Choice | SavedScheme, used: str = "In use", *, at_length: bool = True
) -> None:
    """Name a scheme and its kind, and say why it is used."""
    named, reason = f"{used}: **{plain(scheme_in_words(choice))}**.", plain(choice.why)
    if at_length:
        st.markdown(f"{named} {reason}")
    else:
        st.markdown(named, help=reason)


def scheme_in_words(choice: Choice | SavedScheme) -> str:
    """Say what the scheme in use does, and of which kind it is."""
    if choice.candidates is None:
        return in_words(choice.chosen)
    rung = choice.candidates.set_index("name").loc[choice.chosen]
    if rung["kind"] == "none":
        return rung["words"]
    return f"{plain_name(choice.chosen)} – {rung['words']} ({rung['kind']})"


def show_ladder(flow: Flow, key: str) -> None:
    """Draw what every scheme gives, with the price of the one in use, and let another be taken."""
    if flow.choice is not None and flow.choice.candidates is not None:
        st.subheader("What would help how much", anchor=False)
        draw_ladder(flow, key)
    offer_comparison(flow, key)


def offer_comparison(flow: Flow, key: str) -> None:
    """Offer to compare all schemes, where one was chosen by name."""
    if flow.saved is None and not flow.climbable:
        st.button(
            "Compare all schemes",
            key=f"{key}_compare",
            icon=":material/stairs:",
            help="Fits every scheme, with and without your network, and recommends one.",
            on_click=_compare,
        )


def draw_ladder(flow: Flow, key: str) -> None:
    """Draw the ladder, with the price of the rung in use and what it reaches on test rows."""
    choice, found = flow.choice, flow.whole.evaluation
    where, lift = measured_on(found.rows, found.groups), found.lift
    reached = f"The one in use on {where}: {_change(lift.auc, lift.low, lift.high)}."
    rungs, measure = choice.candidates, choice.measure
    more = choice.more if isinstance(choice, Choice) else None
    st.markdown(unbroken(f"{price_in_words(rungs, more, measure)} {reached}"))
    worth = worth_in_words(rungs, measure)
    if worth:
        st.markdown(unbroken(f"**What your network is worth:** {worth}"))
    st.caption(CROSS_FITTED)
    alt = f"{measure} of every scheme on rows that it was not fitted on, with and without the model"
    figure, key_now = ladder_figure(rungs, measure), f"{key}_{choice.chosen}"
    if flow.climbable:
        # Another key for every rung in use, so that no mark stays selected.
        rung_chart(figure, key_now, alt, LADDER_HOW, take=partial(_take, flow))
        _rung_buttons(flow, key)
    else:
        chart(figure, key_now, alt, LADDER_HOW)
    with st.expander("Table of the ladder"):
        draw_table(ladder_table(rungs, measure), ladder_columns(measure), NO_CONTROL)
        one_tree = "tree" in rungs["name"].tolist()
        st.caption(f"{RECOMMENDED} {NOT_ALGORITHM_1}" if one_tree else RECOMMENDED)
    definitions(*OF_THE_LADDER, label="What the ladder shows")


def _compare() -> None:
    update(partition=None)
    change_settings(partition="auto", take=None)


def _rung_buttons(flow: Flow, key: str) -> None:
    """Offer every rung that may be taken, and the way back to the recommended one."""
    rungs, used, recommended = flow.choice.candidates, flow.choice.chosen, flow.recommended
    free = rungs["allowed"] if flow.settings.only else rungs["allowed"] | True
    mark = f" ({standing(flow)})"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.pills(
            "Use another rung",
            rungs.loc[free, "name"].tolist(),
            required=True,
            wrap=True,
            format_func=lambda name: plain_name(name) + (mark if name == recommended else ""),
            help="The schemes are not compared again.",
            **bound(f"{key}_rung", used, partial(_take, flow)),
        )
        if used != recommended:
            st.button(
                f"Back to {plain_name(recommended)}{mark}",
                key=f"{key}_back",
                icon=":material/undo:",
                on_click=change_settings,
                kwargs={"take": None},
            )


def standing(flow: Flow) -> str:
    """Call the scheme that hetcal chose recommended, unless the model adds nothing to it."""
    own = flow.choice.candidates.set_index("name").loc[flow.recommended]
    return "default" if own["kind"] != "none" and own["adds_low"] <= 0 else "recommended"


def _take(flow: Flow, name: str) -> None:
    """Take a rung, unless the settings rule it out."""
    rungs = flow.choice.candidates.set_index("name")
    if flow.settings.only is None or rungs.at[name, "allowed"]:
        change_settings(take=None if name == flow.recommended else name)


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
    run = flow.whole
    found = run.evaluation
    _say_verdict(found, run.verdict)
    _say_next_step(found)
    show_numbers(found)
    show_reasons(flow)
    if run.choice is not None:
        show_choice(run.choice, in_use(found))


def show_class_lifts(flow: Flow) -> None:
    """Draw the lift of every class."""
    found = flow.whole.evaluation
    chart(
        class_lift_figure(found, flow.shown),
        key="classes_lift",
        alt=flow.whole.verdict,
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


def _say_verdict(found: Evaluation, text: str, state: str = "") -> None:
    """Show a verdict in the colour of its outcome: the answer, and its number."""
    show = {
        "gain": st.success,
        "columns": st.warning,
        "ranking": st.warning,
        "harm": st.error,
        "backwards": st.error,
    }.get(outcome(found), st.info)
    (answer, *number), _ = _sentences(text)
    show(unbroken(f"**{f'{state} {answer}'.strip()}**\n\n{' '.join(number)}"))


def _sentences(text: str) -> tuple[list[str], list[str]]:
    """Divide a verdict into its answer with the number measured, and what stands behind it."""
    said = [f"{plain(each)}." for each in without_options(text).removesuffix(".").split(". ")]
    measured = next((i for i, each in enumerate(said) if MEASURED.match(each)), len(said))
    return said[: measured + 1], said[measured + 1 :]


def show_reasons(flow: Flow) -> None:
    """Show what stands behind the verdict, one click away."""
    _, reasons = _sentences(flow.whole.verdict)
    if reasons:
        with st.expander("The verdict at length"):
            st.markdown(unbroken("\n".join(f"- {each}" for each in reasons)))


def _say_where(flow: Flow) -> None:
    """Name the leaves that lose most on rows the model was not trained on, with a link to all."""
    ranked = flow.diagnosis.sort_values("rank")
    worst = ranked.loc[(ranked["leaf"] > 0) & (ranked["log_loss_gap"] > 0), "leaf"].head(WORST)
    if worst.empty:
        return
    named = " and ".join(f"*{plain(flow.partition.names[leaf])}*" for leaf in worst)
    with st.container(horizontal=True, vertical_alignment="center"):
        where = f"most is lost from train to test rows in {named}; {ANOTHER_ORDER}"
        st.markdown(f"**Where:** {where}", width="content")
        page_link("pages/overconfidence.py", "To every leaf")


def _say_next_step(found: Evaluation) -> None:
    """Say what to do after that outcome, with a link to where."""
    then = outcome(found)
    better = then in ("same", "unclear") and found.loss.low > 0  # probabilities, if not the order
    step, page, label = TAKE_IT if better else NEXT_STEPS[then]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**What to do:** {step}", width="content")
        page_link(page, label)


def _verdict(flow: Flow) -> str:
    """Return the verdict on what is shown: two classes, or one class against all others."""
    if not flow.classes:
        return flow.run.verdict
    whole = flow.whole
    return verdict(flow.run.evaluation, whole.kind, one_map=not whole.divided)


def show_pairs(flow: Flow, leaf: int) -> None:
    """Show which pairs of leaves the lift comes from, as a map and in words."""
    pairs = pairs_of(flow)
    names = flow.partition.names
    st.subheader("Which leaves changed places", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(
            pair_gain_figure(pairs, names),
            key="results_pairs",
            alt="Gain in AUC of every pair of leaves",
            how="The AUC counts pairs of a positive and a negative row; the cells add up to the "
            "lift. Orange: more of these pairs are in order than before.",
        )
        mark_names("results_pairs", flow.partition.members(leaf), axes="xy")
    with right:
        st.markdown("\n".join(f"1. {plain(each)}" for each in gains_in_words(pairs, names)))
