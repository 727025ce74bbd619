"""A page opened by its address looks like the same page reached by clicking."""

import pytest
from playwright.sync_api import expect

from tests.browser.server import serve
from tests.browser.visitor import MENU, WINDOW, Visitor

pytestmark = pytest.mark.browser

FILES = (
    "",
    "data",
    "scores",
    "partition",
    "overconfidence",
    "calibration",
    "results",
    "export",
    "watch",
    "runs",
    "learn",
)
ADDRESSES = dict(zip(MENU, FILES, strict=True))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server without runs: pages list those of the others."""
    with serve(tmp_path_factory.mktemp("empty")) as running:
        yield running


def frame(visitor):
    """The window's title, the menu, where it leads, and all that a page without a table says."""
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.page.get_by_test_id("stSidebarNav")).to_have_count(0)
    links = [link.get_attribute("href") for link in visitor.sidebar.get_by_role("link").all()]
    text = visitor.page.get_by_test_id("stMain").inner_text()
    return visitor.page.title(), visitor.menu, links, text


def by_address(visitor, name):
    visitor.open(ADDRESSES[name])
    expect(visitor.page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
    visitor.settle()
    return frame(visitor)


@pytest.fixture(scope="module")
def first(chromium, server):
    """What the very first visit of the server shows: Export, opened by its address."""
    with chromium.new_context(viewport=WINDOW) as context:
        return by_address(Visitor(context.new_page(), server.address), "Export")


@pytest.fixture(scope="module")
def reached(chromium, server, first):
    """The frame of every page, reached by clicking through the menu."""
    with chromium.new_context(viewport=WINDOW) as context:
        visitor = Visitor(context.new_page(), server.address)
        visitor.open()
        frames = {}
        for name in MENU:
            visitor.walk_to(name)
            frames[name] = frame(visitor)
    return frames


@pytest.mark.parametrize("name", MENU)
def test_a_deep_link_shows_the_page_that_a_click_shows(visitor, reached, name):
    title, menu, *_ = reached[name]
    assert title == f"{name} · hetcal"
    assert tuple(menu) == MENU
    assert by_address(visitor, name) == reached[name]


def test_the_first_visit_of_a_new_server_may_be_a_deep_link(server, first, reached):
    assert first == reached["Export"]
    assert server.tracebacks == ""


def test_lines_are_no_longer_than_one_can_read_in_a_wide_window(chromium, server):
    with chromium.new_context(viewport={**WINDOW, "width": 2560}) as context:
        visitor = Visitor(context.new_page(), server.address)
        visitor.open()
        lead = visitor.page.get_by_test_id("stMain").get_by_test_id("stMarkdown").first
        assert lead.bounding_box()["width"] == pytest.approx(1180, abs=1)
