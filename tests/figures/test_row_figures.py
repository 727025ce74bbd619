import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.figures.base import MAX_POINTS, PALETTE
from hetcal.figures.rows import (
    applied_map_figure,
    applied_multiples_figure,
    joined_steps,
    waterfall_figure,
)
from hetcal.results.applied import applied_map


def way(changes=(1.0, -0.5, 0.25, 0.1, 0.0)):
    names = ["score before", *[f"column {i}" for i in range(1, len(changes) - 1)], "after"]
    logit = np.cumsum(changes)
    values = ["", *["up to 3"] * (len(changes) - 2), ""]
    return pd.DataFrame(
        {
            "name": names,
            "value": values,
            "change": changes,
            "logit": logit,
            "probability": expit(logit),
        }
    )


def test_each_bar_goes_from_the_logit_before_to_the_logit_after_its_step():
    bars = waterfall_figure(way()).data[1]
    assert list(bars.base) == pytest.approx([1.0, 0.5, 0.75])
    assert np.add(bars.base, bars.x) == pytest.approx([0.5, 0.75, 0.85])
    assert list(bars.y) == [1, 2, 3]


def test_the_score_before_is_blue_and_the_result_is_orange():
    *_, before, after = waterfall_figure(way()).data
    assert (before.marker.color, after.marker.color) == (PALETTE["before"], PALETTE["after"])
    assert (before.x[0], after.x[0]) == (1.0, pytest.approx(0.85))
    assert (before.y[0], after.y[0]) == (0, 4)
    assert (before.text[0].strip(), after.text[0].strip()) == ("73.1 %", "70.1 %")


def test_tips_point_where_the_step_goes():
    tips = waterfall_figure(way()).data[2]
    assert list(tips.marker.symbol) == ["triangle-left", "triangle-right", "triangle-right"]
    assert list(tips.text) == ["-0.50", "+0.25", "+0.10"]


def test_the_axis_at_the_top_has_the_probabilities_of_the_logits_below():
    layout = waterfall_figure(way()).layout
    assert layout.xaxis.title.text == "logit"
    assert layout.xaxis2.title.text == "probability"
    shares = [float(each.split()[0]) / 100 for each in layout.xaxis2.ticktext]
    assert expit(np.array(layout.xaxis2.tickvals)) == pytest.approx(shares)
    assert layout.xaxis2.matches == "x"


def test_names_have_their_values_and_the_ends_are_bold():
    labels = waterfall_figure(way()).layout.yaxis.ticktext
    assert labels[0] == "<b>score before</b>"
    assert labels[1] == "column 1: up to 3"
    assert labels[-1] == "<b>after</b>"


def test_hover_tells_change_logit_and_probability():
    assert waterfall_figure(way()).data[1].hovertext[0] == (
        "<b>column 1</b><br>up to 3<br>-0.5000 logit<br>then logit 0.5000, probability 0.6225"
    )


def test_the_smallest_steps_are_joined_and_the_way_ends_at_the_same_place():
    steps = way((1.0, 0.01, -0.7, 0.02, 0.5, 0.03, 0.0))
    joined = joined_steps(steps, 3)
    assert joined["name"].tolist() == [
        "score before",
        "column 2",
        "column 4",
        "3 other steps",
        "after",
    ]
    assert joined["change"].tolist() == pytest.approx([1.0, -0.7, 0.5, 0.06, 0.0])
    assert joined["logit"].iloc[-1] == pytest.approx(steps["logit"].iloc[-1])
    assert joined["probability"].tolist() == pytest.approx(expit(joined["logit"]).tolist())


def test_nothing_is_joined_where_there_is_room():
    assert joined_steps(way(), 3).equals(way())


def test_a_row_that_nothing_changes_goes_from_before_to_after():
    figure = waterfall_figure(way((0.5, 0.0)))
    assert len(figure.data[1].x) == 0
    assert np.diff(figure.layout.xaxis.range) > 0


@pytest.mark.parametrize(("logit", "text"), [(-12.0, "0.0006 %"), (12.0, "99.9994 %")])
def test_a_probability_next_to_a_limit_is_not_written_as_the_limit(logit, text):
    *_, before, _ = waterfall_figure(way((logit, 0.0))).data
    assert before.text[0].strip() == text


@pytest.fixture
def found():
    columns = ["before", "n", "low", "middle", "high", "mean"]
    rows = [(0.5, 30, 0.3, 0.4, 0.6, 0.45), (0.1, 20, 0.05, 0.1, 0.2, 0.12)]
    return pd.DataFrame(rows, columns=columns)


def test_the_band_lies_around_the_mean_after_from_low_scores_to_high_ones(found):
    _, low, high, middle, mean = applied_map_figure(found).data
    assert list(mean.x) == [0.1, 0.5]
    assert (list(low.y), list(high.y)) == ([0.05, 0.3], [0.2, 0.6])
    assert (list(middle.y), list(mean.y)) == ([0.1, 0.4], [0.12, 0.45])
    assert high.fill == "tonexty"
    assert mean.line.color == PALETTE["after"]


def test_hover_on_a_bin_tells_the_spread_and_n(found):
    assert applied_map_figure(found).data[-1].hovertext[1] == (
        "before 0.500<br>mean after 0.450<br>10, 50, 90 % of rows: 0.300, 0.400, 0.600"
        "<br>n = 30 rows"
    )


def test_both_axes_of_the_applied_map_are_probabilities_on_the_same_scale(found):
    layout = applied_map_figure(found).layout
    assert layout.xaxis.title.text == "probability before"
    assert layout.yaxis.title.text == "probability after"
    assert layout.xaxis.range == layout.yaxis.range == (0, pytest.approx(0.63))


def test_every_leaf_has_a_panel_on_the_same_axes_and_can_be_clicked():
    before = np.random.default_rng(3).normal(size=400)
    maps = {leaf: applied_map(before, before / leaf) for leaf in (1, 2, 5)}
    figure = applied_multiples_figure({0: maps[1], **maps}, selected=[5])
    means = [each for each in figure.data if each.name == "mean after"]
    assert [set(each.customdata) for each in means] == [{1}, {2}, {5}]
    assert list(means[1].y) == maps[2]["mean"].tolist()
    assert len({each.xaxis for each in means}) == 3
    assert {figure.layout[f"{axis}3"].matches for axis in ("xaxis", "yaxis")} == {"x", "y"}
    titles = [each.text for each in figure.layout.annotations]
    assert titles == ["Leaf 1", "Leaf 2", "<b>Leaf 5</b>"]


def test_many_leaves_stay_within_the_points_that_a_figure_may_have():
    points = applied_map(np.linspace(-3, 3, 2_000), np.linspace(-3, 3, 2_000))
    figure = applied_multiples_figure(dict.fromkeys(range(1, 65), points))
    assert sum(len(each.x) for each in figure.data) <= MAX_POINTS
