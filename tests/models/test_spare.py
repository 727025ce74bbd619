"""A process that waits with Keras loaded serves one request, as a new one would."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from hetcal.data.splits import Split
from hetcal.errors import ModelError
from hetcal.models import process
from hetcal.models.child import Child
from hetcal.models.file import inspect_model
from hetcal.models.inputs import matrix_input
from hetcal.models.network import NetworkSettings
from hetcal.models.process import close_spare, keep_spare, new_directory
from hetcal.models.sandbox import Limits
from hetcal.models.scoring import score_model
from hetcal.models.training import start_training
from tests.models.model_files import model_files
from tests.models.processes import gone, happens, until_it_waits, waiting

pytestmark = pytest.mark.network


@pytest.fixture(autouse=True)
def _no_spare_is_left():
    yield
    close_spare()


def start():
    """A child that has nothing to do and dies of it."""
    return Child("score", {"name": "m"}, new_directory(), Limits())


def score(**limits):
    """The scores of some rows by a model of three numbers."""
    model = inspect_model(model_files() / "sigmoid.keras")
    rows = pd.DataFrame(np.random.default_rng(5).normal(size=(40, 3)), columns=["a", "b", "c"])
    asked = Limits(**limits) if limits else None
    return score_model(model, rows, matrix_input(model, ["a", "b", "c"]), limits=asked).logit


def train():
    """A small network, as a file."""
    rng = np.random.default_rng(6)
    rows = pd.DataFrame({"x": rng.normal(size=80), "town": rng.choice(["a", "b"], 80)})
    parts = np.arange(40), np.arange(40, 60), np.arange(60, 70), np.arange(70, 80)
    settings = NetworkSettings(epochs=2, batch_size=16)
    return start_training(rows, rng.integers(0, 2, 80), Split(*parts), settings).result().content


def test_the_spare_serves_one_request_and_is_replaced():
    keep_spare()
    first = waiting()
    children = [start(), start()]
    assert children[0]._process is first
    assert children[0].directory == first.directory
    pids = {waiting().pid, *(child._process.pid for child in children)}
    directories = {waiting().directory, *(child.directory for child in children)}
    assert len(pids) == len(directories) == 3
    for child in children:
        child.close()


def test_what_was_asked_for_moves_to_the_spare():
    keep_spare()
    directory = new_directory()
    (directory / "input_0.npy").write_bytes(b"numbers")
    child = Child("score", {"name": "m"}, directory, Limits())
    assert not directory.exists()
    assert (child.directory / "input_0.npy").read_bytes() == b"numbers"
    child.close()


@pytest.mark.parametrize("work", [score, train])
def test_the_spare_gives_what_a_new_process_gives_bit_for_bit(work):
    new = work()
    keep_spare()
    until_it_waits()
    spare = waiting()
    given = work()
    assert waiting() is not spare
    assert np.asarray(given).tobytes() == np.asarray(new).tobytes()


def test_a_spare_that_was_killed_is_replaced_silently():
    keep_spare()
    directory = waiting().directory
    os.kill(waiting().pid, signal.SIGKILL)
    assert happens(lambda: waiting().code is not None)
    assert np.isfinite(score()).all()
    assert waiting().code is None
    assert not directory.exists()


def test_keeping_a_spare_twice_keeps_one():
    keep_spare()
    first = waiting()
    keep_spare()
    assert waiting() is first


def test_a_closed_spare_is_gone_and_not_replaced():
    keep_spare()
    pid, directory = waiting().pid, waiting().directory
    close_spare()
    assert gone(pid)
    assert not directory.exists()
    start().close()
    assert waiting() is None


def test_a_spare_that_waited_has_no_more_memory_than_the_request_allows():
    keep_spare()
    until_it_waits()
    with pytest.raises(ModelError, match="memory"):
        score(memory=2**30)


def test_no_spare_is_started_where_keras_is_missing(monkeypatch):
    monkeypatch.setattr(process, "find_spec", lambda name: None)
    keep_spare()
    assert waiting() is None


def no_directory():
    raise OSError("no space left on device")


def full_directory():
    """A directory in which no messages can be written, not even by root."""
    directory = new_directory()
    (directory / "messages").mkdir()
    full.append(directory)
    return directory


full = []


@pytest.mark.parametrize("make", [no_directory, full_directory])
def test_a_spare_that_cannot_be_started_stops_no_request(monkeypatch, make):
    keep_spare()
    with monkeypatch.context() as patch:
        patch.setattr(process, "new_directory", make)
        start().close()
        assert waiting() is None
    start().close()
    assert waiting() is not None
    assert not any(directory.exists() for directory in full)


def app(code):
    """What an app that keeps a spare process prints, and how it ends."""
    program = (
        "import os, sys\n"
        "from hetcal.models import process\n"
        "process.keep_spare()\n"
        "spare = process._spare._waiting\n"
        f"print(spare.pid, spare.directory, flush=True)\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    pid, directory, *more = done.stdout.decode().split()
    return int(pid), directory, more


def test_the_spare_ends_with_the_app():
    pid, directory, _ = app("")
    assert gone(pid)
    assert not os.path.exists(directory)


def test_the_spare_ends_when_the_app_is_killed():
    pid, directory, _ = app("os.kill(os.getpid(), 9)\n")
    assert gone(pid)
    # A killed app cannot tidy up, but the spare has emptied its folder.
    assert happens(lambda: not os.listdir(directory))
    os.rmdir(directory)


def test_a_process_forked_from_the_app_neither_takes_nor_ends_the_spare():
    *_, found = app(
        "copy = os.fork()\n"
        "if not copy:\n"
        "    print(process._spare.take(), flush=True)\n"
        "    sys.exit()\n"
        "os.waitpid(copy, 0)\n"
        "print(spare.code, os.path.exists(spare.directory))\n"
    )
    assert found == ["None", "None", "True"]
