"""Whether one user's work holds another up: ``python -m tests.browser.measured.other_user``.

One user clicks through the leaves on Over-confidence in a real Chromium, first alone, then while
another has a scheme chosen on 50,000 rows of 30 columns. Printed are both medians and their ratio.
"""

import statistics
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import expect

from tests.browser.redraw import Stopwatch
from tests.browser.server import serve
from tests.browser.visitor import WINDOW, Visitor, launched
from tests.chromium import provide_chromium

ROWS = 50_000
CLICKS = 12
LEAVES = ("(1)", "(2)", "All rows")  # a name is a rule, then the number
LONGEST = 300_000  # milliseconds


def main() -> None:
    """Print the times of clicks, and how many of them fell into the choice."""
    expect.set_options(timeout=LONGEST)
    with (
        tempfile.TemporaryDirectory() as folder,
        launched(provide_chromium()) as browser,
        serve(Path(folder)) as server,
        browser.new_context(viewport=WINDOW) as first,
        browser.new_context(viewport=WINDOW) as second,
    ):
        busy = Visitor(first.new_page(), server.address)
        clicking = Visitor(second.new_page(), server.address)
        clicking.open()
        clicking.press("The paper's example")
        expect(clicking.page.get_by_text("AUC before", exact=True)).to_be_visible()
        clicking.walk_to("Over-confidence")
        times_of_clicks(clicking)
        alone = times_of_clicks(clicking)

        table = Path(folder) / "wide.parquet"
        wide_table().to_parquet(table)
        busy.open("data")
        busy.upload("Table (CSV", table)
        expect(busy.page.get_by_text("Next: scores")).to_be_visible()
        busy.sidebar.get_by_role("link", name="Partition", exact=True).click()
        working = busy.sidebar.get_by_text("Choosing a scheme")
        expect(working).to_be_visible()
        beside = times_of_clicks(clicking)
        still = working.count() == 1
        before, after = statistics.median(alone), statistics.median(beside)
        sys.stdout.write(
            f"alone {before:.2f} s, beside a choice {after:.2f} s, ratio {after / before:.2f}; "
            f"worst {max(beside):.2f} s; the choice went on until the last click: {still}\n"
        )
        if server.tracebacks:
            sys.exit(server.tracebacks)


def times_of_clicks(visitor: Visitor) -> list[float]:
    """Choose one leaf after the other, and return how long each took to be shown."""
    stopwatch, times = Stopwatch(visitor.page), []
    for leaf in islice(cycle(LEAVES), CLICKS):
        stopwatch.start()
        visitor.leaf.click()
        visitor.page.get_by_role("option", name=leaf).first.click()
        times.append(stopwatch.stop())
    return times


def wide_table() -> pd.DataFrame:
    """Make rows with a score that misses what some columns say together."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(26)]
    X = pd.DataFrame(rng.normal(size=(ROWS, 26)).astype("float32"), columns=names)
    for i in range(4):
        X[f"c{i}"] = rng.choice(list("abcdefgh")[: 3 + i], ROWS)
    logit = 0.8 * X.x0 * np.sign(X.x1) + np.sin(2 * X.x2) + 0.5 * X.x3 + (X.c0 == "a") - 0.5
    y = rng.uniform(size=ROWS) < 1 / (1 + np.exp(-logit))
    roles = rng.choice(["train", "validation", "calibration", "test"], ROWS, p=[0.5, 0.1, 0.2, 0.2])
    return X.assign(
        score=1.7 * (0.6 * logit + 0.5 * X.x0 + rng.normal(size=ROWS)),
        y=np.where(y, "yes", "no"),
        split=roles,
    )


if __name__ == "__main__":
    main()
