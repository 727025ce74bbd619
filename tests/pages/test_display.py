"""Tables that cut no text, and progress bars that do not stay."""

import json

import pandas as pd
import pyarrow as pa
import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from hetcal.results.overconfidence import CHANGES, in_brief, scale_words
from pages.shared.display import progress
from pages.shared.display.columns import MAPS
from pages.shared.display.tables import heights
from tests.pages.visit import (
    calm,
    go,
    the_error,
    with_scores,
    with_table,
)


def proto_of(table, columns):
    """The proto of a table that `draw_table` drew with the columns of that name."""

    def page(table, columns):
        from pages.shared.display import columns as named
        from pages.shared.display.tables import draw_table

        draw_table(table, getattr(named, columns))

    app = AppTest.from_function(page, kwargs={"table": table, "columns": columns}).run()
    assert not app.exception
    return app.dataframe[0].proto


def written(proto):
    """The texts of the cells."""
    return pa.ipc.open_stream(proto.arrow_data.styler.display_values).read_pandas()


def test_a_p_value_too_small_for_a_number_is_not_written_as_zero():
    table = pd.DataFrame({"class": ["a", "b", "c"], "p": [0.0, 0.0312, float("nan")]})
    assert written(proto_of(table, "CLASSES"))["p"].tolist() == ["< 1e-300", "0.031", "–"]


# Three questions; the second has one more. In Chromium they take about 390 and 560 pixels.
THREE = "contract is one year and tenure_months > 12 and support_calls ≤ 0"
FOUR = f"{THREE} and monthly_fee ≤ 44.835"


def test_rules_of_one_line_leave_the_height_of_rows_to_streamlit():
    proto = proto_of(pd.DataFrame({"leaf": [1], "rule": [THREE]}), "MAPS")
    assert not proto.HasField("row_height")


def test_a_rule_that_is_too_long_for_its_column_is_broken_into_lines():
    proto = proto_of(pd.DataFrame({"leaf": [1], "rule": [FOUR]}), "MAPS")
    assert proto.row_height > 64, "Streamlit breaks no lines in lower rows"
    assert proto.row_height >= 16 + 2 * 20
    long = proto_of(pd.DataFrame({"leaf": [1], "rule": [" and ".join([FOUR] * 4)]}), "MAPS")
    assert long.row_height >= 16 + 6 * 20


def test_tables_of_high_rows_show_ten_of_them():
    rules = pd.DataFrame({"rule": [FOUR] * 50})
    row, ten, all_three = (heights(MAPS, rules.head(n)) for n in (1, 50, 3))
    height = row["row_height"]
    assert 3 * height + 35 < all_three["height"] < 3 * height + 45
    assert 10 * height + 35 < ten["height"] < 11 * height


def rule_width(rule):
    """The width of the column of rules where this one is the longest."""
    config = proto_of(pd.DataFrame({"leaf": [1], "rule": [rule]}), "DIAGNOSIS").columns
    return json.loads(config)["rule"]["width"]


def test_a_column_of_rules_is_as_wide_as_they_need_up_to_three_lines():
    assert rule_width("age ≤ 30") < rule_width(THREE) == rule_width(FOUR) == 240
    assert rule_width(" and ".join([FOUR] * 2)) == 490


def test_advice_on_a_slope_stands_on_one_line():
    slopes, errors = (*CHANGES, -0.5, 0.05, 0.95, 1.04, 7), (0.01, 0.3, 3)
    said = [in_brief(scale_words(0.93 * slope, se)) for slope in slopes for se in errors]
    said += [in_brief(scale_words(slope, 0.01, -3.0)) for slope in CHANGES]
    assert "too few test rows to judge the size of the scores" in said
    proto = proto_of(pd.DataFrame({"leaf": 1, "rule": "all rows", "brief": said}), "DIAGNOSIS")
    assert not proto.HasField("row_height")
    long = pd.DataFrame({"leaf": 1, "rule": "all rows", "brief": ["shall " * 15]})
    spoilt = proto_of(long, "DIAGNOSIS")
    assert spoilt.HasField("row_height")


@pytest.fixture
def drawn(monkeypatch):
    """What bars said, if every pass is worth one."""
    texts, draw = [], DeltaGenerator.progress

    def drawing(self, value, text=None, **options):
        texts.append(text)
        return draw(self, value, text, **options)

    monkeypatch.setattr(DeltaGenerator, "progress", drawing)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    return texts


def begins(texts, words):
    return any(text.startswith(words) for text in texts)


def test_every_pass_over_the_rows_has_its_bar_and_none_stays(segments, drawn):
    app = calm(go(with_scores(segments), "pages/results.py"))
    for words in ("Reading", "Taking", "Describing", "Looking", "Growing", "Fitting"):
        assert begins(drawn, words), words
    assert not app.get("progress")


def test_many_trees_that_score_all_rows_have_their_bar_once(segments, drawn):
    app = go(with_scores(segments), "pages/partition.py")
    app.selectbox(key="setting_partition").select("forest").run()
    app = calm(go(app, "pages/results.py"))
    drawn.clear()
    app = calm(go(app, "pages/export.py"))
    assert begins(drawn, "Sending rows through the trees")
    drawn.clear()
    calm(go(go(app, "pages/results.py"), "pages/export.py"))
    assert not drawn


def test_what_is_known_already_needs_no_bar(segments, drawn):
    app = calm(go(with_scores(segments), "pages/results.py"))
    drawn.clear()
    for page in ("pages/data.py", "pages/partition.py", "pages/results.py"):
        calm(go(app, page))
    assert not drawn


def test_short_work_has_no_bar(segments, drawn, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    calm(go(with_scores(segments), "pages/results.py"))
    assert not drawn


def test_an_error_takes_the_place_of_the_bar(segments, drawn):
    app = with_table(segments.to_csv(index=False).encode().replace(b"\n", b",\n", 3))
    assert the_error(app)
    assert drawn
    assert not app.get("progress")
