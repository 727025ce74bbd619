import re

import numpy as np
import pandas as pd
import pytest

from hetcal.figures.base import PALETTE
from hetcal.figures.ladder import LINE, ladder_figure


def ladder(**more):
    """Four rungs above a model with AUC 0.75."""
    lift, alone = np.array([0.0, 0.01, 0.02, 0.025]), np.array([0.5, 0.74, 0.765, 0.775])
    half = np.array([0.0, 0.004, 0.004, 0.004])
    columns = {
        "name": ["identity", "tree", "additive", "stacked"],
        "words": ["leave the model", "one tree", "a curve per column", "trees beside it"],
        "kind": ["none", "calibration", "correction", "second model"],
        "lift": lift,
        "se": [0.0, 0.002, 0.002, 0.002],
        "low": lift - half,
        "high": lift + half,
        "auc": 0.75 + lift,
        "without": alone - 0.75,
        "adds": 0.75 + lift - alone,
        "adds_low": 0.75 + lift - alone - 0.003,
        "adds_high": 0.75 + lift - alone + 0.003,
        "adds_p": [1e-9, 0.001, 0.04, 0.9],
        "log_loss": [0.5, 0.49, 0.48, 0.47],
        "loss_fall": [0.0, 0.01, 0.02, 0.03],
        "loss_se": [0.0, 0.001, 0.001, 0.001],
        "numbers": [0, 16, 640, 12_400],
        "seconds": [0.0, 0.5, 8.25, 14.0],
        "rows": [9_045] * 4,
        "allowed": [True, True, True, False],
        "chosen": [False, False, True, False],
    }
    return pd.DataFrame({**columns, **more})


def trace(figure, name):
    return next(each for each in figure.data if each.name == name)


def test_a_rung_is_at_its_auc_with_the_interval_of_its_lift():
    used = trace(ladder_figure(ladder()), "in use")
    assert (list(used.x), list(used.y)) == ([pytest.approx(0.77)], [2])
    assert used.error_x.array[0] == pytest.approx(0.004)
    assert used.error_x.arrayminus[0] == pytest.approx(0.004)


def test_only_the_model_is_blue_and_only_the_rung_in_use_is_orange():
    figure = ladder_figure(ladder())
    inks = {each.name: each.marker.color for each in figure.data if each.mode != "lines"}
    assert inks["your model"] == PALETTE["before"]
    assert inks["in use"] == PALETTE["after"]
    assert inks["not chosen"] == inks["without the network"] == PALETTE["quiet"]
    assert inks["not by default"].endswith(",0.5)")


def test_the_hollow_mark_is_the_auc_without_the_network_joined_to_the_rung():
    figure = ladder_figure(ladder())
    hollow, line = trace(figure, "without the network"), figure.data[0]
    assert hollow.x[1:] == pytest.approx([0.74, 0.765, 0.775])
    assert list(line.x[:2]) == pytest.approx([0.74, 0.76])
    assert list(line.y[:3]) == [1, 1, None]


def test_a_value_far_to_the_left_is_an_arrow_at_the_edge_with_the_value_beside_it():
    figure = ladder_figure(ladder())
    dotted = [each for each in figure.data if each.mode == "lines" and each.line.dash == "dot"]
    assert [list(each.y) for each in dotted] == [[0, 0, None]]
    assert trace(figure, "without the network").text == ("0.5000", "", "", "")
    assert any("off the axis" in each.text for each in figure.layout.annotations)
    hollow, left = trace(figure, "without the network"), figure.layout.xaxis.range[0]
    assert list(hollow.marker.symbol) == ["triangle-left-open", *["circle-open"] * 3]
    assert 0.5 < left < hollow.x[0] < 0.74


