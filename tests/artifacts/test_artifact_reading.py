import contextlib
import io
import json
import random
import zipfile

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.cells.sketch import Grid, read_sketch, sketch_bytes, sketch_rows
from hetcal.data.scores import scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.errors import ArtifactError, HetcalError
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.artifacts.repacked import repacked

EMPTY = sketch_bytes(sketch_rows(np.zeros(0), np.zeros(0, int), np.zeros(0, int), [7], Grid()))
COLUMNS = ("p_ant", "p_bee", "p_cow")
MANY = [{"id": each} for each in range(1, 101)]
DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.fixture
def of_two(segments):
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    scores = scores_from_column(segments["score"], "logit", "digest")
    finished = run(table, scores, Settings(max_depth=2))
    return artifact_bytes(finished, ColumnScoring(("score",), "logit"))


@pytest.fixture(scope="module")
def of_three(kinds):
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    finished = run(table, scores, Settings(max_depth=2, calibrator="dirichlet"))
    return artifact_bytes(finished, ColumnScoring(COLUMNS, "probability"))


def manifest_with(data, **changes):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    return repacked(data, manifest=json.dumps(manifest | changes).encode())


def sketch_with(data, **changes):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        header, _, body = archive.read("test.sketch").partition(b"\n")
    header = json.dumps(json.loads(header) | changes).encode()
    return repacked(data, test=header + b"\n" + body)


def one_class(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sketch = read_sketch(archive.read("test.sketch"))
    sketch.rows[..., 1] = 0
    return sketch_bytes(sketch)


def maps_cut(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        maps = json.loads(archive.read("calibrators.json"))
    maps["maps"] = maps["maps"][:1]
    return repacked(data, calibrators=json.dumps(maps).encode())


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda data: b"PK\x03\x04 not a zip", "not a zip with the right entries"),
        (lambda data: data[: len(data) // 2], "not a zip with the right entries"),
        (lambda data: repacked(data, partition=None), "not a zip with the right entries"),
        (lambda data: repacked(data, manifest=b'{"format": 99}'), "format number 99"),
        (lambda data: repacked(data, manifest=b"[]"), "is not an object"),
        (lambda data: repacked(data, manifest=b"\xff\xfe"), "it is not JSON text"),
        (lambda data: repacked(data, manifest=DEEP), "it is not JSON text"),
        (lambda data: repacked(data, metrics=b"[]"), "is not an object"),
        (lambda data: repacked(data, calibrators=b"{}"), "calibrat"),
        (maps_cut, "its maps are not those of its leaves"),
        (lambda data: repacked(data, test=None), "not a zip with the right entries"),
        (lambda data: repacked(data, test=b"{}\n"), "sketch cannot be used"),
        (lambda data: sketch_with(data, leaves=[{"id": 1}]), "sketch cannot be used"),
        (lambda data: sketch_with(data, bins=2**20, leaves=MANY), "it has too many cells"),
        (lambda data: repacked(data, test=EMPTY), "not of its leaves"),
        (lambda data: repacked(data, test=one_class(data)), "does not hold both classes"),
        (lambda data: manifest_with(data, scoring=[]), "is not an object"),
        (lambda data: manifest_with(data, scoring={"column": ["a"], "kind": "logit"}), "not text"),
        (lambda data: manifest_with(data, scoring={"column": "a", "kind": "foo"}), "'foo'"),
    ],
)
def test_a_damaged_artifact_is_refused_in_words(of_two, tmp_path, broken, words):
    with pytest.raises(HetcalError, match=words):
        open_artifact(broken(of_two), tmp_path)


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
def test_a_damaged_artifact_of_three_classes_is_refused_in_words(of_three, tmp_path, broken, words):
    with pytest.raises(HetcalError, match=words):
        open_artifact(broken(of_three), tmp_path)


def test_a_model_entry_outside_the_artifact_is_never_opened(of_two, tmp_path):
    outside = {"model": "../../model.keras", "inputs": [], "output": None, "positive_unit": 1}
    with pytest.raises(ArtifactError, match="its model has an unknown name"):
        open_artifact(manifest_with(of_two, scoring=outside), tmp_path)


@pytest.mark.parametrize("classes", ["of_two", "of_three"])
def test_damaged_bytes_are_refused_in_words_or_do_no_harm(classes, request, tmp_path):
    packed = request.getfixturevalue(classes)
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


def test_an_artifact_from_before_maps_were_chosen_opens(of_three, tmp_path):
    with zipfile.ZipFile(io.BytesIO(of_three)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    del manifest["chosen"], manifest["why"]
    artifact = open_artifact(repacked(of_three, manifest=json.dumps(manifest).encode()), tmp_path)
    assert artifact.choice is None
