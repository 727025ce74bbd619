"""What the page tests share: sessions that leave nothing behind, tables, counted calls."""

import numpy as np
import pytest
import streamlit as st

from hetcal.runs.settings import Settings
from pages.shared import state
from pages.shared.flow import compute
from tests.pages.streamlit_internals import name_sessions, serve_at


@pytest.fixture(autouse=True)
def _no_session_stays():
    """Release what a test's sessions kept, as the server does when they end."""
    yield
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _plain_tree(request, monkeypatch):
    """Begin with Algorithm 1: a choice among schemes takes seconds, and has its own tests."""
    if request.node.get_closest_marker("recommended") is None:
        monkeypatch.setattr(state, "RECOMMENDED", Settings())


@pytest.fixture
def become(monkeypatch):
    """Say whose session the next runs are; AppTest gives every session the same name."""
    return lambda name: name_sessions(name, monkeypatch)


@pytest.fixture
def counted(monkeypatch):
    """Count the calls that the pages make to a function of hetcal."""

    def count(name):
        calls, function = [], getattr(compute, name)

        def counting(*args, **kwargs):
            calls.append(args)
            return function(*args, **kwargs)

        monkeypatch.setattr(compute, name, counting)
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
