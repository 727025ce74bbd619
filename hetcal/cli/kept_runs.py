"""The command `runs`: list, show and delete the runs that are kept."""

import sys
from collections.abc import Sequence

from hetcal.choices import plain_name
from hetcal.errors import StoreError
from hetcal.store.files import in_bytes
from hetcal.store.finished import found_before
from hetcal.store.store import MOST_BYTES, OLD_DAYS, Store, StoredRun

COLUMNS = "name", "id", "changed", "table", "scores", "label", "scheme", "lift", "size"


def list_runs(store: Store) -> str:
    """Return a table of all runs, the latest first, and which of them are old."""
    runs = [each for each in store.all() if each.about]  # not those that have just begun
    if not runs:
        return f"No run is kept in {store.folder}. Keep one with: hetcal run … --keep NAME"
    rows = [COLUMNS, *map(_row, runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    old = store.old()
    if old:
        names = ", ".join(f"'{each.name}'" for each in old)
        lines.append(
            f"Old: {names}, not changed for {OLD_DAYS} days or the oldest beyond "
            f"{in_bytes(MOST_BYTES)} of all runs together. Delete them with: "
            "hetcal runs delete --old"
        )
    return "\n".join([*lines, f"Kept in {store.folder}"])


def show_run(store: Store, name: str | None) -> str:
    """Return what is known of a run, and where its files are."""
    run = store.find(_required(name, "show"))
    verdict = run.about.get("verdict") or found_before(run)
    shown = {**dict(zip(COLUMNS, _row(run), strict=True)), "verdict": verdict}
    lines = [f"{key:8} {value}" for key, value in shown.items() if value]
    return "\n".join([*lines, f"folder   {run.folder}"])


def delete_runs(store: Store, name: str | None, *, old: bool, sure: bool) -> str:
    """Delete one run, or all old ones, after asking unless `sure`."""
    runs = store.old() if old else [store.find(_required(name, "delete"))]
    if not runs:
        return "No run is old: nothing was deleted."
    names = ", ".join(f"'{each.name}'" for each in runs)
    if not sure and not _agreed(f"Delete {names} ({in_bytes(_size(runs))})? [y/N] "):
        return "Nothing was deleted."
    for each in runs:
        store.delete(each.id)
    return f"Deleted: {names}."


def _row(run: StoredRun) -> tuple[str, ...]:
    about = run.about
    label, positive, lift = (about.get(each) for each in ("label", "positive", "lift"))
    return (
        run.name,
        run.id,
        f"{run.changed.astimezone():%Y-%m-%d %H:%M}",
        about.get("table") or about.get("saved") or "",
        about.get("model") or "",
        str(label or "") if positive is None else f"{label} = {positive}",
        plain_name(about.get("chosen") or about.get("scheme") or ""),
        "" if lift is None else f"{lift:+.4f}",
        in_bytes(run.size),
    )


def _size(runs: Sequence[StoredRun]) -> int:
    return sum(each.size for each in runs)


def _required(name: str | None, action: str) -> str:
    if name is None:
        raise StoreError(
            f"No run is named to {action}.",
            "One run has to be named, by its name or its id.",
            f"List the runs with hetcal runs, then: hetcal runs {action} NAME",
        )
    return name


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise StoreError(
            "There is no terminal to ask on.",
            "Deleting a run has to be confirmed.",
            "Add --yes if you are sure.",
        )
    return input(question).strip().lower() in ("y", "yes")
