"""The file of Python gives what the artifact gives, row by row and for arrays."""

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.artifact import score_with_artifact
from hetcal.calibrators.shapes import Affine
from hetcal.errors import ExportError
from hetcal.exports.export import make_exports
from hetcal.exports.proof import compare, difficult_rows, expected_rows
from hetcal.exports.recipe import recipe
from tests.exports.artifacts import CITY, SIZE, artifact, packed, people

ENSEMBLES = ("forest", "boosted", "additive", "stacked")
SHAPES = ("platt", "beta", "isotonic", "histogram")  # one of each shape of a map
SCHEMES = [{"partition": "tree", "calibrator": each} for each in SHAPES]
SCHEMES += [{"partition": each} for each in ENSEMBLES]
SCHEMES += [
    {"partition": "tree", "kind": "probability"},
    {"partition": "columns", "segments": (CITY,)},
]


def loaded(made):
    names = {"__name__": "calibrated"}
    exec(made.content.decode(), names)
    return names


@pytest.mark.parametrize("settings", SCHEMES, ids=lambda each: " ".join(map(str, each.values())))
def test_difficult_rows_have_the_same_leaf_and_probability(settings):
    (made,) = make_exports(artifact(**settings), ["python"], rows=3_000)
    assert made.parity.rows == 3_000
    assert made.parity.difference < 1e-12


def test_rows_of_the_table_have_the_same_probability_one_by_one_and_together():
    opened, frame = artifact(partition="additive"), people()
    (made,) = make_exports(opened, ["python"], rows=500)
    scorer, expected = loaded(made), score_with_artifact(opened, frame)
    together = scorer["score_rows"](frame)
    assert np.abs(together["after"] - expected["after"]).max() < 1e-12
    assert (together["leaf"] == expected["leaf"]).all()
    categories = frame.assign(**{CITY: frame[CITY].astype("category")})
    assert np.array_equal(scorer["score_rows"](categories)["after"], together["after"])
    for number in (0, 17, 399):
        row = frame.iloc[number].to_dict()
        assert scorer["score_row"](row)["after"] == pytest.approx(together["after"][number], 1e-12)


def test_values_that_are_equal_but_written_otherwise_keep_their_categories_in_arrays():
    scorer = loaded(make_exports(artifact(partition="tree"), ["python"], rows=500)[0])
    (column,) = (each for each in scorer["RECIPE"]["columns"] if each["name"] == CITY)
    column["codes"] = {"1": 0, "True": 1, "Bern": 2}
    values = [True, 1, 1.0, "1", "True", None, np.nan, float("nan"), "Bern", "Rom", "Rom"]
    expected = [1, 0, 0, 0, 1, 4, 4, 4, 2, 3, 3]
    assert scorer["_array"](column, np.array(values, dtype=object)).tolist() == expected
    texts = pd.Series(["Bern", None, "Rom", "1"], dtype="str")
    assert scorer["_array"](column, texts).tolist() == [2, 4, 3, 0]


def test_the_difficult_rows_are_on_thresholds_and_hold_what_is_missing_unseen_and_extreme():
    opened = artifact(partition="tree")
    document = recipe(opened)
    rows = difficult_rows(document)
    splits = [node for nodes in document["trees"] for node in nodes if len(node) > 1]
    limits = {node[1] for node in splits if isinstance(node[1], float)}
    assert limits <= {*rows[SIZE], *rows["age"]}
    assert np.isinf(rows["age"]).any()
    assert set(rows[CITY].dropna()) - set(people()[CITY].dropna())
    assert rows.isna().any().all()
    leaves = {leaf.id for leaf in opened.partition.leaves}
    assert set(expected_rows(opened, document, rows)["leaf"]) == leaves


def test_a_file_that_differs_is_not_given_out(monkeypatch):
    opened = artifact(partition="tree")
    maps = opened.calibrator.maps_
    other = [replace(each.shape, intercept=each.shape.intercept + 1e-4) for each in maps]
    assert all(isinstance(each, Affine) for each in other)
    changed = replace(opened, calibrator=opened.calibrator.with_shapes(other))
    monkeypatch.setattr("hetcal.exports.export.recipe", lambda _: recipe(changed))
    with pytest.raises(ExportError, match="differ by up to 2"):
        make_exports(opened, ["python"], rows=500)


def test_a_row_in_another_leaf_is_a_difference():
    expected = pd.DataFrame({"leaf": [1, 2], "after": [0.5, 0.5]})
    with pytest.raises(ExportError, match="1 are in another leaf"):
        compare(expected, ([1, 1], [0.5, 0.5]), "hand")
    with pytest.raises(ExportError, match="1 have or lack a probability"):
        compare(expected, ([1, 2], [0.5, None]), "hand")
    assert compare(expected, ([1, 2], [0.5, 0.5 + 1e-9]), "hand").difference == pytest.approx(1e-9)


def test_the_file_says_what_it_is_and_checks_its_examples(tmp_path):
    opened = artifact(partition="tree")
    (made,) = make_exports(opened, ["python"], rows=500)
    about = loaded(made)["ABOUT"]
    assert about["digests"]["partition"] == opened.partition.digest
    with zipfile.ZipFile(io.BytesIO(packed(partition="tree"))) as archive:
        digests = json.loads(archive.read("manifest.json"))["digests"]
    assert about["digests"]["table"] == digests["table"]
    assert about["inputs"][0] == {"name": "score", "kind": "logit"}
    assert len(about["examples"]) == 5
    assert len(about["use"]) == 3
    path = tmp_path / made.name
    path.write_bytes(made.content)
    done = subprocess.run([sys.executable, "-S", str(path)], capture_output=True, check=True)
    assert done.stdout.decode().startswith("5 examples, largest difference ")


def test_text_in_a_column_of_numbers_and_a_percentage_are_refused():
    (made,) = make_exports(artifact("probability", partition="tree"), ["python"], rows=500)
    scorer, row = loaded(made), {"p": 0.3, SIZE: 41.0, "age": 33, CITY: "Bern"}
    assert 0 < scorer["score_row"](row)["after"] < 1
    with pytest.raises(TypeError, match="holds numbers"):
        scorer["score_row"]({**row, "age": "old"})
    with pytest.raises(ValueError, match="holds probabilities"):
        scorer["score_row"]({**row, "p": 30})


def test_more_than_two_classes_and_unknown_formats_are_refused():
    opened = artifact(partition="tree")
    with pytest.raises(ExportError, match=r"no export called 'pyhton'.*Did you mean 'python'"):
        make_exports(opened, ["pyhton"])
    with pytest.raises(ExportError, match="3 classes"):
        make_exports(replace(opened, classes=("a", "b", "c")), ["python"])
