"""The demo: one click, and every page has something to say."""

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.visitor import MENU

pytestmark = pytest.mark.browser

NARROW = {"width": 800, "height": 1000}
CUT = """card => [...card.querySelectorAll('*')].some(part =>
    getComputedStyle(part).overflowX === 'hidden' && part.scrollWidth > part.clientWidth)"""


@pytest.mark.network
def test_one_click_ends_in_a_verdict_and_fills_every_page(visitor):
    visitor.open()
    visitor.press("Run the demo")
    expect(visitor.page.get_by_text("Heterogeneous calibration helps")).to_be_visible()
    assert float(visitor.metric("AUC after")) > float(visitor.metric("AUC before"))
    for name in MENU:
        visitor.walk_to(name)
        expect(visitor.page.get_by_text("Or start with the demo")).to_have_count(0)


def test_no_number_is_cut_off_in_a_narrow_window(visitor):
    visitor.page.set_viewport_size(NARROW)
    visitor.open()
    visitor.press("The paper's example")
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    for name, count in (("Overview", 5), ("Scores", 3), ("Over-confidence", 3), ("Results", 5)):
        visitor.walk_to(name)
        cards = visitor.page.get_by_test_id("stMetric")
        expect(cards).to_have_count(count)
        assert not any(card.evaluate(CUT) for card in cards.all())


def test_a_chart_gives_its_data(visitor, tmp_path):
    visitor.open()
    rungs = pd.read_csv(visitor.download("CSV", tmp_path))
    reached = rungs.set_index("series")["AUC, cross-fitted"]
    assert reached["in use"] > reached["your model"] > 0.5
