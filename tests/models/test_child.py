import gc
import json
import os
import shutil
import stat
import subprocess
import sys
import time

import pytest

from hetcal.errors import ModelError
from hetcal.models.child import Child, Limits, new_directory

PATIENCE = 60.0  # seconds after which a test that hangs fails


def start(**limits):
    """A child that has nothing to do and dies of it, once it has loaded TensorFlow."""
    return Child("score", {"name": "m"}, new_directory(), Limits(**limits))


def happens(check):
    """Whether it becomes true, on however busy a machine."""
    latest = time.monotonic() + PATIENCE
    while not check() and time.monotonic() < latest:
        time.sleep(0.05)
    return check()


def gone(pid):
    def no_longer_there():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return happens(no_longer_there)


def test_the_directory_is_private():
    directory = new_directory()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    directory.rmdir()


def test_a_stopped_child_says_that_it_was_cancelled():
    child = start()
    assert child.running
    child.stop()
    assert not child.running
    with pytest.raises(ModelError, match="cancelled"):
        child.finish()
    child.close()


def test_a_child_that_takes_too_long_is_ended():
    child = start(seconds=1)
    began = time.monotonic()
    with pytest.raises(ModelError, match="did not finish within 1 s\\."):
        child.finish()
    assert time.monotonic() - began < PATIENCE
    child.close()


def test_a_child_nobody_waits_for_is_ended_by_its_own_alarm():
    child = start(seconds=1)
    assert gone_unreaped(child)
    with pytest.raises(ModelError, match="did not finish within 1 s\\."):
        child.finish()
    child.close()


def gone_unreaped(child):
    """Look without ending it: `running` would."""
    return happens(lambda: child._process.poll() is not None)


def test_closing_ends_the_process_and_removes_the_directory():
    child = start()
    pid, directory = child._process.pid, child.directory
    child.close()
    assert gone(pid)
    assert not directory.exists()


def test_a_forgotten_child_ends_and_leaves_nothing_behind():
    child = start()
    pid, directory = child._process.pid, child.directory
    del child
    gc.collect()
    assert gone(pid)
    assert not directory.exists()


def test_a_child_ends_when_the_app_ends():
    code = (
        "import os\n"
        "from hetcal.models.child import Child, Limits, new_directory\n"
        "child = Child('score', {'name': 'm'}, new_directory(), Limits())\n"
        "import time; time.sleep(0.5)\n"
        "print(child._process.pid, child.directory, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid, directory = ended.stdout.decode().split()
    assert gone(int(pid))
    shutil.rmtree(directory)  # a killed app cannot tidy up


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
    monkeypatch.setattr("hetcal.models.child.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"'keras' is not installed\. .*\.\[keras\]\""):
        Child("score", {"name": "m"}, tmp_path, Limits())


def confined(code):
    """What a fresh process prints after it has confined itself."""
    limits = "Limits(seconds=60, memory=5 * 2**30, file_bytes=2**20, files=64)"
    program = (
        "import json, sys\n"
        f"{code}\n"
        "from hetcal.models.child import Limits\n"
        "from hetcal.models.worker import confine\n"
        f"confine({limits})\n"
    )
    show = (
        "import resource\n"
        "names = ['RLIMIT_AS', 'RLIMIT_CPU', 'RLIMIT_FSIZE', 'RLIMIT_NOFILE', 'RLIMIT_CORE']\n"
        "print(json.dumps([resource.getrlimit(getattr(resource, n))[0] for n in names]))\n"
    )
    program += "print('[]')" if "None" in code else show
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out = process.stdout.read()
    return process.returncode, json.loads(out)


def test_limits_are_those_asked_for():
    assert confined("") == (0, [5 * 2**30, 60, 2**20, 64, 0])


def test_a_system_without_limits_is_no_error():
    assert confined("sys.modules['resource'] = None") == (0, [])
