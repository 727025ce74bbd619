import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hetcal.models.config import last_activation
from hetcal.models.keras_internals import untrained, use_words_of_keras_3
from hetcal.models.scan import describe
from hetcal.models.worker import activation_of
from tests.models.hostile.crafted import DENSE, sequential
from tests.models.hostile.files import Hostile, code

START = """
import sys, types
package = types.ModuleType("hetcal")  # as the child does: without what `import hetcal` loads
package.__path__ = ["hetcal"]
sys.modules["hetcal"] = package
from hetcal.models.keras_internals import import_keras
import_keras()
print(sorted({"keras", "pandas", "sklearn", "tensorflow"} & set(sys.modules)))
import pandas
print(pandas.Series([1]).sum())
"""


@pytest.mark.network
def test_keras_starts_without_pandas_and_scikit_learn_which_can_be_imported_later():
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", START], cwd=root, capture_output=True, check=True, text=True
    )
    assert ended.stdout.splitlines() == ["['keras', 'tensorflow']", "1"]


def test_how_an_inner_model_was_compiled_is_neither_looked_at_nor_read(tmp_path):
    inner = {**sequential(DENSE), "compile_config": {"loss": code("1 / 0")}}
    inner["config"]["name"] = "inner"
    path = Hostile("compiled.keras", "", sequential(inner)).write(tmp_path)
    with path.open("rb") as file:
        assert describe(file, path.name).inputs
    with zipfile.ZipFile(untrained(path)) as archive:
        read = archive.read("config.json").decode()
        assert "model.weights.h5" in archive.namelist()
    assert "compile_config" not in read
    assert "__lambda__" not in read
    assert '"inner"' in read


@pytest.mark.parametrize(("axis", "kind"), [(1, "Take"), (None, "TFOpLambda")])
def test_values_are_gathered_along_an_axis_only_where_it_is_named(axis, kind):
    given = {"indices": [0, 2], "axis": axis, "validate_indices": None, "batch_dims": 0}
    gathered = {
        **{"class_name": "TFOpLambda", "name": "gathered"},
        "config": {"name": "gathered", "function": "compat.v1.gather"},
        "inbound_nodes": [["x", 0, 0, given]],
    }
    begin = {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "dtype": "float32"}}
    layers = [{**begin, "inbound_nodes": []}, gathered]
    use_words_of_keras_3({"config": {"layers": layers, "output_layers": [["gathered", 0, 0]]}})
    assert gathered["class_name"] == kind


@pytest.mark.network
def test_the_hard_sigmoid_of_keras_2_keeps_its_name():
    import keras

    dense = {**DENSE, "config": {**DENSE["config"], "activation": "hard_sigmoid"}}
    model = sequential(dense)
    use_words_of_keras_3(model)
    assert last_activation(model) == "hard_sigmoid"
    built = keras.saving.deserialize_keras_object(model)
    assert activation_of(built.layers[-1]) == "hard_sigmoid"
    logit = np.array([[-3.0], [-1.0], [1.0], [3.0]])  # that of Keras 2 rises by 0.2 per logit
    assert np.ravel(built.layers[-1].activation(logit)) == pytest.approx([0, 0.3, 0.7, 1])
