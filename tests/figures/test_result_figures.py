import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.figures.base import PALETTE
from hetcal.figures.results import (
    change_figure,
    leaf_lift_figure,
    pair_gain_figure,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
)
from hetcal.metrics.curves import OperatingPoint, PrecisionRecallCurve, ReliabilityCurve, RocCurve
from hetcal.metrics.delong import Lift
from hetcal.metrics.metrics import LossChange, Metrics
from hetcal.results.evaluation import Evaluation

STEPS = np.array([0.0, 0.5, 1.0])
FALLING = np.array([1.0, 0.4, 0.1])
LIFT = Lift(0.8, 0.82, 0.02, 2.5, 0.005, 4.0, 6e-5, 0.0102, 0.0298)
FALL = LossChange(0.05, 0.01, 0.03, 0.07)
LEAVES = pd.DataFrame(
    {
        "leaf": [1, 2],
        "rows": [1200, 300],
        "positives": [100, 200],
        "contribution": [0.03, -0.01],
        "contribution_low": [0.01, -0.012],
        "contribution_high": [0.05, -0.008],
        "log_loss_before": [0.5, 0.6],
        "log_loss_after": [0.4, float("nan")],
    }
)


def roc(name, auc=0.75):
    return RocCurve(name, STEPS, np.sqrt(STEPS), FALLING, auc, 1234)


def precision_recall(name):
    return PrecisionRecallCurve(name, STEPS, np.array([1, 0.5, 0.2]), FALLING, 0.55, 1234)


def test_roc_curves_share_axes_with_the_diagonal():
    figure = roc_figure([roc("before"), roc("after", 0.8)])
    diagonal, before, after = figure.data
    assert (list(diagonal.x), list(diagonal.y)) == ([0, 1], [0, 1])
    assert list(before.x) == [0, 0.5, 1]
    assert list(after.y) == pytest.approx([0, math.sqrt(0.5), 1])
    assert [before.name, after.name] == ["before · AUC 0.7500", "after · AUC 0.8000"]
    assert figure.layout.xaxis.title.text == "false positive rate"
    assert figure.layout.yaxis.title.text == "true positive rate"


def test_points_of_the_curves_are_marked_in_their_colours():
    points = [OperatingPoint(0.0, 0.5, 0.6, 0.25), OperatingPoint(np.log(3), 0.5, 0.7, 0.25)]
    *_, before, after = roc_figure([roc("before"), roc("after")], points).data
    assert [(*each.x, *each.y) for each in (before, after)] == [(0.25, 0.6), (0.25, 0.7)]
    assert all("n = 1,234" in each.hovertemplate for each in (before, after))
    assert [each.marker.color for each in (before, after)] == [
        PALETTE["before"],
        PALETTE["after"],
    ]
    assert [*before.customdata, *after.customdata] == pytest.approx([0.5, 0.75])
    assert "false positive rate %{x" in after.hovertemplate


def test_thresholds_and_n_are_on_hover():
    for figure in (roc_figure([roc("after")]), precision_recall_figure([precision_recall("a")])):
        curve = next(each for each in figure.data if each.customdata is not None)
        assert list(curve.customdata) == [1.0, 0.4, 0.1]
        assert "threshold T %{customdata" in curve.hovertemplate
        assert "n = 1,234" in curve.hovertemplate


def test_before_and_after_have_the_same_colours_in_every_figure():
    reliability = ReliabilityCurve("after", STEPS, STEPS, STEPS, STEPS, np.array([1, 2, 3]))
    lines = [
        roc_figure([roc("after")]).data[1],
        precision_recall_figure([precision_recall("after")]).data[0],
        reliability_figure([reliability]).data[1],
    ]
    assert {each.line.color for each in lines} == {PALETTE["after"]}
    assert roc_figure([roc("before")]).data[1].line.color == PALETTE["before"]


def test_precision_recall_ends_at_the_line_of_the_base_rate():
    figure = precision_recall_figure([precision_recall("before"), precision_recall("after")])
    base = figure.data[-1]
    assert (base.name, list(base.y)) == ("base rate 0.200", [0.2, 0.2])
    assert figure.data[0].name == "before · average precision 0.5500"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "recall",
        "precision",
    )


def test_curves_of_one_class_are_empty_and_say_that_the_area_is_not_defined():
    none = np.array([])
    nan = float("nan")
    assert roc_figure([RocCurve("before", none, none, none, nan, 5)]).data[1].name.endswith("AUC –")
    empty = precision_recall_figure([PrecisionRecallCurve("before", none, none, none, nan, 5)])
    assert len(empty.data) == 1


def test_reliability_has_intervals_and_counts():
    low, high = np.array([0.1, 0.3]), np.array([0.3, 0.7])
    observed, count = np.array([0.15, 0.5]), np.array([40, 41])
    curve = ReliabilityCurve("before", np.array([0.2, 0.6]), observed, low, high, count)
    figure = reliability_figure([curve])
    diagonal, points = figure.data
    assert (list(diagonal.x), list(diagonal.y)) == ([0, 1], [0, 1])
    assert (list(points.x), list(points.y)) == ([0.2, 0.6], [0.15, 0.5])
    assert list(points.error_y.array) == pytest.approx([0.15, 0.2])
    assert list(points.error_y.arrayminus) == pytest.approx([0.05, 0.2])
    assert list(points.customdata) == [40, 41]
    assert "n = %{customdata:,}" in points.hovertemplate
    assert figure.layout.xaxis.range[1] == figure.layout.yaxis.range[1] == pytest.approx(0.735)


