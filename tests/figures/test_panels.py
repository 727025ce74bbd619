from itertools import pairwise

import pytest

from hetcal.figures.base import Panels

SIX = Panels(6, across=4, beside=0.04, below=0.2)


def axes(panels, **more):
    return panels.axes({"title": "score"}, {"title": "rows"}, **{"same_heights": True, **more})


def test_panels_of_a_row_divide_the_width_and_leave_the_free_space_between_them():
    spans = [axes(SIX)[name]["domain"] for name in ("xaxis", "xaxis2", "xaxis3", "xaxis4")]
    assert spans[0][0] == 0
    assert spans[-1][1] == pytest.approx(1)
    assert all(right[0] - left[1] == pytest.approx(0.04) for left, right in pairwise(spans))
    assert {round(high - low, 9) for low, high in spans} == {0.22}


def test_the_first_row_is_on_top():
    made = axes(SIX)
    assert made["yaxis4"]["domain"] == pytest.approx([0.6, 1])
    assert made["yaxis5"]["domain"] == pytest.approx([0, 0.4])


@pytest.mark.parametrize("count", range(1, 30))
def test_no_panel_leaves_the_figure(count):
    made = axes(Panels(count, across=3, beside=0.07, below=0.013))
    assert all(0 <= each["domain"][0] < each["domain"][1] <= 1 for each in made.values())


def test_ticks_and_titles_stand_where_no_panel_is_below_or_to_the_left():
    made = axes(SIX)
    lowest = [i for i in range(6) if made[f"xaxis{i + 1 if i else ''}"]["title"]]
    first = [i for i in range(6) if made[f"yaxis{i + 1 if i else ''}"]["showticklabels"]]
    assert (lowest, first) == ([2, 3, 4, 5], [0, 4])


def test_heights_of_their_own_have_ticks_of_their_own():
    made = axes(Panels(2, across=2), same_heights=False)
    assert made["yaxis2"]["showticklabels"]
    assert (made["yaxis2"]["matches"], made["xaxis2"]["matches"]) == (None, "x")


def test_traces_are_drawn_on_the_axes_of_their_panel():
    made, names = axes(SIX), SIX.axes_of(4)
    assert names == {"xaxis": "x5", "yaxis": "y5"}
    assert (made["xaxis5"]["anchor"], made["yaxis5"]["anchor"]) == ("y5", "x5")


def test_titles_stand_on_their_panel():
    middle, left = (SIX.title(4, "Leaf 5", 12, left=side) for side in (False, True))
    assert (middle["x"], middle["y"], middle["xanchor"]) == (pytest.approx(0.11), 0.4, "center")
    assert (left["x"], left["xanchor"]) == (0, "left")
