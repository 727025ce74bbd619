import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from hetcal.artifacts.artifact import FORMAT, artifact_bytes, open_artifact, score_with_artifact
from hetcal.artifacts.report import scored_table, scored_test_rows
from hetcal.data.scores import scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

COLUMNS = ("p_ant", "p_bee", "p_cow")
TWO, THREE = ColumnScoring(("score",), "logit"), ColumnScoring(COLUMNS, "probability")


@pytest.fixture
def of_two(segments):
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    scores = scores_from_column(segments["score"], "logit", "digest")
    return run(table, scores, Settings(max_depth=2)), TWO


@pytest.fixture(scope="module")
def of_three(kinds):
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    return run(table, scores, Settings(max_depth=2, calibrator="dirichlet")), THREE


@pytest.fixture(params=["of_two", "of_three"])
def finished(request):
    """A run and where its scores come from, for two classes and for three."""
    return request.getfixturevalue(request.param)


def entries(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.namelist(), json.loads(archive.read("manifest.json"))


def test_a_reopened_artifact_scores_bit_for_bit(finished, tmp_path):
    done, scoring = finished
    artifact = open_artifact(artifact_bytes(done, scoring), tmp_path)
    assert artifact.classes == done.classes
    assert (artifact.auc_before, artifact.auc_after) == pytest.approx(
        (done.evaluation.lift.before, done.evaluation.lift.after), abs=1e-12
    )
    again = score_with_artifact(artifact, done.table.frame, "digest").iloc[done.split.test]
    expected = scored_test_rows(done)
    assert list(again) == list(expected)
    for column in expected:
        assert np.array_equal(again[column], expected[column]), column


def test_a_row_scores_alike_alone_and_among_others(finished, tmp_path):
    done, scoring = finished
    artifact, frame = open_artifact(artifact_bytes(done, scoring), tmp_path), done.table.frame
    whole = score_with_artifact(artifact, frame, "digest")
    for rows in ([17], [4, 3, 2], list(range(99, 0, -3))):
        part = score_with_artifact(artifact, frame.iloc[rows], "other")
        for column in whole.columns.drop("row"):
            assert part[column].tolist() == whole[column].iloc[rows].tolist()


def test_equal_runs_give_equal_bytes(finished):
    done, scoring = finished
    assert artifact_bytes(done, scoring) == artifact_bytes(replace(done), scoring)


def test_the_manifest_names_format_versions_digests_and_settings(of_two):
    done, scoring = of_two
    names, manifest = entries(artifact_bytes(done, scoring))
    assert names == [
        *("manifest.json", "FORMAT.md", "partition.json", "calibrators.json", "metrics.json"),
        *("columns.json", "train.sketch", "calibration.sketch", "test.sketch", "digests.json"),
    ]
    assert manifest["calibrates"] == "calibrators.json"
    assert manifest["format"] == FORMAT
    assert manifest["libraries"]["numpy"] == np.__version__
    assert manifest["digests"] == {"table": done.table.digest, "model": None}
    assert manifest["settings"]["max_depth"] == 2
    assert manifest["scoring"] == {"column": "score", "kind": "logit"}


def test_the_manifest_of_three_classes_names_them_and_their_columns(of_three):
    done, scoring = of_three
    names, manifest = entries(artifact_bytes(done, scoring))
    saved = "maps.json", "train.sketch", "calibration.sketch", "test.sketch", "joint.sketch"
    assert names == [
        *("manifest.json", "FORMAT.md", "partition.json", "class_calibrators.json"),
        *("metrics.json", "columns.json"),
        *(f"class_{i}/{name}" for i in range(3) for name in (*saved, "evaluation.json")),
        "digests.json",
    ]
    assert (manifest["kind"], manifest["format"]) == ("classes", FORMAT)
    assert manifest["classes"] == ["ant", "bee", "cow"]
    assert manifest["settings"]["calibrator"] == "dirichlet"
    assert manifest["scoring"] == {"columns": list(COLUMNS), "kind": "probability"}
    assert manifest["kinds"] == {
        **dict.fromkeys("xz", "number"),
        **dict.fromkeys(COLUMNS, "number"),
    }


def test_rows_without_scores_have_neither_probabilities_nor_a_top_label(of_three, tmp_path):
    done, scoring = of_three
    gaps = done.table.frame.head(5).copy()
    gaps.loc[2, "p_bee"] = np.nan
    artifact = open_artifact(artifact_bytes(done, scoring), tmp_path)
    found = score_with_artifact(artifact, gaps, "gaps")
    assert found["top_after"].isna().tolist() == [False, False, True, False, False]
    assert np.isnan(found.filter(like="after_").iloc[2, :3].astype(float)).all()


def test_the_whole_table_names_roles_and_labels(of_three, kinds):
    scored = scored_table(of_three[0])
    assert scored["role"].tolist() == kinds["split"].tolist()
    assert scored["label"].tolist() == kinds["kind"].tolist()
    after = scored[["after_ant", "after_bee", "after_cow"]].sum(axis=1)
    assert after.to_numpy() == pytest.approx(np.ones(len(kinds)))


@pytest.fixture(scope="module", params=["identity", "tree vector"])
def chosen(request, of_three, kinds):
    """A run whose maps were chosen: of labels that the scores are right about, and of others."""
    table = of_three[0].table
    if request.param == "identity":
        sums = np.cumsum(kinds[list(COLUMNS)].to_numpy(), axis=1)
        below = np.random.default_rng(5).random((len(kinds), 1)) > sums
        table = replace(table, y=below.sum(axis=1).clip(0, 2))
    found = run(table, of_three[0].scores, Settings(partition="auto"))
    assert found.choice.chosen == request.param
    return found


def test_chosen_maps_come_back_with_the_reason_and_score_bit_for_bit(chosen, kinds, tmp_path):
    artifact = open_artifact(artifact_bytes(chosen, THREE), tmp_path)
    assert artifact.choice.chosen == chosen.choice.chosen
    assert artifact.choice.why == chosen.choice.why
    again = score_with_artifact(artifact, kinds, "digest").iloc[chosen.split.test]
    expected = scored_test_rows(chosen)
    for column in expected:
        assert np.array_equal(again[column], expected[column]), column
    same = np.array_equal(again["after_bee"], again["before_bee"])
    assert same == (chosen.choice.chosen == "identity")
