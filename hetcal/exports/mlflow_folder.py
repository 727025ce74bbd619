"""The Python file as a model of MLflow: code and JSON, no pickle."""

import base64
import json
from importlib.util import find_spec
from typing import Any

import pandas as pd

from hetcal.exports.proof import Parity, compare, in_fresh_process, missing
from hetcal.exports.recipe import Document, trees_of

NAME = "calibrated_mlflow.zip"
USE = (
    f"unzip {NAME} -d calibrated",
    'model = mlflow.pyfunc.load_model("calibrated")  # model.metadata.signature has the columns',
    'model.predict(frame)["after"]',
)
CANNOT = (
    "It does not run the network: it takes the network's score as a column.",
    "It is a folder in a zip: `mlflow.register_model` takes it once it was logged.",
)
MANY_TREES, FEWER_ROWS = 100, 5_000  # that are compared
MODEL = '''"""The calibrated model for MLflow: what calculates is calibrated.py beside it."""

import mlflow
import numpy as np
import pandas as pd
from calibrated import score_rows


class Calibrated(mlflow.pyfunc.PythonModel):
    """Gives leaf, logit of the score, and probability before and after."""

    def predict(self, context, model_input, params=None):
        """Score rows, whose columns are those of the signature."""
        found = score_rows(model_input)
        return pd.DataFrame({name: np.asarray(each) for name, each in found.items()})


mlflow.models.set_model(Calibrated())
'''
QUIET = """
import base64, io, json, os, sys, warnings, zipfile
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
warnings.simplefilter("ignore")
sys.path.insert(0, "")
import logging
logging.disable(logging.WARNING)
import mlflow, pandas
"""
WRITE = """
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, Schema
given = json.load(open("given.json"))
inputs = [ColSpec(kind, name, required=False) for name, kind in given["inputs"]]
outputs = [ColSpec("long", "leaf")] + [ColSpec("double", n) for n in ("score", "before", "after")]
mlflow.pyfunc.save_model(
    "model",
    python_model="model.py",
    code_paths=["calibrated.py"],
    signature=ModelSignature(Schema(inputs), Schema(outputs)),
    input_example=pandas.DataFrame(given["example"]).astype(given["types"]),
    pip_requirements=given["needs"],
    metadata=given["about"],
)
content = io.BytesIO()
with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
    for folder, _, names in sorted(os.walk("model")):
        for name in sorted(names):
            if not name.endswith(".pyc"):
                path = os.path.join(folder, name)
                archive.write(path, os.path.relpath(path, "model"))
print(json.dumps(base64.b64encode(content.getvalue()).decode()))
"""
READ = """
zipfile.ZipFile("model.zip").extractall("model")
found = mlflow.pyfunc.load_model("model").predict(pandas.read_parquet("rows.parquet"))
print(json.dumps([found[key].tolist() for key in ("leaf", "after")]))
"""


def mlflow_folder(document: Document, about: Document, python: bytes) -> bytes:
    """Let MLflow write its folder around the Python file, and pack it."""
    if find_spec("mlflow") is None:
        raise missing("mlflow", "mlflow", "MLflow itself writes and checks its folder")
    kinds = {"number": "double", "category": "string"}
    columns = [(each["name"], kinds[each["kind"]]) for each in document["columns"]]
    inputs = [(document["score"]["column"], "double"), *columns]
    given: dict[str, Any] = {
        "inputs": inputs,
        "types": {name: "float64" if kind == "double" else "object" for name, kind in inputs},
        "example": [each["row"] for each in about["examples"]],
        "needs": [f"{name}=={about['libraries'][name]}" for name in ("numpy", "pandas")],
        "about": about,
    }
    files = {
        "model.py": MODEL.encode(),
        "calibrated.py": python,
        "given.json": json.dumps(given).encode(),
    }
    return base64.b64decode(in_fresh_process(QUIET + WRITE, files))


def check(content: bytes, document: Document, rows: pd.DataFrame, expected: pd.DataFrame) -> Parity:
    """Load the folder by MLflow in a fresh process, and compare what it predicts."""
    few = len(rows) if len(trees_of(document)) < MANY_TREES else FEWER_ROWS
    files = {"model.zip": content, "rows.parquet": rows[:few].to_parquet(index=False)}
    found = in_fresh_process(QUIET + READ, files)
    return compare(expected[:few], found, "mlflow.pyfunc.load_model")
