"""What the page tests share: sessions that leave nothing behind, tables, counted calls."""

import sys
from functools import partial

import numpy as np
import pytest
import streamlit as st

from hetcal.runs.settings import Settings
from hetcal.store import work, workspace
from pages.shared import jobs
from pages.shared.controls import demo
from pages.shared.flow import compute
from tests.pages.streamlit_internals import name_sessions, serve_at
from tests.pages.visit import PATIENCE


@pytest.fixture(autouse=True)
def _no_session_stays(tmp_path, monkeypatch):
    """Keep runs in a folder of the test, and release what its sessions kept in memory."""
    monkeypatch.setenv("HETCAL_HOME", str(tmp_path / "home"))
    # A page takes the place of the main module, which processes that are spawned later import.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(jobs, "keep_spare", lambda rest: None)
    yield
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _jobs_in_threads(monkeypatch):
    """Let pages wait for jobs, which are called in threads, where a test can count their calls."""
    monkeypatch.setattr(jobs, "keep_ready", lambda rest: None)
    monkeypatch.setattr(demo, "prepare_demo", lambda: None)
    monkeypatch.setattr(jobs, "SOON", PATIENCE)
    monkeypatch.setattr(work, "Call", lambda function, *given: partial(function, *given))
    monkeypatch.setattr(work, "confine", lambda limits: None)  # of this process, and for good


@pytest.fixture(autouse=True)
def _nothing_ahead(monkeypatch):
    """Let a choice wait for the scores: that it may begin before has its own tests."""
    monkeypatch.setattr(compute, "begin_ahead", lambda *given: None)


@pytest.fixture(autouse=True)
def _plain_tree(request, monkeypatch):
    """Begin with Algorithm 1: a choice among schemes takes seconds, and has its own tests."""
    if request.node.get_closest_marker("recommended") is None:
        monkeypatch.setattr(workspace, "RECOMMENDED", Settings())


@pytest.fixture
def become(monkeypatch):
    """Say whose session the next runs are; AppTest gives every session the same name."""
    return lambda name: name_sessions(name, monkeypatch)


@pytest.fixture
def counted(monkeypatch):
    """Count the calls that the pages make to a function of hetcal."""

    def count(name):
        module = compute if hasattr(compute, name) else work
        calls, function = [], getattr(module, name)

        def counting(*args, **kwargs):
            calls.append(args)
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, counting)
        return calls

    return count


@pytest.fixture
def customers(segments):
    """The segments with a feature that makes every row different, so that none repeats."""
    noise = np.random.default_rng(8).normal(size=len(segments))
    return segments.assign(noise=noise.round(6))


@pytest.fixture
def served_at():
    """Set the address that the server listens on."""
    before = st.get_option("server.address")
    yield serve_at
    serve_at(before)
