"""The schemes of the Partition page: the recommended one and those that are asked for."""

from dataclasses import replace

import pytest

from hetcal.data.demo import DEMO_NETWORK, demo_table
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ModelScoring
from tests.pages.visit import (
    calm,
    figure,
    go,
    links,
    metrics,
    said,
    table_with,
    with_scores,
    with_table,
)


def choose(app, name):
    return go(app, "pages/partition.py").selectbox(key="setting_partition").select(name).run()


@pytest.mark.recommended
def test_the_recommended_scheme_is_chosen_without_a_click_and_told_in_words(segments):
    app = calm(go(with_scores(segments), "pages/partition.py"))
    assert app.selectbox(key="setting_partition").value == "auto"
    table = table_with(app, "words")
    chosen = table.loc[table["chosen"], "name"].item()
    assert f"Chosen: {chosen}" in [each.value for each in app.subheader]
    assert any(chosen in each.value for each in app.markdown)
    assert any("of the best is chosen" in each for each in said(app.caption))
    drawn = [name for trace in figure(app, "partition_candidates")["data"] for name in trace["y"]]
    assert sorted(drawn) == sorted(table["name"])
    results = calm(go(app, "pages/results.py"))
    assert any(f"Scheme: {chosen}" in each for each in said(results.markdown))


@pytest.mark.recommended
def test_the_recommended_scheme_waits_for_scores(segments):
    app = calm(go(with_table(segments.drop(columns="score")), "pages/partition.py"))
    assert "Choose where scores come from" in links(app)


@pytest.mark.parametrize("name", ["forest", "boosted"])
def test_a_scheme_of_many_trees_fills_every_page(segments, name):
    app = calm(choose(with_scores(segments), name))
    assert table_with(app, "words")["name"].tolist() == ["identity", "pooled", name]
    assert not any("is chosen" in each for each in said(app.caption))
    for page in ("overconfidence", "calibration", "results", "export"):
        calm(go(app, f"pages/{page}.py"))
    overview = calm(go(app, "app.py"))
    (told,) = (each for each in overview.markdown if each.value == f"Scheme: **{name}**.")
    assert "was requested" in told.help
    assert set(metrics(overview)) == {"AUC before", "AUC after", "Test rows"}


@pytest.mark.parametrize("name", ["auc-gain", "instability"])
def test_a_tree_on_scores_says_which_rows_it_reads(segments, name):
    app = calm(choose(with_scores(segments), name))
    assert any("validation rows" in each.value for each in app.markdown)
    assert len(table_with(app, "rule")) >= 1


def test_own_columns_are_asked_for_before_anything_is_divided(segments):
    app = calm(choose(with_scores(segments), "columns"))
    assert "Choose one or more columns" in " ".join(said(app.info))
    assert not app.get("plotly_chart")
    assert "Go to Partition" in links(calm(go(app, "pages/results.py")))
    app = go(app, "pages/partition.py")
    app.multiselect(key="setting_segments").set_value(["segment"]).run()
    assert table_with(calm(app), "rule")["rule"].tolist() == ["segment is a", "segment is b"]


def test_a_layer_needs_a_model(segments):
    app = choose(with_scores(segments), "layer")
    assert any("reads a layer" in each for each in said(app.error))


def test_a_layer_that_is_not_chosen_yet_is_no_error():
    table, model = demo_table(), inspect_model(DEMO_NETWORK)
    app = with_table(table)
    scoring = ModelScoring(model, suggest_inputs(model, list(table.columns)))
    app.session_state["workspace"] = replace(app.session_state["workspace"], scoring=scoring)
    app = calm(choose(app, "layer"))
    assert app.selectbox(key="partition_layer").value is None
    assert "Choose a layer" in " ".join(said(app.info))
    assert not app.get("plotly_chart")


def test_the_size_of_the_tree_can_be_left_to_cross_validation(segments):
    app = go(with_scores(segments), "pages/partition.py")
    app.selectbox(key="setting_tree_size").select("cv").run()
    assert app.slider(key="setting_max_depth").disabled
    assert len(table_with(calm(app), "rule")) >= 2


def test_other_maps_and_their_shrinkage_change_the_results(segments):
    app = go(with_scores(segments), "pages/calibration.py")
    before = table_with(app, "slope")["slope"].tolist()
    app.selectbox(key="setting_shrinkage").select(float("inf")).run()
    assert len(set(table_with(calm(app), "slope")["slope"])) == 1 < len(set(before))
    app.selectbox(key="setting_calibrator").select("isotonic").run()
    assert app.selectbox(key="setting_shrinkage").disabled
    assert table_with(calm(app), "map")["map"].str.len().min() > 0
    assert metrics(calm(go(app, "pages/results.py")))
