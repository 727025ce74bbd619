"""Change sound files at random, open what comes of it, and watch."""

import argparse
import contextlib
import hashlib
import io
import json
import multiprocessing
import random
import signal
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.data.array_files import open_array
from hetcal.data.demo import toy_table
from hetcal.data.reading import read_file
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError
from hetcal.models.file import inspect_model
from hetcal.models.scan import describe
from hetcal.models.scoring import ColumnScoring, score_rows
from hetcal.partitions.partition import Partition
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.models.hostile.crafted import DENSE, sequential, without_modules, write_weights

SECONDS = 10
CHANGES = (1, 1, 1, 2, 3, 8)
BLOCK = 64  # bytes that are taken out, put in or copied at most
VALUES = (0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x22, 0x2C, 0x30, 0x0A, 0x5B, 0x7B)
OLDER = Path(__file__).parents[1] / "models/honest/keras_2/2.15.0/functions.keras"


class TooSlow(BaseException):
    """A file took longer than it may."""


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Change a file in a few places; a zip sometimes inside a member, which is packed again."""
    if content[:2] == b"PK" and rng.random() < 0.5:
        return _with_changed_member(content, rng)
    changed = bytearray(content)
    for _ in range(rng.choice(CHANGES)):
        _change(changed, rng)
    return bytes(changed)


def _change(content: bytearray, rng: random.Random) -> None:
    at, length = rng.randint(0, len(content)), rng.randint(1, BLOCK)
    kind = rng.choice(("flip", "flip", "value", "value", "delete", "insert", "splice", "cut"))
    if kind == "cut":
        # Rarely: hardly anything is left to be damaged after it.
        del content[at if rng.random() < 0.1 else max(0, len(content) - length) :]
    elif kind == "delete":
        del content[at : at + length]
    elif kind == "insert":
        content[at:at] = rng.randbytes(length)
    elif kind == "splice":
        start = rng.randint(0, len(content))
        content[at : at + length] = content[start : start + length]
    elif at < len(content):
        content[at] = rng.choice(VALUES) if kind == "value" else content[at] ^ 1 << rng.randrange(8)


def _with_changed_member(content: bytes, rng: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        members = {each: packed.read(each) for each in packed.namelist()}
    name = rng.choice(list(members))
    members[name] = mutate(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for each, inside in members.items():
            packed.writestr(each, inside)
    return out.getvalue()


def sound_files() -> dict[str, bytes]:
    """Return one sound file of each kind."""
    frame = toy_table(300).assign(note=np.resize(["a", "b,c", 'd"e', None], 300))
    parquet, arrays, lists = io.BytesIO(), io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet, index=False)
    values = frame[["x", "score"]].to_numpy()
    np.savez_compressed(arrays, x=values)
    pd.DataFrame({"x": list(values)}).to_parquet(lists, index=False)
    table = make_table(toy_table(600), Roles(label="y", score="score", split="split"))
    scoring = ColumnScoring(("score",), "logit")
    scores = score_rows(table.frame, scoring, table.classes, table.digest)
    done = run(table, scores, Settings(partition="tree", min_rows=20))
    return {
        "csv": frame.to_csv(index=False).encode(),
        "parquet": parquet.getvalue(),
        "npz": arrays.getvalue(),
        "lists": lists.getvalue(),
        "partition": done.partition.to_json().encode(),
        "artifact": artifact_bytes(done, scoring),
        "keras": _keras(),
        "h5": _hdf5(lambda store: store.attrs.update(model_config=_config(without_modules))),
        "older": OLDER.read_bytes(),
    }


def _config(changed: Callable[[object], object] = lambda config: config) -> str:
    return json.dumps(changed(sequential(DENSE)))


def _hdf5(fill: Callable[[Any], object] | None = None) -> bytes:
    out = io.BytesIO()
    write_weights(out, fill)
    return out.getvalue()


def _keras() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        packed.writestr("config.json", _config())
        packed.writestr("model.weights.h5", _hdf5())
    return out.getvalue()


def _table(path: Path) -> object:
    return read_file(path)


def _array(path: Path) -> object:
    with tempfile.TemporaryDirectory() as directory:
        return open_array(path, "x", Path(directory))


def _partition(path: Path) -> object:
    return Partition.from_json(path.read_bytes().decode("utf-8", "replace"))


def _artifact(path: Path) -> object:
    with tempfile.TemporaryDirectory() as directory:
        return open_artifact(path.read_bytes(), Path(directory))


def _model(path: Path) -> object:
    with path.open("rb") as file:
        return describe(file, path.name)


DOORS: dict[str, Callable[[Path], object]] = {
    "csv": _table,
    "parquet": _table,
    "npz": _array,
    "lists": _array,
    "partition": _partition,
    "artifact": _artifact,
    "keras": _model,
    "h5": _model,
    "older": _model,
}


def outcome(kind: str, path: Path) -> str:
    """Open one file: 'result', 'refused', or what else became of it."""

    def late(*_: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        DOORS[kind](path)
    except HetcalError:
        return "refused"
    except TooSlow:
        return f"took more than {SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.alarm(0)
    return "result"


def by_the_app(kind: str, path: Path, said: str) -> str:
    """Return what the app makes of a file: it looks into models in a child that is shut in."""
    if DOORS[kind] is not _model or said in ("result", "refused"):
        return said
    try:
        inspect_model(path)
    except HetcalError:
        return "refused"
    return said


def mutant(content: bytes, kind: str, seed: int, number: int) -> bytes:
    """Return one of the changed files, always the same."""
    named = hashlib.sha256(f"{kind} {seed} {number}".encode()).digest()
    return mutate(content, random.Random(named))


def _work(kind: str, content: bytes, seed: int, numbers: range, folder: str, pipe: Any) -> None:
    path = Path(folder) / f"mutant.{kind}"
    for number in numbers:
        path.write_bytes(mutant(content, kind, seed, number))
        pipe.send(("begun", number))
        with contextlib.redirect_stderr(io.StringIO()):
            pipe.send((outcome(kind, path), number))


def tried(kind: str, content: bytes, seed: int, numbers: range) -> dict[int, str]:
    """Open many files in a process; one that ends it, or never ends, costs no more than itself."""
    found: dict[int, str] = {}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with tempfile.TemporaryDirectory() as folder:
        while numbers:
            ours, theirs = context.Pipe(duplex=False)
            given = (kind, content, seed, numbers, folder, theirs)
            child = context.Process(target=_work, args=given)
            child.start()
            theirs.close()
            found |= _watched(ours, child, numbers)
            child.join()
            last = max(found)
            found[last] = by_the_app(kind, Path(folder) / f"mutant.{kind}", found[last])
            numbers = range(max(found) + 1, numbers.stop)
    return found


def _watched(ours: Any, child: Any, numbers: range) -> dict[int, str]:
    found, last = {}, numbers.start
    while len(found) < len(numbers):
        # The library may hold the interpreter, so that no alarm is heard.
        if not ours.poll(2 * SECONDS):
            child.kill()
            return found | {last: f"took more than {2 * SECONDS} s, deaf"}
        try:
            said, last = ours.recv()
        except EOFError:
            child.join()
            return found | {last: f"ended its process ({child.exitcode})"}
        if said != "begun":
            found[last] = said
    return found


def main() -> int:
    """Print how many files of each kind gave a result, were refused, or did anything else."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(DOORS))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for files that did anything else")
    given = parser.parse_args()
    files, odd = sound_files(), 0
    for kind in given.kinds or DOORS:
        found = tried(kind, files[kind], given.seed, range(given.count))
        counts = Counter(said for said in found.values() if said in ("result", "refused"))
        others = {number: said for number, said in found.items() if said not in counts}
        odd += len(others)
        summary = pd.Series(counts, dtype=int).to_dict()
        sys.stdout.write(f"{kind}: {given.count:,} files, {summary}, {len(others)} others\n")
        for number, said in others.items():
            sys.stdout.write(f"  {number}: {said}\n")
            if given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                file = given.keep / f"{kind}-{given.seed}-{number}"
                file.write_bytes(mutant(files[kind], kind, given.seed, number))
        sys.stdout.flush()
    return 1 if odd else 0
