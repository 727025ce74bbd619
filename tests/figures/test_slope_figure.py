import math

import pandas as pd
import pytest

from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.calibrators.shapes import Affine, Steps, Tamed
from hetcal.figures.calibration import Between, slope_intercept_figure

POOLED = LeafMap(0, Affine(0.8, 0.1, 0.05, 0.02), 5000, 1000, None)
MAPS = (
    LeafMap(1, Affine(0.5, 0.65, 0.1, 0.2), 4000, 900, None),
    LeafMap(2, Affine(2.0, -0.65, 0.3, 0.4), 1000, 100, None),
    LeafMap(3, Affine(0.8, 1.1, 0.05, 0.6), 12, 3, "few of the rarer class"),
    LeafMap(4, Affine(0.8, -2.9, 0.05, 0.8), 60, 0, "one class"),
)
NON_LINEAR = LeafMap(5, Steps((0.0,), (-1.0, 1.0)), 100, 40)


def trace(figure, name):
    return next(each for each in figure.data if each.name == name)


def test_leaves_lie_at_slope_and_intercept_with_intervals():
    own = trace(slope_intercept_figure(POOLED, MAPS), "leaf, 95 % interval")
    assert (list(own.x), list(own.y)) == ([0.5, 2.0], [0.65, -0.65])
    assert list(own.error_x.array) == pytest.approx([0.196, 0.588])
    assert list(own.error_y.array) == pytest.approx([0.392, 0.784])
    assert (list(own.text), list(own.customdata)) == (["1", "2"], [1, 2])
    assert own.marker.size[0] > own.marker.size[1]


def test_leaves_with_the_pooled_slope_are_hollow_and_have_an_interval_of_their_intercept():
    figure = slope_intercept_figure(POOLED, MAPS, selected=[4])
    hollow = trace(figure, "leaf with the pooled slope")
    assert hollow.marker.color == "rgba(0,0,0,0)"
    assert (list(hollow.x), list(hollow.y)) == ([0.8, 0.8], [1.1, -2.9])
    assert hollow.error_x.array is None
    assert list(hollow.error_y.array) == pytest.approx([1.176, 1.568])
    assert (list(hollow.text), list(hollow.customdata)) == (["3", "<b>4</b>"], [3, 4])
    assert "few of the rarer class" in hollow.hovertext[0]
    assert "n = 60 calibration rows" in hollow.hovertext[1]


def test_the_model_and_the_pooled_map_are_marked():
    figure = slope_intercept_figure(POOLED, MAPS)
    model, pooled = trace(figure, "uncalibrated"), trace(figure, "pooled map")
    assert (list(model.x), list(model.y)) == ([1], [0])
    assert (list(pooled.x), list(pooled.y)) == ([0.8], [0.1])
    assert figure.layout.xaxis.title.text.startswith("slope")
    assert figure.layout.yaxis.title.text == "intercept (logit)"


def test_without_fallbacks_there_is_no_legend_entry_for_them():
    names = [each.name for each in slope_intercept_figure(POOLED, MAPS[:2]).data]
    assert names == ["uncalibrated", "leaf, 95 % interval", "pooled map"]


def test_maps_without_standard_errors_are_drawn_without_the_promise_of_intervals():
    maps = [
        LeafMap(1, Affine(0.5, 0.65, math.nan, math.nan), 400, 90),
        LeafMap(2, Tamed(0.7, -0.2, -2.0, 2.0), 300, 50),
    ]
    own = trace(slope_intercept_figure(POOLED, maps), "leaf")
    assert (list(own.x), list(own.y)) == ([0.5, 0.7], [0.65, -0.2])


def test_only_straight_maps_have_slope_and_intercept():
    own = trace(slope_intercept_figure(POOLED, [*MAPS, NON_LINEAR]), "leaf, 95 % interval")
    assert list(own.customdata) == [1, 2]
    pooled = LeafMap(0, NON_LINEAR.shape, 100, 40)
    names = [each.name for each in slope_intercept_figure(pooled, [NON_LINEAR]).data]
    assert names == ["uncalibrated"]


def test_labels_of_leaves_close_to_each_other_evade_each_other():
    close = [LeafMap(i, Affine(0.5 + i / 50, 0.0, 0.01, 0.01), 900, 300) for i in range(1, 4)]
    own = trace(slope_intercept_figure(POOLED, close), "leaf, 95 % interval")
    assert list(own.text) == ["1", "2", "3"]
    assert len(set(own.textposition)) > 1


def test_where_leaves_coincide_the_selected_one_keeps_its_label():
    heap = [LeafMap(i, Affine(0.5, 0.0, 0.01, 0.01), 900, 300) for i in range(1, 31)]
    for selected in (1, 30):
        own = trace(slope_intercept_figure(POOLED, heap, [selected]), "leaf, 95 % interval")
        assert own.text[selected - 1] == f"<b>{selected}</b>"
        assert 1 < sum(text != "" for text in own.text) <= 8
        assert len(own.hovertext) == len(own.customdata) == 30


def test_a_slope_without_a_standard_error_can_be_drawn():
    bare = [LeafMap(1, Affine(0.5, 0.2, float("nan"), float("nan")), 900, 300)]
    figure = slope_intercept_figure(POOLED, bare)
    assert figure.layout.xaxis.range[0] < 0.5 < 1 < figure.layout.xaxis.range[1]


PLANE = pd.DataFrame(
    {
        "leaf": [1, 2, 3, 4],
        "rows": [4000, 1000, 12, 60],
        "slope": [0.5, 2.0, math.nan, math.nan],
        "intercept": [0.7, -0.6, math.nan, math.nan],
        "slope_variance": [0.01, 0.09, math.nan, math.nan],
        "intercept_variance": [0.04, 0.16, math.nan, math.nan],
        "covariance": [0.0, 0.06, math.nan, math.nan],
        "rate": [0.4, -1.2, 1.0, -3.0],
    }
)


def test_between_network_and_tree_both_ends_and_the_way_are_drawn():
    figure = slope_intercept_figure(POOLED, MAPS, [2], Between(PLANE, 0.25))
    assert list(trace(figure, "network as it is").x) == [1]
    rates, here = trace(figure, "leaf rate only"), trace(figure, "25% of the way")
    assert (list(rates.x), list(rates.y)) == ([0] * 4, [0.4, -1.2, 1.0, -3.0])
    assert (list(here.x), list(here.y)) == ([0.75] * 4, [0.1, -0.3, 0.25, -0.75])
    assert list(rates.customdata) == list(here.customdata) == [1, 2, 3, 4]
    assert trace(figure, "leaf").error_x.array is None


def test_each_leaf_with_a_map_has_an_ellipse_and_the_axes_show_all_of_it():
    figure = slope_intercept_figure(POOLED, MAPS, [2], Between(PLANE, 0.0))
    others, chosen = figure.data[1], figure.data[2]
    assert others.x.count(None) == chosen.x.count(None) == 1
    assert chosen.line.width > others.line.width
    reach = math.sqrt(5.991)  # chi-square with two degrees of freedom
    assert max(x for x in others.x if x is not None) == pytest.approx(0.5 + reach * 0.1, 1e-3)
    for ellipse in (others, chosen):
        for axis, range_ in (("x", figure.layout.xaxis.range), ("y", figure.layout.yaxis.range)):
            drawn = [each for each in ellipse[axis] if each is not None]
            assert range_[0] < min(drawn) <= max(drawn) < range_[1]
