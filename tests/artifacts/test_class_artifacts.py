import contextlib
import io
import json
import random
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact, score_with_artifact
from hetcal.artifacts.report import scored_table, scored_test_rows
from hetcal.data.scores import scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError
from hetcal.models.scoring import ColumnScoring
from hetcal.partitions.partition import Partition
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

COLUMNS = ("p_ant", "p_bee", "p_cow")
SCORING = ColumnScoring(COLUMNS, "probability")


@pytest.fixture(scope="module")
def finished(kinds):
    roles = Roles("kind", split="split", class_scores=COLUMNS)
    table = make_table(kinds, roles, "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    return run(table, scores, Settings(max_depth=2, calibrator="dirichlet"))


@pytest.fixture(scope="module")
def packed(finished):
    return artifact_bytes(finished, SCORING)


def test_a_reopened_artifact_scores_bit_for_bit(finished, packed, kinds, tmp_path):
    artifact = open_artifact(packed, tmp_path)
    assert artifact.classes == ("ant", "bee", "cow")
    assert artifact.auc_after == finished.evaluation.after.macro_auc
    again = score_with_artifact(artifact, kinds, "digest").iloc[finished.split.test]
    expected = scored_test_rows(finished)
    for column in expected:
        assert np.array_equal(again[column], expected[column]), column


def test_a_row_scores_alike_alone_and_among_others(packed, kinds, tmp_path):
    artifact = open_artifact(packed, tmp_path)
    whole = score_with_artifact(artifact, kinds, "digest")
    for rows in ([17], [4, 3, 2], list(range(99, 0, -3))):
        part = score_with_artifact(artifact, kinds.iloc[rows], "other")
        for column in whole.columns.drop("row"):
            assert part[column].tolist() == whole[column].iloc[rows].tolist()


def test_rows_without_scores_have_neither_probabilities_nor_a_top_label(packed, kinds, tmp_path):
    gaps = kinds.head(5).copy()
    gaps.loc[2, "p_bee"] = np.nan
    found = score_with_artifact(open_artifact(packed, tmp_path), gaps, "gaps")
    assert found["top_after"].isna().tolist() == [False, False, True, False, False]
    assert np.isnan(found.filter(like="after_").iloc[2, :3].astype(float)).all()


def test_the_whole_table_names_roles_and_labels(finished, kinds):
    scored = scored_table(finished)
    assert scored["role"].tolist() == kinds["split"].tolist()
    assert scored["label"].tolist() == kinds["kind"].tolist()
    after = scored[["after_ant", "after_bee", "after_cow"]].sum(axis=1)
    assert after.to_numpy() == pytest.approx(np.ones(len(kinds)))


def test_equal_runs_give_equal_bytes(finished, packed):
    assert artifact_bytes(finished, SCORING) == packed


def test_the_manifest_names_kind_classes_and_settings(finished, packed):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        saved = "maps.json", "train.sketch", "calibration.sketch", "test.sketch", "joint.sketch"
        assert archive.namelist() == [
            *("manifest.json", "partition.json", "class_calibrators.json", "metrics.json"),
            *(f"class_{i}/{name}" for i in range(3) for name in (*saved, "evaluation.json")),
        ]
        manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["kind"], manifest["format"]) == ("classes", 2)
    assert manifest["classes"] == ["ant", "bee", "cow"]
    assert manifest["settings"]["calibrator"] == "dirichlet"
    assert manifest["kinds"] == {
        **dict.fromkeys("xz", "number"),
        **dict.fromkeys(COLUMNS, "number"),
    }


@pytest.fixture(scope="module", params=["identity", "tree vector"])
def chosen(request, finished, kinds):
    """A run whose maps were chosen: of labels that the scores are right about, and of others."""
    table = finished.table
    if request.param == "identity":
        below = np.random.default_rng(5).random((len(kinds), 1)) > np.cumsum(
            kinds[list(COLUMNS)], axis=1
        )
        table = replace(table, y=below.sum(axis=1).clip(0, 2).to_numpy())
    found = run(table, finished.scores, Settings(partition="auto"))
    assert found.choice.chosen == request.param
    return found


