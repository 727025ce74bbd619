"""What every export carries: versions, digests, what it takes, examples, its use and its limits."""

import html
import io
import json
import zipfile

import onnx
import pandas as pd
import pytest
import yaml

from hetcal.artifacts.archive import library_versions
from hetcal.artifacts.artifact import score_with_artifact
from hetcal.choices import EXPORTS
from hetcal.exports.export import make_exports
from hetcal.version import __version__
from tests.exports.artifacts import CITY, artifact, people
from tests.exports.test_keras_file import with_network

pytestmark = pytest.mark.network
ZIPPED = {
    "calibrated.keras": "assets/hetcal.json",
    "calibrated_savedmodel.zip": "1/assets.extra/hetcal.json",
    "calibrated.tflite": "hetcal.json",
}
PLAIN = "scorecard.csv", "scored.csv", "scored.parquet"  # what they are of lies beside them
PAGES = "calibrated_ansi.sql", "scorecard.html", "calibration_report.html"


def carried(made):
    """The document that a file carries; of a file of text its text, as a person reads it."""
    content = made.content
    if made.name in ZIPPED:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return json.loads(archive.read(ZIPPED[made.name]))
    if made.name in PAGES:
        return html.unescape(content.decode()).replace("\n-- ", "\n")
    if made.name == "calibrated_mlflow.zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return yaml.safe_load(archive.read("MLmodel"))["metadata"]
    if made.name == "calibrated.onnx":
        return json.loads(onnx.load_from_string(content).metadata_props[0].value)
    if made.name == "calibrated.py":
        scorer = {"__name__": "calibrated"}
        exec(content.decode(), scorer)
        return scorer["ABOUT"]
    found = json.loads(content)
    return found.get("about", found)


@pytest.fixture(scope="module")
def made():
    opened = with_network(artifact(partition="additive"))
    scored = score_with_artifact(artifact(partition="additive"), people()[:20])
    files = make_exports(opened, EXPORTS, rows=100, scored=scored)
    return opened, {each.name: each for each in files}


@pytest.mark.parametrize("format", EXPORTS)
def test_an_export_says_what_it_is_of_and_how_it_is_used(made, format):
    opened, files = made
    digests = opened.table_digest, opened.scoring.model.digest, opened.partition.digest
    ((file, found),) = (
        (each, carried(each))
        for each in files.values()
        if each.format == format and each.name not in PLAIN
    )
    cities = set(people()[CITY].dropna())
    if isinstance(found, str):
        assert f"Made by hetcal {__version__} (export format 1)" in found
        words = [f"{name} {version}" for name, version in library_versions().items()]
        words += [*digests, *file.use, *cities, "What it cannot do:"]
        assert [each for each in words if each not in found] == []
        assert found.count('{"row": {') == 5
        return
    assert (found["format"], found["hetcal"]) == (1, __version__)
    assert found["libraries"] == library_versions()
    assert set(digests) <= set(found["digests"].values())
    (city,) = (each for each in found["inputs"] if each["name"] == CITY)
    assert (city["kind"], set(city["categories"])) == ("category", cities)
    assert (len(found["examples"]), len(found["use"])) == (5, 3)
    assert list(file.use) == found["use"]
    assert found["cannot"]


def test_examples_name_what_the_file_takes_and_are_of_the_artifact(made):
    _, files = made
    for name in (*ZIPPED, "calibrated.onnx"):
        found = carried(files[name])
        inputs = {each["name"]: each for each in found["inputs"]}
        assert inputs["x"] == {"kind": "number", "name": "x", "columns": ["a", "b", "c"]}
        for each in found["examples"]:
            assert set(each["row"]) == set(inputs)
            assert len(each["row"]["x"]) == 3
    found, opened = carried(files["calibrated.py"]), artifact(partition="additive")
    for each in found["examples"]:
        after = score_with_artifact(opened, pd.DataFrame([each["row"]]))["after"][0]
        assert each["after"] == pytest.approx(after, abs=1e-12)
