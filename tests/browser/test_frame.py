"""A page opened by its address looks like the same page reached by clicking."""

import pytest
from playwright.sync_api import expect

from tests.browser.server import serve
from tests.browser.visitor import MENU, Visitor

pytestmark = pytest.mark.browser

ADDRESSES = dict(
    zip(
        MENU,
        (
            "",
            "data",
            "scores",
            "partition",
            "overconfidence",
            "calibration",
            "results",
            "export",
        ),
        strict=True,
    )
)
FRESH = ("Partition", "Export")


def frame(visitor):
    """The window's title, the menu, where it leads, and all that a page without a table says."""
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.page.get_by_test_id("stSidebarNav")).to_have_count(0)
    links = [link.get_attribute("href") for link in visitor.sidebar.get_by_role("link").all()]
    text = visitor.page.get_by_test_id("stMain").inner_text()
    return visitor.page.title(), visitor.menu, links, text


def by_clicking(visitor, name):
    visitor.open()
    visitor.walk_to(name)
    return frame(visitor)


def by_address(visitor, name):
    visitor.open(ADDRESSES[name])
    expect(visitor.page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
    visitor.settle()
    return frame(visitor)


@pytest.mark.parametrize("name", MENU)
def test_a_deep_link_shows_the_page_that_a_click_shows(visitor, name):
    reached = by_clicking(visitor, name)
    assert reached[0] == f"{name} · hetcal"
    assert tuple(reached[1]) == MENU
    assert by_address(visitor, name) == reached


@pytest.mark.parametrize("name", FRESH)
def test_the_first_visit_of_a_new_server_may_be_a_deep_link(chromium, visitor, tmp_path, name):
    with serve(tmp_path) as new, chromium.new_context(viewport=visitor.page.viewport_size) as tab:
        first = by_address(Visitor(tab.new_page(), new.address), name)
        assert new.tracebacks == ""
    assert first == by_clicking(visitor, name)