def test_chosen_maps_come_back_with_the_reason_and_score_bit_for_bit(chosen, kinds, tmp_path):
    artifact = open_artifact(artifact_bytes(chosen, SCORING), tmp_path)
    assert (artifact.choice.chosen, artifact.choice.why) == (
        chosen.choice.chosen,
        chosen.choice.why,
    )
    again = score_with_artifact(artifact, kinds, "digest").iloc[chosen.split.test]
    expected = scored_test_rows(chosen)
    for column in expected:
        assert np.array_equal(again[column], expected[column]), column
    same = np.array_equal(again["after_bee"], again["before_bee"])
    assert same == (chosen.choice.chosen == "identity")


def test_an_artifact_from_before_maps_were_chosen_opens(packed, tmp_path):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    del manifest["chosen"], manifest["why"]
    artifact = open_artifact(repacked(packed, manifest=json.dumps(manifest).encode()), tmp_path)
    assert artifact.choice is None


def repacked(data, **changes):
    """The same zip with some entries replaced, or dropped where the change is None."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = changes.get(name.split(".")[0], old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def manifest_with(data, **changes):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    return repacked(data, manifest=json.dumps(manifest | changes).encode())


def maps_with(data, change):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        maps = json.loads(archive.read("class_calibrators.json"))
    change(maps["maps"])
    return repacked(data, class_calibrators=json.dumps(maps).encode())


def two_classes(maps):
    maps[1] |= {"weights": [1, 0, 0, 1], "bias": [0, 0]}


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda data: data[: len(data) // 2], "not a zip with the right entries"),
        (lambda data: repacked(data, partition=None), "not a zip with the right entries"),
        (lambda data: repacked(data, class_calibrators=b"{}"), "calibration maps cannot be used"),
        (lambda data: repacked(data, metrics=b"[]"), "is not an object"),
        (lambda data: manifest_with(data, kind="other"), "a kind that is not known"),
        (lambda data: manifest_with(data, kind=3), "is not text"),
        (lambda data: manifest_with(data, chosen=3), "is not text"),
        (lambda data: manifest_with(data, format=7), "format number 7"),
        (lambda data: manifest_with(data, classes=["ant", "ant", "bee"]), "its classes cannot be"),
        (lambda data: manifest_with(data, classes=["ant", "bee"]), "not those of its classes"),
        (
            lambda data: manifest_with(data, scoring={"columns": ["a"], "kind": "logit"}),
            "its score",
        ),
        (lambda data: manifest_with(data, scoring={"model": "/etc/passwd"}), "an unknown name"),
        (lambda data: maps_with(data, lambda maps: maps.pop()), "not those of its leaves"),
        (lambda data: maps_with(data, two_classes), "not those of its classes"),
    ],
)
def test_a_damaged_artifact_is_refused_in_words(packed, tmp_path, broken, words):
    with pytest.raises(HetcalError, match=words):
        open_artifact(broken(packed), tmp_path)


def test_damaged_bytes_are_refused_in_words_or_do_no_harm(packed, tmp_path):
    chance = random.Random(0)
    refused = 0
    for _ in range(300):
        data = bytearray(packed)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        # Any error but a HetcalError fails the test.
        with contextlib.suppress(HetcalError):
            open_artifact(bytes(data), tmp_path)
            continue
        refused += 1
    assert refused > 200


def test_a_partition_of_score_columns_is_refused(finished):
    other = Partition.from_json(finished.partition.to_json().replace('"z"', '"p_bee"'))
    with pytest.raises(HetcalError, match="splits on 'p_bee'"):
        run(finished.table, finished.scores, finished.settings, other)
