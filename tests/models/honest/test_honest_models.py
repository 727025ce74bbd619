"""Honest models of many kinds, scanned, scored in the sandbox and compared with Keras itself."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from hetcal.digests import file_digest
from hetcal.errors import ModelError
from hetcal.models import scoring
from hetcal.models.allowed import REFUSED, is_allowed
from hetcal.models.child import read_messages, reported_error
from hetcal.models.file import described, inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.process import environment
from hetcal.models.scan import describe
from tests.models.honest.models import NUMBERS, rows
from tests.models.model_files import ROOT

pytestmark = pytest.mark.network
KERAS_2 = [ROOT / "tests/models/honest/keras_2" / version for version in ("2.15.0", "2.21.0")]
OLDER = [  # from make_keras_2_models.py
    folder / f"{name}.keras"
    for folder in KERAS_2
    for name in ("normalised", "lstm", "tokens", "encoder", "columns", "text", "slicing")
]
OLDER += [folder / "hard_sigmoid.keras" for folder in KERAS_2]
OLDER += [KERAS_2[0] / f"{name}.keras" for name in ("trained", "functions", "gathered")]
OLDER += [KERAS_2[1] / name for name in ("hard_gates.h5", "shaped.keras", "chosen.keras")]
OLDER += [ROOT / "tests/models/honest/keras_2/2.8.0/wrapped.h5"]

# What `hetcal.models.process` starts for one file, here for many: shut in before Keras is loaded,
# with limits before the first file is opened.
SCORE_ALL = """
import json, os, sys
from pathlib import Path
root, *directories = sys.argv[1:]
sys.path.insert(0, root)
from hetcal.models.sandbox import Limits, confine, shut_in
shut_in(directories, [f"{root}/hetcal"])
from hetcal.models import worker
worker.import_keras()
confine(Limits(memory=8 * 2**30))
worker.use_one_thread()
for directory in directories:
    os.chdir(directory)
    request = json.loads(Path("request.json").read_text(encoding="utf-8"))
    try:
        worker.score(request, lambda message: None)
    except Exception as error:
        told = worker.explain(error, request["name"])
        parts = {"wrong": told.wrong, "needed": told.needed, "remedy": told.remedy}
        Path("messages").write_text(json.dumps({"error": parts}) + "\\n")
"""


class Waiting:
    """A child whose request is carried out later, together with others."""

    running = False

    def __init__(self, command, request, directory, limits):
        (directory / "request.json").write_text(json.dumps(request), encoding="utf-8")
        self.directory = directory

    def finish(self):
        error = reported_error(read_messages(self.directory / "messages"))
        if error is not None:
            raise error
        return self.directory

    def close(self):
        shutil.rmtree(self.directory)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """The directory of the models; `expected.npz` is what Keras predicts."""
    directory = tmp_path_factory.mktemp("honest")
    command = [sys.executable, "-m", "tests.models.honest.models", directory]
    subprocess.run(command, cwd=ROOT, env=environment(directory), check=True, capture_output=True)
    return directory


def look(path):
    """What the child that looks at a file finds, but in this process, which takes less time."""
    with path.open("rb") as file:
        said = json.loads(json.dumps(describe(file, path.name), default=vars))
    return described(path, path.name, file_digest(path), said)


def score_all(jobs):
    directories = [str(job._child.directory) for job in jobs.values()]
    subprocess.run(
        [sys.executable, "-I", "-c", SCORE_ALL, str(ROOT), *directories],
        env=environment(Path(directories[0])),
        check=True,
        capture_output=True,
    )


def test_models_of_many_kinds_score_as_keras_itself_does(honest, monkeypatch):
    monkeypatch.setattr(scoring, "Child", Waiting)
    inputs = json.loads((honest / "expected.json").read_text())
    jobs = {
        name: scoring.start_scoring(look(honest / name), rows(), columns_of(given))
        for name, given in inputs.items()
    }
    jobs |= {path: scoring.start_scoring(look(path), rows(), named_columns(path)) for path in OLDER}
    score_all(jobs)
    expected = {**np.load(honest / "expected.npz")}
    for folder in {path.parent for path in OLDER}:
        expected |= {folder / name: own for name, own in np.load(folder / "expected.npz").items()}
    gaps = {name: largest_gap(job.result().logit, expected[name]) for name, job in jobs.items()}
    assert len(gaps) >= 65
    assert {name: gap for name, gap in gaps.items() if gap > 1e-6} == {}


@pytest.mark.parametrize(
    ("name", "activation"),
    [
        ("sigmoid_as_activation", "sigmoid"),
        ("softmax_as_activation", "softmax"),
        ("log_softmax", "log_softmax"),
        ("two_ends", "sigmoid"),
        ("linear", "linear"),
    ],
)
def test_the_last_activation_is_told_from_the_file(honest, name, activation):
    assert look(honest / f"{name}.keras").activation == activation


def test_weights_of_a_first_layer_are_read_where_they_tell_the_size_of_its_inputs(honest):
    expected = np.load(honest / "reach.npz")
    found = {name: look(honest / name).inputs[0].reach for name in expected}
    known = {"mlp.keras", "mlp.h5", "residual.keras", "wide_and_deep.keras", "experts.keras"}
    assert {name for name, reach in found.items() if reach} == known
    for name in known:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def named_columns(path):
    """Each input of a model of Keras 2 has the name of its column, but that of the numbers."""
    names = [each.name for each in look(path).inputs]
    return columns_of([[name, NUMBERS if name == "x" else [name]] for name in names])


@pytest.mark.parametrize("name", ["feature_space.keras", KERAS_2[0] / "tokens.keras"])
def test_the_whole_door_gives_the_same(honest, name):
    path = honest / name
    columns = named_columns(path) if path in OLDER else None
    if columns is None:
        columns = columns_of(json.loads((honest / "expected.json").read_text())[name])
    scores = scoring.score_model(inspect_model(path), rows(), columns)
    own = np.load(path.parent / "expected.npz")[path.name]
    assert largest_gap(scores.logit, own) <= 1e-6


def test_a_function_that_may_mean_something_else_in_keras_3_is_refused():
    with pytest.raises(ModelError, match="is how Keras 2 calls a function of TensorFlow"):
        look(KERAS_2[1] / "whole.keras")


def test_every_layer_and_operation_of_keras_is_taken_or_refused_for_a_reason(honest):
    classes = json.loads((honest / "classes.json").read_text())
    for module, names in (("keras.layers", "layers"), ("keras.src.ops.numpy", "operations")):
        taken = {name for name in classes[names] if is_allowed(module, name)}
        assert taken & set(REFUSED) == set()
        assert set(classes[names]) - taken - set(REFUSED) == set()


def columns_of(given):
    return InputColumns(tuple((name, tuple(columns)) for name, columns in given))


def largest_gap(logit, own):
    """Compare a logit with what the model gives: a logit, a probability, or two of them."""
    own = own.reshape(len(logit), -1).astype(float)
    if own.max() <= 0:  # logarithms of probabilities
        own = np.exp(own)
    own = own[:, -1]
    found = logit if ((own < 0) | (own > 1)).any() else expit(logit)
    return np.abs(found - own).max() / max(1, np.abs(own).max())
