"""The app as a user starts it: `streamlit run app.py`, in a process of its own."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.error import URLError
from urllib.request import urlopen

import psutil

ROOT = Path(__file__).resolve().parents[2]
SECONDS_TO_START = 180  # on however busy a machine
SECONDS_TO_STOP = 60
# Streamlit itself ends so where a browser leaves while it connects.
LEFT = re.compile(
    r"Exception in ASGI application\n((?!/pages/).)*?"
    r"WebSocketDisconnected: Cannot call \"send\"[^\n]*\n",
    re.DOTALL,
)


@dataclass(frozen=True)
class Server:
    """A running app: its address, what it wrote to the terminal, and its process."""

    address: str
    log: Path
    pid: int

    @property
    def tracebacks(self) -> str:
        """What the app wrote, if a stack trace is in it; otherwise nothing."""
        written = LEFT.sub("", self.log.read_text(encoding="utf-8", errors="replace"))
        return written if "Traceback" in written else ""


class HeldJobs:
    """Stops the processes of jobs where they are, also those that begin, so that one can look."""

    def __init__(self, server: Server) -> None:
        self._server = psutil.Process(server.pid)
        self._hold()

    def _hold(self) -> None:
        self._free = Event()
        self._holding = Thread(target=self._keep_still)
        self._holding.start()

    def _keep_still(self) -> None:
        while not self._free.wait(0.02):
            self._each(psutil.Process.suspend)

    def _each(self, act: Callable[[psutil.Process], None]) -> None:
        for child in self._server.children():
            with suppress(psutil.NoSuchProcess):  # it has just ended
                if "hetcal.jobs.worker" in " ".join(child.cmdline()):
                    act(child)

    def let_go(self) -> None:
        """Let them go on."""
        self._free.set()
        self._holding.join()
        self._each(psutil.Process.resume)

    def step(self, seconds: float) -> None:
        """Let them go on for so long."""
        self.let_go()
        time.sleep(seconds)
        self._hold()


@contextmanager
def serve(directory: Path, port: int | None = None, root: Path = ROOT) -> Iterator[Server]:
    """Run the app of a checkout until the block ends; all that it writes is in `directory`."""
    port = port or _free_port()
    own = {"TMPDIR": str(directory), "HETCAL_HOME": str(directory / "home")}
    paths = {"HETCAL_PATHS": tempfile.gettempdir()}  # where the tables of the tests are
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = ["--server.headless=true", f"--server.port={port}"]
    path = directory / "server.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [*command, *options],
            cwd=root,
            env={**os.environ, **own, **paths},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", path, process.pid)
    try:
        _wait(server, process)
        yield server
    finally:
        _stop(process)


def _free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def _wait(server: Server, process: subprocess.Popen) -> None:
    latest = time.monotonic() + SECONDS_TO_START
    while process.poll() is None and time.monotonic() < latest:
        try:
            with urlopen(f"{server.address}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"The app did not start:\n{server.log.read_text()}")


def _stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
