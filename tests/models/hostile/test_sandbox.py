"""What the process of a model can do when the model has taken it over."""

import json
import os
import socket
import subprocess
import sys
from compileall import compile_file
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from hetcal.models import process, sandbox
from hetcal.models.process import Process, new_directory
from hetcal.models.sandbox import reduced_isolation
from tests.models.processes import happens

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(reduced_isolation() is not None, reason="the kernel isolates less"),
]

WORK = "importlib.import_module(sys.argv[2]).main()\n"
PROBE = """
import ctypes, json, os, resource, signal, socket, subprocess, threading
from pathlib import Path
from hetcal.models.keras_internals import import_keras
from hetcal.models.sandbox import Limits, confine

import_keras()
confine(Limits())
import tensorflow as tf

outside, port, parent = json.loads(Path("given.json").read_text())
outside = Path(outside)


def connect(kind=socket.AF_INET, place=("127.0.0.1", port)):
    with socket.socket(kind) as own:
        own.connect(place)


def raised(kind):
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (hard + 1, hard + 1))


libc = ctypes.CDLL(None, use_errno=True)


def called(function, *values):
    if getattr(libc, function)(*values) < 0:
        raise OSError(ctypes.get_errno(), function)


tried = {
    "read /etc/passwd": lambda: Path("/etc/passwd").read_text(),
    "read a file outside": lambda: (outside / "secret").read_text(),
    "read it with TensorFlow": lambda: tf.io.read_file(str(outside / "secret")),
    "list the folder of a user": lambda: os.listdir(outside),
    "list the directory above": lambda: os.listdir(".."),
    "read the environment of the app": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
    "leave by the root of its own process": lambda: os.listdir("/proc/self/root"),
    "write a file outside": lambda: (outside / "marker").write_text("x"),
    "write it with TensorFlow": lambda: tf.io.write_file(str(outside / "marker"), "x"),
    "write to the libraries": lambda: Path(tf.__file__).with_name("marker").write_text("x"),
    "empty a file": lambda: os.truncate(outside / "secret", 0),
    "remove a file": lambda: (outside / "secret").unlink(),
    "move a file": lambda: (outside / "secret").rename("here"),
    "link to a file": lambda: os.link(outside / "secret", "here"),
    "make a link": lambda: os.symlink(outside / "secret", "link"),
    "make a device": lambda: os.mknod("device", 0o20600, os.makedev(1, 1)),
    "change a mode": lambda: (outside / "secret").chmod(0o777),
    "change a date": lambda: os.utime(outside / "secret", (1, 1)),
    "change an owner": lambda: os.chown(outside / "secret", 1, 1),
    "connect": connect,
    "connect to a local socket": lambda: connect(socket.AF_UNIX, str(outside / "listener")),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)),
    "fork": os.fork,
    "start a program": lambda: subprocess.run(["/bin/true"]),
    "become a program": lambda: os.execv("/bin/true", ["true"]),
    "use a shell": lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "exit"], {}),
    "leave its group": os.setsid,
    "join another group": lambda: os.setpgid(0, os.getppid()),
    "signal the app": lambda: os.kill(os.getppid(), 0),
    "signal everybody": lambda: os.kill(-1, 0),
    "watch the app": lambda: called("ptrace", 16, parent, 0, 0),
    "limit the app": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (50, 50)),
    "slow the app down": lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
    "become another user": lambda: os.setuid(12345),
    "make a namespace": lambda: called("unshare", 0x10000000),
    **{
        f"raise {name}": lambda kind=getattr(resource, f"RLIMIT_{name}"): raised(kind)
        for name in ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
    },
}
found = {}
for name, attempt in tried.items():
    try:
        found[name] = f"done: {attempt()!r}"
    except (OSError, ValueError, tf.errors.OpError) as error:
        found[name] = type(error).__name__
thread = threading.Thread(target=lambda: found.update(thread="ran"))
thread.start()
thread.join()
Path("own").write_text("x")
found["own"] = Path("own").read_text()
print(json.dumps(found), flush=True)
"""


def run_inside(monkeypatch, code, **files):
    """What code prints that runs in place of the work of a child, as it was shut in."""
    entered = process._BOOTSTRAP.replace(WORK, code)
    assert code in entered
    monkeypatch.setattr(process, "_BOOTSTRAP", entered)
    directory = new_directory()
    for name, content in files.items():
        (directory / f"{name}.json").write_text(json.dumps(content))
    child = Process(directory)
    assert happens(lambda: child.code is not None)
    printed, log = ((directory / name).read_text() for name in ("messages", "log"))
    child.end()
    return printed, log


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "secret").write_text("secret")
    return tmp_path


def test_one_who_took_over_the_child_reaches_nothing_outside(monkeypatch, outside):
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(outside / "listener"))
        local.listen()
        given = [str(outside), listener.getsockname()[1], os.getpid()]
        printed, log = run_inside(monkeypatch, PROBE, given=given)
    assert printed, log
    found = json.loads(printed)
    assert (found.pop("thread"), found.pop("own")) == ("ran", "x")
    assert len(found) == 40
    assert {name: what for name, what in found.items() if what.startswith("done")} == {}
    assert (outside / "secret").read_text() == "secret"
    assert sorted(each.name for each in outside.iterdir()) == ["listener", "secret"]


def test_a_kernel_without_landlock_and_seccomp_is_told_and_no_error(monkeypatch):
    monkeypatch.setattr(sandbox, "_landlock", lambda: 0)
    monkeypatch.setattr(sandbox, "_can_filter", lambda: False)
    told = reduced_isolation()
    assert told.startswith("Reduced isolation: ")
    assert "files" in told
    assert "network" in told
    code = (
        "from hetcal.models import sandbox\n"
        "sandbox._landlock = lambda: 0\nsandbox._can_filter = lambda: False\n"
        "sandbox.shut_in([], [])\nprint(len(open('/etc/passwd').read()) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"True"


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_older_versions_of_landlock_keep_files_out(version):
    code = (
        "from hetcal.models import sandbox\n"
        f"sandbox._landlock = lambda: {version}\n"
        "sandbox.shut_in([], [])\nopen('/etc/passwd')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"PermissionError: [Errno 13] Permission denied: '/etc/passwd'" in done.stderr


def test_a_command_that_is_told_to_end_leaves_no_folder_behind(tmp_path):
    code = (
        "import os, signal, sys, time\n"
        "from hetcal.cli import commands, main\n"
        "from hetcal.models.process import Process, new_directory\n"
        "def work(options):\n"
        "    kept = Process(new_directory())\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
        "commands.COMMANDS['demo'] = work\n"
        "sys.argv = ['hetcal', 'demo', '--out', 'x']\n"
        "sys.exit(main.main())\n"
    )
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=place, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"hetcal: stopped.\n")
    assert list(Path(tmp_path).iterdir()) == []


def test_keras_is_imported_once_by_a_free_process_where_it_was_not_compiled(monkeypatch, tmp_path):
    (tmp_path / "keras.py").write_text("")
    spec = spec_from_file_location("keras", tmp_path / "keras.py")
    monkeypatch.setattr(process, "find_spec", lambda name: spec)
    monkeypatch.setattr(
        process, "_IMPORT_KERAS", f"open({str(tmp_path / 'ran')!r}, 'a').write('x')"
    )
    for _ in range(2):
        process._compile_keras.__wrapped__()
        compile_file(tmp_path / "keras.py", quiet=2)
    assert (tmp_path / "ran").read_text() == "x"
