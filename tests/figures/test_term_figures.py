import numpy as np
import pytest

from hetcal.figures.base import DIVERGING, MAX_POINTS, PALETTE
from hetcal.figures.terms import curve_figure, curves_figure, logit_span, odds_words, pair_figure
from hetcal.partitions.nodes import Feature
from hetcal.partitions.terms import Axis, Curve, Pair, Terms

SPAN = (-1.0, 1.0)


def number_axis(name="age", cuts=(20.5, 40.5, 60.5)):
    return Axis(Feature(name, "number", whole=True), np.array(cuts), np.array([], dtype=int))


def category_axis(name="job", names=("clerk", "nurse", "student")):
    return Axis(Feature(name, "category", tuple(names)), np.array([]), np.arange(len(names)))


def curve(axis, values, rows=None, error=0.1):
    rows = np.full(axis.entries, 100) if rows is None else np.array(rows)
    return Curve(axis, np.array(values, dtype=float), np.full(axis.entries, error), rows)


AGE = curve(number_axis(), [-0.5, 0.0, 0.5, 0.2, 0.3], [10, 20, 30, 40, 5])
JOB = curve(category_axis(), [0.1, -0.4, 0.6, 0.2, 0.0], [50, 60, 70, 3, 0])


def points(figure):
    return next(figure.select_traces({"type": "scatter", "mode": "markers"}))


def lines(figure):
    return list(figure.select_traces({"type": "scatter", "mode": "lines"}))


def test_a_step_curve_holds_each_value_between_its_cuts():
    line = lines(curve_figure(AGE, SPAN))[-1]
    assert line.line.shape == "hv"
    assert list(line.x[1:-1]) == [20.5, 40.5, 60.5]
    assert list(line.y) == [-0.5, 0.0, 0.5, 0.2, 0.2]


def test_the_band_is_1_96_standard_errors_to_each_side():
    low, high, line = lines(curve_figure(AGE, SPAN))
    assert np.subtract(line.y, low.y) == pytest.approx(0.196)
    assert np.subtract(high.y, line.y) == pytest.approx(0.196)
    assert high.fill == "tonexty"


def test_missing_values_are_a_dot_apart_from_the_curve():
    figure = curve_figure(AGE, SPAN)
    dots, end = points(figure), lines(figure)[-1].x[-1]
    assert list(dots.marker.color) == ["rgba(0,0,0,0)"] * 4 + [PALETTE["after"]]
    assert dots.y[-1] == 0.3
    assert dots.x[-1] > end + 0.1 * (end - 20.5)
    assert list(figure.layout.xaxis.ticktext)[-1] == "missing"


def test_entries_that_no_row_had_are_not_drawn():
    never = curve(number_axis(), [0.0] * 5, [1, 1, 1, 1, 0])
    assert "missing" not in curve_figure(never, SPAN).layout.xaxis.ticktext
    assert list(curve_figure(JOB, SPAN).layout.xaxis.ticktext)[-1] == "other"


def test_categories_are_dots_by_name_with_the_largest_first_and_others_apart():
    figure = curve_figure(JOB, SPAN)
    dots = points(figure)
    assert list(figure.layout.xaxis.ticktext) == ["student", "clerk", "nurse", "other"]
    assert list(dots.y) == [0.6, 0.1, -0.4, 0.2]
    assert list(dots.error_y.array) == pytest.approx([0.196] * 4)
    assert np.diff(dots.x).tolist() == [1, 1, pytest.approx(1.24)]
    assert lines(figure) == []


def test_cuts_far_apart_in_some_places_get_steps_of_equal_width():
    skewed = curve(number_axis(cuts=(0.5, 10, 20, 30, 40, 99_999)), np.zeros(8))
    assert list(lines(curve_figure(skewed, SPAN))[-1].x) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert "99,999" in curve_figure(skewed, SPAN).layout.xaxis.ticktext


def test_the_strip_has_areas_that_grow_with_the_rows():
    strip = curve_figure(AGE, SPAN).data[0]
    areas = np.array(strip.y) * np.array(strip.width)
    assert areas / areas[0] == pytest.approx(AGE.rows / AGE.rows[0])


def test_hover_tells_the_entry_the_odds_the_interval_and_n():
    words = points(curve_figure(AGE, SPAN)).hovertext[2]
    assert words == (
        "<b>age</b>: 40 to 60<br>+0.50 logit = 1.6 times the odds"
        "<br>95 % interval +0.30 to +0.70<br>n = 30 rows"
    )


def test_a_term_without_standard_errors_has_no_interval_on_hover():
    certain = curve(number_axis(), np.zeros(5), error=0.0)
    assert "interval" not in points(curve_figure(certain, SPAN)).hovertext[0]


def test_odds_of_any_change_can_be_said():
    assert odds_words(0.0) == "+0.00 logit = 1 times the odds"
    assert odds_words(5.0) == "+5.00 logit = 150 times the odds"
    assert "times" in odds_words(2_000.0)


