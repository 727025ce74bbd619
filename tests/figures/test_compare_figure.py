import numpy as np
import pandas as pd
import pytest

from hetcal.figures.base import PALETTE
from hetcal.figures.compare import compare_figure
from hetcal.metrics.curves import RocCurve
from hetcal.results.compare import RunComparison

STEPS = np.array([0.0, 0.5, 1.0])


def curve(name, auc=0.75, rows=1234):
    return RocCurve(name, STEPS, np.sqrt(STEPS), np.array([1.0, 0.4, 0.1]), auc, rows)


def compared(curves, before, shown=None):
    none = pd.DataFrame()
    return RunComparison(none, none, none, tuple(curves), tuple(before), shown)


def test_runs_and_the_score_before_share_axes_with_the_diagonal():
    runs = [curve("first", 0.8), curve("second", 0.82, 99)]
    figure = compare_figure(compared(runs, [curve("before")]))
    diagonal, before, first, second = figure.data
    assert (list(diagonal.x), list(diagonal.y)) == ([0, 1], [0, 1])
    assert [each.name for each in (before, first, second)] == [
        "before · AUC 0.7500",
        "first · AUC 0.8000",
        "second · AUC 0.8200",
    ]
    assert list(second.y) == pytest.approx([0, np.sqrt(0.5), 1])
    assert (before.line.color, before.line.dash) == (PALETTE["before"], "dot")
    assert len({each.line.color for each in (before, first, second)}) == 3
    assert "n = 99<extra>second</extra>" in second.hovertemplate
    assert figure.layout.xaxis.title.text == "false positive rate"
    assert figure.layout.yaxis.title.text == "true positive rate"


def test_each_of_several_scores_before_has_the_colour_of_its_run():
    figure = compare_figure(
        compared([curve("a"), curve("b")], [curve("a before"), curve("b before")])
    )
    _, *lines = figure.data
    colours = [each.line.color for each in lines]
    assert colours[:2] == colours[2:]
    assert [each.line.dash for each in lines] == ["dot", "dot", "solid", "solid"]


def test_no_two_of_many_runs_look_alike():
    _, _, *lines = compare_figure(
        compared([curve(str(i)) for i in range(12)], [curve("before")])
    ).data
    assert len({(each.line.color, each.line.dash) for each in lines}) == 12


def test_names_are_safe_to_draw_and_the_class_is_named():
    figure = compare_figure(compared([curve("<b>"), curve("x" * 99)], [curve("before")], "a<b"))
    assert figure.data[2].name == "&lt;b&gt; · AUC 0.7500"
    assert len(figure.data[3].name) < 60
    assert figure.layout.xaxis.title.text.endswith("of 'a&lt;b' against all others")
