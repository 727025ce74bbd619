"""Finished runs in the store: kept by the command line, listed, and laid side by side."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hetcal.artifacts.compared import compared_run
from hetcal.data.text import Dialect
from hetcal.digests import file_digest
from hetcal.errors import StoreError
from hetcal.models.inputs import ArrayInput
from hetcal.models.scoring import ModelScoring, Scoring
from hetcal.partitions.partition import Partition
from hetcal.results.compare import ComparedRun
from hetcal.runs.fitting import allowed_kinds
from hetcal.runs.run import Run, class_method
from hetcal.runs.settings import CHOOSING
from hetcal.store.files import keep_file, make_folder
from hetcal.store.keys import (
    NEED_SCORES,
    ensemble,
    for_classes,
    growth,
    partition_key,
    rows_key,
    scheme_key,
    scores_key,
    trial,
)
from hetcal.store.store import FOUND_BY, Store, StoredRun
from hetcal.store.workspace import TableFile, Workspace, remember
from hetcal.version import __version__

COMPARED = "compared"  # the key of what a comparison needs of a run
OUT = "out"  # the folder of the files that a command wrote


def keep_run(
    store: Store,
    name: str,
    table: Path,
    dialect: Dialect | None,
    scoring: Scoring,
    finished: Run,
    partition: Partition | None,
    files: dict[str, bytes],
    named: Mapping[str, str],
    source_digest: str,
    beside: Sequence[TableFile] = (),
) -> StoredRun:
    """Keep a run of the command line: copies of what it was given, and what it wrote.

    A table that is a folder is not copied. `named` are the table and the model in words;
    `source_digest` is that of the table as it was read, with the files `beside` it.
    """
    run, classes = store.new(name), finished.classes or None
    if isinstance(scoring, ModelScoring):
        path = _copy(run, scoring.model.path, f".{scoring.model.format}")
        arrays = tuple(_copied(run, each) for each in scoring.inputs.arrays)
        model, inputs = replace(scoring.model, path=path), replace(scoring.inputs, arrays=arrays)
        scoring = replace(scoring, model=model, inputs=inputs)
    given = Workspace(
        files=(
            _table_file(run, table, dialect),
            *(_table_file(run, each.path, role=each.role, key=each.key) for each in beside),
        ),
        roles=finished.table.roles,
        settings=finished.settings,
        model=scoring.model if isinstance(scoring, ModelScoring) else None,
        scoring=scoring,
        partition=partition,
        classes=classes,
        class_method=class_method(finished.settings),
    )
    folder = make_folder(run.folder / OUT)
    for each, content in files.items():
        keep_file(folder / each, content)
    keep_compared(run, finished, named)
    _keep_found(run, given, finished, source_digest)
    facts = {"rows": finished.table.rows, **found_facts(finished)}
    return store.change(run.id, None, lambda latest: remember(latest, given, **facts))


def _keep_found(run: StoredRun, given: Workspace, finished: Run, source_digest: str) -> None:
    """Keep what took long under the keys by which pages look for it."""
    table, scores, choice = finished.table, finished.scores, finished.choice
    settings, classes, scoring = finished.settings, finished.classes, given.scoring
    if isinstance(scoring, ModelScoring):
        rows = rows_key(source_digest, table.roles, len(classes))
        run.keep_result(scores_key(rows, scoring), scores)
    if classes:
        settings = for_classes(settings, given.class_method)
    if choice is not None:
        tried = trial(ensemble(settings))
        # Pages choose among all that was tried, and take a rung in a second step.
        first = tried == ensemble(settings) or tried.partition not in CHOOSING
        found = choice if first else choice.among(allowed_kinds(tried))
        tree = finished.partition if classes else None
        run.keep_result(scheme_key(table, scores, tried, tree), found)
    if given.partition is None and (choice is None or classes or choice.scheme.partition is None):
        read = scores if settings.partition in NEED_SCORES else None
        run.keep_result(partition_key(table, read, growth(settings)), finished.partition)


def found_facts(finished: Run) -> dict[str, Any]:
    """Return what a finished run is listed by, beside what it was given."""
    lift = finished.evaluation.lift
    return {
        "verdict": finished.verdict.partition(". ")[0].rstrip("."),
        "before": lift.before,
        "after": lift.after,
        "lift": lift.auc,
        "chosen": None if finished.choice is None else finished.choice.chosen,
        FOUND_BY: __version__,
    }


def found_before(run: StoredRun) -> str | None:
    """Say that another version has found the results of a run; None if it has not."""
    version = run.about.get(FOUND_BY)
    if version is None or "verdict" in run.about:
        return None
    return f"its results are of hetcal {version}: open it to find them again"


def keep_compared(run: StoredRun, finished: Run, named: Mapping[str, str]) -> None:
    """Keep what a comparison needs, under the digest of the finished run."""
    known = run.result(COMPARED)
    if known is None or known[0] != finished.digest:
        run.keep_result(COMPARED, (finished.digest, compared_run(run.name, finished, named)))


def compared_of(run: StoredRun) -> ComparedRun:
    """Return what a comparison needs of a run, under the name that it has now."""
    known = run.result(COMPARED)
    if known is None:
        raise StoreError(
            f"The run '{run.name}' has no results that this version of hetcal has found.",
            "Finished runs are compared.",
            "Open it in the app and let it finish, or run it again.",
        )
    found: ComparedRun = known[1]
    return replace(found, name=run.name)


def _table_file(
    run: StoredRun,
    table: Path,
    dialect: Dialect | None = None,
    role: str | None = None,
    key: str | None = None,
) -> TableFile:
    table = Path(os.path.expanduser(table)).absolute()
    if table.is_dir():
        return TableFile(table, table.name, str(table.stat().st_mtime_ns), dialect=dialect)
    path = _copy(run, table)
    return TableFile(path, table.name, path.name, role, dialect, key)


def _copied(run: StoredRun, array: ArrayInput) -> ArrayInput:
    assert array.file.path is not None
    return replace(array, file=replace(array.file, path=_copy(run, array.file.path, ".npy")))


def _copy(run: StoredRun, path: Path, suffix: str = "") -> Path:
    place = run.files / f"{file_digest(path)}{suffix}"
    with path.open("rb") as source:
        keep_file(place, lambda file: shutil.copyfileobj(source, file))
    return place
