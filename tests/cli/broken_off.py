"""Commands that are broken off while they write: ``python -m tests.cli.broken_off FOLDER``.

FOLDER holds `table.csv`. `run` and `score` write over files of before; at every line of the writer
a copy of the process is made that is killed there, and others for which the disk is full. Printed
is how often, as JSON; an exit code other than 0 means that something half was seen.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from hetcal import files
from hetcal.cli import commands
from hetcal.cli.main import main as hetcal

SIZES = 8  # sizes of files at which the disk is full


class Stop(Exception):  # noqa: N818 - it is no error
    """The writer came to its end before it was killed."""


def kill_at(line: int) -> None:
    """Kill this process when it comes to the so-many-th line of the writer."""
    left = line

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != files.__file__:
            return None
        left -= event == "line"
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def in_a_copy(work: Callable[[], object]) -> int:
    """Do work in a copy of this process; return its wait status."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(int(work() or 0))
        except BaseException:
            os._exit(99)
    return os.waitpid(pid, 0)[1]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files that somebody sees, without those that are still being written."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name[0] != "."}


def restore(folder: Path, before: dict[str, bytes]) -> None:
    """Put the files of before in their places, and remove all others."""
    for each in folder.iterdir():
        each.unlink()
    for name, held in before.items():
        (folder / name).write_bytes(held)


def broken_off(folder: Path, arguments: list[str], counts: dict[str, int]) -> None:
    """Break a command off in every way; each file stays as before or is as the command's end."""
    before = contents(folder)
    writer = commands.write_files

    def write_files(given):
        after = before | {path.name: held for path, held in given.items()}
        for line in range(10_000):
            status = in_a_copy(lambda line=line: (kill_at(line), writer(given)) and 7)
            seen = contents(folder)
            whole = all(held in (before.get(name), after[name]) for name, held in seen.items())
            assert whole, f"killed at line {line}"
            assert seen.keys() >= before.keys()
            restore(folder, before)
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == 7
                assert seen == after
                break
            counts["killed"] += 1
        largest = max(map(len, given.values()))
        for size in {largest * i // SIZES for i in range(SIZES)} | {largest - 1}:
            assert os.WEXITSTATUS(in_a_copy(lambda size=size: full_disk(size, writer, given))) == 7
            assert contents(folder) == before, f"the disk was full at {size}"
            counts["full"] += 1
        raise Stop

    commands.write_files = write_files
    commands.write_file = lambda path, content: write_files({path: content})
    try:
        hetcal(arguments)
    except Stop:
        pass
    else:
        raise AssertionError("nothing was written")
    finally:
        commands.write_files, commands.write_file = writer, files.write_file


def full_disk(size: int, writer: Callable[[dict], None], given: dict) -> int:
    """Write where no file can be larger; the writer must say so."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        writer(given)
    except OSError:
        return 7
    return 0


def main(folder: Path) -> None:
    """Break off `run` and `score`, and print how often."""
    out, scored, table = folder / "out", folder / "scored", folder / "table.csv"
    scored.mkdir()
    files.os.fsync = lambda handle: None  # only a machine that fails could tell, and it takes long
    counts = {"killed": 0, "full": 0}
    run = ["run", str(table), "--label", "label", "--score", "score", "--split", "split"]
    run += ["--partition", "tree", "--out", str(out)]
    score = ["score", str(out / "artifact.zip"), str(table), "--out", str(scored / "rows.csv")]
    assert hetcal([*run, "--max-depth", "1"]) == 0
    assert hetcal(score) == 0
    assert hetcal([*run[:-1], str(folder / "other"), "--max-depth", "2"]) == 0
    broken_off(out, [*run, "--max-depth", "2"], counts)
    other = str(folder / "other" / "artifact.zip")
    broken_off(scored, [score[0], other, *score[2:]], counts)
    sys.stdout.write(f"{json.dumps(counts)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
