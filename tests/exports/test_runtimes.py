"""ONNX and LiteRT: the fused model where there is no Keras, text and missing values included."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

from hetcal.errors import ExportError
from hetcal.exports import runtimes
from hetcal.exports.export import make_exports
from hetcal.exports.proof import difficult_rows, expected_rows
from hetcal.exports.recipe import recipe
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import ModelScoring
from tests.exports.artifacts import CITY, SIZE, artifact
from tests.models.model_files import model_files

pytestmark = pytest.mark.network


def rows_of(opened, many=200):
    """Rows whose scores and numbers are in single precision, with what the artifact makes of them.

    A category that is missing is empty text.
    """
    document = recipe(opened)
    rows = difficult_rows(document, many)
    with np.errstate(over="ignore"):
        for name in ("score", "age", SIZE):
            rows[name] = rows[name].astype(np.float32).astype(np.float64)
    rows[CITY] = rows[CITY].mask(rows[CITY] == "")
    plain = np.isfinite(rows[["age", SIZE]]).all(axis=1) | rows[["age", SIZE]].isna().any(axis=1)
    rows = rows[plain & (rows[["age", SIZE]].abs().fillna(1) > 1e-30).all(axis=1)]
    rows = rows.reset_index(drop=True)
    return rows, expected_rows(opened, document, rows)["after"].to_numpy()


def test_onnx_takes_columns_by_their_names_and_text_as_text():
    opened = artifact(partition="tree", calibrator="isotonic")
    (made,) = make_exports(opened, ["onnx"], rows=2_000)
    assert made.parity.difference < 1e-6
    model = onnx.load_from_string(made.content)
    opset = {each.domain: each.version for each in model.opset_import}
    about = json.loads(model.metadata_props[0].value)
    assert opset[""] == about["opset"] == 17
    assert len(about["examples"]) == 5
    session = onnxruntime.InferenceSession(made.content)
    assert {each.name for each in session.get_inputs()} == {"score", SIZE, "age", CITY}
    rows, expected = rows_of(opened)
    given = {name: rows[[name]].to_numpy(np.float32) for name in (SIZE, "age")}
    given |= {"score": rows[["score"]].to_numpy(), CITY: rows[[CITY]].astype(object).fillna("")}
    given[CITY] = given[CITY].to_numpy(dtype=object)
    found = session.run(None, given)[0][:, 0]
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert np.isnan(expected).any()
    assert rows[CITY].isna().any()


def test_a_network_that_reads_text_keeps_its_lookup():
    opened = artifact(partition="tree")
    model = inspect_model(model_files() / "columns.keras")
    inputs = InputColumns((("age", ("age",)), ("job", ("job",))))
    opened = replace(opened, scoring=ModelScoring(model, inputs))
    (made,) = make_exports(opened, ["onnx"], rows=1_000)
    assert made.parity.difference < 1e-5
    lookups = [each for each in onnx.load_from_string(made.content).graph.node if each.domain]
    keys = [key.decode() for each in lookups[0].attribute for key in each.strings]
    assert {"", "admin", "student", "Bern"} <= set(keys)


def test_onnx_holds_trees_that_follow_each_other():
    (made,) = make_exports(artifact(partition="boosted"), ["onnx"], rows=1_000)
    assert made.parity.difference < 1e-5


def test_litert_gives_what_the_artifact_gives_for_curves():
    opened = artifact(partition="additive")
    (made,) = make_exports(opened, ["tflite"], rows=2_000)
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        about = json.loads(archive.read("hetcal.json"))
    rows, expected = rows_of(opened)
    codes = rows[CITY].map(lambda text: about["codes"].get(text, about["other"]))
    codes = codes.where(rows[CITY].notna(), 0)
    given = {name: rows[[name]].to_numpy(np.float32) for name in ("score", SIZE, "age")}
    given[CITY] = codes.to_numpy(np.int32)[:, None]
    given = {about["signature"][name]: values for name, values in given.items()}
    (found,) = Interpreter(model_content=made.content).get_signature_runner()(**given).values()
    assert found[:, 0] == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_maps_that_jump_and_many_trees_are_refused():
    with pytest.raises(ExportError, match=r"steps or bins.*'platt'"):
        make_exports(artifact(partition="tree", calibrator="isotonic"), ["tflite"])
    with pytest.raises(ExportError, match="sends every row through"):
        make_exports(artifact(partition="forest"), ["tflite"])


def test_a_missing_library_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match=r"onnx is not installed.*\.\[onnx\]"):
        make_exports(artifact(partition="tree"), ["onnx"], rows=50)
    with pytest.raises(ExportError, match=r"ai_edge_litert is not installed.*\.\[litert\]"):
        make_exports(artifact(partition="tree"), ["tflite"], rows=50)
