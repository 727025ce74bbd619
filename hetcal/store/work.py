"""Work for a run that takes long: each keeps what it has found in the run, as its last step."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

import pandas as pd

from hetcal.artifacts.artifact import (
    READ_SHARE,
    Artifact,
    new_row_notes,
    open_artifact,
    score_with_artifact,
    with_arrays,
)
from hetcal.artifacts.report import names_of_given
from hetcal.data.array_files import ArrayFile, open_array, with_embeddings
from hetcal.data.budget import budget
from hetcal.data.columns import Kinds
from hetcal.data.raw_columns import kinds_of_raw, with_raw_table
from hetcal.data.reading import Source, file_per_role, from_path, one_file, read_file
from hetcal.data.scores import Scores, require_ranking
from hetcal.data.splits import Split
from hetcal.data.table import Table, make_table
from hetcal.exports.export import Export, make_exports
from hetcal.jobs.jobs import Job
from hetcal.jobs.process import Call, Cancelled
from hetcal.models.config import ModelInput
from hetcal.models.images import decode_images
from hetcal.models.network import NetworkSettings
from hetcal.models.sandbox import GIB, Limits, confine
from hetcal.models.scoring import (
    ModelScoring,
    Scoring,
    ScoringJob,
    read_as_text,
    score_rows,
    start_scoring,
)
from hetcal.models.steps import read_steps, with_scales_undone
from hetcal.models.training import TrainingJob, start_training
from hetcal.partitions.partition import Partition
from hetcal.progress import Found, Keep, Progress, anew, between, silent
from hetcal.runs.fitting import (
    chosen_among,
    fit_ensemble,
    fit_roles,
    grow_partition,
    growth_settings,
    start_growth,
    take_rung,
)
from hetcal.runs.run import Run, split_table
from hetcal.runs.run import run as evaluate_all
from hetcal.runs.settings import CHOOSING, ENSEMBLES, Settings
from hetcal.schemes.candidates import Growth
from hetcal.schemes.choice import Choice
from hetcal.schemes.rows import SchemeRows
from hetcal.store.finished import found_facts, keep_compared
from hetcal.store.keys import (
    ensemble,
    for_classes,
    growth,
    rows_key,
    scheme_key,
    scores_key,
    table_key,
    trial,
)
from hetcal.store.store import Store, StoredRun
from hetcal.store.workspace import (
    BESIDE,
    EMBEDDINGS,
    UNDONE,
    TableFile,
    Workspace,
    workspace_of,
)
from hetcal.watch.check import Checked, check_rows
from hetcal.watch.refit import Refitted, refit_maps
from hetcal.watch.rows import read_new_rows

READ = 0.5  # share of the work that is done when the table has been read, without its scheme
PAUSE = 0.1  # seconds between two looks at what another process does
READING = 600  # seconds that a table, an array or an artifact may take to be read,
SCORING = 6 * 3600  # and that new rows may take to be read and scored
LIBRARIES, COPIES = 6 * GIB, 4  # memory of a process without a table, and of its table at most


def kept_call(run: StoredRun, key: str, function: Callable[..., Any], *given: Any) -> Call:
    """Return work that calls a function in a process of its own, which keeps its result."""
    return Call(keep_found, run, key, function, given)


def keep_found(
    run: StoredRun,
    key: str,
    function: Callable[..., Any],
    given: Sequence[Any],
    progress: Progress,
) -> None:
    """Call a function, whose last argument is a `Progress`, and keep its result in the run."""
    found = function(*given, progress)
    if run.folder.exists():  # it may have been deleted meanwhile
        run.keep_result(key, found)


def read_source(
    files: Sequence[TableFile], texts: Sequence[str], progress: Progress = silent
) -> Source:
    """Read the table of a run: one file, one for each role, or a folder; and what is beside it.

    The columns of `texts` keep the text of the file.
    """
    source = _read_rows([each for each in files if each.role not in BESIDE], texts, progress)
    for role in BESIDE:
        for each in files:
            if each.role == role:
                source = with_beside(source, each)
    return source


def with_beside(source: Source, file: TableFile, kinds: Kinds | None = None) -> Source:
    """Add the columns of a file beside a table: embeddings, raw columns, or scales undone."""
    if file.role == EMBEDDINGS:
        return with_embeddings(source, read_array(file.path, EMBEDDINGS, file.name))
    if file.role == UNDONE:
        return with_scales_undone(source, read_steps(file.path, file.name), file.name)
    known = kinds_of_raw(kinds or {}, source.frame)
    raw = read_file(file.path, file.dialect, name=file.name, kinds=known)
    return with_raw_table(source, raw, file.key)


def _read_rows(files: Sequence[TableFile], texts: Sequence[str], progress: Progress) -> Source:
    kinds: Kinds = dict.fromkeys(texts, "category")
    if len(files) == 1 and os.path.isdir(files[0].path):
        return from_path(files[0].path, kinds=kinds, progress=progress)
    readings = {}
    for i, file in enumerate(files):
        part = between(progress, i / len(files), (i + 1) / len(files))
        reading = read_file(file.path, file.dialect, name=file.name, kinds=kinds, progress=part)
        if file.role is None:
            return one_file(reading)
        readings[file.role] = reading
    return file_per_role(readings)


def with_limits(
    seconds: int, function: Callable[..., Any], given: Sequence[Any], progress: Progress = silent
) -> Any:
    """Call a function that opens files of strangers, in a process that has limits from then on."""
    memory = LIBRARIES + COPIES * budget()
    confine(Limits(seconds, memory, file_bytes=memory, files=1_024))
    return function(*given, progress)


@dataclass(frozen=True)
class KeptParts:
    """Keeps the parts of long work in a run, so that what is begun again goes on from there."""

    run: StoredRun
    key: str

    def __call__(self, name: str, find: Callable[[], Found]) -> Found:
        """Return what was found under this name before, or find and keep it."""
        found: Found | None = self.run.result(f"part-{self.key}-{name}")
        if found is None:
            found = find()
            self.keep(name, found)
        return found

    def keep(self, name: str, found: Any) -> None:
        """Keep what was found, unless the run was deleted meanwhile."""
        if self.run.folder.exists():
            self.run.keep_result(f"part-{self.key}-{name}", found)

    def forget(self) -> None:
        """Delete the parts of work that has ended, and of what was cancelled before it."""
        for each in self.run.kept_results("part"):
            self.run.forget_result(each)


def kept_in_parts(run: StoredRun, key: str, function: Callable[..., Any], *given: Any) -> Call:
    """Return work as `kept_call` does, of a function that takes a `Keep` before its `Progress`."""
    return Call(keep_in_parts, run, key, function, given)


def keep_in_parts(
    run: StoredRun,
    key: str,
    function: Callable[..., Any],
    given: Sequence[Any],
    progress: Progress,
) -> None:
    """Call a function and keep its result; until that is there, what it has finished is kept."""
    parts = KeptParts(run, key)
    keep_found(run, key, function, (*given, parts), progress)
    parts.forget()


def find_scheme(
    settings: Settings,
    training: SchemeRows,
    held: SchemeRows,
    tree: Partition | None,
    keep: Keep = anew,
    progress: Progress = silent,
) -> Choice:
    """Fit the scheme that the settings name, or choose one, on rows of `ensemble_rows`."""
    growth = None
    if settings.partition in CHOOSING and held.classes == 2:
        growth = Growth(training, held, tree, growth_settings(settings), keep)
    return fit_roles(settings, training, held, None, progress, tree, growth)


class LateParts:
    """Parts of work that begins before it is known under which key they will be kept."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: KeptParts | None = None
        self._early: dict[str, Any] = {}

    def __call__(self, name: str, find: Callable[[], Found]) -> Found:
        """Find a part, and keep it as soon as that may be."""
        found = find()
        with self._lock:
            if self._parts is None:
                self._early[name] = found
            else:
                self._parts.keep(name, found)
        return found

    def begin_to_keep(self, parts: KeptParts) -> None:
        """Keep what was found so far, and what will be."""
        with self._lock:
            self._parts = parts
            for name, found in self._early.items():
                parts.keep(name, found)


