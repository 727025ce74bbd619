"""The demo: one click, and every page has something to say."""

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import MENU

pytestmark = [pytest.mark.browser, pytest.mark.network]


def test_one_click_ends_in_a_verdict_and_fills_every_page(visitor):
    visitor.open()
    visitor.press("Run the demo")
    expect(visitor.page.get_by_text("Calibrating leaf by leaf helps")).to_be_visible()
    assert float(visitor.metric("AUC after")) > float(visitor.metric("AUC before"))
    for name in MENU:
        visitor.walk_to(name)
        expect(visitor.page.get_by_text("Or start with the demo")).to_have_count(0)
