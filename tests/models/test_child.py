import contextlib
import gc
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hetcal.errors import ModelError
from hetcal.models.child import Child
from hetcal.models.process import close_spare, keep_spare, new_directory
from hetcal.models.sandbox import Limits, confine
from tests.models.processes import PATIENCE, gone, happens, until_it_waits


def start(**limits):
    """A child that has nothing to do and dies of it, once it has loaded TensorFlow."""
    return Child("score", {"name": "m"}, new_directory(), Limits(**limits))


def start_blocked(**limits):
    """A child whose model is a pipe that nobody writes to."""
    directory = new_directory()
    os.mkfifo(directory / "m.keras")
    return Child("score", {"name": "m", "model": "m.keras"}, directory, Limits(**limits))


@pytest.fixture(params=["new", "spare"])
def _process(request):
    """Children are new processes, or have waited with Keras loaded."""
    if request.param == "spare":
        keep_spare()
        until_it_waits()
    yield
    close_spare()


either = pytest.mark.usefixtures("_process")


def test_the_directory_is_private():
    directory = new_directory()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    directory.rmdir()


@either
def test_a_stopped_child_says_that_it_was_cancelled():
    child = start_blocked()
    assert child.running
    child.stop()
    assert not child.running
    with pytest.raises(ModelError, match="cancelled"):
        child.finish()
    child.close()


@either
def test_a_child_that_takes_too_long_is_ended():
    child = start_blocked(seconds=1)
    began = time.monotonic()
    with pytest.raises(ModelError, match="did not finish within 1 s\\."):
        child.finish()
    assert time.monotonic() - began < PATIENCE
    child.close()


@either
def test_a_child_nobody_waits_for_is_ended_by_its_own_alarm():
    child = start_blocked(seconds=1)
    assert gone_unreaped(child)
    with pytest.raises(ModelError, match="did not finish within 1 s\\."):
        child.finish()
    child.close()


def gone_unreaped(child):
    """Look without ending it: `running` would."""
    return happens(lambda: child._process.code is not None)


@either
def test_closing_ends_the_process_and_removes_the_directory():
    child = start_blocked()
    pid, directory = child._process.pid, child.directory
    child.close()
    assert gone(pid)
    assert not directory.exists()


@either
def test_a_forgotten_child_ends_and_leaves_nothing_behind():
    child = start_blocked()
    pid, directory = child._process.pid, child.directory
    del child
    gc.collect()
    assert gone(pid)
    assert not directory.exists()


def test_a_child_ends_when_the_app_ends():
    code = (
        "import os\n"
        "from hetcal.models.child import Child, Limits\n"
        "from hetcal.models.process import new_directory\n"
        "child = Child('score', {'name': 'm'}, new_directory(), Limits())\n"
        "import time; time.sleep(0.5)\n"
        "print(child._process.pid, child.directory, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid, directory = ended.stdout.decode().split()
    assert gone(int(pid))
    Path(directory).rmdir()  # a killed app cannot tidy up, but its child has emptied it


def test_only_whole_lines_are_messages():
    child = start()
    child.stop()
    (child.directory / "messages").write_text('{"rows_done": 1}\n{"rows_d')
    assert child.messages() == [{"rows_done": 1}]
    child.close()


def test_lines_that_are_no_messages_are_left_out():
    child = start()
    child.stop()
    lines = [b"[1]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"error": 1}', b'{"error": {"wrong": 1}}']
    (child.directory / "messages").write_bytes(b"\n".join([*lines, b'{"rows_done": 1}', b""]))
    assert child.messages() == [{"error": 1}, {"error": {"wrong": 1}}, {"rows_done": 1}]
    with pytest.raises(ModelError, match="cancelled"):
        child.finish()
    child.close()


def test_asking_to_stop_leaves_a_sign_and_the_child_running():
    child = start()
    child.ask_to_stop()
    assert (child.directory / "cancel").exists()
    assert child.cancelled
    assert child.running
    child.close()


def test_an_unexpected_end_is_told_without_a_traceback():
    child = start()
    (child.directory / "request.json").unlink()
    with pytest.raises(ModelError, match="ended unexpectedly") as caught:
        child.finish()
    assert "Traceback" not in str(caught.value)
    child.close()


def test_a_missing_keras_is_named_with_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setattr("hetcal.models.process.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"'keras' is not installed\. .*\.\[keras\]\""):
        Child("score", {"name": "m"}, tmp_path, Limits())


def cpu_seconds(pid):
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def opened(path):
    """The writing end of a pipe, once somebody opens it for reading."""

    def open_it():
        with contextlib.suppress(OSError):
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    latest = time.monotonic() + PATIENCE
    while (end := open_it()) is None and time.monotonic() < latest:
        time.sleep(0.01)
    return end


@either
@pytest.mark.skipif(sys.platform != "linux", reason="looks into another process")
def test_limits_are_those_asked_for_before_the_model_is_opened():
    resource = pytest.importorskip("resource")
    child = start_blocked(seconds=50, memory=5 * 2**30, file_bytes=2**20, files=64)
    pid, end = child._process.pid, opened(child.directory / "m.keras")
    kinds = (f"RLIMIT_{name}" for name in ("AS", "FSIZE", "NOFILE", "CORE", "CPU"))
    *found, (soft, hard) = [resource.prlimit(pid, getattr(resource, each)) for each in kinds]
    used = cpu_seconds(pid)  # nearly all of it for loading Keras
    os.close(end)
    assert found == [(value, value) for value in (5 * 2**30, 2**20, 64, 0)]
    assert 50 + used - 1 < soft < hard < 50 + used + 3
    child.close()


@either
@pytest.mark.skipif(sys.platform != "linux", reason="looks into another process")
def test_a_child_has_its_directory_to_itself():
    child = start_blocked()
    names = ("HOME", "USERPROFILE", "KERAS_HOME", "TMPDIR", "TEMP")
    there = Path(f"/proc/{child._process.pid}")
    assert happens((there / "environ").read_text)  # empty until the program has begun
    given = (there / "environ").read_text().split("\0")
    assert {f"{name}={child.directory}" for name in names} <= set(given)
    assert (there / "cwd").readlink() == child.directory
    assert stat.S_IMODE(child.directory.stat().st_mode) == 0o700
    child.close()


def test_a_system_without_limits_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    confine(Limits(seconds=1))
