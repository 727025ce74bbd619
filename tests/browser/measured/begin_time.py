"""Time from *Run the demo* to its verdict: ``python -m tests.browser.measured.begin_time ROOT …``.

Each root is a checkout of hetcal; its app is started and visited in a real Chromium, as often as
`--times` says, in turn. The page is looked at for `--looked` seconds before the button is pressed,
as a person does; meanwhile the app may prepare what it likes. Its folder of runs is empty.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.server import ROOT, serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import provide_chromium

LOOKED = 15.0  # seconds before the button is pressed
LONGEST = 300_000  # milliseconds
LOOK = 20  # milliseconds between two looks
SHOWN = "document.body.innerText.includes('AUC before')"


def main(roots: list[Path], times: int, looked: float) -> None:
    """Print the times of each root."""
    found: dict[Path, list[float]] = {root: [] for root in roots}
    with launched(provide_chromium()) as browser:
        for _ in range(times):
            for root in roots:
                found[root].append(seconds_to_verdict(browser, root, looked))
                sys.stdout.write(f"{root}  {found[root][-1]:.2f} s\n")
                sys.stdout.flush()
    first = statistics.median(found[roots[0]])
    for root, seconds in found.items():
        middle = statistics.median(seconds)
        sys.stdout.write(f"{root}  median {middle:.2f} s, {middle / first:.2f} of the first\n")


def seconds_to_verdict(browser: Browser, root: Path, looked: float) -> float:
    """Start the app of a checkout, run its demo, and wait for the ladder of schemes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder), root=root) as server,
        browser.new_context(viewport=WINDOW) as context,
    ):
        visitor = Visitor(context.new_page(), server.address)
        visitor.open()
        time.sleep(looked)
        started = time.monotonic()
        visitor.press("Run the demo")
        # Playwright's own waiting looks once or twice a second, too seldom to measure with.
        visitor.page.wait_for_function(SHOWN, polling=LOOK, timeout=LONGEST)
        return time.monotonic() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.browser.measured.begin_time", description=__doc__
    )
    parser.add_argument("roots", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--looked", type=float, default=LOOKED, help="seconds before the press")
    given = parser.parse_args()
    main([each.resolve() for each in given.roots], given.times, given.looked)
