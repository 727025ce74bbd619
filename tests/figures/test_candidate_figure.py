import pandas as pd
import pytest

from hetcal.figures.results import candidate_figure


@pytest.fixture
def candidates():
    return pd.DataFrame(
        {
            "name": ["identity", "pooled", "forest"],
            "words": ["leave", "one map", "many trees"],
            "lift": [0.0, 0.0, 0.02],
            "low": [0.0, -0.001, 0.01],
            "high": [0.0, 0.001, 0.03],
            "rows": [500, 500, 500],
            "chosen": [False, False, True],
        }
    )


def test_every_candidate_has_its_lift_and_interval(candidates):
    others, chosen = candidate_figure(candidates).data
    assert list(others.y) == ["identity", "pooled"]
    assert list(chosen.x) == [0.02]
    assert chosen.error_x.array[0] == pytest.approx(0.01)
    assert chosen.customdata[0][3] == 500


def test_the_measure_is_named_on_the_axis_and_in_the_hover_text(candidates):
    figure = candidate_figure(candidates, "macro AUC")
    assert figure.layout.xaxis.title.text == "lift in macro AUC, cross-fitted"
    assert "%{x:+.4f} macro AUC<br>" in figure.data[0].hovertemplate


def test_every_name_is_explained_where_it_stands(candidates):
    axis = candidate_figure(candidates).layout.yaxis
    assert list(axis.tickvals) == ["identity", "pooled", "forest"]
    assert [each.split("<")[0] for each in axis.ticktext] == ["identity", "pooled", "forest"]
    assert "one map" in axis.ticktext[1]


def test_long_words_make_room_for_themselves(candidates):
    longer = candidates.assign(words=["a", "b", "word " * 20])
    heights = [candidate_figure(each).layout.height for each in (candidates, longer)]
    assert heights[1] >= heights[0] + 3 * 2 * 12


def test_the_simplest_candidate_stands_at_the_top(candidates):
    assert candidate_figure(candidates).layout.yaxis.categoryarray[-1] == "identity"
