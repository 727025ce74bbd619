"""Hostile files are refused by the look into them, and are powerless where they are not."""

import contextlib
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import ModelError
from hetcal.models import process
from hetcal.models.file import inspect_model
from hetcal.models.inputs import matrix_input
from hetcal.models.sandbox import reduced_isolation
from hetcal.models.scan import describe
from hetcal.models.scoring import score_model
from tests.models.hostile.crafted import DENSE, layer, sequential
from tests.models.hostile.files import ENDLESS, Hostile, hostile_files
from tests.models.hostile.test_sandbox import WORK

BOOTSTRAP = process._BOOTSTRAP
BUILD = """
import sys
import tensorflow as tf
from tensorflow.python.trackable.resource import CapturableResource

saved, marker = sys.argv[1:]

class Initialised(CapturableResource):
    def _create_resource(self):
        return tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)

    def _initialize(self):
        tf.io.write_file(marker, "x")

class Model(tf.Module):
    def __init__(self):
        self.resource = Initialised()

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def serve(self, x):
        with tf.control_dependencies([tf.raw_ops.LookupTableSizeV2(
            table_handle=self.resource.resource_handle)]):
            return tf.identity(x)

tf.saved_model.save(Model(), saved)
"""

LOAD = """
import json
from pathlib import Path
from hetcal.models.keras_internals import import_keras
from hetcal.models.sandbox import Limits, confine

import_keras()
confine(Limits(seconds=120))
import keras, numpy as np

for name in json.loads(Path("names.json").read_text()):
    print(json.dumps({"begun": name}), flush=True)
    try:
        model = keras.saving.load_model(name, compile=False, safe_mode=False)
        model(np.zeros((2, 3), np.float32))
        ended = "ran"
    except BaseException as error:
        ended = type(error).__name__
    print(json.dumps({"name": name, "ended": ended}), flush=True)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The files, a folder with a secret, and a listener."""
    folder, outside = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        saved = Path("saved")
        files = hostile_files(outside, listener.getsockname()[1], saved)
        paths = {each.name: each.write(folder) for each in files}
        assert len(paths) == len(files)
        yield files, folder, outside, listener


def test_there_are_many(place):
    assert len(place[0]) >= 60


def refusal(path):
    """Why the look refuses a file; empty for one that it passes."""
    try:
        with path.open("rb") as file:
            describe(file, path.name)
    except ModelError as error:
        return error.wrong
    return ""


def test_every_file_is_refused_by_the_look_for_its_own_reason(place):
    files, folder, outside, _ = place
    found = {each.name: refusal(folder / each.name) for each in files}
    for each in files:
        assert re.search(each.reason, found[each.name]), (each.name, found[each.name])
    assert touched(outside) == set()


def test_the_app_refuses_in_the_same_way(place):
    files, folder, *_ = place
    for each in files[:: len(files) // 6]:
        with pytest.raises(ModelError, match=each.reason):
            inspect_model(folder / each.name)


def touched(outside):
    """What is there beside the secret."""
    assert (outside / "secret").read_text() == "secret"
    return {each.name for each in outside.iterdir()} - {"secret"}


def connections(listener):
    """How many have connected since the last time."""
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count


def load_all(monkeypatch, directory, names, *, shut=True):
    """Load files by Keras without its own safe mode; return what became of each."""
    entered = BOOTSTRAP.replace(WORK, LOAD)
    if not shut:
        entered = entered.replace("shut_in(sys.argv[3:], hetcal.__path__)\n", "")
    assert LOAD in entered
    assert ("shut_in(" in entered) == shut
    monkeypatch.setattr(process, "_BOOTSTRAP", entered)
    ended, left = {}, list(names)
    while left:
        (directory / "names.json").write_text(json.dumps(left))
        popen = process._start(directory)
        popen.wait(150)  # it ends itself before, and the next one goes on with what is left
        popen.stdin.close()
        lines = (directory / "messages").read_text().splitlines()
        said = [json.loads(line) for line in lines]
        ended |= {each["name"]: each["ended"] for each in said if "name" in each}
        begun = [each["begun"] for each in said if "begun" in each]
        assert begun, (directory / "log").read_text()
        if begun[-1] not in ended:
            ended[begun[-1]] = f"killed ({popen.returncode})"
        left = [name for name in left if name not in ended]
    return ended


@pytest.mark.network
@pytest.mark.skipif(reduced_isolation() is not None, reason="the kernel isolates less")
def test_with_the_look_switched_off_no_file_does_anything(monkeypatch, place, tmp_path):
    files, folder, outside, listener = place
    directory = tmp_path
    saved = [sys.executable, "-c", BUILD, directory / "saved", outside / "initialiser"]
    subprocess.run(list(map(str, saved)), check=True, capture_output=True)
    for each in files:
        (directory / each.name).write_bytes((folder / each.name).read_bytes())

    # Where the process is not shut in, they do what they are made for.
    free = [
        "code.keras",
        "code_in_older_format.h5",
        "code_that_starts_a_program.keras",
        "initialiser.keras",
    ]
    free += ["code_that_reads_a_secret.keras", "code_that_connects.keras"]
    load_all(monkeypatch, directory, free, shut=False)
    assert touched(outside) == {"code", "older", "started", "initialiser", "copy"}
    assert connections(listener) > 0
    for name in touched(outside):
        (outside / name).unlink()

    ended = load_all(monkeypatch, directory, [each.name for each in files])
    assert touched(outside) == set()
    assert connections(listener) == 0
    assert len(ended) == len(files)
    assert "ran" not in {ended[name] for name in free}


def test_a_file_in_which_the_hdf5_library_never_ends_is_refused_in_seconds(tmp_path):
    with pytest.raises(ModelError, match=ENDLESS.reason):
        inspect_model(ENDLESS.write(tmp_path))


WIDE = (
    layer("Dense", units=40_000, name="first"),
    layer("Dense", units=20_000, name="second"),
    DENSE,
)
LONG = (layer("RepeatVector", n=500_000_000), layer("GlobalMaxPooling1D", name="most"), DENSE)


@pytest.mark.network
@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        (WIDE, "describes 800,200,001 weights, but its file holds 4"),
        (LONG, "more memory than"),
        ((layer("Flatten"),), "describes 0 weights, but its file holds 4"),
    ],
)
def test_a_model_of_other_weights_or_too_much_memory_is_refused_before_it_gets_it(
    tmp_path, layers, reason
):
    model = inspect_model(Hostile("large.keras", "", sequential(*layers)).write(tmp_path))
    rows = pd.DataFrame(np.zeros((5, 3)), columns=["a", "b", "c"])
    with pytest.raises(ModelError, match=reason):
        score_model(model, rows, matrix_input(model, list(rows.columns)))
