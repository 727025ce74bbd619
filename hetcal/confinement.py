"""What the child process does to itself before it opens anything from outside.

Limits come from the kernel, so they hold for TensorFlow's own code as well. A
stricter sandbox belongs into `confine`, which runs before TensorFlow is imported.
"""

import os
import signal
import sys
import threading
from types import ModuleType

from hetcal.child import Limits


def confine(limits: Limits) -> None:
    """Give up what the child does not need; where the system has no limits, only time."""
    threading.Thread(target=_end_with_the_app, daemon=True).start()
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        _lower(resource, kind, value)
    signal.alarm(limits.seconds)


def _lower(resource: ModuleType, kind: int, value: int) -> None:
    """Lower one limit; a stricter one that is already there stays."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, hard))
    except (OSError, ValueError):
        # macOS knows RLIMIT_AS but refuses to set it; the other limits still hold.
        sys.stderr.write(f"limit {kind} is not available here\n")


def _end_with_the_app() -> None:
    # The app holds the other end of stdin: reading ends when the app or its session does.
    os.read(0, 1)
    os._exit(1)
