"""A person at the app: reads what the pages say, and clicks with a real mouse."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

MENU = (
    "Overview",
    "Data",
    "Scores",
    "Partition",
    "Over-confidence",
    "Calibration",
    "Results",
    "Export",
    "Watch",
    "Runs",
    "Learn",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WINDOW = {"width": 1440, "height": 1000}
PATIENCE = 180_000  # milliseconds after which a page that hangs fails, on however busy a machine
BEGIN = 5_000  # milliseconds in which a script begins that a click has asked for
STILL = 300  # milliseconds in which nothing moves
ROW_HEIGHT = 35  # pixels of a row, and of the header, of Streamlit's tables

# The state of the script is told by an attribute: its changes are counted, as a script may begin
# and end between two looks.
COUNT_CHANGES = """
window.hetcalChanges = 0;
new MutationObserver(() => { window.hetcalChanges += 1; }).observe(
    document, {subtree: true, attributeFilter: ["data-test-script-state"]});
"""

expect.set_options(timeout=PATIENCE)


@contextmanager
def launched(executable: str) -> Iterator[Browser]:
    """Start a Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


def _named(leaf: int) -> re.Pattern[str]:
    """How the leaf of that number is called: its rule depends on the tree."""
    return re.compile(rf" \({leaf}\)$" if leaf else "^All rows$")


class Visitor:
    """One session of the app in one browser tab."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        page.set_default_timeout(PATIENCE)
        page.add_init_script(COUNT_CHANGES)

    @property
    def sidebar(self) -> Locator:
        return self.page.get_by_test_id("stSidebar")

    @property
    def menu(self) -> list[str]:
        """Names of the menu's entries; the word before each draws its icon."""
        entries = self.sidebar.get_by_test_id("stPageLink").all_inner_texts()
        return [entry.splitlines()[-1] for entry in entries]

    @property
    def leaf(self) -> Locator:
        """The box that says which leaf every page shows."""
        return self.sidebar.get_by_role("combobox", name="Leaf shown on every page")

    @property
    def exceptions(self) -> Locator:
        return self.page.get_by_test_id("stException")

    def alert(self, text: str) -> Locator:
        """The message that says so; one that is out of date may stand next to it for a moment."""
        return self.page.get_by_test_id("stAlert").filter(has_text=text)

    def open(self, path: str = "") -> None:
        """Go to an address of the app."""
        self.page.goto(f"{self.address}/{path}")
        expect(self.sidebar).to_be_attached()
        self.settle()

    def walk_to(self, name: str) -> None:
        """Click an entry of the menu and wait for its page."""
        self.sidebar.get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
        self.settle()
        expect(self.exceptions).to_have_count(0)

    def grow_one_tree(self) -> None:
        """Choose Algorithm 1, without waiting for the choice among all schemes."""
        self.sidebar.get_by_role("link", name="Partition", exact=True).click()
        self.choose("Partition", "Algorithm 1: one tree")

    def settle(self) -> None:
        """Wait until the page's script has ended and all that it drew is there."""
        self.page.wait_for_timeout(150)
        app = self.page.get_by_test_id("stApp")
        expect(app).to_have_attribute("data-test-script-state", "notRunning")
        # Parts of a page whose own script is still being loaded are skeletons.
        for unfinished in ("stSpinner", "stSkeleton"):
            expect(self.page.get_by_test_id(unfinished)).to_have_count(0)

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Wait for the script that an input asks for, which a busy machine may begin late."""
        before = self._changes()
        yield
        deadline = time.monotonic() + BEGIN / 1000
        while self._changes() == before and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        self.settle()

    def _changes(self) -> int:
        return self.page.evaluate("window.hetcalChanges")

    def press(self, button: str) -> None:
        """Click a button."""
        self.page.get_by_role("button", name=button).click()

    def upload(self, label: str, file: Path) -> None:
        """Give a file to the uploader of that label."""
        uploader = self.page.get_by_test_id("stFileUploader").filter(has_text=label)
        with self.answered():
            uploader.locator("input[type=file]").set_input_files(file)

    def upload_table(self, file: Path) -> None:
        """Give a table to Data, and wait until it is in use."""
        self.walk_to("Data")
        self.upload("Table (CSV", file)
        expect(self.page.get_by_role("heading", name=file.name)).to_be_visible()

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a select box."""
        self.page.get_by_role("combobox", name=label).click()
        with self.answered():
            self.page.get_by_role("option", name=option, exact=True).click()

    def choose_leaf(self, number: int) -> None:
        """Choose a leaf by its number, or all rows (0)."""
        self.page.get_by_role("combobox", name="Leaf shown on every page").click()
        with self.answered():
            self.page.get_by_role("option", name=_named(number)).click()

    def expect_leaf(self, number: int) -> None:
        """Wait until the sidebar shows that leaf."""
        expect(self.leaf).to_have_value(_named(number))

    def choose_many(self, label: str, options: Sequence[str]) -> None:
        """Choose several options, in this order."""
        box = self.page.get_by_role("combobox", name=label)
        box.click()
        for option in options:
            with self.answered():
                self.page.get_by_role("option", name=option, exact=True).click()
        box.press("Tab")
        self.settle()

    def download(self, button: str, directory: Path) -> Path:
        """Click a download button and keep the file."""
        with self.page.expect_download() as started:
            self.page.get_by_role("button", name=button, exact=True).click()
        path = directory / started.value.suggested_filename
        started.value.save_as(path)
        return path

    def metric(self, label: str) -> str:
        """Read the number on a card."""
        card = self.page.get_by_test_id("stMetric").filter(has_text=label)
        return card.get_by_test_id("stMetricValue").inner_text()

    def click_marker(self, figure: Locator, index: int, trace: int = -1) -> None:
        """Click a marker of one of the figure's scatter traces, by default the last."""
        self.click_in(
            figure.locator(".scatterlayer .trace").nth(trace).locator(".point").nth(index)
        )

    def click_row(self, table: Locator, index: int) -> None:
        """Tick a row of a table, in the column left of the first."""
        table.scroll_into_view_if_needed()
        with self.answered():
            table.click(position={"x": 15, "y": ROW_HEIGHT * (index + 1.5)})

    def click_in(self, mark: Locator) -> None:
        """Click the middle of a mark of a figure, which moves while what is above it is drawn."""
        mark.scroll_into_view_if_needed()
        self._stay(mark)
        box = mark.bounding_box()
        with self.answered():
            self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def _stay(self, mark: Locator) -> None:
        """Wait until a mark has stayed where it is for a while."""
        before = None
        while (now := mark.bounding_box()) != before:
            before = now
            self.page.wait_for_timeout(STILL)
