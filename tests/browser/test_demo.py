"""The demo, the paper's example and Learn: a click or a key, and every page says something."""

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.visitor import MENU

pytestmark = pytest.mark.browser

NARROW = {"width": 800, "height": 1000}
CUT = """card => [...card.querySelectorAll('*')].some(part =>
    getComputedStyle(part).overflowX === 'hidden' && part.scrollWidth > part.clientWidth)"""
BEYOND = """() => Math.max(
    ...[document.documentElement, document.querySelector('[data-testid=stMain]')]
        .map(element => element.scrollWidth - element.clientWidth))"""


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
    for name, count in (("Overview", 4), ("Scores", 3), ("Over-confidence", 3), ("Results", 4)):
        visitor.walk_to(name)
        cards = visitor.page.get_by_test_id("stMetric")
        expect(cards).to_have_count(count)
        assert not any(card.evaluate(CUT) for card in cards.all())


@pytest.mark.parametrize("width", [800, 1440, 2560])
def test_no_page_scrolls_sideways(visitor, width):
    visitor.page.set_viewport_size({**NARROW, "width": width})
    visitor.open()
    visitor.press("The paper's example")
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    for name in MENU:
        visitor.walk_to(name)
        assert visitor.page.evaluate(BEYOND) <= 0, name


def slide(visitor, label, steps):
    """Move a slider as one does without a mouse."""
    handle = visitor.page.get_by_role("slider", name=label)
    handle.focus()
    for _ in range(steps):
        handle.press("ArrowRight")
    visitor.settle()


def card(visitor, label):
    return visitor.page.get_by_test_id("stMetric").filter(has_text=label)


def test_the_keyboard_reaches_the_golden_numbers(visitor):
    visitor.open("learn")
    area = card(visitor, "AUC, new rows")
    expect(area).to_contain_text("0.8302")
    slide(visitor, "Weight of the feature", 18)
    expect(area).to_contain_text("0.8520")
    slide(visitor, "Weight of the feature", 8)  # 4.4, next to 4 ln 3
    expect(area).to_contain_text("0.8533")
    visitor.page.get_by_test_id("stCheckbox").click()
    visitor.settle()
    expect(visitor.page.get_by_text("leaves calibrated")).to_be_visible()


def test_the_weight_of_the_first_page_is_that_of_learn_and_its_curve_can_be_downloaded(
    visitor, tmp_path
):
    visitor.open()
    slide(visitor, "Weight of the feature", 18)
    expect(visitor.page.get_by_text("0.8520")).to_be_visible()
    with visitor.page.expect_download() as started:
        visitor.page.get_by_role("button", name="CSV", exact=True).last.click()
    started.value.save_as(tmp_path / "weights.csv")
    curve = pd.read_csv(tmp_path / "weights.csv").set_index("series")
    assert curve.loc["your weight", "AUC"] == pytest.approx(0.8520, abs=5e-5)
    assert curve.loc["new rows", "AUC"].max() == pytest.approx(0.8533, abs=5e-5)
    visitor.walk_to("Learn")
    expect(card(visitor, "AUC, new rows")).to_contain_text("0.8520")
