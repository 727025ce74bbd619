"""Work beside the pages in a real browser: left, found again, seen in two tabs, cancelled."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.server import HeldJobs
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser

CHOOSING = "Choosing a scheme"
STEP, STEPS = 0.5, 80  # seconds that a job goes on, far fewer than it takes; at most so often
LOOKED = 600  # milliseconds in which the page has looked at it


@pytest.fixture
def held(server):
    """No job goes on before the test lets it."""
    jobs = HeldJobs(server)
    yield jobs
    jobs.let_go()


@pytest.fixture
def choosing(visitor, held):
    """The paper's example while its scheme is chosen, which goes on when jobs are let go."""
    visitor.open()
    visitor.press("The paper's example")
    expect(visitor.sidebar.get_by_text(CHOOSING)).to_be_visible()
    return visitor


def test_a_choice_goes_on_while_other_pages_are_looked_at(choosing, held):
    visitor = choosing
    listed = visitor.sidebar.get_by_text(CHOOSING)
    visitor.walk_to("Data")
    expect(listed).to_be_visible()
    held.let_go()
    visitor.walk_to("Results")
    other = Visitor(visitor.page.context.new_page(), visitor.address)
    other.page.goto(visitor.page.url)
    for each in (visitor, other):
        expect(each.page.get_by_text("AUC after", exact=True).first).to_be_visible()
        expect(each.sidebar.get_by_text(CHOOSING)).to_have_count(0)
    assert visitor.metric("AUC after") == other.metric("AUC after")


def test_a_choice_is_cancelled_from_the_sidebar_and_begins_again(choosing, held):
    visitor = choosing
    visitor.walk_to("Data")
    visitor.sidebar.get_by_role("button", name="close").click()
    expect(visitor.sidebar.get_by_text(CHOOSING)).to_have_count(0)
    visitor.walk_to("Results")
    expect(visitor.page.get_by_text("Choosing a scheme was cancelled.")).to_be_visible()
    held.let_go()
    visitor.press("Start again")
    expect(visitor.page.get_by_text("AUC after", exact=True).first).to_be_visible()


def test_choosing_a_scheme_is_cancelled_while_it_runs(choosing, held):
    visitor = choosing
    runs = visitor.page.get_by_text(re.compile(r"… \d+%"))
    for _ in range(STEPS):
        if runs.is_visible():
            break
        held.step(STEP)
        visitor.page.wait_for_timeout(LOOKED)
    visitor.press("Cancel")
    cancelled = visitor.page.get_by_text("Choosing a scheme was cancelled.")
    expect(cancelled).to_be_visible()
    held.let_go()
    visitor.walk_to("Results")
    expect(cancelled).to_be_visible()
    visitor.press("Use the paper's one tree instead")
    expect(visitor.page.get_by_test_id("stMetric").filter(has_text="AUC after")).to_be_visible()
    assert float(visitor.metric("AUC after")) > float(visitor.metric("AUC before"))


def test_runs_shows_the_verdict_of_a_run_that_was_left_while_it_worked(choosing, held):
    visitor = choosing
    visitor.walk_to("Runs")
    run = visitor.page.get_by_test_id("stVerticalBlock").filter(has_text="(shown now)").last
    expect(run.get_by_text(f"{CHOOSING}:")).to_be_visible()
    held.let_go()
    expect(run.get_by_text(re.compile(r"AUC 0\.\d+ → 0\.\d+"))).to_be_visible()
