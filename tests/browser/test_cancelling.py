"""A choice that takes too long: what is done now, and a button that ends it."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_choosing_a_scheme_is_cancelled_while_it_runs(visitor):
    visitor.open()
    visitor.press("The paper's example")
    expect(visitor.page.get_by_text(re.compile(r"… \d+%"))).to_be_visible()
    visitor.press("Cancel")
    cancelled = visitor.page.get_by_text("Choosing a scheme was cancelled.")
    expect(cancelled).to_be_visible()
    visitor.walk_to("Results")
    expect(cancelled).to_be_visible()
    visitor.press("Use the paper's one tree instead")
    expect(visitor.page.get_by_text("AUC after", exact=True)).to_be_visible()
    assert float(visitor.metric("AUC after")) > float(visitor.metric("AUC before"))
