"""How light hetcal starts: ``python -m tests.start_time``.

Prints the number of modules that a new process loads, and the time that it takes as a ratio to
`import numpy, pandas`: the median of several processes, taken in turn.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
RIVAL = "import numpy, pandas"
HELP = """
import contextlib, io, runpy, sys
sys.argv = ["hetcal", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    runpy.run_module("hetcal", run_name="__main__")
"""
STARTS = {"import numpy, pandas": RIVAL, "import hetcal": "import hetcal", "hetcal --help": HELP}


def modules_after(code: str) -> set[str]:
    """Return the modules that are loaded in a new process that ran some code."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, check=True, text=True)
    return set(done.stdout.split())


def seconds(code: str) -> float:
    """Return how long a new process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - start


def main(rounds: int = 9) -> None:
    """Measure all starts in turn, so that a busy machine slows each alike."""
    taken = [{name: seconds(code) for name, code in STARTS.items()} for _ in range(rounds)]
    rival = median(each["import numpy, pandas"] for each in taken)
    for name, code in STARTS.items():
        own = median(each[name] for each in taken)
        modules = len(modules_after(code))
        line = f"{name:21} {modules:5} modules {own:6.2f} s, ratio {own / rival:.2f}"
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