def changed(lift=LIFT, *, adds=None, loss=FALL, rows=1234):
    """Test rows before and after: AUC 0.80 and 0.82, log-loss 0.45 and 0.40."""
    before, after = (Metrics(0.0, 0.0, 0.0, each, 0.0, 0.0, 0.0) for each in (0.45, 0.40))
    parts = before, before, before, after, lift, LEAVES, rows
    return Evaluation(*parts, network_adds=adds, loss=loss)


def marks(figure, axis=None):
    """The marks of a panel by their names."""
    return {each.name: each for each in figure.data if each.xaxis == axis}


def test_ranking_and_probabilities_go_from_before_to_after_with_the_interval_of_the_change():
    figure = change_figure(changed())
    for axis, ends, interval in ((None, (0.8, 0.82), 0.0098), ("x2", (0.45, 0.40), 0.02)):
        drawn = marks(figure, axis)
        assert (*drawn["before"].x, *drawn["after"].x) == pytest.approx(ends)
        bar = drawn["after"].error_x
        assert (*bar.array, *bar.arrayminus) == pytest.approx([interval] * 2)
        assert drawn["before"].marker.color == PALETTE["before"]
        assert drawn["after"].marker.color == PALETTE["after"]
    heads = [each.text for each in figure.layout.annotations]
    assert heads == ["<b>Ranking</b>: AUC +0.0200", "<b>Probabilities</b>: log-loss -0.0500"]


def test_the_same_scheme_without_the_network_is_hollow_and_only_where_it_is_known():
    adds = Lift(0.815, 0.82, 0.005, 0.6, 0.001, 5.0, 1e-6, 0.003, 0.007)
    hollow = marks(change_figure(changed(adds=adds)))["after, without the network"]
    assert (list(hollow.x), hollow.marker.symbol) == ([0.815], "circle-open")
    assert "after, without the network" not in marks(change_figure(changed()))


def test_hover_tells_the_interval_the_p_value_and_n():
    words = marks(change_figure(changed()))["after"].hovertext[0]
    assert "95 % interval +0.0102 to +0.0298, p-value 6e-05<br>n = 1,234 test rows" in words
    sure = marks(change_figure(changed(replace(LIFT, p=0.0), rows=1)))["after"].hovertext[0]
    assert sure.endswith("p-value &lt; 1e-300<br>n = 1 test row")


def test_a_change_without_an_interval_can_be_drawn():
    nan = float("nan")
    lift = replace(LIFT, **dict.fromkeys(("p", "low", "high"), nan))
    figure = change_figure(changed(lift, loss=LossChange(nan, nan, nan, nan)))
    assert "without an interval" in marks(figure)["after"].hovertext[0]
    assert "no interval" in marks(figure, "x2")["after"].hovertext[0]


def test_leaves_show_what_they_contribute():
    figure = leaf_lift_figure(LEAVES, selected=[2])
    bars = figure.data[0]
    assert (list(bars.x), list(bars.customdata)) == ([0.03, -0.01], [1, 2])
    assert list(bars.error_x.array) == pytest.approx([0.02, 0.002])
    assert list(bars.marker.line.width) == [0, 3]
    assert list(figure.layout.yaxis.ticktext) == ["Leaf 1", "<b>Leaf 2</b>"]
    assert figure.layout.xaxis.title.text == "share of the lift in AUC"
    assert bars.hovertext[1] == (
        "<b>Leaf 2</b><br>n = 300 test rows, 200 positive<br>contribution -0.0100, "
        "95 % interval -0.0120 to -0.0080"
        "<br>log-loss 0.6000 before, – after"
    )


def test_where_no_leaf_changes_the_axis_stays_small():
    leaves = LEAVES.assign(contribution=0.0, contribution_low=0.0, contribution_high=0.0)
    assert leaf_lift_figure(leaves).layout.xaxis.range == (-0.01, 0.01)
    assert leaf_lift_figure(LEAVES).layout.xaxis.range is None


def test_the_map_of_pairs_of_leaves_has_positive_rows_down_and_negative_rows_across():
    pairs = pd.DataFrame(
        {"positive": [1, 1, 2, 2], "negative": [1, 2, 1, 2], "gain": [0.0, 0.03, -0.01, 0.0]}
    )
    figure = pair_gain_figure(pairs, {1: "a < 1 (1)", 2: "a ≥ 1 (2)"})
    (heat,) = figure.data
    assert np.array_equal(heat.z, [[0.0, 0.03], [-0.01, 0.0]])
    assert (heat.zmin, heat.zmax) == (-0.03, 0.03)
    assert "positive rows of a &lt; 1 (1)<br>negative rows of a ≥ 1 (2)" in heat.hovertext[0][1]
    assert heat.hovertext[1][0].endswith("gain -0.0100")
    assert figure.layout.yaxis.title.text == "leaf of the positive row"


def test_the_map_of_many_leaves_has_their_numbers_down_and_nothing_that_overlaps_across():
    leaves = range(1, 53)
    pairs = pd.DataFrame([(one, zero, 0.0) for one in leaves for zero in leaves])
    pairs.columns = ["positive", "negative", "gain"]
    layout = pair_gain_figure(pairs, {leaf: f"rule ({leaf})" for leaf in leaves}, [7]).layout
    assert not layout.xaxis.showticklabels
    assert list(layout.yaxis.ticktext[:2]) == [1, 2]
    assert layout.yaxis.ticktext[6] == "<b>7</b>"
    assert layout.height < 800


def test_two_rates_have_axes_of_one_scale():
    for figure in (
        roc_figure([roc("before")]),
        precision_recall_figure([precision_recall("before")]),
    ):
        assert figure.layout.yaxis.scaleanchor == "x"