def choose_when_scored(
    run: StoredRun, scored: str, table: Table, settings: Settings, progress: Progress = silent
) -> None:
    """Grow what needs no scores until the run has scores under the key `scored`, then choose.

    The choice is the same as that of `find_scheme`, and is kept under the same key.
    """
    split, late = split_table(table, settings), LateParts()
    growth = start_growth(table, split, settings, late)
    waiting = 0.0, "Growing trees until the rows are scored"
    progress(*waiting)
    while not run.has_result(scored):
        time.sleep(PAUSE)
        progress(*waiting)  # raises if this was cancelled meanwhile
    scores = run.result(scored)
    require_ranking(scores)
    key = scheme_key(table, scores, settings, None)
    parts = KeptParts(run, key)
    if scores.usable.all():  # else other trees are grown, on the rows that have scores
        late.begin_to_keep(parts)
    found = fit_ensemble(table, scores, split, settings, progress, growth=growth)
    run.keep_result(key, found)
    parts.forget()


def ahead_call(run: StoredRun, scored: str, table: Table, settings: Settings) -> Call:
    """Return work that chooses a scheme when the scores are there, in a process of its own."""
    return Call(choose_when_scored, run, scored, table, settings)


@dataclass
class ChooseAhead:
    """Work that chooses a scheme for scores on which another job works; it ends with that job."""

    scoring: Job
    call: Call  # see `ahead_call`

    def __call__(self, progress: Progress) -> None:
        """Wait for the choice; if there will be no scores, for nothing."""

        def told(done: float, doing: str) -> None:
            if self.scoring.cancelled or self.scoring.state == "failed":
                raise Cancelled
            progress(done, doing)

        self.call(told)

    def stop(self) -> None:
        """End the process of the choice."""
        self.call.stop()


