import numpy as np
import pytest
from scipy.special import expit

from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.calibrators.shapes import Affine, Steps
from hetcal.figures.base import MAX_POINTS, PALETTE
from hetcal.figures.calibration import maps_figure

POOLED = LeafMap(0, Affine(0.8, 0.1, 0.05, 0.02), 5000, 1000, None)
MAPS = (
    LeafMap(1, Affine(0.5, 0.65, 0.1, 0.2), 4000, 900, None),
    LeafMap(2, Affine(2.0, -0.65, 0.3, 0.4), 1000, 100, None),
    LeafMap(3, Affine(0.8, 0.1, 0.05, 0.02), 12, 3, "few rows"),
    LeafMap(4, Affine(0.8, 0.1, 0.05, 0.02), 60, 0, "one class"),
)


def trace(figure, name):
    return next(each for each in figure.data if each.name == name)


def test_the_selected_map_is_the_sigmoid_of_slope_and_intercept():
    line = trace(maps_figure(POOLED, MAPS, [2], (-4, 4)), "Leaf 2")
    assert (line.x[0], line.x[-1]) == (-4, 4)
    np.testing.assert_allclose(line.y, 1 / (1 + np.exp(-(2 * np.array(line.x) - 0.65))))
    assert line.line.color == PALETTE["selected"]
    assert set(line.customdata) == {2}


def test_the_pooled_map_is_dashed_and_the_model_dotted():
    figure = maps_figure(POOLED, MAPS, (), (-4, 4))
    pooled, model = trace(figure, "pooled map"), trace(figure, "uncalibrated")
    assert (pooled.line.dash, model.line.dash) == ("dash", "dot")
    np.testing.assert_allclose(pooled.y, expit(0.8 * np.array(pooled.x) + 0.1))
    np.testing.assert_allclose(model.y, expit(model.x))


def test_other_leaves_are_thin_and_share_one_legend_entry():
    figure = maps_figure(POOLED, MAPS, [1], (-4, 4))
    others = [each for each in figure.data if each.name == "leaves"]
    assert [set(each.customdata) for each in others] == [{2}, {3}, {4}]
    assert [each.showlegend for each in others] == [True, False, False]
    assert {each.line.width for each in others} == {1.5}


def test_several_chosen_leaves_share_one_legend_entry():
    figure = maps_figure(POOLED, MAPS, [2, 3], (-4, 4))
    chosen = [each for each in figure.data if each.name == "chosen leaves"]
    assert [set(each.customdata) for each in chosen] == [{2}, {3}]
    assert [each.showlegend for each in chosen] == [True, False]
    assert "Leaf 3" in chosen[1].hovertemplate


def test_hover_tells_n_and_why_a_leaf_has_no_map_of_its_own():
    figure = maps_figure(POOLED, MAPS, [3], (-4, 4))
    assert "n = 12 calibration rows" in trace(figure, "Leaf 3").hovertemplate
    assert "pooled slope: few rows" in trace(figure, "Leaf 3").hovertemplate
    assert "n = 5,000 calibration rows" in trace(figure, "pooled map").hovertemplate


def test_axes_of_the_maps_are_logit_and_probability():
    layout = maps_figure(POOLED, MAPS, [1], (-4, 4)).layout
    assert layout.xaxis.title.text == "score of the model (logit)"
    assert (layout.yaxis.title.text, layout.yaxis.range) == ("calibrated probability", (0, 1))


def test_many_leaves_stay_within_the_points_of_a_chart():
    maps = [LeafMap(i, Affine(1.0, 0.0, 0.1, 0.1), 10, 5, None) for i in range(1, 65)]
    assert sum(len(each.x) for each in maps_figure(POOLED, maps, [1], (-1, 1)).data) <= MAX_POINTS


NON_LINEAR = LeafMap(5, Steps((0.0,), (-1.0, 1.0)), 100, 40)


def test_maps_of_any_shape_are_drawn():
    line = trace(maps_figure(POOLED, [NON_LINEAR], [5], (-4, 4)), "Leaf 5")
    assert line.y == pytest.approx(np.where(np.array(line.x) < 0, expit(-1), expit(1)))
    assert "2 steps from 0.27 to 0.73" in line.hovertemplate
