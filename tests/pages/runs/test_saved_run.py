"""A saved run on the pages: as live as it was, without its table."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.artifacts.test_old_artifacts import DATA
from tests.pages.visit import (
    calm,
    choose_leaf,
    figure,
    go,
    links,
    metrics,
    open_page,
    press,
    said,
    table_with,
    upload,
    with_segment_leaves,
)

SAVED = "The saved run"


def run_of(frame, settings):
    roles = Roles(label="label", positive="yes", split="split", score="score")
    scores = scores_from_column(frame["score"], "logit", "")
    return run(make_table(frame, roles, ""), scores, settings)


@pytest.fixture
def finished(segments):
    return run_of(segments, Settings(max_depth=1))


@pytest.fixture
def artifact(finished):
    return artifact_bytes(finished, ColumnScoring(("score",), "logit"))


def explore(app, artifact):
    app = upload(go(app, "pages/export.py"), "reopen_artifact", "run.zip", artifact)
    return calm(press(app, "Explore this run"))


@pytest.fixture
def app(artifact):
    return explore(open_page("app.py"), artifact)


def banner(app):
    return [each.value for each in app.markdown if SAVED in each.value]


def test_a_saved_run_opens_on_its_results(app, finished):
    lift = finished.evaluation.lift
    assert app.title[0].value == "Results"
    assert metrics(app)["AUC after"] == f"{lift.after:.4f}"
    assert any("its rows are not here" in each for each in said(app.caption))
    assert "**run.zip**" in banner(app)[0].replace("\\", "")
    assert "before" in [each["name"].split(" ")[0] for each in figure(app, "results_roc")["data"]]


def test_a_saved_scheme_shows_what_the_scheme_gives_and_why(segments):
    forest = run_of(segments, Settings(max_depth=1, partition="forest"))
    data = artifact_bytes(forest, ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    named = "In use: forest – many trees, their shrunken maps averaged (calibration)."
    assert any(each.startswith(named) for each in said(calm(app).markdown))
    assert any("is for diagnosis" in each for each in said(app.caption))
    app = explore(app, data)
    by_maps = forest.calibrator.predict_logit(forest.scores.logit, forest.leaf)
    rows = forest.split.test
    shown = metrics(app)["AUC after"]
    assert shown == f"{roc_auc_score(forest.table.y[rows], forest.after[rows]):.4f}"
    assert shown != f"{roc_auc_score(forest.table.y[rows], by_maps[rows]):.4f}"
    assert any(f"{named} {forest.choice.why}" in each for each in said(app.markdown))
    overview = calm(go(app, "app.py"))
    assert figure(overview, "overview_ladder_forest")["layout"]["yaxis"]["ticktext"][-1] != ""
    assert not overview.button_group, "a rung of a saved run cannot be taken"
    app = calm(go(app, "pages/calibration.py"))
    assert any(
        "The scheme in use is 'forest'. Every row passes many trees" in each
        for each in said(app.info)
    )


def test_maps_that_calibrate_are_not_said_to_be_for_diagnosis(artifact):
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    assert not any("for diagnosis" in each for each in said(calm(app).caption))


def test_the_leaf_and_the_least_rows_of_a_saved_run_can_be_changed(app, finished):
    app = calm(go(app, "pages/calibration.py"))
    slopes = table_with(app, "slope_se")["slope"].tolist()
    assert slopes[1:] == [each.slope for each in finished.calibrator.maps_]
    app.number_input(key="setting_min_rows").set_value(100_000).run()
    assert set(table_with(calm(app), "slope_se")["slope"]) == {finished.calibrator.pooled_.slope}
    choose_leaf(calm(go(app, "pages/overconfidence.py")), 2)
    rows = table_with(calm(app), "auc_train").set_index("leaf")["rows_test"]
    test = finished.cells.test
    assert rows.loc[2] == test.inside(2).rows.sum()
    assert "Leaf 2" in " ".join(each.value for each in app.markdown)
    app = calm(go(app, "pages/results.py"))
    pooled = finished.calibrator.pooled_.slope * test.score
    shift = {each.leaf: each.level.intercept for each in finished.calibrator.maps_}
    after = pooled + np.array([shift[leaf] for leaf in test.leaf])
    expected = roc_auc_score(test.y, after, sample_weight=test.weight)
    assert float(metrics(app)["AUC after"]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("page", ["app.py", "pages/overconfidence.py", "pages/calibration.py"])
def test_every_page_of_results_says_that_the_run_is_a_saved_one(app, page):
    assert len(banner(calm(go(app, page)))) == 1


@pytest.mark.parametrize("page", ["pages/scores.py", "pages/partition.py", "pages/export.py"])
def test_pages_that_need_rows_ask_for_a_table(app, page):
    app = calm(go(app, page))
    assert "Choose a table" in links(app)
    assert any("A saved run has no table" in each.value for each in app.markdown)


def test_the_table_at_hand_comes_back_when_the_saved_run_is_closed(segments, artifact):
    own = with_segment_leaves(segments.assign(score=segments["score"] / 2))
    shown = metrics(calm(go(own, "pages/results.py")))
    app = go(explore(own, artifact), "pages/results.py")
    assert metrics(app) != shown
    app = press(app, "Close")
    assert not banner(app)
    assert metrics(calm(app)) == shown


def test_a_new_table_takes_the_place_of_a_saved_run(app, segments):
    upload(go(app, "pages/data.py"), "data_file", "people.csv", segments)
    assert not banner(calm(go(app, "pages/scores.py")))


def test_an_older_artifact_says_that_it_cannot_be_explored():
    app = open_page("pages/export.py")
    old = (DATA / "two_classes_format_1.zip").read_bytes()
    upload(app, "reopen_artifact", "old.zip", old)
    assert "Explore this run" not in [each.label for each in calm(app).button]
    assert any("cannot be explored" in each.value for each in app.caption)
    assert not said(app.error)
