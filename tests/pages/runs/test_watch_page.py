"""Watch: newer rows against the run that is open, or against an artifact that is uploaded."""

import numpy as np
import pytest

from tests.pages.visit import (
    calm,
    go,
    metrics,
    open_page,
    press,
    said,
    table_with,
    the_error,
    upload,
    wait_for_jobs,
    with_scores,
)
from tests.watch.streams import Change, artifact_of, draw_rows

PAGE = "pages/watch.py"
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def artifact():
    return artifact_of(draw_rows(6_000, RNG(40)))


def watch(artifact, rows):
    app = upload(open_page(PAGE), "watch_artifact", "run.zip", artifact)
    return wait_for_jobs(upload(wait_for_jobs(app), "watch_table", "newer.csv", rows))


def verdict(app):
    return [each.value for each in (*app.success, *app.warning)]


def test_an_artifact_can_be_watched_before_there_is_a_table():
    app = calm(open_page(PAGE))
    assert [each.key for each in app.file_uploader] == ["watch_artifact"]
    assert not app.metric


def test_rows_that_have_not_changed_pass(artifact):
    app = watch(artifact, draw_rows(3_000, RNG(41)))
    assert verdict(app) == ["On 3,000 labelled rows the maps hold. Nothing is to be done."]
    assert metrics(app)["Labelled rows"] == "3,000"
    assert set(table_with(app, "status")["status"]) == {"holds"}
    assert set(table_with(app, "size")["size"]) == {"same"}
    assert not any(each.key == "watch_refit" for each in app.button)


def test_more_can_be_asked_of_labelled_rows_as_on_the_command_line(artifact):
    app = watch(artifact, draw_rows(3_000, RNG(41)))
    assert app.code[0].value == "python -m hetcal check artifact.zip newer_rows.csv"
    lift = float(metrics(app)["Lift"])
    app.number_input(key="watch_lift").set_value(lift - 0.001)
    app.number_input(key="watch_error").set_value(0.5)
    app = calm(app.run())
    assert verdict(app)[0].endswith("Nothing is to be done.")
    app = calm(app.number_input(key="watch_lift").set_value(0.5).run())
    assert verdict(app)[0].startswith("On 3,000 labelled rows the maps hold as on the test rows, b")
    assert any(f"The lift is {lift:+.4f} AUC on 3,000" in each for each in said(app.markdown))
    assert app.code[0].value.endswith("newer_rows.csv --min-lift 0.5 --max-calibration-error 0.5")


def test_changed_leaves_are_named_and_their_maps_can_be_fitted_again(artifact):
    rows = draw_rows(5_000, RNG(42), Change("plus", 0.8))
    app = watch(artifact, rows)
    (said_first,) = verdict(app)
    assert said_first.startswith("On 5,000 labelled rows the maps no longer hold in lea")
    assert "--refit" not in said_first
    leaves = table_with(app, "status").set_index("rule")
    changed = leaves.index[leaves["status"] == "changed"]
    assert all("plan is plus" in each or each == "all rows" for each in changed)
    app = wait_for_jobs(press(app, "Fit the maps again"))
    assert any("Maps fitted again on 2,499 rows" in each.value for each in app.success)
    assert [each.label for each in app.download_button][-1] == "refitted.zip"


def test_without_labels_movement_is_shown_alone(artifact):
    app = watch(artifact, draw_rows(3_000, RNG(43)).drop(columns="label"))
    assert verdict(app)[0].startswith("The 3,000 rows have not moved")
    assert not app.metric
    assert any("only movement is checked" in each for each in said(app.caption))


def test_rows_of_another_table_are_refused_in_words(artifact):
    app = watch(artifact, draw_rows(200, RNG(44))[["size"]])
    assert the_error(app).startswith("The table has no score column 'score'.")


def test_the_run_that_is_open_is_watched_by_its_own_artifact(segments):
    app = go(with_scores(segments), PAGE)
    assert "watch_artifact" not in [each.key for each in app.file_uploader]
    app = wait_for_jobs(upload(app, "watch_table", "newer.csv", segments.tail(1_000)))
    assert verdict(app)[0].startswith("On 1,000 labelled rows the maps hold")
