"""What the pages say of a chosen scheme: one tree, one map, none, or many trees."""

from dataclasses import replace

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.calibrators.shapes import tame
from hetcal.models.scoring import ColumnScoring
from pages.shared.flow import compute
from tests.pages.visit import (
    calm,
    go,
    links,
    open_page,
    press,
    said,
    table_with,
    upload,
    with_scores,
)
from tests.schemes.chosen import OF_ONE_PARTITION, chosen

FINER = "more finely"


@pytest.fixture
def visit(segments, monkeypatch):
    """Open the Partition page with a scheme that is chosen by its name."""

    def open_with(name):
        monkeypatch.setattr(compute, "fit_ensemble", chosen(name))
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
def test_the_maps_of_one_tree_are_those_that_calibrate(visit, runs, name):
    app = visit(name)
    assert "the leaves of the chosen scheme; Calibration shows the map" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "It applies the maps of the leaves" in everything(app)
    assert "One tree" not in everything(app)
    maps = table_with(app, "slope").set_index("leaf")
    assert "slope_se" not in app.dataframe[0].proto.column_order
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
    assert "Within a leaf the order of the rows stays" in everything(app)


def test_the_maps_beside_many_trees_are_said_not_to_calibrate(visit):
    app = visit("forest")
    assert "Many trees cannot be looked at one by one" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "this run does not apply them" in everything(app)
    assert "slope_se" in app.dataframe[0].proto.column_order
    assert FINER in everything(calm(go(app, "pages/results.py")))


def test_a_model_that_is_left_as_it_is_has_neither_maps_nor_shares_of_a_lift(visit):
    app = visit("identity")
    assert "The model is left as it is, so no leaf has a map" in everything(app)
    assert "Many trees" not in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert "Nothing is calibrated: every score keeps its probability." in everything(app)
    assert "See how sure the model is in every leaf" in links(app)
    assert not charts(app)
    app = calm(go(app, "pages/results.py"))
    assert "The order of all rows stays" in everything(app)
    assert "have become" not in everything(app)
    assert charts(app) & {"results_lift", "results_leaves"} == set()
    assert "results_reliability" in charts(app)
    assert not charts(calm(go(app, "app.py")))


def test_one_map_for_all_rows_has_no_shares_of_a_lift_but_better_probabilities(visit):
    app = visit("pooled")
    assert "All rows have one map" in everything(app)
    app = calm(go(app, "pages/calibration.py"))
    assert table_with(app, "slope")["slope"].iloc[1:].nunique() == 1
    app = calm(go(app, "pages/results.py"))
    assert "results_leaves" not in charts(app)
    assert "how much better the probabilities have become" in everything(app)


def test_a_saved_run_of_one_tree_has_its_maps_too(visit, runs):
    calm(go(visit("tree"), "pages/calibration.py"))
    data = artifact_bytes(runs[-1], ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    assert "stands for the scheme" not in everything(calm(app))
    app = calm(go(press(app, "Explore this run"), "pages/calibration.py"))
    shown = table_with(app, "slope")["slope"].tolist()[1:]
    assert shown == [each.slope for each in runs[-1].calibrator.maps_]
    assert "It applies the maps of the leaves" in everything(app)


def test_a_saved_run_that_left_the_model_as_it_is_says_so(visit, runs):
    calm(go(visit("identity"), "pages/calibration.py"))
    data = artifact_bytes(runs[-1], ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    app = calm(press(calm(app), "Explore this run"))
    assert charts(app) & {"results_lift", "results_leaves"} == set()
    app = calm(go(app, "pages/calibration.py"))
    assert "Nothing is calibrated" in everything(app)
    assert not charts(app)


def test_a_tree_of_sampled_rows_says_that_the_picture_counts_the_sample(segments, monkeypatch):
    def of_sample(table, scores, split, *others):
        return chosen("tree")(table, scores, replace(split, train=split.train[:700]), *others)

    monkeypatch.setattr(compute, "fit_ensemble", of_sample)
    app = go(with_scores(segments), "pages/partition.py")
    assert "picture counts" not in everything(calm(app))
    app = calm(app.selectbox(key="setting_partition").select("auto").run())
    train = (segments["split"] == "train").sum()
    assert f"grown on a sample of 700 of {train:,} train rows" in everything(app)
