"""The maps of the leaves, where each leaf has one, or the one map of all rows."""

from dataclasses import replace

import streamlit as st

from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.figures.calibration import maps_figure, slope_intercept_figure
from hetcal.partitions.partition import fallback_words, maps_table
from pages.shared.display.columns import errors_known, map_columns
from pages.shared.display.messages import plain
from pages.shared.display.tables import leaf_rows
from pages.shared.display.widgets import chart
from pages.shared.flow.flow import Flow

BARS = "Bars: 95 % intervals. Hollow points: leaves with the pooled slope. "
NO_BARS = "Maps of a scheme have no intervals. "


def show_maps(flow: Flow, leaf: int) -> None:
    """Show the maps of the leaves, or the one map of all rows, where they are what is applied."""
    calibrator = flow.run.calibrator
    if not flow.run.divided:
        _show_one_map(flow, calibrator.maps_[0])
        return
    if calibrator.shrinkage_table_ is not None:
        st.caption(f"Cross-validation chose the shrinkage {calibrator.shrinkage_:g}.")
    for note in calibrator.notes_:
        st.warning(plain(note), icon=":material/warning:")
    fallbacks = fallback_words(calibrator.maps_)
    if fallbacks:
        st.warning(f"Pooled slope, own intercept: {fallbacks}.", icon=":material/flag:")
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("The maps", anchor=False)
        chart(
            maps_figure(calibrator.pooled_, calibrator.maps_, leaf or None, flow.score_range),
            key="calibration_maps",
            alt="Calibrated probability against score for every leaf",
            how="Flatter than the dotted line: the scores of the leaf are over-confident. Shifted "
            "up or down: its rows are more or less often positive than the scores say.",
        )
    with right:
        st.subheader("Network or tree?", anchor=False)
        chart(
            slope_intercept_figure(calibrator.pooled_, calibrator.maps_, leaf or None),
            key="calibration_plane",
            alt="Slope and intercept of every leaf with 95 % intervals",
            how="Slope 1 and intercept 0 keep the network as it is; slope 0 is the tree alone. "
            f"{BARS if errors_known(calibrator) else NO_BARS}Hover over a leaf to see its numbers.",
        )
    table = maps_table(calibrator, flow.partition)
    columns = map_columns(calibrator, of_scheme=flow.choice is not None)
    leaf_rows(table, key="calibration_table", columns=columns)


def _show_one_map(flow: Flow, applied: LeafMap) -> None:
    """Show the map that all leaves share; the pooled map of calibration rows is another."""
    st.subheader("The map", anchor=False)
    chart(
        maps_figure(replace(applied, leaf=0), [], None, flow.score_range),
        key="calibration_maps",
        alt="Calibrated probability against score",
        how="Flatter than the dotted line: the scores are over-confident. Shifted up or down: rows "
        "are more or less often positive than the scores say.",
    )
