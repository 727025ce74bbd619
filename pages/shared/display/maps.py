"""The maps of the leaves, where each leaf has one, or the one map of all rows."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.data.columns import counted
from hetcal.figures.calibration import Between, maps_figure, slope_intercept_figure
from hetcal.figures.example import weight_figure
from hetcal.partitions.partition import fallback_words, maps_table, with_one_slope
from hetcal.results.plane import STEP
from pages.shared.display.columns import map_columns
from pages.shared.display.messages import plain
from pages.shared.display.tables import leaf_rows
from pages.shared.display.widgets import chart, leaf_chart
from pages.shared.flow.applied import plane_of, way_of
from pages.shared.flow.flow import Flow
from pages.shared.state import kept

SHARE = "calibration_share"
PLANE_HOW = (
    "At the cross the network is kept as it is; at a square only the rate of a leaf counts. "
    "Ellipses: 95 % regions of a map of the leaf's calibration rows alone; of many leaves, only "
    "that of the chosen one."
)


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
    elif flow.choice is not None and (same := with_one_slope(calibrator.maps_)):
        st.warning(
            f"Leaves {', '.join(map(str, same))} have the slope of all rows, each with an "
            "intercept of its own: too few of their rows are of the rarer class, or their own map "
            "would not rise.",
            icon=":material/flag:",
        )
    members = flow.partition.members(leaf)
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("The maps", anchor=False)
        chart(
            maps_figure(calibrator.pooled_, calibrator.maps_, members, flow.score_range),
            key="calibration_maps",
            alt="Calibrated probability against score for every leaf",
            how="Flatter than the dotted line: the scores of the leaf are over-confident. Shifted "
            "up or down: its rows are more or less often positive than the scores say.",
        )
    with right:
        st.subheader("Network or tree?", anchor=False)
        share = st.session_state.get(SHARE, 0) / 100
        leaf_chart(
            slope_intercept_figure(
                calibrator.pooled_,
                calibrator.maps_,
                members,
                Between(plane_of(flow), share),
            ),
            key="calibration_plane",
            alt="Slope and intercept of every leaf, between the network and the rate of the leaf",
            how=f"{PLANE_HOW} Hollow: pooled slope." if fallbacks else PLANE_HOW,
        )
    _show_way(flow)
    table = maps_table(calibrator, flow.partition)
    columns = map_columns(calibrator, of_scheme=flow.choice is not None)
    leaf_rows(table, "calibration_table", columns, members)


def _show_way(flow: Flow) -> None:
    """Let the user go from the network to the rates of the leaves, and show the AUC on the way."""
    way, lift = way_of(flow), flow.run.evaluation.lift
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**From the network to the tree**")
        percent = st.slider(
            "Share of the tree (%)",
            0,
            100,
            0,
            round(100 * STEP),
            help="0: the network as it is. 100: every row gets the rate of its leaf.",
            **kept(SHARE),
        )
        here = float(way["auc"].iloc[round(percent / 100 / STEP)])
        network, tree = float(way["auc"].iloc[0]), float(way["auc"].iloc[-1])
        st.markdown(
            f"Here the AUC is **{here:.4f}**, that of the network {network:.4f}, that of the leaf "
            f"rates {tree:.4f}. The best on the way is {way['auc'].max():.4f} at "
            f"{way['share'][way['auc'].idxmax()]:.0%}, if one chooses it on these test rows. The "
            f"maps, fitted on other rows, reach **{lift.after:.4f}**."
        )
        if way["rows"].iloc[0] < flow.run.evaluation.rows:
            drawn = counted(int(way["rows"].iloc[0]), "test row")
            st.caption(f"The way is computed on {drawn}, spread evenly.")
    with right:
        areas = pd.DataFrame({"weight": way["share"], "test rows": way["auc"], "after": lift.after})
        marks = [
            ("network", "before", 0.0, network),
            ("leaf rates", "quiet", 1.0, tree),
            ("here", "selected", percent / 100, here),
        ]
        chart(
            weight_figure(areas, marks, "share of the tree"),
            key="calibration_way",
            alt="AUC on test rows on the way from the network to the rates of the leaves",
            how="Grey: a mix of score and leaf rate, the same share in all leaves. Orange: the "
            "maps of the leaves.",
        )


def _show_one_map(flow: Flow, applied: LeafMap) -> None:
    """Show the map that all leaves share; the pooled map of calibration rows is another."""
    st.subheader("The map", anchor=False)
    chart(
        maps_figure(replace(applied, leaf=0), [], (), flow.score_range),
        key="calibration_maps",
        alt="Calibrated probability against score",
        how="Flatter than the dotted line: the scores are over-confident. Shifted up or down: rows "
        "are more or less often positive than the scores say.",
    )
