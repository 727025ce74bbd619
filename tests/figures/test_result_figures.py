import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.figures.base import PALETTE
from hetcal.figures.results import (
    leaf_lift_figure,
    lift_figure,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
)
from hetcal.metrics.curves import OperatingPoint, PrecisionRecallCurve, ReliabilityCurve, RocCurve
from hetcal.metrics.delong import Lift

STEPS = np.array([0.0, 0.5, 1.0])
FALLING = np.array([1.0, 0.4, 0.1])
LIFT = Lift(0.8, 0.82, 0.02, 2.5, 0.005, 4.0, 6e-5, 0.0102, 0.0298)
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


def test_the_lift_is_a_point_with_its_interval_beside_zero():
    figure = lift_figure(LIFT, 1234)
    point = figure.data[0]
    assert list(point.x) == [0.02]
    assert list(point.error_x.array) == pytest.approx([0.0098])
    assert list(point.error_x.arrayminus) == pytest.approx([0.0098])
    assert figure.layout.xaxis.title.text.startswith("AUC after − AUC before")
    assert figure.layout.shapes[0].x0 == figure.layout.shapes[0].x1 == 0
    assert figure.layout.annotations[0].text == "no change"
    low, high = figure.layout.xaxis.range
    assert low < 0 < 0.0298 < high


def test_hover_on_the_lift_tells_the_percent_and_n():
    hover = lift_figure(LIFT, 1234).data[0].hovertemplate
    assert "(+2.50 %)" in hover
    assert "n = 1,234 test rows" in hover
    assert "n = 1 test row<" in lift_figure(LIFT, 1).data[0].hovertemplate


def test_hover_on_a_certain_lift_bounds_its_p_value():
    hover = lift_figure(replace(LIFT, p=0.0), 1234).data[0].hovertemplate
    assert ", p-value &lt; 1e-300<br>" in hover
    assert ", p-value 6.3e-05<br>" in lift_figure(replace(LIFT, p=6.3e-5), 1).data[0].hovertemplate


@pytest.mark.parametrize(("value", "reach"), [(0.0, (-0.01, 0.01)), (float("nan"), None)])
def test_a_lift_without_width_can_be_drawn(value, reach):
    figure = lift_figure(Lift(0.8, 0.8, value, value, value, 0.0, 1.0, value, value), 10)
    assert figure.layout.xaxis.range == reach


def test_a_lift_without_an_interval_is_drawn_beside_zero():
    none = dict.fromkeys(("p", "low", "high"), float("nan"))
    figure = lift_figure(replace(LIFT, **none), 10)
    assert figure.layout.xaxis.range == pytest.approx((-0.003, 0.023))
    assert "<br>without an interval, because there are too few" in figure.data[0].hovertemplate


def test_leaves_show_what_they_contribute():
    figure = leaf_lift_figure(LEAVES, selected=2)
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
