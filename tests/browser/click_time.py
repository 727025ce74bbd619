"""Time from a click to the redrawn chart: ``python -m tests.browser.click_time [--rows 1e7]``.

Every control of Over-confidence, Calibration and Results is moved in a real Chromium, first on
the demo, then on a Parquet file of so many rows; with `--rows 0` on the demo alone. Also printed:
how long each page takes that passes over the rows, and the peak memory of the app next to that of
the columns in use. The controls of maps need one tree; all others are moved with the scheme that
hetcal recommends, too.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Browser, expect

from hetcal.benchmarks.speed_jobs import make_rows
from tests.browser.redraw import Stopwatch
from tests.browser.server import Server, serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import provide_chromium

REPEATS = 6
LONGEST_PASS = 900_000  # milliseconds
ROW_GROUP = 1 << 20
PASSES = ("Scores", "Partition", "Over-confidence", "Calibration", "Results", "Export")
LEAVES = ("(1)", "(2)", "All rows")  # a name is a rule, then the number
LEAST_ROWS = ("100000", "50", "200")
MAPS = ("Temperature (slope)", "Isotonic", "Platt (slope and intercept)")
STRENGTHS = ("1", "10", "none (the paper)")
RATES = ("5", "20", "10")


@dataclass(frozen=True)
class Control:
    """A control of a page, and a way to move it for each of its values."""

    page: str
    name: str
    values: tuple[str, ...]
    move: Callable[[Visitor, str], None]
    of_maps: bool = False


def main(rows: int) -> None:
    """Print all times."""
    with launched(provide_chromium()) as browser:
        with visited(browser) as (visitor, _):
            visitor.press("Run the demo")
            expect(visitor.page.get_by_text("AUC before", exact=True)).to_be_visible()
            say("The demo")
            time_controls(visitor, [each for each in CONTROLS if not each.of_maps])
            visitor.grow_one_tree()
            time_controls(visitor, [each for each in CONTROLS if each.of_maps])
        if not rows:
            return
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "rows.parquet"
            in_use = write_table(table, rows)
            for one_tree in (False, True):
                scheme = "one tree" if one_tree else "the scheme that hetcal recommends"
                say(f"{rows:,} rows, {in_use / 1e9:.2f} GB of columns in use, {scheme}")
                with visited(browser) as (visitor, server):
                    explore(visitor, server, table, rows, in_use, one_tree)


def explore(
    visitor: Visitor, server: Server, table: Path, rows: int, in_use: int, one_tree: bool
) -> None:
    """Open every page with a large table, and move all that it lets one move."""
    idle = memory(server, "VmRSS")
    time_passes(visitor, table, rows, one_tree)
    time_controls(visitor, [each for each in CONTROLS if one_tree or not each.of_maps])
    peak = memory(server, "VmHWM") - idle
    say(f"  peak memory {peak / 1e9:.2f} GB above idle: {peak / in_use:.2f} x the columns")


@contextmanager
def visited(browser: Browser) -> Iterator[tuple[Visitor, Server]]:
    """Start an app and open it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder)) as server,
        browser.new_context(viewport=WINDOW) as context,
    ):
        visitor = Visitor(context.new_page(), server.address)
        visitor.open()
        yield visitor, server
        if server.tracebacks:
            sys.exit(server.tracebacks)


def write_table(path: Path, rows: int) -> int:
    """Write features, score and label; return their size in memory."""
    made = make_rows(rows)
    columns = {name: made.frame[name].to_numpy() for name in made.frame}
    table = pa.table({**columns, "score": made.scores, "y": made.y})
    pq.write_table(table, path, row_group_size=ROW_GROUP)
    return table.nbytes


