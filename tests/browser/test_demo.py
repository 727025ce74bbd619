"""The demo, the paper's example and Learn: a click or a key, and every page says something."""

import functools
import re

import pandas as pd
import pytest
from playwright.sync_api import expect

from hetcal.data.demo import write_demo
from tests.browser.visitor import MENU, STILL, WINDOW, Visitor

pytestmark = pytest.mark.browser

NARROW = {"width": 800, "height": 1000}
WIDTHS = (2560, 1440, 800)
REDRAWN = 20_000  # milliseconds
CUT = """card => [...card.querySelectorAll('*')].some(part =>
    getComputedStyle(part).overflowX === 'hidden' && part.scrollWidth > part.clientWidth)"""
BEYOND = """() => Math.max(
    ...[document.documentElement, document.querySelector('[data-testid=stMain]')]
        .map(element => element.scrollWidth - element.clientWidth))"""


@pytest.fixture(scope="module")
def opened(chromium, server):
    """What a button of the first page opens, with its scheme chosen: the address, made once."""

    @functools.cache
    def address(button, words):
        with chromium.new_context(viewport=WINDOW) as context:
            visitor = Visitor(context.new_page(), server.address)
            visitor.open()
            visitor.press(button)
            expect(visitor.page.get_by_text(words)).to_be_visible()
            visitor.settle()
            return visitor.page.url

    return address


@pytest.fixture
def demo(visitor, opened):
    """The demo, one click and no other after the app was opened."""
    visitor.page.goto(opened("Run the demo", "Heterogeneous calibration helps"))
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    return visitor


@pytest.fixture
def example(visitor, opened):
    """The paper's example, in a narrow window."""
    visitor.page.set_viewport_size(NARROW)
    visitor.page.goto(opened("The paper's example", "AUC before"))
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    return visitor


@pytest.mark.network
def test_one_click_ends_in_a_verdict_and_fills_every_page(demo):
    assert float(demo.metric("AUC after")) > float(demo.metric("AUC before"))
    for name in MENU:
        demo.walk_to(name)
        expect(demo.page.get_by_text("Or start with the demo")).to_have_count(0)


def test_no_number_is_cut_off_in_a_narrow_window(example):
    for name, count in (("Overview", 4), ("Scores", 3), ("Over-confidence", 3), ("Results", 4)):
        example.walk_to(name)
        cards = example.page.get_by_test_id("stMetric")
        expect(cards).to_have_count(count)
        assert not any(card.evaluate(CUT) for card in cards.all())


def test_no_page_scrolls_sideways(example):
    for name in MENU:
        example.walk_to(name)
        for width in WIDTHS:
            example.page.set_viewport_size({**NARROW, "width": width})
            example.settle()
            # Figures are drawn anew for the width, a moment later.
            example.page.wait_for_function(f"({BEYOND})() <= 0", timeout=REDRAWN)
            example.page.wait_for_timeout(STILL)
            assert example.page.evaluate(BEYOND) <= 0


UNMOVED = {
    "Over-confidence": ("overconfidence_rank", "overconfidence_leaves"),
    "Results": ("results_leaves", "results_pairs"),
}
BOLD = """chart => [...chart.querySelectorAll('text')]
    .filter(text => getComputedStyle(text).stroke !== 'none').map(text => text.textContent)"""


@pytest.mark.parametrize("page", UNMOVED)
def test_another_leaf_is_marked_in_pictures_of_all_leaves_which_are_not_drawn_anew(
    visitor, opened, page
):
    visitor.page.goto(opened("The paper's example", "AUC before"))
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    visitor.walk_to(page)
    visitor.choose_leaf(1)
    figures = [visitor.page.locator(f".st-key-{key} .js-plotly-plot") for key in UNMOVED[page]]
    drawn = [each.element_handle() for each in figures]
    visitor.choose_leaf(2)
    for each in drawn:
        texts = each.evaluate(BOLD)
        assert texts
        assert all("(2)" in text or text == "2" for text in texts)
        assert each.evaluate("chart => chart.isConnected")


def expected_of(table):
    """Test rows and positive rate of what is chosen, from the file: monthly contracts, leaf 5."""
    test = pd.read_csv(table)
    test = test[test["split"] == "test"]
    monthly = test[test["contract"] == "monthly"]
    leaf = monthly[(monthly["tenure_months"] <= 12) & (monthly["usage_6"] <= 0.095)]
    return {"branch 4": monthly, "5": leaf}


def by_keyboard(visitor, name):
    """Go to the box of leaves with the Tab key, and choose by typing."""
    visitor.page.get_by_role("heading", level=1).click()
    focused = "document.activeElement.getAttribute('aria-label')"
    for _ in range(100):
        visitor.page.keyboard.press("Tab")
        if visitor.page.evaluate(focused) == "Leaf shown on every page":
            break
    visitor.page.keyboard.type(f"({name})")
    visitor.page.keyboard.press("Enter")
    visitor.settle()


def by_mouse(visitor, name):
    """Click the node of the tree."""
    visitor.walk_to("Partition")
    figure = visitor.page.locator(".js-plotly-plot").last
    if name.startswith("branch"):
        visitor.click_marker(figure, int(name.split()[1]), trace=-2)
    else:
        visitor.click_marker(figure, int(name) - 1)


def panels(visitor, name, rows):
    """Go through the pages: each of their panels shows these rows; return all that they say."""
    main, said = visitor.page.get_by_test_id("stMain"), []
    titles = {
        "Over-confidence": ("Before and after",),
        "Calibration": ("What is applied", "Why this row"),
        "Results": ("Before and after", "A threshold and its costs"),
    }
    for page, parts in titles.items():
        visitor.walk_to(page)
        for part in parts:
            title = re.compile(rf"^{part} · .*\({name}\)$")
            expect(main.get_by_role("heading", name=title)).to_be_visible()
        by_leaf = main.locator("table:has(th[aria-colindex='1']:text-is('leaf'))")
        ticked = by_leaf.locator(f"tr[aria-selected=true]:has(td:first-child:text-is('{name}'))")
        expect(ticked).to_have_count(0 if "branch" in name else by_leaf.count())
        figures = main.locator(".js-plotly-plot")
        expect(figures.first).to_be_visible()
        said.append("\n".join(figures.all_inner_texts()))
        said.append(main.inner_text())
    number, positive = f"{len(rows):,}", (rows["churned"] == "yes").mean()
    assert f"test rows · n = {number}" in said[0]
    assert f"On {number} test rows" in said[3]
    assert f"of {number} rows" in said[3]
    assert f"base rate {positive:.3f}" in said[4]
    # One AUC of these rows on all pages.
    (auc,) = set(re.findall(r"before · AUC ([\d.]+)", said[0] + said[4]))
    shown = re.search(r"AUC, train → test\s+[\d.]+ → ([\d.]+)", said[1])
    assert float(shown[1]) == pytest.approx(float(auc), abs=0.0006)
    return said


@pytest.mark.network
def test_every_panel_follows_the_chosen_node_by_mouse_and_by_keyboard(demo, tmp_path):
    table, *_ = write_demo(tmp_path)
    demo.grow_one_tree()
    for name, rows in expected_of(table).items():
        said = []
        for way in (by_mouse, by_keyboard):
            way(demo, name)
            expect(demo.leaf).to_have_value(re.compile(rf" \({name}\)$"))
            said.append(panels(demo, name, rows))
            demo.press("Show all rows")
            demo.expect_leaf(0)
        assert said[0] == said[1]


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
