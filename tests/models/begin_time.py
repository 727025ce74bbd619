"""How long the demo's network takes to score its customers: ``python -m tests.models.begin_time``.

In turn, in one run: by a new process, and by one that waited with Keras loaded. Also prints the
memory of the one that waits (Linux).
"""

import sys
import time
from pathlib import Path
from statistics import median

from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.process import close_spare, keep_spare
from hetcal.models.scoring import start_scoring
from tests.models.processes import until_it_waits, waiting


def main(rounds: int = 7) -> None:
    """Measure both in turn, so that a busy machine slows each alike."""
    table, model = demo_table(), inspect_model(DEMO_NETWORKS["over-trained"].file)
    inputs = suggest_inputs(model, list(table.columns))

    def seconds() -> float:
        start = time.perf_counter()
        start_scoring(model, table, inputs).result()
        return time.perf_counter() - start

    taken: dict[str, list[float]] = {"new process": [], "spare process": []}
    for _ in range(rounds):
        taken["new process"].append(seconds())
        keep_spare()
        until_it_waits()
        memory = memory_of(waiting().pid)
        taken["spare process"].append(seconds())
        close_spare()
    for name, each in taken.items():
        say(f"{name:13} {median(each):5.2f} s ({min(each):.2f} to {max(each):.2f})")
    say("memory of the spare process: " + ", ".join(f"{k} {v:,} MB" for k, v in memory.items()))


def memory_of(pid: int) -> dict[str, int]:
    """What it has in memory, and what of that is not a part of a file that others may share."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = dict(line.split(":", 1) for line in lines)
    names = {"resident": "VmRSS", "its own": "RssAnon"}
    return {name: int(sizes[key].split()[0]) // 1024 for name, key in names.items()}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
