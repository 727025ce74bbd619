import numpy as np
import pytest

from hetcal.figures.base import Panels, bars, draw, heat_map, interval, names_axis, scatter
from hetcal.figures.data import figure_table
from hetcal.figures.results import roc_figure
from hetcal.metrics.curves import RocCurve


def test_a_curve_is_listed_under_the_titles_of_its_axes():
    ends = np.array([0.0, 0.5, 1.0])
    figure = roc_figure([RocCurve("before", ends, ends**0.5, ends, 0.7, 10)])
    table = figure_table(figure)
    own = table[table["series"].str.startswith("before")]
    titles = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text]
    assert own[titles].to_numpy().tolist() == pytest.approx(np.column_stack([ends, ends**0.5]))


def test_marks_have_the_names_of_their_places_their_intervals_and_words():
    mark = scatter(
        name="after",
        x=[0.2, 0.4],
        y=[0, 1],
        error_x=interval([0.1, 0.3], [0.2, 0.4], [0.5, 0.6]),
        hovertext=["n = 5", "<b>n</b> = 7<br>p &lt; 0.1"],
    )
    guide = scatter(x=[0, 0], y=[0, 1], hoverinfo="skip")
    figure = draw([mark, guide], x={"title": {"text": "lift"}}, y=names_axis(["<b>a</b>", "b"]))
    table = figure_table(figure)
    assert list(table) == ["series", "lift", "y", "low", "high", "words"]
    assert table["y"].tolist() == ["a", "b"]
    assert table[["low", "high"]].to_numpy() == pytest.approx(np.array([[0.1, 0.5], [0.3, 0.6]]))
    assert table["words"].tolist() == ["n = 5", "n = 7; p < 0.1"]


def test_cells_of_a_map_are_listed_row_by_row():
    cells = heat_map([[1.0, 2.0], [3.0, 4.0]], 4, "gain", [["a", "b"], ["c", "d"]])
    table = figure_table(draw([cells | {"x": ["p", "q"], "y": ["u", "v"]}]))
    assert table.to_numpy().tolist() == [
        ["p", "u", 1.0, "a"], ["q", "u", 2.0, "b"], ["p", "v", 3.0, "c"], ["q", "v", 4.0, "d"],
    ]  # fmt: skip


def test_panels_are_told_apart():
    panels = Panels(2, across=2)
    drawn = [bars(name="train", x=[1], y=[2], **panels.axes_of(each)) for each in (0, 1)]
    assert figure_table(draw(drawn))["panel"].tolist() == [1, 2]


def test_a_figure_without_marks_has_an_empty_table():
    assert figure_table(draw([])).empty
