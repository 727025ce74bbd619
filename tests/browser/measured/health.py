"""Whether model files hold the server up: ``python -m tests.browser.measured.health``.

In a real Chromium somebody gives the app every hostile file of the tests, in one of which the HDF5
library never ends, then every honest one, and has its rows scored; meanwhile the server is asked
for its health again and again. Printed are the files, how often the server answered, the median
and the worst time, and how many answers took a second or more.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

import numpy as np
import pandas as pd
from playwright.sync_api import expect

from tests.browser.server import Server, serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import provide_chromium
from tests.models.honest.models import NUMBERS, rows
from tests.models.honest.test_honest_models import OLDER
from tests.models.hostile.files import ENDLESS, hostile_files

LONGEST = 5.0  # seconds after which an answer counts as missing
PAUSE = 0.05
ROWS = 2_000


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


def ready_for_a_model(visitor: Visitor, folder: Path, frame: pd.DataFrame) -> None:
    """Give the app a table, and go to where it takes a model."""
    table = folder / "rows.csv"
    frame.to_csv(table, index=False)
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.page.get_by_role("radio", name="A Keras model").click()


def refuse_all(visitor: Visitor, folder: Path) -> int:
    """Give the app every hostile file; none may reach anything outside of its process."""
    outside = folder / "outside"
    outside.mkdir()
    files = [ENDLESS, *hostile_files(outside, 9, folder / "saved")]
    for each in files:
        visitor.upload("Keras model", each.write(folder))
        expect(visitor.alert(each.name)).to_be_visible()
    assert not list(outside.iterdir())
    return len(files)


def score_all(visitor: Visitor, folder: Path) -> tuple[int, int]:
    """Give the app every honest file; return how many, and how many scored the table."""
    files, scored = [*made_models(folder), *OLDER], 0
    for each in files:
        visitor.upload("Keras model", each)
        expect(visitor.page.get_by_text(f"{each.name}:").first).to_be_visible()
        visitor.settle()  # until then the controls may be those of the model before
        sure = visitor.page.get_by_test_id("stCheckbox")
        if sure.count():
            choose_columns(visitor)
            with visitor.answered():
                sure.click()
        button = visitor.page.get_by_role("button", name="Score the rows")
        if button.is_enabled():
            button.click()
            expect(visitor.page.get_by_text("Rows with a score")).to_be_visible()
            scored += 1
    return len(files), scored


def made_models(folder: Path) -> list[Path]:
    """Let Keras write the honest models, in a process of its own."""
    command = [sys.executable, "-m", "tests.models.honest.models", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return [folder / name for name in json.loads((folder / "expected.json").read_text())]


def choose_columns(visitor: Visitor) -> None:
    """Choose the columns of a matrix, where they are not chosen from the model before."""
    if visitor.page.get_by_text("0 of 4 columns chosen").count():
        visitor.choose_many("Input 'x'", NUMBERS)


def main() -> None:
    """Print how fast the server answered."""
    labelled = rows(ROWS).assign(label=np.resize([0, 1], ROWS))
    with (
        tempfile.TemporaryDirectory() as given,
        launched(provide_chromium()) as browser,
        serve(Path(given)) as server,
        browser.new_context(viewport=WINDOW) as context,
    ):
        visitor = Visitor(context.new_page(), server.address)
        ready_for_a_model(visitor, Path(given), labelled)
        with watched(server) as times:
            files = refuse_all(visitor, Path(given))
        say(f"{files} hostile files", times)
        with watched(server) as times:
            files, scored = score_all(visitor, Path(given))
        say(f"{files} honest files, of which {scored} scored {ROWS:,} rows", times)


def say(what: str, times: list[float]) -> None:
    """Print how fast the server answered meanwhile."""
    middle, slow = statistics.median(times), sum(each >= 1 for each in times)
    sys.stdout.write(
        f"{what}: {len(times):,} answers, median {1000 * middle:.0f} ms, worst "
        f"{max(times):.2f} s, {slow} of a second or more\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
