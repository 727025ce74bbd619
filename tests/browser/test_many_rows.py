"""Many rows stay on the server: the browser gets summaries."""

import sys
import time

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from scipy.special import expit

from tests.browser.visitor import MENU

pytestmark = pytest.mark.browser

ROWS, NUMBERS, CATEGORIES = 300_000, 12, 5  # more than are shown without a sketch
MOST_POINTS = 2_000
LARGEST_MESSAGE = 2 * 2**20
FIGURES = dict(zip(MENU, (1, 0, 0, 1, 5, 6, 7, 0, 0, 0, 5), strict=True))

# Arrays reach Plotly as lists, as typed arrays, or packed as text ("bdata").
POINTS = """gd => {
    const bytes = {f8: 8, f4: 4, i4: 4, u4: 4, i2: 2, u2: 2, i1: 1, u1: 1};
    const length = array => array?.bdata !== undefined
        ? atob(array.bdata).length / bytes[array.dtype] : array?.length ?? 0;
    const cells = grid => (grid ?? []).reduce((sum, row) => sum + length(row), 0);
    return gd.data
        .map(trace => Math.max(length(trace.x), length(trace.y), cells(trace.z)))
        .reduce((sum, points) => sum + points, 0);
}"""


@pytest.fixture
def table(tmp_path):
    """Rows of twenty columns: features, score, label, split."""
    rng = np.random.default_rng(5)
    columns = {f"number_{i}": rng.integers(0, 1000, ROWS, np.int16) for i in range(NUMBERS)}
    names = np.array(["north", "south", "east", "west"])
    codes = {f"place_{i}": rng.integers(0, 4, ROWS) for i in range(CATEGORIES)}
    columns |= {name: names[code] for name, code in codes.items()}
    logit = rng.normal(size=ROWS)
    shift = np.where(codes["place_0"] < 2, 1.0, -1.0) + columns["number_0"] / 1000
    columns |= {
        "score": 2 * logit,
        "y": (rng.uniform(size=ROWS) < expit(logit + shift)).astype(np.int8),
        "split": rng.choice(["train", "validation", "calibration", "test"], ROWS),
    }
    path = tmp_path / "many.parquet"
    pd.DataFrame(columns).to_parquet(path, index=False)
    yield path
    path.unlink()


@pytest.fixture
def messages(visitor):
    """Sizes of all messages that the browser receives."""
    sizes = []
    visitor.page.on(
        "websocket", lambda socket: socket.on("framereceived", lambda data: sizes.append(len(data)))
    )
    return sizes


def upload(visitor, table):
    visitor.open()
    visitor.walk_to("Data")
    visitor.page.get_by_role("radio", name="Path on this machine").click()
    path = visitor.page.get_by_role("textbox", name="Path of a file or folder")
    path.fill(str(table))
    path.press("Enter")
    expect(visitor.page.get_by_text(f"{ROWS:,} rows, 20 columns")).to_be_visible()
    visitor.settle()
    visitor.walk_to("Scores")
    visitor.choose("Score column", "score")
    expect(visitor.page.get_by_text("Rows with a score")).to_be_visible()
    visitor.grow_one_tree()


def points(visitor, count):
    """Points of every figure on the page, once all are drawn."""
    figures = visitor.page.locator(".js-plotly-plot")
    expect(figures).to_have_count(count)
    return [figure.evaluate(POINTS) for figure in figures.all()]


def walk(visitor):
    """Visit every page; times are printed (`pytest -s`), not judged."""
    drawn = {}
    for name, count in FIGURES.items():
        started = time.monotonic()
        visitor.walk_to(name)
        drawn[name] = points(visitor, count)
        seconds = time.monotonic() - started
        sys.stdout.write(f"{name}: {seconds:.1f} s, points {drawn[name]}\n")
    return drawn


def test_no_figure_and_no_message_carries_raw_rows(visitor, messages, table):
    upload(visitor, table)
    drawn = walk(visitor)
    sys.stdout.write(f"largest message: {max(messages):,} bytes\n")
    counts = [count for figures in drawn.values() for count in figures]
    assert min(counts) > 0
    assert max(counts) <= MOST_POINTS
    assert max(messages) <= LARGEST_MESSAGE
