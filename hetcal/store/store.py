"""A folder of runs, with an index: what they were given, how they are called, their results.

Each run has a folder of its own under an id that cannot be guessed. Its `state.json` is the
truth; the index, an SQLite file, is made anew from these if it is lost.
"""

import hashlib
import json
import os
import pickle
import re
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hetcal.errors import StoreError
from hetcal.store.files import keep_file, make_folder, told_errors
from hetcal.version import __version__

FORMAT = 1
LONGEST_WAIT = 60  # seconds for others that write to the index
PAST = 20  # states that can be returned to
OLD_DAYS = 90  # since a run was last opened or changed
MOST_BYTES = 20 * 10**9  # of all runs together
HOME = "HETCAL_HOME"
FOUND = ("verdict", "before", "after", "lift", "chosen", "marked")
"""Facts of a finished run, which hold until it is changed, and for the version that found them."""
FOUND_BY = "found_by"
_ID = re.compile("[0-9a-f]{20}")
_INDEX = "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, changed TEXT, record TEXT)"


def default_folder() -> Path:
    """Return the folder of runs: `HETCAL_HOME`, or the usual one for a user's data."""
    given = os.environ.get(HOME)
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "hetcal"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "hetcal"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hetcal"


@dataclass(frozen=True)
class StoredRun:
    """A run as it is kept.

    Parameters
    ----------
    folder : Path
        Its folder; files that the user gave are under `files`, by digest.
    id : str
        Stands in its link, and cannot be guessed.
    name : str
        What the user calls it.
    created, changed : datetime
        When it began, and when its state was last written.
    revision : int
        Counts the changes of its state.
    state : dict
        What the user gave and chose, as JSON.
    about : dict
        A few facts to list it by, such as table, label and verdict.
    past : tuple of (str, dict)
        What was changed, and the state before that, the latest last.
    """

    folder: Path
    id: str
    name: str
    created: datetime
    changed: datetime
    revision: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    past: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def files(self) -> Path:
        """The folder of the files that the user gave."""
        return make_folder(self.folder / "files")

    @property
    def size(self) -> int:
        """Size of all its files in bytes."""
        return sum(each.stat().st_size for each in self.folder.rglob("*") if each.is_file())

    def keep_file(self, content: bytes, suffix: str = "") -> Path:
        """Keep bytes under their digest."""
        path = self.files / f"{hashlib.sha256(content).hexdigest()}{suffix}"
        if not path.exists():
            keep_file(path, content)
        return path

    @property
    def _results(self) -> Path:
        # What another version has found is not trusted: it is found again.
        return self.folder / "results" / __version__

    def keep_result(self, key: str, result: Any) -> None:
        """Keep a result under a key that changes with all that it depends on."""
        folder = make_folder(self._results)
        self.forget_old_results()
        keep_file(folder / key, lambda file: pickle.dump(result, file, pickle.HIGHEST_PROTOCOL))

    def has_result(self, key: str) -> bool:
        """Whether this version has kept a result, without reading it."""
        return (self._results / key).exists()

    def kept_results(self, kind: str) -> list[str]:
        """Return the keys of one kind under which this version has kept results, in order."""
        return sorted(each.name for each in self._results.glob(f"{kind}-*"))

    def result(self, key: str) -> Any:
        """Return a result that this version has kept; None if there is none."""
        try:
            with (self._results / key).open("rb") as file:
                return pickle.load(file)
        except FileNotFoundError:
            return None
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, OSError):
            return None  # of a part of hetcal that has changed since: it is found again

    def forget_result(self, key: str) -> None:
        """Delete a result, if this version has kept it."""
        (self._results / key).unlink(missing_ok=True)

    def forget_old_results(self) -> None:
        """Delete what other versions have found."""
        for each in (self.folder / "results").glob("*"):
            if each.name != __version__:
                shutil.rmtree(each, ignore_errors=True)

    def record(self) -> dict[str, Any]:
        """Return all but the folder, as JSON."""
        return {
            "format": FORMAT,
            "version": __version__,
            "id": self.id,
            "name": self.name,
            "created": self.created.isoformat(),
            "changed": self.changed.isoformat(),
            "revision": self.revision,
            "state": self.state,
            "about": self.about,
            "past": [list(each) for each in self.past],
        }


