import contextlib
import io
import json
import random
import zipfile

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.cells.sketch import Grid, read_sketch, sketch_bytes, sketch_rows
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import ArtifactError, HetcalError
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

EMPTY = sketch_bytes(sketch_rows(np.zeros(0), np.zeros(0, int), np.zeros(0, int), [7], Grid()))
MANY = [{"id": each} for each in range(1, 101)]
DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.fixture
def packed(segments):
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    scores = scores_from_column(segments["score"], "logit", "digest")
    finished = run(table, scores, Settings(max_depth=2))
    return artifact_bytes(finished, ColumnScoring(("score",), "logit"))


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
        (lambda data: repacked(data, maps=None), "not a zip with the right entries"),
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
def test_a_damaged_artifact_is_refused_in_words(packed, tmp_path, broken, words):
    with pytest.raises(HetcalError, match=words):
        open_artifact(broken(packed), tmp_path)


def test_a_model_entry_outside_the_artifact_is_never_opened(packed, tmp_path):
    outside = {"model": "../../model.keras", "inputs": [], "output": None, "positive_unit": 1}
    with pytest.raises(ArtifactError, match="its model has an unknown name"):
        open_artifact(manifest_with(packed, scoring=outside), tmp_path)


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
