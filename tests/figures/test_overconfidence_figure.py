import pandas as pd

from hetcal.figures.base import PALETTE
from hetcal.figures.overconfidence import overconfidence_figure

DIAGNOSIS = pd.DataFrame(
    {
        "leaf": [0, 1, 2],
        "rule": ["all rows", "age ≤ 30", "age > 30 and job is <none>"],
        "rows_train": [3000, 1000, 2000],
        "rows_test": [300, 100, 200],
        "log_loss_train": [0.3, 0.35, 0.25],
        "log_loss_test": [0.4, 0.36, 0.5],
        "rank": [0, 2, 1],
        "sentence": ["all <is> said", "well", "badly"],
    }
)


def test_all_rows_come_first_then_the_most_over_confident_leaf():
    lines, train, test = overconfidence_figure(DIAGNOSIS).data
    assert list(train.customdata) == list(test.customdata) == [0, 2, 1]
    assert list(train.x) == [0.3, 0.25, 0.35]
    assert list(test.x) == [0.4, 0.5, 0.36]
    assert list(lines.x) == [0.3, 0.4, None, 0.25, 0.5, None, 0.35, 0.36, None]


def test_the_first_is_drawn_on_top():
    low, high = overconfidence_figure(DIAGNOSIS).layout.yaxis.range
    assert low > high


def test_names_and_axis_are_written():
    figure = overconfidence_figure(DIAGNOSIS, selected=[1])
    assert list(figure.layout.yaxis.ticktext) == ["All rows", "Leaf 2", "<b>Leaf 1</b>"]
    assert figure.layout.xaxis.title.text == "log-loss (lower is better)"
    assert [each.name for each in figure.data[1:]] == ["train rows", "test rows"]


def test_train_is_hollow_and_test_is_filled():
    _, train, test = overconfidence_figure(DIAGNOSIS).data
    assert (train.marker.symbol, test.marker.symbol) == ("circle-open", "circle")
    assert test.marker.color == PALETTE["test"]


def test_a_long_name_takes_two_lines_and_hovering_tells_the_whole_rule():
    name = "age > 30 · … · a_column_with_a_name ≤ 0.095 (2)"
    figure = overconfidence_figure(DIAGNOSIS, names={2: name})
    label = "age &gt; 30 · … ·<br>a_column_with_a_name ≤ 0.095 (2)"
    assert figure.layout.yaxis.ticktext[1] == label
    assert "age &gt; 30 and job is &lt;none&gt;<br>badly" in figure.data[1].hovertext[1]


def test_hover_tells_the_verdict_and_n():
    hover = overconfidence_figure(DIAGNOSIS).data[1].hovertext
    assert hover[0] == (
        "<b>All rows</b><br>all &lt;is&gt; said<br>n = 3,000 train rows, 300 test rows"
    )


def test_a_loss_that_is_not_defined_leaves_a_gap():
    figure = overconfidence_figure(DIAGNOSIS.assign(log_loss_test=[0.4, float("nan"), 0.5]))
    assert pd.isna(figure.data[2].x[2])
