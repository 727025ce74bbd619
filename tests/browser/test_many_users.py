"""Several people at once: each has the own run, with the own numbers and downloads."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from hetcal.data.demo import write_demo
from tests.browser.many_users import person, use
from tests.browser.visitor import WINDOW, Visitor

pytestmark = pytest.mark.browser

# The page fetches a file by a click on a link of its own, once the server has made it.
FETCH_LATER = """
const click = HTMLAnchorElement.prototype.click;
HTMLAnchorElement.prototype.click = function () { window.fetchNow = () => click.call(this); };
"""


@pytest.fixture
def other(chromium, server):
    """Another person, who shares nothing with the visitor but the server."""
    with chromium.new_context(viewport=WINDOW, accept_downloads=True) as context:
        yield Visitor(context.new_page(), server.address)


def test_a_file_arrives_though_pages_are_drawn_again_before_the_browser_fetches_it(
    visitor, other, tmp_path
):
    visitor.page.add_init_script(FETCH_LATER)
    visitor.open()
    visitor.press("customers.csv")
    visitor.page.wait_for_function("'fetchNow' in window")
    other.open()
    with visitor.answered():
        visitor.page.keyboard.press("r")  # draws the page again
    for name in ("Data", "Runs"):
        other.walk_to(name)
    with visitor.page.expect_download() as started:
        visitor.page.evaluate("fetchNow()")
    table, *_ = write_demo(tmp_path / "demo")
    assert started.value.path().read_bytes() == table.read_bytes()


def test_three_people_at_once_see_only_their_own_numbers_runs_and_files(server, tmp_path):
    people = [person(tmp_path, number, 1_200) for number in range(3)]
    with ThreadPoolExecutor(1) as beside:  # this thread has a loop already, that of the browser
        rounds, _ = beside.submit(asyncio.run, use(server, people, 0)).result()
    assert rounds == 3
    assert server.tracebacks == ""
