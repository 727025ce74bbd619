"""A running app and a real Chromium for the tests of this folder."""

import pytest

from tests.browser.server import serve
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
    assert not list(folder.glob("hetcal-*"))  # temporary folders go when it is told to end


@pytest.fixture
def visitor(chromium, server):
    """A new session; whatever the test does, no page may end in a stack trace."""
    with chromium.new_context(viewport=WINDOW, accept_downloads=True) as context:
        person = Visitor(context.new_page(), server.address)
        yield person
    assert server.tracebacks == ""
