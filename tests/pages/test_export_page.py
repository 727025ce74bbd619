"""Export: what can be taken along, and an artifact that comes back."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.artifacts.report import scored_table
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from hetcal.store import work
from tests.artifacts.repacked import repacked
from tests.pages.visit import (
    calm,
    go,
    links,
    metrics,
    open_page,
    press,
    said,
    table_with,
    the_error,
    upload,
    with_scores,
    with_table,
)

DOWNLOADS = ["artifact.zip", "partition.json", "result.json", "scored.csv", "scored.parquet"]


@pytest.fixture
def finished(segments):
    """The run of the same table, by the core alone."""
    roles = Roles(label="label", positive="yes", split="split", score="score")
    scores = scores_from_column(segments["score"], "logit", "")
    return run(make_table(segments, roles, ""), scores, Settings(max_depth=2))


@pytest.fixture
def artifact(finished):
    return artifact_bytes(finished, ColumnScoring(("score",), "logit"))


def test_an_artifact_can_be_reopened_before_there_is_a_table():
    app = calm(open_page("pages/export.py"))
    assert [each.key for each in app.file_uploader] == ["reopen_artifact"]
    assert [tab.label for tab in app.tabs] == ["Download", "Reopen an artifact"]
    assert links(app) == ["Choose a table", "Or start with the demo"]
    assert not app.download_button


def test_a_finished_run_can_be_taken_along(segments, finished):
    app = go(with_scores(segments), "pages/partition.py")
    app.slider(key="setting_max_depth").set_value(2).run()
    app = calm(go(app, "pages/export.py"))
    assert [each.label for each in app.download_button] == DOWNLOADS
    assert "2,400 rows of all roles. The first rows:" in [each.value for each in app.caption]
    pd.testing.assert_frame_equal(
        app.dataframe[0].value, scored_table(finished).head(8), check_dtype=False
    )
    assert any("python -m hetcal score artifact.zip" in each.value for each in app.code)
    assert any("Score: the logit." in each for each in said(app.caption))
    drawn = json.loads(app.dataframe[0].proto.columns)
    assert [name for name, each in drawn.items() if each.get("hidden")] == ["_index"]
    assert drawn["after"]["type_config"]["format"] == "%.4f"


def test_the_page_promises_no_model_where_the_score_is_a_column(segments):
    app = go(with_scores(segments), "pages/export.py")
    (contents,) = [each.value for each in app.markdown if each.value.startswith("A zip")]
    assert "and the model" not in contents


def test_an_artifact_comes_back_with_its_numbers(finished, artifact):
    app = calm(upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact))
    shown = metrics(app)
    assert shown["AUC before"] == f"{finished.evaluation.lift.before:.4f}"
    assert shown["AUC after"] == f"{finished.evaluation.lift.after:.4f}"
    assert shown["Leaves"] == str(len(finished.partition.leaves))
    slopes = table_with(app, "slope")["slope"]
    own = [finished.calibrator.pooled_, *finished.calibrator.maps_]
    assert slopes.tolist() == [each.slope for each in own]


def test_an_artifact_is_opened_once_by_a_process_with_limits(artifact, monkeypatch):
    limited = []
    monkeypatch.setattr(work, "confine", lambda limits: limited.append(limits.seconds))
    app = calm(upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact))
    press(app, "Explore this run")
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))
    assert limited == [work.READING]


def test_an_artifact_scores_new_rows_bit_for_bit_and_once(segments, finished, artifact, counted):
    scored = counted("score_with_artifact")
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    upload(app, "reopen_table", "new.parquet", segments.to_parquet(index=False))
    assert said(calm(app).success) == ["2,400 rows of new.parquet scored."]
    expected = scored_table(finished).head(8)[["row", "leaf", "score", "before", "after"]]
    shown = next(e.value for e in app.dataframe if "after" in e.value.columns)
    assert shown.to_numpy().tobytes() == expected.to_numpy().tobytes()
    app.run()
    assert len(scored) == 1


def test_rows_that_get_no_probability_are_counted(segments, artifact):
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    holes = segments.assign(score=segments["score"].where(segments.index >= 3))
    upload(app, "reopen_table", "new.parquet", holes.to_parquet(index=False))
    assert said(calm(app).success) == ["2,397 of 2,400 rows of new.parquet scored."]
    assert any("3 of 2,400 rows have no finite score" in each for each in said(app.caption))


def test_the_partition_of_an_artifact_serves_for_the_current_table(segments, finished, artifact):
    app = upload(go(with_table(segments), "pages/export.py"), "reopen_artifact", "a.zip", artifact)
    press(app, "Use its partition for the current table")
    rules = table_with(calm(go(app, "pages/partition.py")), "rule")["rule"]
    assert rules.tolist() == [leaf.rule for leaf in finished.partition.leaves]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: b"no zip at all", "not an artifact of hetcal"),
        (lambda data: data[: len(data) // 2], "not an artifact of hetcal"),
        (lambda data: repacked(data, partition=None), "not an artifact of hetcal"),
        (lambda data: repacked(data, manifest=b'{"format": 99}'), "format number 99"),
        (lambda data: repacked(data, partition=b"{}"), "partition"),
        (lambda data: repacked(data, metrics=b"{}"), "not an artifact of hetcal"),
        (lambda data: repacked(data, metrics=b'{"before": 1, "after": {}}'), "not an artifact"),
    ],
    ids=["text", "cut", "no partition", "format", "empty partition", "no metrics", "odd metrics"],
)
def test_a_damaged_artifact_is_refused_and_the_downloads_stay(
    segments, artifact, damage, words, tmp_path
):
    content = damage(artifact)
    app = go(with_scores(segments), "pages/export.py")
    upload(app, "reopen_artifact", "run.zip", content)
    assert words in the_error(app)
    with pytest.raises(HetcalError) as caught:
        open_artifact(content, tmp_path)
    assert the_error(app) == str(caught.value)
    assert [each.label for each in app.download_button] == DOWNLOADS
    upload(app, "reopen_artifact", "run.zip", artifact)
    assert "Leaves" in metrics(calm(app))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop(columns="score"), "no score column 'score'"),
        (lambda f: f.drop(columns="segment"), "no column 'segment'"),
        (lambda f: f.assign(score="high"), "'score' holds 'high'"),
    ],
)
def test_rows_that_the_artifact_cannot_score_are_explained(segments, artifact, change, words):
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    upload(app, "reopen_table", "new.csv", change(segments))
    assert words in the_error(app)
    upload(app, "reopen_table", "new.csv", segments)
    assert said(calm(app).success) == ["2,400 rows of new.csv scored."]


def test_scores_that_are_missing_stay_missing(segments, artifact):
    holes = segments.assign(score=segments["score"].mask(segments.index % 2 == 0))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    upload(app, "reopen_table", "new.csv", holes)
    after = next(e.value for e in calm(app).dataframe if "after" in e.value.columns)["after"]
    assert np.isnan(after).tolist() == [True, False] * 4


def test_the_settings_of_the_run_are_in_the_artifact(artifact):
    with zipfile.ZipFile(io.BytesIO(artifact)) as archive:
        assert json.loads(archive.read("manifest.json"))["settings"]["max_depth"] == 2


def test_a_format_is_made_checked_and_offered(segments):
    app = go(with_scores(segments), "pages/partition.py")
    app.slider(key="setting_max_depth").set_value(2).run()
    app = calm(press(go(app, "pages/export.py"), "Make and check"))
    assert "calibrated.py" in [each.label for each in app.download_button]
    (parity,) = (each for each in said(app.caption) if "Compared with the artifact" in each)
    assert "20,000 rows" in parity
    assert "largest difference" in parity
    assert any("score_row(row)" in each.value for each in app.code)
