"""The address is the run: reload, another tab, back and forward, a server that was restarted."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.server import serve
from tests.browser.visitor import WINDOW, Visitor

pytestmark = pytest.mark.browser


def query(visitor):
    found = parse_qs(urlsplit(visitor.page.url).query)
    return {name: values[0] for name, values in found.items()}


def history(visitor):
    return visitor.page.evaluate("history.length")


def begin(visitor):
    """The paper's example with one tree, on Over-confidence, where a leaf is chosen."""
    visitor.open()
    visitor.press("The paper's example")
    expect(visitor.page.get_by_role("button", name="toy.csv · y")).to_be_visible()
    visitor.grow_one_tree()
    visitor.walk_to("Over-confidence")
    entries = history(visitor)
    visitor.choose_leaf(2)
    assert history(visitor) == entries, "a click on a widget adds nothing to the history"
    return visitor


@pytest.fixture(scope="module")
def address(chromium, server):
    """The address of a run, made once: each test opens it as somebody who was sent the link."""
    with chromium.new_context(viewport=WINDOW) as context:
        return begin(Visitor(context.new_page(), server.address)).page.url


@pytest.fixture
def example(visitor, address):
    visitor.page.goto(address)
    shown(visitor)
    return visitor


def shown(visitor):
    """What a tab shows of the run, in words."""
    visitor.expect_leaf(2)
    visitor.settle()
    return visitor.metric("AUC, train → test"), query(visitor)


def test_a_reload_and_another_tab_show_the_same_view(example):
    before = shown(example)
    assert before[1]["leaf"] == "2"
    assert before[1]["scheme"] == "tree"
    example.page.reload()
    assert shown(example) == before
    other = Visitor(example.page.context.new_page(), example.address)
    other.page.goto(example.page.url)
    assert shown(other) == before


def test_back_and_forward_go_through_pages_and_leaves(example):
    example.walk_to("Results")
    example.choose_leaf(1)
    entries = history(example)
    example.page.go_back()
    expect(example.page.get_by_role("heading", name="Over-confidence", level=1)).to_be_visible()
    example.expect_leaf(2)
    example.page.go_forward()
    expect(example.page.get_by_role("heading", name="Results", level=1)).to_be_visible()
    example.expect_leaf(1)
    example.settle()
    assert history(example) == entries


def test_two_tabs_on_one_run_keep_both_changes(example):
    other = Visitor(example.page.context.new_page(), example.address)
    other.page.goto(example.page.url)
    other.expect_leaf(2)
    other.walk_to("Calibration")
    other.page.get_by_role("combobox", name="Map", exact=True).click()
    other.page.get_by_role("option", name="Isotonic").click()
    other.settle()
    example.choose_leaf(1)
    other.page.reload()
    expect(other.page.get_by_role("combobox", name="Map", exact=True)).to_have_value("Isotonic")
    other.expect_leaf(2)


def test_another_person_sees_nothing_of_the_run_without_its_address(example, chromium):
    with chromium.new_context(viewport=WINDOW) as context:
        stranger = Visitor(context.new_page(), example.address)
        stranger.open("results")
        expect(stranger.page.get_by_text("There is no table yet.")).to_be_visible()


def test_a_server_that_was_restarted_shows_the_same_view_and_goes_on_with_its_work(
    chromium, tmp_path
):
    with chromium.new_context(viewport=WINDOW) as context:
        with serve(tmp_path) as first:
            visitor = begin(Visitor(context.new_page(), first.address))
            before = shown(visitor)
            waiting = Visitor(context.new_page(), first.address)
            waiting.open()
            waiting.press("The paper's example")
            expect(waiting.page.get_by_text(re.compile(r"… \d+%"))).to_be_visible()
            number = query(waiting)["run"]
        with serve(tmp_path, urlsplit(first.address).port) as second:
            # The tabs that were open all the time find the server by themselves.
            app = visitor.page.get_by_test_id("stApp")
            expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")
            assert shown(visitor) == before
            visitor.walk_to("Results")
            visitor.expect_leaf(2)
            visitor.walk_to("Over-confidence")
            assert shown(visitor) == before
            visitor.page.reload()
            assert shown(visitor) == before
            expect(waiting.page.get_by_text("AUC after", exact=True).first).to_be_visible()
            expect(waiting.page.get_by_role("button", name="toy.csv · y")).to_be_visible()
            assert query(waiting)["run"] == number
            assert second.tracebacks == ""
