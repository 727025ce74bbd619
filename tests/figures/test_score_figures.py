from dataclasses import replace

import numpy as np
import pytest

from hetcal.figures.base import MAX_POINTS, PALETTE
from hetcal.figures.overconfidence import (
    drawn_leaves,
    leaf_histogram_figure,
    leaf_multiples_figure,
)
from hetcal.results.histograms import ScoreHistograms

# By leaf (all rows, 1, 2), role (train, test), label (0, 1) and bin.
LEAF_1 = [[[4, 0], [1, 3]], [[2, 0], [0, 2]]]
LEAF_2 = [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
COUNTS = np.array([np.add(LEAF_1, LEAF_2), LEAF_1, LEAF_2])
HISTOGRAMS = ScoreHistograms(np.array([-2.0, 0.0, 4.0]), COUNTS, (0, 1, 2), "logit", COUNTS)


def many(leaves, bins):
    counts = np.ones((leaves + 1, 2, 2, bins), dtype=np.int64)
    return ScoreHistograms(
        np.linspace(0, 1, bins + 1), counts, tuple(range(leaves + 1)), "probability", counts
    )


def titles(figure):
    return [each.text for each in figure.layout.annotations]


def test_bars_are_the_counts_of_the_leaf():
    bars = leaf_histogram_figure(HISTOGRAMS, 1).data
    assert [list(each.y) for each in bars] == [[4, 0], [1, 3], [2, 0], [0, 2]]
    assert [list(each.x) for each in bars] == [[-1, 2]] * 4
    assert [list(each.width) for each in bars] == [[2, 4]] * 4
    assert [each.name for each in bars] == ["negative", "positive"] * 2


def test_densities_have_area_one():
    bars = leaf_histogram_figure(HISTOGRAMS, 1, density=True).data
    assert list(bars[1].y) == pytest.approx([1 / 4 / 2, 3 / 4 / 4])


def test_train_lies_above_test_and_is_hatched():
    figure = leaf_histogram_figure(HISTOGRAMS, 0)
    assert titles(figure) == ["train rows · n = 10", "test rows · n = 6"]
    assert [each.marker.pattern.shape for each in figure.data] == ["/", "/", None, None]
    assert [each.yaxis for each in figure.data] == ["y", "y", "y2", "y2"]
    assert figure.layout.xaxis2.matches == "x"


def test_axes_say_what_they_measure():
    layout = leaf_histogram_figure(HISTOGRAMS, 1).layout
    assert (layout.xaxis2.title.text, layout.yaxis.title.text) == ("score (logit)", "rows")
    assert leaf_histogram_figure(HISTOGRAMS, 1, True).layout.yaxis.title.text == "density"
    assert leaf_histogram_figure(many(1, 4), 1).layout.xaxis2.title.text == "score (probability)"


def test_weights_are_drawn_but_n_is_the_number_of_rows():
    weighted = replace(HISTOGRAMS, counts=COUNTS * 2.5)
    figure = leaf_histogram_figure(weighted, 1)
    assert list(figure.data[0].y) == [10, 0]
    assert figure.data[0].hovertext[0] == "score below 0<br>n = 4"
    assert figure.layout.yaxis.title.text == "total weight"
    assert titles(figure) == ["train rows · n = 8", "test rows · n = 4"]
    assert "n = 4 test rows" in titles(leaf_multiples_figure(weighted))[0]


def test_hover_tells_n_and_that_the_end_bins_are_open():
    assert list(leaf_histogram_figure(HISTOGRAMS, 1, density=True).data[1].hovertext) == [
        "score below 0<br>n = 1",
        "score 0 and above<br>n = 3",
    ]


def test_labels_keep_their_colours():
    figure = leaf_multiples_figure(HISTOGRAMS)
    colours = {each.name: each.line.color for each in figure.data}
    assert colours["test, positive"] == colours["train, positive"] == PALETTE["positive"]
    assert colours["test, negative"] == PALETTE["negative"]


def test_every_leaf_has_a_panel_with_its_test_rows():
    figure = leaf_multiples_figure(HISTOGRAMS)
    assert titles(figure)[:2] == ["Leaf 1<br>n = 4 test rows", "Leaf 2<br>n = 2 test rows"]
    assert titles(figure)[2] == "score (logit)"


def test_the_names_of_chosen_leaves_are_bold():
    figure = leaf_multiples_figure(HISTOGRAMS, selected=(2,))
    assert titles(figure)[:2] == ["Leaf 1<br>n = 4 test rows", "<b>Leaf 2</b><br>n = 2 test rows"]


def test_panels_draw_train_dotted_and_test_filled():
    panel = leaf_multiples_figure(HISTOGRAMS, density=False).data[:4]
    drawn = {each.name: (list(each.y), each.line.dash, each.fill) for each in panel}
    assert drawn == {
        "test, negative": ([2, 0], "solid", "tozeroy"),
        "test, positive": ([0, 2], "solid", "tozeroy"),
        "train, negative": ([4, 0], "dot", None),
        "train, positive": ([1, 3], "dot", None),
    }


def test_the_legend_names_each_curve_once():
    shown = [each.name for each in leaf_multiples_figure(HISTOGRAMS).data if each.showlegend]
    assert len(shown) == len(set(shown)) == 4


def test_sixteen_leaves_of_24_bins_are_all_drawn_within_the_points_of_a_chart():
    figure = leaf_multiples_figure(many(16, 24))
    assert sum(len(each.x) for each in figure.data) == 16 * 4 * 24 <= MAX_POINTS


def test_leaves_that_do_not_fit_are_counted():
    figure = leaf_multiples_figure(many(30, 40))
    assert sum(len(each.x) for each in figure.data) <= MAX_POINTS
    assert titles(figure)[11] == "Leaf 12<br>n = 80 test rows, 18 more leaves not shown"
    assert drawn_leaves(many(30, 40)) == list(range(1, 13))


def test_columns_that_end_early_have_their_own_ticks():
    figure = leaf_multiples_figure(many(6, 4))
    shown = [figure.layout[f"xaxis{i}"].showticklabels for i in range(2, 7)]
    assert shown == [False, True, True, True, True]
