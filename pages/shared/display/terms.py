"""The terms of a correction: curves of columns and heat maps of pairs."""

import streamlit as st

from hetcal.figures.terms import (
    CURVES_HOW,
    PAIR_HOW,
    curve_figure,
    curves_figure,
    logit_span,
    pair_figure,
)
from hetcal.partitions.terms import Pair, Terms
from hetcal.results.term_words import term_table, term_words
from hetcal.schemes.stages import AdditiveStage
from pages.shared.display.columns import TERMS
from pages.shared.display.messages import plain
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import PLAIN, below_chart, chart, how_to_read
from pages.shared.state import bound

SHOWN = "term_shown"  # of the session: the term that is enlarged
FEWEST_PAIRS, MOST_PAIRS = 2, 4  # shown at once; the others by their name
PAIR_WIDTH = 490  # pixels
ENLARGED_PAIR_HOW = f"{PAIR_HOW} All pairs have the same colours."


def show_terms(stage: AdditiveStage) -> None:
    """Show the curves, the most important first, one of them enlarged, and the pairs."""
    terms = stage.terms
    if not terms.terms:
        return
    shown = _pick(terms)
    if shown is not None:
        _enlarge(terms, shown)
    if terms.curves:
        st.subheader("What each column adds", anchor=False)
        figure = curves_figure(terms)
        st.plotly_chart(
            figure,
            key="calibration_curves",
            on_select=_curve_clicked,
            selection_mode="points",
            alt="What each column adds to the logit, the most important first",
            config=PLAIN,
        )
        below_chart(figure, "calibration_curves", f"{CURVES_HOW} Click a curve to enlarge it.")
    if terms.pairs:
        _show_pairs(terms)
    with st.expander(f"All {len(terms.terms)} terms as a table"):
        draw_table(
            term_table(terms),
            TERMS,
            key="calibration_terms",
            on_select=_row_clicked(terms),
            selection_mode="single-row",
        )
        how_to_read("Click a row to enlarge its term.")


def _pick(terms: Terms) -> str | None:
    """Offer all terms in a box that is searched by typing; return the one to enlarge."""
    names = term_table(terms)["term"].tolist()
    stored = st.session_state.get(SHOWN)
    shown = stored if stored in names else None
    st.selectbox(
        "Enlarge a column or a pair",
        names,
        placeholder="Type to search a column",
        width=420,
        **bound("calibration_term", shown, _enlarged),
    )
    return shown


def _enlarge(terms: Terms, name: str) -> None:
    term = next(each for each in terms.terms if each.name == name)
    table = term_table(terms).set_index("term")
    st.subheader(plain(name), anchor=False)
    st.markdown(
        f"From {plain(term_words(term))}. It makes up {table.at[name, 'share']:.1%} of what all "
        "terms do."
    )
    if isinstance(term, Pair):
        chart(
            pair_figure(term, logit_span(Terms(terms.pairs))),
            key="calibration_term_chart",
            alt=f"What {name} add together to the logit",
            how=ENLARGED_PAIR_HOW,
        )
    else:
        chart(
            curve_figure(term, logit_span(terms)),
            key="calibration_term_chart",
            alt=f"What {name} adds to the logit",
            how=CURVES_HOW,
        )


def _show_pairs(terms: Terms) -> None:
    by_share = term_table(terms)
    order = by_share.loc[by_share["columns"] == 2, "term"].tolist()
    pairs = sorted(terms.pairs, key=lambda each: order.index(each.name))
    carrying = int((by_share["columns"].head(terms.carrying) == 2).sum())
    small = pairs[: min(max(carrying, FEWEST_PAIRS), MOST_PAIRS)]
    span = logit_span(Terms(terms.pairs))
    st.subheader("What two columns add together", anchor=False)
    with st.container(horizontal=True):  # two side by side, or one in a narrow window
        for i, pair in enumerate(small):
            with st.container(width=PAIR_WIDTH):
                st.markdown(f"**{plain(pair.name)}**")
                st.plotly_chart(
                    pair_figure(pair, span),
                    key=f"calibration_pair_{i}",
                    alt=f"What {pair.name} add together to the logit",
                    config=PLAIN,
                )
    more = len(pairs) - len(small)
    others = f" The box above has {more} more." if more else ""
    how_to_read(f"{PAIR_HOW}{others}")


def _enlarged(name: str | None) -> None:
    st.session_state[SHOWN] = name


def _curve_clicked() -> None:
    points = st.session_state["calibration_curves"]["selection"]["points"]
    if points:
        data = points[0].get("customdata")
        _enlarged(data[0] if isinstance(data, list | tuple) else data)


def _row_clicked(terms: Terms):
    names = term_table(terms)["term"].tolist()

    def clicked() -> None:
        rows = st.session_state["calibration_terms"]["selection"]["rows"]
        _enlarged(names[rows[0]] if rows else None)

    return clicked
