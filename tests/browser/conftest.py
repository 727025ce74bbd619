"""A running app and a real Chromium for the tests of this folder."""

import time

import pytest

from tests.browser.server import SECONDS_TO_STOP, serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import find_chromium


@pytest.fixture(scope="package")
def chromium():
    executable = find_chromium()
    if executable is None:
        pytest.skip("there is no Chromium on this machine: `python -m tests` installs one")
    with launched(executable) as browser:
        yield browser


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    with serve(folder) as running:
        yield running
    # Temporary folders go when it is told to end, at the latest with the processes that it began.
    latest = time.monotonic() + SECONDS_TO_STOP
    while list(folder.glob("hetcal-*")) and time.monotonic() < latest:
        time.sleep(0.1)
    assert not list(folder.glob("hetcal-*"))


@pytest.fixture
def visitor(chromium, server):
    """A new session; whatever the test does, no page may end in a stack trace."""
    with chromium.new_context(viewport=WINDOW, accept_downloads=True) as context:
        person = Visitor(context.new_page(), server.address)
        yield person
    assert server.tracebacks == ""
