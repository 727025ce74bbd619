"""Schemes on the pages: the recommended one, those the user chooses, and what each page says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.calibrators.shapes import tame
from hetcal.choices import plain_name
from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring
from hetcal.schemes.rows import SchemeRows
from pages.shared.flow import compute
from tests.pages.visit import (
    calm,
    click_point,
    figure,
    go,
    links,
    metrics,
    numbers,
    open_page,
    press,
    said,
    table_with,
    upload,
    with_scores,
    with_table,
)
from tests.schemes.chosen import OF_ONE_PARTITION, chosen


def choose(app, name):
    return go(app, "pages/partition.py").selectbox(key="setting_partition").select(name).run()


LADDER = [
    "identity",
    "pooled",
    "tree",
    "shrunken tree",
    "auc-gain",
    "instability",
    "forest",
    "boosted",
    "additive",
    "stacked",
]


@pytest.mark.recommended
def test_the_ladder_is_climbed_without_comparing_the_schemes_again(segments, counted):
    fits = counted("find_scheme")
    app = calm(go(with_scores(segments), "pages/partition.py"))
    assert app.selectbox(key="setting_partition").value == "auto"
    recommended = in_use(app)
    assert taken(app).options == [
        f"{plain_name(name)} (recommended)" if name == recommended else plain_name(name)
        for name in LADDER
    ]
    drawn = figure(app, f"partition_ladder_{recommended}")["layout"]["yaxis"]["ticktext"]
    assert [bool("in use" in each) for each in drawn] == [name == recommended for name in LADDER]
    assert any("would" in each or "No other rung" in each for each in said(app.markdown))

    app = calm(taken(app).set_value("stacked").run())
    assert in_use(app) == "stacked"
    assert app.subheader[0].value.startswith("Taken: boosted trees beside the score – ")
    results = calm(go(app, "pages/results.py"))
    assert any("(second model)" in each for each in said(results.markdown))
    overview = calm(go(app, "app.py"))
    assert "overview_ladder_stacked" in charts(overview)
    app = calm(press(overview, f"Back to {plain_name(recommended)} (recommended)"))
    assert in_use(app) == recommended
    assert app.session_state["workspace"].settings.take is None

    app = calm(go(app, "pages/partition.py").toggle(key="setting_only").set_value(True).run())
    table = table_with(app, "rung")
    assert table.loc[table["in use"], "kind"].item() in ("none", "calibration")
    assert not [each for each in taken(app).options if "additive" in each or "stacked" in each]
    app = calm(click_point(app, f"partition_ladder_{in_use(app)}", "forest"))
    assert in_use(app) == "forest"
    assert len(fits) == 1


@pytest.mark.recommended
def test_a_scheme_to_which_the_model_adds_nothing_is_not_recommended(segments):
    noise = segments.assign(score=np.random.default_rng(3).uniform(size=len(segments)))
    app = calm(go(with_scores(noise), "app.py"))
    (own,) = (each for each in taken(app).options if each.endswith(")"))
    assert own == f"{plain_name(in_use(app))} (default)"
    assert any("consider replacing it" in each for each in said(app.warning))
    assert any(
        each.startswith("In use until the model is replaced: ") for each in said(app.markdown)
    )


def taken(app):
    """The rungs to take."""
    (group,) = (each for each in app.button_group if each.key.endswith("_ladder_rung"))
    return group


def in_use(app):
    return taken(app).value


@pytest.mark.recommended
def test_the_recommended_scheme_waits_for_scores(segments):
    app = calm(go(with_table(segments.drop(columns="score")), "pages/partition.py"))
    assert "Choose where scores come from" in links(app)


KINDS = {
    "forest": "calibration",
    "boosted": "calibration",
    "additive": "correction",
    "stacked": "second model",
}
EXPORTED = {
    "calibration": "that calibrates the score",
    "correction": "that corrects the score",
    "second model": "that sets a second model beside the score",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_a_scheme_that_is_named_fills_every_page_and_says_its_kind(segments, name, kind):
    app = calm(choose(with_scores(segments), name))
    assert table_with(app, "rung")["kind"].tolist() == ["none", "calibration", kind]
    assert any(each.startswith(f"{kind.capitalize()}. ") for each in said(app.markdown))
    assert not app.button_group
    (reached,) = (each for each in said(app.markdown) if "The one in use on" in each)
    for page in ("overconfidence", "calibration", "results"):
        calm(go(app, f"pages/{page}.py"))
    (contents,) = (
        each for each in said(go(app, "pages/export.py").markdown) if each.startswith("A zip")
    )
    assert EXPORTED[kind] in contents
    overview = calm(go(app, "app.py"))
    (scheme,) = (each for each in overview.markdown if each.value.startswith("In use: "))
    assert f"({kind})" in scheme.value
    assert "was requested" in scheme.help
    assert set(metrics(overview)) == {
        "AUC before",
        "AUC after",
        "Log-loss",
        "Network adds to this scheme",
    }
    lift = float(metrics(overview)["AUC after"]) - float(metrics(overview)["AUC before"])
    on_test_rows = float(reached.split(" test rows: ")[1].split()[0])
    assert on_test_rows == pytest.approx(lift, abs=1.6e-4)  # of numbers with four digits


def test_curves_take_the_pairs_and_directions_that_are_asked_for(segments, counted):
    fits = counted("find_scheme")
    app = calm(choose(with_scores(segments), "additive"))
    app.number_input(key="setting_pairs").set_value(0).run()
    app.multiselect(key="setting_increasing").set_value(["size"]).run()
    box = calm(app).multiselect(key="setting_decreasing")
    assert "size" not in box.options
    assert "segment" not in box.options, "a category neither rises nor falls"
    asked = fits[-1][0]
    assert (asked.pairs, asked.increasing, asked.decreasing) == (0, ("size",), ())


@pytest.mark.parametrize("name", ["auc-gain", "instability"])
def test_a_tree_on_scores_says_which_rows_it_reads(segments, name):
    app = calm(choose(with_scores(segments), name))
    assert any("validation rows" in each.value for each in app.markdown)
    assert len(table_with(app, "rule")) >= 1


def test_own_columns_must_be_chosen_before_the_rows_are_divided(segments):
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
    table, model = demo_table(), inspect_model(DEMO_NETWORKS["random"].file)
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
    before = table_with(app, "slope")["intercept"].tolist()
    app.selectbox(key="setting_shrinkage").select(float("inf")).run()
    assert len(set(table_with(calm(app), "slope")["intercept"])) == 1 < len(set(before))
    app.selectbox(key="setting_calibrator").select("isotonic").run()
    assert app.selectbox(key="setting_shrinkage").disabled
    assert table_with(calm(app), "map")["map"].str.len().min() > 0
    assert metrics(calm(go(app, "pages/results.py")))


FINER = "more finely"


@pytest.fixture
def visit(segments, monkeypatch):
    """Open the Partition page with a scheme that is chosen by its name."""

    def open_with(name):
        monkeypatch.setattr(compute, "find_scheme", chosen(name))
        app = go(with_scores(segments), "pages/partition.py")
        return calm(app.selectbox(key="setting_partition").select("auto").run())

    return open_with


@pytest.fixture
def runs(monkeypatch):
    """The runs that the pages finish."""
    found, finish = [], compute.finish_run

    def finishing(*args):
        found.append(finish(*args))
        return found[-1]

    monkeypatch.setattr(compute, "finish_run", finishing)
    return found


def everything(app):
    return " ".join(said([*app.markdown, *app.caption, *app.info]))


def charts(app):
    return {each.key for each in app.get("plotly_chart")}


@pytest.mark.parametrize("name", OF_ONE_PARTITION)
def test_the_maps_of_one_tree_are_those_that_calibrate(visit, runs, segments, name):
    app = visit(name)
    assert "the leaves of the scheme in use; Calibration shows their maps" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "It uses the maps of the leaves" in everything(app)
    assert "Choose Algorithm 1" not in everything(app)
    maps = table_with(app, "slope").set_index("leaf")
    assert not {"slope_se", "rows"} & set(app.dataframe[0].proto.column_order)
    held = segments["split"].isin(["validation", "calibration"]).sum()
    assert f"fitted on {held:,} validation and calibration rows" in everything(app)
    run = runs[-1]
    scores = run.scores.logit
    if name != "tree":
        stage = run.choice.scheme.stages[0]
        assert f"from {stage.low:.2f} to {stage.high:.2f}" in everything(app)
        scores = tame(scores, stage.low, stage.high)
    slope, intercept = (maps.loc[run.leaf, each].to_numpy() for each in ("slope", "intercept"))
    assert np.allclose(slope * scores + intercept, run.after, rtol=0, atol=1e-12)
    app = calm(go(app, "pages/results.py"))
    assert FINER not in everything(app)
    assert "The ranking within a leaf is unchanged" in everything(app)


def test_a_score_that_is_noise_is_told_once_on_every_later_page(segments, monkeypatch):
    monkeypatch.setattr(compute, "find_scheme", chosen("pooled"))
    drawn = segments.assign(score=np.random.default_rng(1).normal(size=len(segments)))
    app = go(with_scores(drawn), "pages/partition.py")
    app = calm(app.selectbox(key="setting_partition").select("auto").run())
    for page in ("partition", "overconfidence", "calibration", "results", "export"):
        shown = calm(go(app, f"pages/{page}.py"))
        told = [each for each in said(shown.warning) + said(shown.info) if "noise: on " in each]
        assert len(told) == 1, page


def test_scores_say_which_checkbox_leaves_validation_rows_out(visit):
    app = calm(go(visit("pooled"), "pages/scores.py"))
    about = " ".join(said([*app.info, *app.warning]))
    assert "(clear 'Fit and compare schemes on validation rows, too' on Data)" in about
    assert "--no-validation" not in about
    boxes = [each.label for each in calm(go(app, "pages/data.py")).checkbox]
    assert "Fit and compare schemes on validation rows, too" in boxes


def test_many_trees_are_said_to_have_no_map_in_a_leaf(visit):
    app = visit("forest")
    assert "The scheme in use has too many trees to show" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "so no leaf has one map" in everything(app)
    assert FINER in everything(calm(go(app, "pages/results.py")))


def test_a_model_that_is_left_as_it_is_has_neither_maps_nor_shares_of_a_lift(visit):
    app = visit("identity")
    assert "The model is left as it is, so no leaf has a map" in everything(app)
    assert "too many trees" not in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "Nothing is calibrated: the model is left as it is." in everything(app)
    assert "See how over-confident the model is in every leaf" in links(app)
    assert "calibration_maps" not in charts(app)
    means = next(t for t in figure(app, "calibration_applied")["data"] if t["name"] == "mean after")
    assert numbers(means["y"]) == pytest.approx(numbers(means["x"]))
    app = calm(go(app, "pages/results.py"))
    assert "The ranking of all rows is unchanged" in everything(app)
    assert "have become" not in everything(app)
    assert charts(app) & {"results_change", "results_leaves"} == set()
    assert "results_reliability" in charts(app)
    assert charts(calm(go(app, "app.py"))) == {"overview_ladder_identity"}


def test_one_map_for_all_rows_has_no_shares_of_a_lift_but_better_probabilities(visit, runs):
    app = visit("pooled")
    assert "All rows share one map" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    run = runs[-1]
    (applied,) = {(each.slope, each.intercept) for each in run.calibrator.maps_}
    assert f"the fitted slope {applied[0]:.3f} and intercept {applied[1]:+.3f}" in everything(app)
    assert "for comparison" not in everything(app)
    assert "calibration_plane" not in charts(app)
    (line,) = (t for t in figure(app, "calibration_maps")["data"] if t["name"] == "pooled map")
    shape = run.calibrator.maps_[0].shape
    logits = applied[0] * tame(numbers(line["x"]), shape.low, shape.high) + applied[1]
    assert numbers(line["y"]) == pytest.approx(expit(logits))
    app = calm(go(app, "pages/results.py"))
    assert "results_leaves" not in charts(app)
    assert "how much better the probabilities have become" in everything(app)


def test_a_saved_run_of_one_tree_has_its_maps_too(visit, runs):
    calm(go(visit("tree"), "pages/calibration.py"))
    data = artifact_bytes(runs[-1], ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    assert "is for diagnosis" not in everything(calm(app))
    app = calm(go(press(app, "Explore this run"), "pages/calibration.py"))
    shown = table_with(app, "slope")["slope"].tolist()[1:]
    assert shown == [each.slope for each in runs[-1].calibrator.maps_]
    assert "It uses the maps of the leaves" in everything(app)


def test_a_saved_run_that_left_the_model_as_it_is_says_so(visit, runs):
    calm(go(visit("identity"), "pages/calibration.py"))
    data = artifact_bytes(runs[-1], ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    app = calm(press(calm(app), "Explore this run"))
    assert charts(app) & {"results_change", "results_leaves"} == set()
    app = calm(go(app, "pages/calibration.py"))
    assert "Nothing is calibrated" in everything(app)
    assert "calibration_maps" not in charts(app)


def test_a_tree_of_sampled_rows_says_that_the_chart_counts_the_sample(segments, monkeypatch):
    def of_sample(settings, training, *others):
        some = SchemeRows(training.X[:700], training.y[:700], training.scores[:700])
        return chosen("tree")(settings, some, *others)

    monkeypatch.setattr(compute, "find_scheme", of_sample)
    app = go(with_scores(segments), "pages/partition.py")
    assert "chart counts" not in everything(calm(app))
    app = calm(app.selectbox(key="setting_partition").select("auto").run())
    train = (segments["split"] == "train").sum()
    assert f"grown on a sample of 700 of {train:,} train rows" in everything(app)
