import pandas as pd

from hetcal.figures.base import colour
from hetcal.figures.watch import watch_figure

LEAVES = pd.DataFrame(
    {
        "leaf": [0, 1, 2, 3],
        "rows": [300, 100, 200, 0],
        "rate": [0.5, 0.3, 0.6, float("nan")],
        "expected": [0.45, 0.31, 0.52, float("nan")],
        "rate_reference": [0.4, 0.2, 0.5, 0.3],
        "expected_reference": [0.41, 0.21, 0.51, 0.31],
        "status": ["holds", "holds", "changed", "too few rows"],
    }
)


def test_each_leaf_with_rows_has_what_was_expected_and_what_was_found():
    lines, expected, found = watch_figure(LEAVES).data
    assert (list(expected.x), list(found.x)) == ([0.45, 0.31, 0.52], [0.5, 0.3, 0.6])
    assert list(expected.customdata) == [0, 1, 2]
    assert list(lines.x[:3]) == [0.45, 0.5, None]
    assert (expected.marker.color, found.marker.color) == (colour("after"), colour("positive"))


def test_changed_leaves_are_bold_and_words_say_what_is_meant():
    figure = watch_figure(LEAVES, [2], {1: "young (1)", 2: "old (2)"})
    assert list(figure.layout.yaxis.ticktext) == ["All rows", "young (1)", "<b>old (2)</b>"]
    assert figure.data[1].hovertext[2] == (
        "<b>Leaf 2</b>: changed<br>60.0% of 200 labels are positive, 52.0% were expected<br>"
        "on the test rows 50.0%, 51.0% expected"
    )
