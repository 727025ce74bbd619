"""FORMAT.md: its example scores rows, it names all that is in an artifact, and rules are kept."""

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.archive import zipped
from hetcal.artifacts.artifact import FORMAT, open_artifact, score_with_artifact
from hetcal.errors import ArtifactError
from tests.artifacts.repacked import changed

PAGE = (Path(__file__).parents[2] / "hetcal" / "artifacts" / "FORMAT.md").read_text("utf-8")
SAVED = Path(__file__).parent / "saved_artifacts"
TREE, CHOSEN, THREE = (
    f"{name}_format_{FORMAT}{more}.zip"
    for name, more in (("two_classes", ""), ("two_classes", "_chosen"), ("three_classes", ""))
)
# What these hold is named elsewhere: results and settings in the README, columns by the user.
ELSEWHERE = ("metrics.json", "evaluation.json", "digests.json")
GIVEN = {"settings", "roles", "kinds", "libraries", "digests", "rows"}
ASK = """
import json, sys
rows = json.load(open("rows.json"))
print(json.dumps([[leaf_of(row), float(probability(row))] for row in rows]))
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def example():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    return code


def test_the_example_is_short_and_gives_the_probabilities_of_the_artifact(example, tmp_path):
    assert len([line for line in example.splitlines() if line.strip()]) <= 25
    frame = pd.read_csv(SAVED / "two_classes_rows.csv")
    frame = pd.concat([frame, frame.assign(size=np.nan), frame.assign(segment="unseen")])
    artifact = open_artifact((SAVED / TREE).read_bytes(), tmp_path)
    limits = [each.threshold for each in artifact.partition.nodes if each.threshold is not None]
    near = [step for each in limits for step in (each, np.nextafter(each, 99), each + 1e-5)]
    frame = pd.concat([frame, frame.iloc[: len(near)].assign(size=near)], ignore_index=True)
    frame = pd.concat([frame, frame.head(5).assign(segment=None)], ignore_index=True)

    (tmp_path / "artifact.zip").write_bytes((SAVED / TREE).read_bytes())
    (tmp_path / "rows.json").write_text(frame.to_json(orient="records", double_precision=15))
    done = subprocess.run(
        [sys.executable, "-c", example + ASK],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found, modules = done.stdout.splitlines()
    leaf, after = np.array(json.loads(found)).T
    scored = score_with_artifact(artifact, frame)
    assert leaf.tolist() == scored["leaf"].tolist()
    np.testing.assert_allclose(after, scored["after"], rtol=0, atol=1e-15)
    assert not {"hetcal", "pandas", "sklearn", "scipy"} & set(modules.split())


def fields_of(content):
    """Every name of a field in a JSON document, but what a run or its user named."""
    if isinstance(content, list):
        for each in content:
            yield from fields_of(each)
    elif isinstance(content, dict):
        for name, value in content.items():
            yield name
            if name not in GIVEN:
                yield from fields_of(value)


@pytest.mark.parametrize("name", [TREE, CHOSEN, THREE])
def test_every_entry_and_every_field_is_on_the_page_which_is_in_the_artifact(name):
    text = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    known = set(re.findall(r"[A-Za-z_0-9.]+", " ".join(re.findall(r"`([^`]+)`", text))))
    with zipfile.ZipFile(SAVED / name) as archive:
        for entry in archive.namelist():
            plain = re.sub(r"class_\d", "class_0", entry).rpartition("/")[2]
            assert plain in known
            content = archive.read(entry)
            if plain.endswith(".json") and plain not in ELSEWHERE:
                named = {each.removesuffix("_se") for each in fields_of(json.loads(content))}
                assert named <= known
            if plain.endswith(".sketch"):
                assert set(fields_of(json.loads(content.split(b"\n")[0]))) <= known | {"id"}
        assert archive.read("FORMAT.md").decode().startswith("# The artifact of hetcal")


def test_a_file_of_every_format_number_is_kept():
    for number in range(1, FORMAT + 1):
        for name in ("two_classes", "three_classes"):
            with zipfile.ZipFile(SAVED / f"{name}_format_{number}.zip") as archive:
                assert json.loads(archive.read("manifest.json"))["format"] == number
    assert f"format {FORMAT}" in PAGE.splitlines()[0]


def numbered(number):
    return lambda held: held.replace(b'"format": %d' % FORMAT, b'"format": %d' % number, 1)


def tampered(data):
    """A number of a map is changed in a file whose digests are those of before."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {each: archive.read(each) for each in archive.namelist()}
    maps = held["calibrators.json"].replace(b'"intercept": ', b'"intercept": 1', 1)
    return zipped(held | {"calibrators.json": maps})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: changed(data, "manifest.json", numbered(FORMAT + 1)), "reads formats 1 to"),
        (lambda data: changed(data, "manifest.json", numbered(0)), "has format number 0"),
        (tampered, "its entry 'calibrators.json' is not as it was written"),
        (lambda data: data[: len(data) // 2], "not a zip"),
        (lambda data: data[:-1], "not a zip"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused_with_the_reason(spoil, words, tmp_path):
    with pytest.raises(ArtifactError, match=words):
        open_artifact(spoil((SAVED / TREE).read_bytes()), tmp_path)
