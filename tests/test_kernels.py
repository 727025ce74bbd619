import subprocess
import sys

import pytest

from hetcal import compiled as kernels
from hetcal.compiled import compiled, use_compiled


def test_numba_is_used_only_where_it_is_installed(monkeypatch):
    monkeypatch.delenv("HETCAL_COMPILED", raising=False)
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert not use_compiled()
    monkeypatch.setattr(kernels, "find_spec", lambda name: object())
    assert use_compiled()


def test_numba_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(kernels, "find_spec", lambda name: object())
    monkeypatch.setenv("HETCAL_COMPILED", "0")
    assert not use_compiled()


def test_importing_hetcal_does_not_import_numba():
    code = "import sys, hetcal; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def double(value):
    return 2 * value


def test_a_kernel_is_compiled_once():
    pytest.importorskip("numba")
    assert compiled(double)(21) == 42
    assert compiled(double) is compiled(double)
