"""Artifacts that earlier versions wrote, some of each format, open as they did.

`saved_artifacts` beside this file holds them as those versions wrote them, rows to score, and
the rows as those versions scored them.
"""

import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from hetcal.artifacts.artifact import open_artifact, score_with_artifact
from hetcal.artifacts.saved_run import saved_run
from hetcal.data.reading import read_file
from hetcal.errors import ArtifactError

DATA = Path(__file__).parent / "saved_artifacts"
WITHOUT_ROWS = ("two_classes_format_1", "three_classes_format_1")
TWO, THREE = (
    [f"{name}_format_{number}{more}" for number in (2, 3, 4) for more in ("", "_chosen")]
    for name in ("two_classes", "three_classes")
)


def opened(name, directory):
    return open_artifact((DATA / f"{name}.zip").read_bytes(), directory)


def written(name, entry):
    with zipfile.ZipFile(DATA / f"{name}.zip") as archive:
        return json.loads(archive.read(entry))


@pytest.mark.parametrize("name", [*WITHOUT_ROWS, *TWO, *THREE])
def test_an_old_artifact_scores_rows_to_the_same_numbers(name, tmp_path):
    artifact = opened(name, tmp_path)
    rows = read_file(DATA / f"{name.split('_format')[0]}_rows.csv", kinds=artifact.kinds)
    scored = score_with_artifact(artifact, rows.frame)
    expected = pd.read_csv(DATA / f"{name}.csv")
    pd.testing.assert_frame_equal(scored, expected, check_dtype=False, rtol=1e-13, atol=0)
    assert artifact.version == written(name, "manifest.json")["hetcal"]
    assert artifact.test_rows == written(name, "metrics.json")["rows"]["test"]


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_the_first_formats_hold_no_run_to_explore(name, tmp_path):
    artifact = opened(name, tmp_path)
    with pytest.raises(ArtifactError, match="holds no sketches"):
        saved_run(artifact, 50)


@pytest.mark.parametrize("name", TWO)
def test_an_old_run_on_two_classes_can_be_explored(name, tmp_path):
    run, metrics = saved_run(opened(name, tmp_path), 50), written(name, "metrics.json")
    assert run.evaluation.rows == metrics["rows"]["test"]
    for way in ("before", "pooled", "tree", "after"):
        auc = getattr(run.evaluation, way).auc
        assert auc == pytest.approx(metrics[way]["auc"], abs=0.01)
    assert [each["id"] for each in metrics["leaves"]] == [each.id for each in run.partition.leaves]
    chosen = metrics["scheme"].get("chosen")
    assert (None if run.choice is None else run.choice.chosen) == chosen


@pytest.mark.parametrize("name", THREE)
def test_an_old_run_on_three_classes_can_be_explored(name, tmp_path):
    run, metrics = saved_run(opened(name, tmp_path), 50), written(name, "metrics.json")
    found = run.evaluation
    assert found.after.macro_auc == metrics["after"]["macro_auc"]
    assert found.lift.auc == pytest.approx(metrics["lift"]["auc"], abs=1e-15)
    for number, each in enumerate(metrics["per_class"]):
        view = run.view(number, 50)
        assert run.classes[number] == each["class"]
        assert view.evaluation.after.auc == pytest.approx(each["auc_after"], abs=1e-12)
        assert view.comparison.after.rows.sum() == metrics["rows"]["test"]
    chosen = metrics["scheme"].get("chosen")
    assert (None if run.choice is None else run.choice.chosen) == chosen
