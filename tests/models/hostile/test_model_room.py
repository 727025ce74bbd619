import subprocess
import sys

import pytest

from hetcal.errors import ModelError
from hetcal.models import process


@pytest.fixture
def few(monkeypatch):
    """Room for two processes, for which others wait only shortly."""
    monkeypatch.setattr(process, "AT_ONCE", 2)
    monkeypatch.setattr(process, "PATIENCE", 0.3)


def waiting():
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_a_model_beyond_the_most_waits_and_is_told_why(few):
    held = [process.begun(waiting) for _ in range(2)]
    begun = []
    with pytest.raises(ModelError, match="2 other models are looked at or run already"):
        process.begun(lambda: begun.append(1))
    assert begun == []
    held[0].communicate(b"\n")
    third = process.begun(waiting)
    for each in (held[1], third):
        each.communicate(b"\n")
