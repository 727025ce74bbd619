"""The folder for MLflow: its own loader gives the artifact's probabilities; there is no pickle."""

import io
import json
import zipfile

import pytest

from hetcal.errors import ExportError
from hetcal.exports import mlflow_folder
from hetcal.exports.export import make_exports
from tests.exports.artifacts import CITY, SIZE, artifact


def test_mlflow_loads_it_and_gives_the_same():
    (made,) = make_exports(artifact(partition="additive"), ["mlflow"], rows=2_000)
    assert made.parity.by == "mlflow.pyfunc.load_model"
    assert made.parity.difference < 1e-12
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        names = archive.namelist()
        described = archive.read("MLmodel").decode()
        example = json.loads(archive.read("input_example.json"))
    assert not [name for name in names if name.endswith((".pkl", ".pickle"))]
    assert {"MLmodel", "model.py", "code/calibrated.py"} <= set(names)
    for name in ("score", "age"):
        assert name in described
    assert {*example["columns"]} == {"score", SIZE, "age", CITY}
    assert len(example["data"]) == 5


def test_without_mlflow_the_way_to_install_it_is_said(monkeypatch):
    monkeypatch.setattr(mlflow_folder, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match=r"mlflow is not installed.*\.\[mlflow\]"):
        make_exports(artifact(partition="tree"), ["mlflow"], rows=50)