def verdict_call(run: StoredRun) -> Call:
    """Return work that lists a run by its verdict, in a process of its own."""
    return Call(find_verdict, run)


def find_verdict(run: StoredRun, progress: Progress = silent) -> None:
    """List a run by its verdict, if its scores and its scheme were found; nobody need open it."""
    store = Store(run.folder.parents[1])
    run = store.get(run.id)
    here = workspace_of(run)
    source = _source(run, here, (), between(progress, 0.0, READ))
    texts = read_as_text(here.scoring, source.frame)
    if texts:
        source = _source(run, here, texts)
    finished = _finished(run, here, source, between(progress, READ, 1.0))
    if finished is None:
        return
    names = ", ".join(each.name for each in here.files)
    keep_compared(run, finished, names_of_given(names, source.digest, here.scoring))
    facts = found_facts(finished)

    def note(latest: StoredRun) -> StoredRun:
        # Somebody may have changed it meanwhile.
        same = latest.state == run.state
        return replace(latest, about={**latest.about, **facts}) if same else latest

    store.change(run.id, None, note)


def _source(
    run: StoredRun, here: Workspace, texts: Sequence[str], progress: Progress = silent
) -> Source:
    kept: Source | None = run.result(table_key(here.files, texts))
    return read_source(here.files, texts, progress) if kept is None else kept


def _finished(run: StoredRun, here: Workspace, source: Source, progress: Progress) -> Run | None:
    """Evaluate a run by what it has kept; None if that is not enough."""
    if here.roles is None or here.scoring is None:
        return None
    table = make_table(source.frame, here.roles, source.digest, here.classes)
    settings, choice = here.settings, None
    if table.classes:
        settings = for_classes(settings, here.class_method)
    scores = _kept_scores(
        run, here.scoring, table, rows_key(source.digest, here.roles, len(table.classes))
    )
    if scores is None:
        return None
    if here.partition is None and settings.partition in ENSEMBLES:
        choice = _kept_choice(run, table, scores, settings)
        if choice is None:
            return None
    progress(0.0, "Evaluating the test rows")
    return evaluate_all(table, scores, settings, here.partition, progress, choice=choice)


def _kept_scores(run: StoredRun, scoring: Scoring, table: Table, rows_digest: str) -> Scores | None:
    if isinstance(scoring, ModelScoring):
        found: Scores | None = run.result(scores_key(rows_digest, scoring))
        return found
    if len(scoring.columns) != (len(table.classes) or 1):
        return None  # they are those of the label before
    return score_rows(table.frame, scoring, table.classes, table.digest)


def _kept_choice(run: StoredRun, table: Table, scores: Scores, settings: Settings) -> Choice | None:
    asked, tree = ensemble(settings), None
    if table.classes:
        tree = grow_partition(table, split_table(table, settings), growth(settings))
    tried: Choice | None = run.result(scheme_key(table, scores, trial(asked), tree))
    return None if tried is None else take_rung(chosen_among(tried, asked), asked.take)


def open_kept_artifact(path: Path, progress: Progress = silent) -> Artifact:
    """Open an artifact that is kept under its digest."""
    return open_artifact(path.read_bytes(), path.parent)


def score_file(
    artifact: Path,
    table: Path,
    name: str,
    beside: Mapping[str, tuple[Path, str]],
    progress: Progress = silent,
) -> tuple[pd.DataFrame, list[str]]:
    """Score the rows of a file with an artifact that is kept under its digest; add notes.

    `beside` are path and name of arrays by input, and of other files by one of `BESIDE`.
    """
    reading, scoring = between(progress, 0.0, READ_SHARE), between(progress, READ_SHARE, 1.0)
    opened, rows, notes = _new_rows(artifact, table, name, beside, reading)
    scored = score_with_artifact(opened, rows.frame, rows.digest, scoring)
    return scored, [*notes, *new_row_notes(opened, rows.frame, scored)]