def test_without_a_control_there_is_no_hollow_mark():
    nothing = dict.fromkeys(["without", "adds", "adds_low", "adds_high", "adds_p"], np.nan)
    figure = ladder_figure(ladder(**nothing), "macro AUC")
    assert len(trace(figure, "without the network").x) == 0
    assert "lines" not in {each.mode for each in figure.data}
    assert not any("off the axis" in each.text for each in figure.layout.annotations)
    assert "without the network" not in trace(figure, "in use").hovertext[0]


def test_numbers_stand_beside_each_rung():
    written = [each.text for each in ladder_figure(ladder()).layout.annotations]
    assert "<b>+0.0200<br>-0.0200</b>" in written
    assert "+0.0000<br>+0.0000" in written
    assert "<b>+0.0050<br>± 0.0030</b>" in written
    assert "<b>640<br>8.2 s</b>" in written
    assert "12,400<br>14 s" in written


def test_no_type_is_smaller_than_twelve_pixels():
    layout = ladder_figure(ladder()).layout
    hollow = trace(ladder_figure(ladder()), "without the network")
    fonts = [hollow.textfont.size, *(each.font.size for each in layout.annotations)]
    texts = [*layout.yaxis.ticktext, *(each.text for each in layout.annotations)]
    spans = [int(size) for text in texts for size in re.findall(r"font-size:(\d+)px", text)]
    assert len(spans) > len(layout.yaxis.ticktext)
    assert min(*fonts, *spans) >= 12


def test_labels_have_the_kind_and_say_what_is_in_use_and_what_is_not_allowed():
    labels = ladder_figure(ladder()).layout.yaxis.ticktext
    assert labels[0] == "<b>leave it</b>"
    assert labels[2].startswith("<b>curves</b><br>")
    assert "correction · <b>in use</b>" in labels[2]
    assert "second model · not by default" in labels[3]


def test_hover_tells_everything_with_the_number_of_rows():
    words = trace(ladder_figure(ladder()), "in use").hovertext[0]
    for part in (
        "<b>curves</b>, a correction",
        "a curve per column",
        "AUC 0.7700, lift +0.0200 (+0.0160 to +0.0240)",
        "without the network 0.7650",
        "the network adds +0.0050 (+0.0020 to +0.0080), p-value 0.04",
        "log-loss 0.4800, lower by +0.0200 ± 0.0020",
        "640 numbers decide, 8.2 s",
        "n = 9,045 rows",
    ):
        assert part in words
    assert "do not recommend" in trace(ladder_figure(ladder()), "not by default").hovertext[0]


def test_marks_carry_names_of_schemes_for_a_click():
    figure = ladder_figure(ladder())
    assert trace(figure, "in use").customdata == ("additive",)
    assert trace(figure, "without the network").customdata[-1] == "stacked"


def test_the_model_itself_can_be_in_use():
    figure = ladder_figure(ladder(chosen=[True, False, False, False]))
    used = trace(figure, "in use")
    assert (used.marker.symbol, used.marker.color) == (("diamond",), PALETTE["after"])
    assert "your model" not in {each.name for each in figure.data}


def test_axes_say_what_was_measured_and_how():
    layout = ladder_figure(ladder(), "macro AUC").layout
    assert layout.xaxis.title.text == "macro AUC, cross-fitted"


def test_long_names_take_two_lines_at_most_and_words_are_whole_on_hover():
    words = "trees, " * 30
    names = ["a", "b", "name " * 30, "d"]
    figure = ladder_figure(ladder(name=names, words=["a", "b", words.strip(" ,"), "d"]))
    label = figure.layout.yaxis.ticktext[2]
    assert label.count("<br>") == 2
    assert len(label.split("<br>")[0]) <= LINE + len("<b>")
    assert trace(figure, "in use").hovertext[0].count("trees") == 30


def test_names_and_words_are_drawn_as_they_are():
    figure = ladder_figure(ladder(name=["a <i>", "b", "c", "d"], words=["e <i>", "f", "g", "h"]))
    assert "a &lt;i&gt;" in figure.layout.yaxis.ticktext[0]
    assert "e &lt;i&gt;" in trace(figure, "your model").hovertext[0]
