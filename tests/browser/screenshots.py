"""Take a picture of every page: ``python -m tests.browser.screenshots OUT_DIR``.

Light and dark, in three widths, empty and with the demo; the README's picture is the top of
one of them. Files are named after all four, such as `Results-light-1440-demo.png`.
"""

import sys
import tempfile
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.server import serve
from tests.browser.visitor import MENU, Visitor, launched
from tests.chromium import provide_chromium

THEMES = ("light", "dark")
WIDTHS = (1440, 800, 2560)
STATES = ("empty", "demo")
HEIGHT = 1000
TALLEST = 6000
MILLISECONDS_TO_DRAW = 1000  # Plotly draws once more after the window has grown

CONTENT_HEIGHT = """() => Math.max(
    ...[...document.querySelectorAll('[data-testid=stMain], [data-testid=stMain] > *')]
        .map(element => element.scrollHeight))"""


def main(directory: Path) -> None:
    """Write all pictures into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        serve(Path(temporary)) as server,
        launched(provide_chromium()) as browser,
    ):
        for theme, width, state in product(THEMES, WIDTHS, STATES):
            visitor = arrive(browser, server.address, theme, width)
            if state == "demo":
                run_demo(visitor)
            for name in MENU:
                visitor.walk_to(name)
                take(visitor, directory / f"{name}-{theme}-{width}-{state}.png")
            visitor.page.context.close()


def arrive(browser: Browser, address: str, theme: str, width: int) -> Visitor:
    """Open the app in a window of that theme and width."""
    window = {"width": width, "height": HEIGHT}
    visitor = Visitor(browser.new_context(viewport=window, color_scheme=theme).new_page(), address)
    visitor.open()
    return visitor


def run_demo(visitor: Visitor) -> None:
    """Load the demo and wait for its verdict."""
    visitor.press("Run the demo")
    expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
    visitor.settle()


def take(visitor: Visitor, path: Path) -> None:
    """Save a picture of the whole page, by a window as tall as the page."""
    page, window = visitor.page, visitor.page.viewport_size
    height = min(max(page.evaluate(CONTENT_HEIGHT), HEIGHT), TALLEST)
    page.set_viewport_size({**window, "height": height})
    page.wait_for_timeout(MILLISECONDS_TO_DRAW)
    page.screenshot(path=path)
    page.set_viewport_size(window)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.browser.screenshots OUT_DIR")
    main(Path(sys.argv[1]))
