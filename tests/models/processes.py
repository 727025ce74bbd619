"""Children as tests see them, on however busy a machine."""

import os
import time

from hetcal.models import process
from hetcal.models.child import read_messages

PATIENCE = 300.0  # seconds after which a test that hangs fails


def happens(check):
    """Whether it becomes true."""
    latest = time.monotonic() + PATIENCE
    while not check() and time.monotonic() < latest:
        time.sleep(0.02)
    return check()


def gone(pid):
    def no_longer_there():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return happens(no_longer_there)


def waiting():
    """The spare process."""
    return process._spare._waiting


def until_it_waits():
    """Let the spare process load Keras."""
    assert happens(lambda: b'"ready"' in (waiting().directory / "messages").read_bytes())


class Ended:
    """A child that has ended and left these files."""

    running = False

    def __init__(self, directory):
        self.directory = directory

    def messages(self):
        return read_messages(self.directory / "messages")

    def finish(self):
        return self.directory

    def close(self):
        pass
