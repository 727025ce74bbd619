"""The walk of a command through the modules of hetcal: ``python -m tests.walk [run|score]``.

A module is entered when one of its functions is called; what stands outside of functions and runs
when a module is imported does not count. The table is made here: a score column, two features and
a label, calibrated with one tree.
"""

import argparse
import contextlib
import io
import json
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

ROOT = Path(__file__).parents[1]
COMMANDS = ("run", "score")
ROWS = 2_000
NAMES = np.array(["ant", "bee", "cow"])


def modules_entered(classes: int = 2) -> dict[str, list[str]]:
    """Return the modules of hetcal that each command enters, in the order of the first entry."""
    with tempfile.TemporaryDirectory() as directory:
        table, out = Path(directory) / "table.csv", Path(directory) / "out"
        scores = write_table(table, classes)
        run = ["run", table, "--label", "label", "--score", scores, "--partition", "tree"]
        score = ["score", out / "artifact.zip", table, "--out", Path(directory) / "scored.csv"]
        return {"run": _in_new_process([*run, "--out", out]), "score": _in_new_process(score)}


def write_table(path: Path, classes: int) -> str:
    """Write a table with a label of two or three values; return its score columns."""
    rng = np.random.default_rng(0)
    size, known = rng.normal(size=(2, ROWS))
    color = rng.choice(["red", "blue"], ROWS)
    shift = np.where(color == "red", 1.0, -1.0)
    if classes == 2:
        y = (rng.uniform(size=ROWS) < expit(known + shift)).astype(int)
        scores = {"score": 3 * known}
    else:
        logits = np.column_stack([known + shift, -known, 0 * known])
        y = (rng.uniform(size=(ROWS, 1)) > softmax(logits, axis=1).cumsum(axis=1)).sum(axis=1)
        p = softmax(np.column_stack([3 * known, -3 * known, 0 * known]), axis=1)
        scores = {f"p_{name}": p[:, i] for i, name in enumerate(NAMES)}
    frame = pd.DataFrame({"size": size, "color": color, **scores, "label": NAMES[y.clip(0, 2)]})
    frame.to_csv(path, index=False)
    return ",".join(scores)


def _in_new_process(arguments: list[Any]) -> list[str]:
    """Follow a command where nothing is imported or remembered yet."""
    code = "import json, sys, tests.walk as w; print(json.dumps(w._follow(sys.argv[1:])))"
    line = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _follow(arguments: list[str]) -> list[str]:
    sys.argv = ["hetcal", *arguments]
    told = io.StringIO()
    with (
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(told),
        contextlib.suppress(SystemExit),
        following("hetcal") as entered,
    ):
        runpy.run_module("hetcal", run_name="__main__")
    if "hetcal:" in told.getvalue():
        raise RuntimeError(told.getvalue())
    return list(entered)


@contextlib.contextmanager
def following(package: str) -> Iterator[dict[str, None]]:
    """Collect the modules of a package that are entered inside the block, in any thread."""
    entered: dict[str, None] = {}
    within = f"{package}."

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.endswith(".py"):
            return  # what a dataclass generates stands in no file
        name = frame.f_globals.get("__name__") or ""
        if name not in entered and f"{name}.".startswith(within) and not _importing(frame, within):
            entered[name] = None

    with _profiled(follow):
        yield entered


def _importing(frame: FrameType, within: str) -> bool:
    """Whether a module of the package is being imported, and therefore this code runs."""
    at: FrameType | None = frame
    while at is not None:
        name = at.f_globals.get("__name__") or ""
        if at.f_code.co_name == "<module>" and f"{name}.".startswith(within):
            return True
        at = at.f_back
    return False


@contextlib.contextmanager
def _profiled(follow: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    before, of_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(follow)
    sys.setprofile(follow)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(of_threads)


def main() -> None:
    """Print the walks that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.walk", description=__doc__)
    parser.add_argument("command", nargs="?", choices=COMMANDS, help="default: both")
    parser.add_argument("--classes", type=int, choices=(2, 3), default=2)
    options = parser.parse_args()
    walks = modules_entered(options.classes)
    for command in COMMANDS if options.command is None else (options.command,):
        walk = walks[command]
        sys.stdout.write(f"{command}, {options.classes} classes: {len(walk)} modules\n")
        for place, name in enumerate(walk, start=1):
            sys.stdout.write(f"{place:4} {name}\n")


if __name__ == "__main__":
    main()
