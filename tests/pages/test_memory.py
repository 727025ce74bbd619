import ctypes
import subprocess
import sys

import pytest

from pages.shared import memory as freed_memory
from pages.shared.memory import give_back_freed_memory

HELD = """
from pathlib import Path
from pages.shared.memory import give_back_freed_memory

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

blocks = [bytearray(b"1" * 100_000) for _ in range(2000)]
blocks = blocks[-1:]  # the end of the heap stays in use
before = held()
give_back_freed_memory()
print(before - held())
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="this system takes freed memory back by itself, or not at all",
)
def test_what_was_freed_below_what_is_in_use_goes_back_to_the_system():
    given = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    assert int(given.stdout) > 100_000_000


def test_other_systems_are_left_alone(monkeypatch):
    def unexpected(name):
        raise AssertionError(name)

    monkeypatch.setattr(freed_memory.sys, "platform", "win32")
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", unexpected)
    give_back_freed_memory()
