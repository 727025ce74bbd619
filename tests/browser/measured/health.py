"""Whether hostile files hold the server up: ``python -m tests.browser.measured.health``.

In a real Chromium somebody gives the app one hostile model file after the other, in one of which
the HDF5 library never ends; meanwhile the server is asked for its health again and again. Printed
are how often it answered, the median and the worst time, and how many took a second or more.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

from playwright.sync_api import expect

from hetcal.data.demo import toy_table
from tests.browser.server import Server, serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import provide_chromium
from tests.models.hostile.files import ENDLESS, Hostile, hostile_files

LONGEST = 5.0  # seconds after which an answer counts as missing
PAUSE = 0.05
WORST = ("half.h5", "half.keras", "end.keras", "twice.keras")
LATEST = 60_000  # milliseconds


@contextmanager
def watched(server: Server) -> Iterator[list[float]]:
    """Ask for the health of a server until the block ends; infinite is a missing answer."""
    times: list[float] = []
    ended = Event()

    def ask() -> None:
        while not ended.wait(PAUSE):
            begun = time.perf_counter()
            try:
                with urlopen(f"{server.address}/_stcore/health", timeout=LONGEST) as answer:
                    fine = answer.status == 200
            except OSError:
                fine = False
            times.append(time.perf_counter() - begun if fine else float("inf"))

    beside = Thread(target=ask)
    beside.start()
    try:
        yield times
    finally:
        ended.set()
        beside.join()


def worst_files(folder: Path) -> list[Hostile]:
    """Return a handful of hostile files; none of these reaches anything in `folder`."""
    listed = {each.name: each for each in hostile_files(folder, 9, folder)}
    return [ENDLESS, *(listed[name] for name in WORST)]


def ready_for_a_model(visitor: Visitor, folder: Path) -> None:
    """Give the app a table, and go to where it takes a model."""
    table = folder / "toy.csv"
    toy_table(2_000).to_csv(table, index=False)
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.page.get_by_role("radio", name="A Keras model").click()


def main() -> None:
    """Print how fast the server answered."""
    with (
        tempfile.TemporaryDirectory() as given,
        launched(provide_chromium()) as browser,
        serve(Path(given)) as server,
        browser.new_context(viewport=WINDOW) as context,
    ):
        visitor = Visitor(context.new_page(), server.address)
        ready_for_a_model(visitor, Path(given))
        with watched(server) as times:
            for each in worst_files(Path(given)):
                visitor.upload("Keras model", each.write(Path(given)))
                expect(visitor.alert(each.name)).to_be_visible(timeout=LATEST)
        slow = sum(each >= 1 for each in times)
        sys.stdout.write(
            f"{len(times)} answers, median {1000 * statistics.median(times):.0f} ms, worst "
            f"{max(times):.2f} s, {slow} of a second or more\n"
        )


if __name__ == "__main__":
    main()