class Store:
    """All runs of a folder; several processes may use it at once.

    Parameters
    ----------
    folder : Path, optional
        By default `default_folder()`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = make_folder(default_folder() if folder is None else folder)
        self._runs = make_folder(self.folder / "runs")
        self._open_index()

    def new(self, name: str, state: dict[str, Any] | None = None) -> StoredRun:
        """Begin a run."""
        now, number = datetime.now(UTC), secrets.token_hex(10)
        folder = make_folder(self._runs / number)
        run = StoredRun(folder, number, name, now, now, state=state or {})
        try:
            with self._locked() as index:
                self._write(index, run)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return run

    def get(self, number: str) -> StoredRun:
        """Return the run with this id, as it is now."""
        path = self._runs / number / "state.json"
        # What is no id of ours is not looked for: it may be a path.
        if not _ID.fullmatch(number) or not path.is_file():
            raise StoreError(
                f"There is no run '{number[:40]}'.",
                "It may have been deleted, or the link is of another machine or folder.",
                "Choose one of the kept runs (Runs, or python -m hetcal runs), or begin anew.",
            )
        return _read(path)

    def all(self) -> list[StoredRun]:
        """Return all runs, the one that was changed last first; states are left out."""
        with told_errors(self._index), closing(self._connect()) as index:
            found = index.execute("SELECT record FROM runs ORDER BY changed DESC").fetchall()
        return [_run_of(self._runs, json.loads(text)) for (text,) in found]

    def find(self, name: str) -> StoredRun:
        """Return the run with this id, or the one run with this name."""
        found = [each.id for each in self.all() if name in (each.id, each.name)]
        if len(found) == 1:
            return self.get(found[0])
        if found:
            raise StoreError(
                f"{len(found)} runs are called '{name}'.",
                f"Their ids are {', '.join(found)}.",
                "Name one by its id, or rename them in the app.",
            )
        raise StoreError(
            f"There is no run called '{name}'.",
            f"The folder '{self.folder}' has {len(self.all())} runs.",
            "List them with python -m hetcal runs.",
        )

    def change(
        self,
        number: str,
        what: str | None,
        change: Callable[[StoredRun], StoredRun],
    ) -> StoredRun:
        """Change a run, as it is now, and return it.

        With `what`, in words, the state before can be returned to.
        """
        with self._locked() as index:
            old = self.get(number)
            new = change(old)
            if new == old:
                return old
            past = old.past if what is None else (*old.past, (what, old.state))[-PAST:]
            past = new.past if new.past != old.past else past
            now, revision = datetime.now(UTC), old.revision + 1
            new = replace(new, changed=now, revision=revision, past=past)
            self._write(index, new)
        return new

    def undo(self, number: str) -> StoredRun:
        """Return to the state before the latest change that was named."""

        def back(run: StoredRun) -> StoredRun:
            return replace(run, state=run.past[-1][1], past=run.past[:-1]) if run.past else run

        return self.change(number, None, back)

    def delete(self, number: str) -> None:
        """Delete a run with all its files."""
        folder = self.get(number).folder
        # Once it has another name, no half of it can be found.
        gone = folder.with_name(f".deleted-{number}")
        with told_errors(folder):
            folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        with self._locked() as index:
            index.execute("DELETE FROM runs WHERE id = ?", (number,))

    def old(self, days: int = OLD_DAYS, most_bytes: int = MOST_BYTES) -> list[StoredRun]:
        """Return runs that were not changed for so long, and the oldest beyond so many bytes."""
        before, total, found = datetime.now(UTC) - timedelta(days=days), 0, []
        for each in self.all():
            total += each.size
            if each.changed < before or total > most_bytes:
                found.append(each)
        return found

    def _write(self, index: sqlite3.Connection, run: StoredRun) -> None:
        # The index comes first: it is undone if there is no room for the other.
        self._list(index, run)
        keep_file(run.folder / "state.json", json.dumps(run.record(), indent=1).encode())

    def _list(self, index: sqlite3.Connection, run: StoredRun) -> None:
        short = {key: each for key, each in run.record().items() if key not in ("state", "past")}
        row = run.id, run.changed.isoformat(), json.dumps(short)
        index.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", row)

    @property
    def _index(self) -> Path:
        return self.folder / "index.sqlite"

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._index, timeout=LONGEST_WAIT, isolation_level=None)

    @contextmanager
    def _locked(self) -> Iterator[sqlite3.Connection]:
        """Let one writer of all processes at a time change runs and the index."""
        with told_errors(self._index), closing(self._connect()) as index:
            index.execute("BEGIN IMMEDIATE")
            try:
                yield index
                index.execute("COMMIT")
            except BaseException:
                if index.in_transaction:  # SQLite has undone it where the disk is full
                    index.execute("ROLLBACK")
                raise

    def _open_index(self) -> None:
        """Open the index; list the folders anew where they do not agree with it."""
        with told_errors(self._index):
            try:
                self._fill_index()
            except sqlite3.DatabaseError:  # not an index, or a half of one
                self._index.unlink()
                self._fill_index()
            os.chmod(self._index, 0o600)

    def _fill_index(self) -> None:
        with self._locked() as index:
            index.execute(_INDEX)
            listed = {number for (number,) in index.execute("SELECT id FROM runs")}
            there = {each.parent.name for each in self._runs.glob("[!.]*/state.json")}
            for number in listed - there:
                index.execute("DELETE FROM runs WHERE id = ?", (number,))
            for number in there - listed:
                with suppress(StoreError):  # one that cannot be read says so when it is opened
                    self._list(index, _read(self._runs / number / "state.json"))


def _read(path: Path) -> StoredRun:
    try:
        record = json.loads(path.read_bytes())
        if record["format"] == FORMAT:
            return _run_of(path.parents[1], record)
        wrong = f"was written by hetcal {record['version']}, in a format that is not known here"
    except (ValueError, KeyError, TypeError, OSError) as error:
        wrong = f"cannot be read ({error})"
    raise StoreError(
        f"The run '{path.parent.name}' {wrong}.",
        "Runs are kept as hetcal writes them.",
        "Use the version of hetcal that wrote it, or delete its folder.",
    )


def _trusted(about: dict[str, Any]) -> dict[str, Any]:
    """Leave out what another version has found; an artifact has the numbers of its own."""
    if about.get("saved") or about.get(FOUND_BY) == __version__:
        return about
    return {name: fact for name, fact in about.items() if name not in FOUND}


def _run_of(runs: Path, record: dict[str, Any]) -> StoredRun:
    return StoredRun(
        runs / record["id"],
        record["id"],
        record["name"],
        datetime.fromisoformat(record["created"]),
        datetime.fromisoformat(record["changed"]),
        record["revision"],
        record.get("state", {}),
        _trusted(record["about"]),
        tuple((what, state) for what, state in record.get("past", [])),
    )
