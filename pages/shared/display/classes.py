"""What the pages say about all classes together."""

import streamlit as st

from hetcal.artifacts.saved_run import SavedRun
from hetcal.choices import CLASS_CALIBRATORS
from hetcal.figures.classes import class_lift_figure, class_maps_table, top_label_figure
from hetcal.results.evaluation import metrics_table
from hetcal.results.words import verdict
from hetcal.runs.run import Run, maps_in_words
from hetcal.schemes.candidates import in_words
from pages.shared.display.messages import plain, say_outcome
from pages.shared.display.tables import CLASS_MAPS, CLASS_METRICS, CLASSES, ONE_LABEL
from pages.shared.display.widgets import cards, chart, draw_table, how_to_read
from pages.shared.flow.flow import Flow
from pages.shared.state import choice as bound_choice

METHOD_NAMES = {"temperature": "Temperature", "vector": "Vector", "dirichlet": "Dirichlet"}


def show_class_verdict(run: Run | SavedRun) -> None:
    """Say what to do with the model and why, and the numbers of all classes together."""
    found, choice = run.evaluation, run.choice
    say_outcome(found.lift, _verdict(run))
    if choice is not None:
        st.markdown(
            f"Scheme: **{plain(in_words(choice.chosen))}**, chosen on validation and calibration "
            f"rows. {plain(choice.why)}"
        )
    before, after = found.before, found.after
    cards(
        (
            "Macro AUC before",
            f"{before.macro_auc:.4f}",
            "Mean of the AUCs of all classes, each against all others",
        ),
        ("Macro AUC after", f"{after.macro_auc:.4f}"),
        ("Log-loss", f"{before.log_loss:.4f} → {after.log_loss:.4f}", "Lower is better"),
        (
            "Accuracy",
            f"{before.accuracy:.1%} → {after.accuracy:.1%}",
            "Share of test rows whose most probable class is theirs",
        ),
    )


def show_class_lifts(flow: Flow) -> None:
    """Draw the lift of every class."""
    found = flow.whole.evaluation
    chart(
        class_lift_figure(found, flow.shown),
        key="classes_lift",
        alt=_verdict(flow.whole),
        how="Each bar is the 95 % interval of a lift: all classes together, then each class "
        "against all others. Only a bar clear of zero is a gain.",
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
            how="On the diagonal, of rows whose most probable class has 80 %, 80 % are of that "
            "class. Below it the model is too sure.",
        )
    draw_table(found.by_class.table, CLASSES, ONE_LABEL)
    ways = metrics_table(found, None if choice is None else in_words(choice.chosen))
    draw_table(ways, CLASS_METRICS)
    how_to_read(
        "One map for all rows corrects the probabilities; maps of the leaves also correct the "
        "ranking between leaves."
    )


def show_shown_class(flow: Flow) -> None:
    """Say which class the rest of the page is about."""
    st.subheader(f"Class {plain(flow.shown)} against all others", anchor=False)
    st.caption(
        "From here on one class counts as positive and all others as negative. Choose it in the "
        "sidebar."
    )


def _verdict(run: Run | SavedRun) -> str:
    found = run.evaluation
    parts = found.lift, found.rows, not run.divided, found.groups
    return verdict(*parts, several_classes=True)


def class_method_controls(flow: Flow) -> None:
    """Offer the maps for all classes, and list those that were fitted."""
    run = flow.whole
    if flow.saved is not None:
        chosen = METHOD_NAMES[run.calibrator.method]
        if run.choice is not None:
            chosen = in_words(run.choice.chosen)
        st.markdown(f"Map of all classes in the saved run: **{plain(chosen)}**.")
    elif run.choice is None:
        _offer_methods()
    else:
        st.markdown(
            f"Chosen for all classes: **{plain(in_words(run.choice.chosen))}**, see Partition; "
            "with One tree chosen there, the map is yours to choose."
        )
    st.caption(maps_in_words(run.calibrator, run.divided))
    with st.expander("The maps of all classes"):
        maps = class_maps_table(run.calibrator, run.partition, run.classes)
        draw_table(maps, CLASS_MAPS)
    source = "model as it is" if run.calibrator.pooled_.is_identity else "map of all classes"
    st.info(
        f"Results come from the {source}. The maps below are those of the class "
        f"{plain(flow.shown)} alone, against all others: they say what its scores deserve in "
        "every leaf.",
        icon=":material/info:",
    )


def _offer_methods() -> None:
    st.segmented_control(
        "Map of all classes",
        CLASS_CALIBRATORS,
        format_func=METHOD_NAMES.get,
        required=True,
        help="What happens to z, the logarithms of all probabilities of a row, before they "
        "are scaled to add up to 1. Temperature: one number times z. Vector: a weight and a "
        "bias for each class. Dirichlet: each class may also take from the others.",
        **bound_choice("class_method"),
    )