def time_passes(visitor: Visitor, table: Path, rows: int, one_tree: bool) -> None:
    """Load the table and open every page once, which passes over its rows."""
    expect.set_options(timeout=LONGEST_PASS)
    visitor.walk_to("Data")
    visitor.page.get_by_role("radio", name="Path on this machine").click()
    path = visitor.page.get_by_role("textbox", name="Path of a file or folder")
    path.fill(str(table))
    started = time.monotonic()
    path.press("Enter")
    expect(visitor.page.get_by_text(f"In use: {rows:,} rows")).to_be_visible()
    say(f"  {'Data, first rows':<48}{time.monotonic() - started:8.1f} s")
    expect(visitor.page.get_by_text("Next: Scores")).to_be_visible()
    visitor.settle()
    say(f"  {'Data, all checks':<48}{time.monotonic() - started:8.1f} s")
    if one_tree:
        visitor.grow_one_tree()
    for name in PASSES:
        started = time.monotonic()
        visitor.walk_to(name)
        expect(visitor.page.get_by_role("button", name="Cancel")).to_have_count(0)
        visitor.settle()
        say(f"  {f'{name}, first visit':<48}{time.monotonic() - started:8.1f} s")


def time_controls(visitor: Visitor, controls: Sequence[Control]) -> None:
    """Move every control several times."""
    load, processors = os.getloadavg()[0], os.cpu_count()
    say(f"  while {load:.1f} processes want to run on {processors} processors:")
    stopwatch = Stopwatch(visitor.page)
    for control in controls:
        visitor.walk_to(control.page)
        times = []
        for value in islice(cycle(control.values), REPEATS):
            stopwatch.start()
            control.move(visitor, value)
            times.append(stopwatch.stop())
        middle, worst = statistics.median(times), max(times)
        name = f"{control.page}: {control.name}"
        say(f"  {name:<48}{middle:8.2f} s median{worst:8.2f} s worst")


def choose_leaf(visitor: Visitor, leaf: str) -> None:
    visitor.leaf.click()
    visitor.page.get_by_role("option", name=leaf).first.click()


def press_radio(visitor: Visitor, name: str) -> None:
    visitor.page.get_by_role("radio", name=name).click()


def type_least_rows(visitor: Visitor, rows: str) -> None:
    type_number(visitor, "Minimum rows of the rarer class", rows)


def type_rate(visitor: Visitor, rate: str) -> None:
    type_number(visitor, "False positive rate (%)", rate)


def type_number(visitor: Visitor, label: str, number: str) -> None:
    box = visitor.page.get_by_role("spinbutton", name=label)
    box.fill(number)
    box.press("Enter")


def slide_threshold(visitor: Visitor, key: str) -> None:
    visitor.page.get_by_role("slider", name="Threshold").press(key)


def slide_share(visitor: Visitor, key: str) -> None:
    visitor.page.get_by_role("slider", name="Share of the tree (%)").press(key)


def choose_map(visitor: Visitor, name: str) -> None:
    choose(visitor, "Map", name)


def choose_shrinkage(visitor: Visitor, strength: str) -> None:
    choose(visitor, "Shrinkage towards pooled map", strength)


def choose(visitor: Visitor, label: str, option: str) -> None:
    visitor.page.get_by_role("combobox", name=label, exact=True).click()
    visitor.page.get_by_role("option", name=option, exact=True).click()


def open_page(visitor: Visitor, name: str) -> None:
    visitor.sidebar.get_by_role("link", name=name, exact=True).click()


CONTROLS = (
    Control("Over-confidence", "leaf", LEAVES, choose_leaf),
    Control("Over-confidence", "bar height", ("Rows", "Density"), press_radio),
    Control("Over-confidence", "score axis", ("probability", "logit"), press_radio),
    Control("Calibration", "leaf", LEAVES, choose_leaf),
    Control("Calibration", "minimum rows for a map", LEAST_ROWS, type_least_rows, of_maps=True),
    Control("Calibration", "map", MAPS, choose_map, of_maps=True),
    Control("Calibration", "shrinkage", STRENGTHS, choose_shrinkage, of_maps=True),
    Control("Results", "leaf", LEAVES, choose_leaf),
    Control("Results", "false positive rate", RATES, type_rate),
    Control("Results", "threshold", ("ArrowRight", "ArrowLeft"), slide_threshold),
    Control("Calibration", "share of the tree", ("ArrowRight", "ArrowLeft"), slide_share, True),
    Control("Results", "from page to page", ("Calibration", "Results"), open_page),
)


def memory(server: Server, name: str) -> int:
    """Read what Linux knows about the memory of the app, in bytes."""
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(name)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.browser.click_time", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the table, such as 1e7")
    main(int(parser.parse_args().rows))
