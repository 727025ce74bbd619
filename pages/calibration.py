"""Calibration: one Platt map per leaf, fitted on the calibration rows."""

import streamlit as st

from hetcal.calibration_figures import maps_figure, slope_intercept_figure
from hetcal.leaf_calibrator import maps_table
from pages.shared.frame import how_to_read, need_run, open_page
from pages.shared.messages import plain
from pages.shared.state import setting
from pages.shared.widgets import leaf_picker, leaf_rows

open_page(
    "Calibration",
    "In every leaf a logistic regression turns the logit *s* into a probability, "
    "σ(slope · *s* + intercept). It is fitted by plain maximum likelihood on the "
    "**calibration rows**, which neither the network nor the tree has seen.",
)
flow = need_run()
leaf = leaf_picker(flow.partition)
st.number_input(
    "Fewest calibration rows for a map of its own",
    10,
    100_000,
    step=10,
    width=320,
    help="A leaf with fewer rows, one class, separated classes or a slope that is not positive "
    "uses the pooled map, fitted on all leaves together: never the raw score.",
    **setting("min_rows"),
)
calibrator = flow.run.calibrator
for note in calibrator.notes_:
    st.warning(plain(note), icon=":material/warning:")
flagged = [each for each in calibrator.maps_ if each.fallback]
if flagged:
    names = ", ".join(f"leaf {each.leaf} ({each.fallback})" for each in flagged)
    st.warning(f"Uses the pooled map: {names}.", icon=":material/flag:")

maps, plane = st.columns(2, gap="large")
with maps:
    st.subheader("The maps", anchor=False)
    st.plotly_chart(
        maps_figure(calibrator.pooled_, calibrator.maps_, leaf or None, flow.score_range),
        key="calibration_maps",
        alt="Calibrated probability against score for every leaf",
    )
    how_to_read(
        "Flatter than the dotted line: scores are over-confident there. Shifted up or down: the "
        "leaf's rows are more or less often positive than the score says."
    )
with plane:
    st.subheader("Between the network and the tree", anchor=False)
    st.plotly_chart(
        slope_intercept_figure(calibrator.pooled_, calibrator.maps_, leaf or None),
        key="calibration_plane",
        alt="Slope and intercept of every leaf with 95 % intervals",
    )
    how_to_read(
        "Slope 1 and intercept 0 keep the network as it is; slope 0 is the tree alone. Bars are "
        "95 % intervals; hollow leaves use the pooled map."
    )

number = st.column_config.NumberColumn
leaf_rows(
    maps_table(calibrator, flow.partition),
    key="calibration_table",
    columns={
        "leaf": number("leaf", width=50, help="0: the pooled map"),
        "rule": st.column_config.TextColumn("rule", width=300),
        "rows": number("calib. n", format="localized"),
        "positives": number("positive n", format="localized"),
        "slope": number("slope", format="%.3f"),
        "slope_se": number("± s.e.", format="%.3f"),
        "intercept": number("intercept", format="%+.3f"),
        "intercept_se": number("± s.e. ", format="%.3f"),
        "fallback": st.column_config.TextColumn("pooled map because"),
    },
)