def test_small_panels_are_sorted_by_importance_on_one_logit_axis():
    large = curve(number_axis("income"), [-2, 1, 2, 3, 0])
    figure = curves_figure(Terms((AGE, large, JOB)))
    titles = [each.text.split("</b>")[0] for each in figure.layout.annotations]
    assert titles[0] == "<b>income"
    assert {figure.layout.yaxis2.matches, figure.layout.yaxis3.matches} == {"y"}
    assert figure.layout.xaxis2.matches is None
    assert figure.layout.yaxis.title.text == "added to the logit"


def test_shares_are_those_of_the_variance_of_all_terms():
    two = number_axis(cuts=(0.5,))
    first = curve(two, [-0.3, 0.3, 0.0], [50, 50, 0])
    second = curve(number_axis("b", (0.5,)), [-0.1, 0.1, 0.0], [50, 50, 0])
    titles = [each.text for each in curves_figure(Terms((second, first))).layout.annotations]
    assert titles == ["<b>age</b> · 90 %", "<b>b</b> · 10 %"]


def test_no_more_curves_are_drawn_than_asked_for():
    many = Terms(tuple(curve(number_axis(f"x{i}"), np.arange(5)) for i in range(15)))
    assert len(curves_figure(many).layout.annotations) == 12
    assert len(curves_figure(many, 4).layout.annotations) == 4


def test_curves_of_many_steps_stay_within_the_points_of_a_chart():
    fine = number_axis(cuts=np.arange(47) + 0.5)
    figure = curves_figure(Terms(tuple(curve(fine, np.arange(49)) for _ in range(12))))
    assert sum(len(each.x) for each in figure.data) <= MAX_POINTS
    assert len(figure.layout.annotations) == 8


def test_categories_without_room_are_counted_in_the_title():
    names = [f"name {i:02d} that is quite long" for i in range(20)]
    jobs = curve(category_axis("occupation of the head", names), np.arange(22.0))
    figure = curves_figure(Terms((jobs,)))
    assert figure.layout.annotations[0].text.endswith("</b> · 100 % · +13")
    assert max(map(len, figure.layout.xaxis.ticktext)) <= 9


def test_no_terms_give_an_empty_figure():
    assert len(curves_figure(Terms()).data) == 0


def test_the_common_axis_holds_zero_all_values_and_bands_that_are_not_too_long():
    assert logit_span(Terms((AGE,))) == pytest.approx((-0.696, 0.696))
    vague = curve(number_axis(), [0.2, 0.4, 1.0, 0.4, 0.4], error=50.0)
    assert logit_span(Terms((vague,))) == pytest.approx((-0.5, 1.5))


def test_a_column_whose_name_is_markup_is_drawn_as_text():
    figure = curves_figure(Terms((curve(number_axis("<b>"), np.arange(5)),)))
    assert "&lt;b&gt;" in figure.layout.annotations[0].text


@pytest.fixture
def pair():
    rows = np.arange(25).reshape(5, 5)
    rows[4, :] = 0  # no age is missing
    rows[:, 4] = 0  # and no job
    return Pair(
        number_axis(), category_axis(), np.linspace(-1, 1, 25).reshape(5, 5), rows / 100.0, rows
    )


def test_cells_of_a_pair_are_at_the_entries_of_both_columns(pair):
    figure = pair_figure(pair, SPAN)
    (heat,) = figure.data
    assert list(figure.layout.xaxis.ticktext) == ["up to 20", "20 to 40", "40 to 60", "above 60"]
    assert list(figure.layout.yaxis.ticktext) == ["clerk", "nurse", "student", "other"]
    assert heat.z[1][2] == pair.values[2, 1]
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("age", "job")


def test_zero_is_grey_whatever_the_values(pair):
    (heat,) = pair_figure(pair, (-0.2, 0.7)).data
    assert (heat.zmin, heat.zmax) == (-0.7, 0.7)
    assert heat.colorscale[1] == (0.5, DIVERGING[1])


def test_a_cell_without_rows_is_empty(pair):
    (heat,) = pair_figure(pair, SPAN).data
    assert np.isnan(heat.z[0][0])
    assert np.isfinite(heat.z[0][1])


def test_hover_on_a_cell_tells_both_entries_odds_and_n(pair):
    (heat,) = pair_figure(pair, SPAN).data
    assert heat.hovertext[1][2].startswith(
        "age: 40 to 60<br>job: nurse<br>-0.08 logit = 0.92 times"
    )
    assert heat.hovertext[1][2].endswith("n = 11 rows")


def test_of_many_entries_only_some_are_named_below_a_heat_map():
    many = Axis(AGE.axis.feature, np.arange(20.0), np.array([], dtype=np.int64))
    shape = many.entries, many.entries
    pair = Pair(many, many, np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=np.int64))
    below, beside = (pair_figure(pair, SPAN).layout[f"{axis}axis"] for axis in "xy")
    assert list(below.tickvals) == [0, 4, 8, 12, 16, 20]
    assert list(below.ticktext) == [many.labels[i] for i in below.tickvals]
    assert list(beside.ticktext) == list(many.labels)