def _new_rows(
    artifact: Path,
    table: Path,
    name: str,
    beside: Mapping[str, tuple[Path, str]],
    reading: Progress,
) -> tuple[Artifact, Source, list[str]]:
    """Open an artifact and the rows of a file, with what is beside them; also return notes."""
    opened = open_kept_artifact(artifact)
    rows = one_file(read_file(table, name=name, kinds=opened.kinds, progress=reading))
    for role in BESIDE:
        if role in beside:
            path, shown = beside[role]
            rows = with_beside(rows, TableFile(path, shown, "", role), opened.kinds)
    arrays = {
        each: read_array(path, each, shown)
        for each, (path, shown) in beside.items()
        if each not in BESIDE
    }
    opened, notes = with_arrays(opened, arrays, len(rows.frame))
    return opened, rows, [*rows.notes, *notes]


def check_file(
    artifact: Path,
    table: Path,
    name: str,
    beside: Mapping[str, tuple[Path, str]],
    progress: Progress = silent,
) -> Checked:
    """Check an artifact that is kept under its digest on the rows of a file, see `score_file`."""
    reading, scoring = between(progress, 0.0, READ_SHARE), between(progress, READ_SHARE, 1.0)
    opened, rows, notes = _new_rows(artifact, table, name, beside, reading)
    checked = check_rows(opened, rows.frame, rows.digest, progress=scoring)
    return replace(checked, notes=(*notes, *checked.notes))


def refit_file(
    artifact: Path,
    table: Path,
    name: str,
    beside: Mapping[str, tuple[Path, str]],
    progress: Progress = silent,
) -> Refitted:
    """Fit the maps of an artifact again on the rows of a file, see `check_file`."""
    reading, scoring = between(progress, 0.0, READ_SHARE), between(progress, READ_SHARE, 1.0)
    opened, rows, _ = _new_rows(artifact, table, name, beside, reading)
    new = read_new_rows(opened, rows.frame, rows.digest, scoring)
    return refit_maps(artifact.read_bytes(), opened, new)


def export_file(
    artifact: Path,
    formats: Sequence[str],
    dialects: Sequence[str],
    scored: pd.DataFrame | None,
    carried: Sequence[str],
    progress: Progress = silent,
) -> tuple[Export, ...]:
    """Export an artifact that is kept under its digest; a table has the rows that are scored."""
    opened = open_artifact(artifact.read_bytes(), artifact.parent)
    return make_exports(opened, formats, dialects, progress, scored=scored, carried=carried)


def read_array(path: Path, wanted: str, name: str, progress: Progress = silent) -> ArrayFile:
    """Open an array that is kept in a run; what has to be unpacked is put beside it."""
    return open_array(path, wanted, path.parent, name=name)


def read_images(
    paths: pd.Series, images: Path, spec: ModelInput, progress: Progress = silent
) -> ArrayFile:
    """Decode the images that a column names in a zip that is kept in a run; put them beside it."""
    progress(0.0, "Decoding the images")
    return decode_images(paths, images, spec, images.parent)


@dataclass
class ScoreRows:
    """Work that runs a model on all rows of a table."""

    run: StoredRun
    key: str
    table: Table
    scoring: ModelScoring
    _job: ScoringJob | None = field(default=None, init=False)

    def __call__(self, progress: Progress) -> None:
        """Wait for the model, which is in a process of its own."""
        progress(0.0, "Starting the model")
        scoring = self.scoring
        self._job = start_scoring(
            scoring.model,
            self.table.frame,
            scoring.inputs,
            classes=len(self.table.classes),
            output=scoring.output,
            positive_unit=scoring.positive_unit,
            layer=scoring.layer,
            rows=self.table.row_numbers(),
        )
        self._job.watch(progress)
        keep_found(self.run, self.key, _result_of, (self._job,), progress)


def _result_of(job: ScoringJob | TrainingJob, progress: Progress) -> Any:
    return job.result()


@dataclass
class TrainNetwork:
    """Work that trains the paper's network; stopped, it keeps the best epoch so far."""

    run: StoredRun
    key: str
    table: Table
    split: Split
    settings: NetworkSettings
    _job: TrainingJob | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)

    stop_words = "Stop and keep the best epoch so far"

    def __call__(self, progress: Progress) -> None:
        """Wait for the network, which is trained in a process of its own."""
        progress(0.0, "Starting Keras")
        table = self.table
        self._job = start_training(table.X, table.y, self.split, self.settings, table.weight)
        while self._job.running:
            state = self._job.progress()
            if self._stopped and not self._job.cancelled:
                self._job.cancel()
            if state is not None:
                doing = f"{state.epoch} of {state.epochs} epochs done"
                progress(state.fraction, f"{doing}, stopping" if self._stopped else doing)
            time.sleep(PAUSE)
        keep_found(self.run, self.key, _result_of, (self._job,), progress)

    def stop(self) -> None:
        """End after the current step."""
        self._stopped = True

    @property
    def history(self) -> pd.DataFrame | None:
        """One row per epoch that has ended; None before the first."""
        found = None if self._job is None else self._job.history()
        return found if found is not None and len(found) else None
