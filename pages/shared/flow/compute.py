"""Cached calls into hetcal, one for each result."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.artifacts.archive import SavedCells
from hetcal.artifacts.artifact import Artifact, artifact_bytes
from hetcal.artifacts.report import scored_with
from hetcal.artifacts.saved_run import SavedRun, saved_run
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.data.array_files import ArrayFile, is_plain
from hetcal.data.checks import Finding, check_scores, check_table, check_training, check_validation
from hetcal.data.columns import describe_columns
from hetcal.data.reading import Source
from hetcal.data.scores import Scores, require_ranking
from hetcal.data.splits import Split
from hetcal.data.table import Roles, Table, make_table
from hetcal.data.text import is_simple
from hetcal.exports.export import Export
from hetcal.jobs.jobs import Job, Work
from hetcal.models.config import ModelInput
from hetcal.models.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.models.trial import try_scales
from hetcal.partitions.partition import Leaf, Partition, leaf_table
from hetcal.progress import Progress, silent
from hetcal.results.conditions import Condition, conditions
from hetcal.results.curves import Curves, result_curves
from hetcal.results.histograms import ScoreHistograms, score_histograms
from hetcal.results.leaf_tests import leaf_tests
from hetcal.results.overconfidence import diagnose
from hetcal.runs.evaluated import Evaluated, evaluate_rows, rows_to_evaluate, with_evaluation
from hetcal.runs.first_look import look_first
from hetcal.runs.fitting import chosen_among, ensemble_rows, grow_partition, take_rung
from hetcal.runs.role_cells import SKETCHED_FROM, RoleCells
from hetcal.runs.run import FirstPass, Run, finish_run, first_pass, fit_maps, readable, split_table
from hetcal.runs.settings import CHOOSING, READ_SCORES, Settings
from hetcal.schemes.choice import Choice
from hetcal.store.keys import (
    division,
    key_of,
    maps,
    partition_key,
    scheme_key,
    scores_key,
    table_key,
    trial,
)
from hetcal.store.store import StoredRun
from hetcal.store.work import (
    READING,
    SCORING,
    ChooseAhead,
    ScoreRows,
    ahead_call,
    check_file,
    export_file,
    find_scheme,
    kept_call,
    kept_in_parts,
    open_kept_artifact,
    read_array,
    read_images,
    read_source,
    refit_file,
    score_file,
    with_limits,
)
from hetcal.store.workspace import EMBEDDINGS
from hetcal.watch.check import Checked
from hetcal.watch.refit import Refitted
from pages.shared.flow.cache import cached
from pages.shared.jobs import AHEAD, begin_ahead, found_beside
from pages.shared.state import TableFile

# What takes less than about half a second is done at once; more is done beside the pages.
READ_IN_PLACE = 8 * 2**20  # bytes
CHECKED_IN_PLACE, COLUMNS_IN_PLACE = 2_000_000, 2_000  # cells and columns of a table
LOOKED_AT_IN_PLACE = 100_000  # rows
PASSED_IN_PLACE = 1_000_000  # rows, or rows by classes
FITTED_IN_PLACE = 20_000  # rows by classes
CHOOSING_JOB, FITTING_JOB = "Choosing a scheme", "Fitting the scheme"


def is_light(files: tuple[TableFile, ...]) -> bool:
    """Whether a table is read in a moment: a little text, which cannot unpack to more."""
    try:
        if any(each.path.is_dir() for each in files):
            return False
        test = {EMBEDDINGS: is_plain}
        simple = all(test.get(each.role, is_simple)(each.path) for each in files)
        return simple and sum(each.path.stat().st_size for each in files) <= READ_IN_PLACE
    except (OSError, ValueError):
        return True  # reading it says what is wrong with the path


def is_small(frame: pd.DataFrame) -> bool:
    """Whether all columns are looked at in a moment."""
    return frame.size <= CHECKED_IN_PLACE and frame.shape[1] <= COLUMNS_IN_PLACE


@cached
def source_of(
    files: tuple[TableFile, ...],
    texts: tuple[str, ...],
    _run: StoredRun | None = None,
    _progress: Progress = silent,
) -> Source:
    """Read the table of this run, or of a run that begins; `texts` as in `read_source`."""
    if is_light(files):
        return read_source(files, texts, _progress)
    key, name = table_key(files, texts), f"Reading {', '.join(each.name for each in files)}"

    def work(run: StoredRun) -> Work:
        return kept_call(run, key, with_limits, READING, read_source, (files, texts))

    return found_beside(key, name, work, _run)


@cached
def columns_of(source: Source, _progress: Progress = silent) -> pd.DataFrame:
    if is_small(source.frame):
        return describe_columns(source.frame, _progress)
    key, frame = key_of("columns", source.digest), source.frame
    return found_beside(
        key, "Describing the columns", lambda run: kept_call(run, key, describe_columns, frame)
    )


@cached
def table_of(source: Source, roles: Roles, classes: tuple[str, ...] | None) -> Table:
    return make_table(source.frame, roles, source.digest, classes)


@cached
def table_view_of(table: Table, number: int) -> Table:
    return table.view(number)


@cached
def split_of(table: Table, settings: Settings, _progress: Progress = silent) -> Split:
    _progress(0.0, "Dividing the rows")
    return split_table(table, settings)


@cached
def findings_of(
    table: Table, settings: Settings, _progress: Progress = silent
) -> tuple[Finding, ...]:
    split = split_of(table, settings)
    if is_small(table.frame):
        return check_table(table, split, _progress)
    key = key_of("findings", table.digest, settings)
    return found_beside(
        key, "Checking the rows", lambda run: kept_call(run, key, check_table, table, split)
    )


@cached
def score_findings_of(
    table: Table, scores: Scores, settings: Settings, trained_here: bool, reused: bool
) -> tuple[Finding, ...]:
    """Look for problems of the scores; `reused` are validation rows that schemes read, too."""
    split = split_of(table, settings)
    found = () if trained_here else check_training(table.roles)
    if reused:
        found = *found, *check_validation(table, scores, split)
    return *check_scores(table, scores, split), *found


@cached
def first_conditions_of(table: Table, scores: Scores, settings: Settings) -> tuple[Condition, ...]:
    split = split_of(table, division(settings))
    given = table, scores, split, settings
    if table.rows <= LOOKED_AT_IN_PLACE:
        return look_first(*given)
    key = key_of("conditions", table.digest, scores.digest, settings)
    return found_beside(
        key, "Looking at the scores", lambda run: kept_call(run, key, look_first, *given)
    )


@cached
def column_scores_of(table: Table, scoring: ColumnScoring) -> Scores:
    return score_rows(table.frame, scoring, table.classes, table.digest)


@cached
def model_scores_of(
    table: Table, rows_digest: str, scoring: ModelScoring, _meanwhile: Callable[[Job], None]
) -> Scores:
    """Run a model on every row of a table; the rows decide, whatever their other roles."""
    key, name = scores_key(rows_digest, scoring), "Scoring the rows"

    def work(run: StoredRun) -> Work:
        return ScoreRows(run, key, table, scoring)

    return found_beside(key, name, work, meanwhile=_meanwhile)


@cached
def array_of(path: Path, wanted: str, name: str) -> ArrayFile:
    """Open an array beside the table; what is packed or large is read beside the pages."""
    if is_plain(path) and path.stat().st_size <= READ_IN_PLACE:
        return read_array(path, wanted, name)
    key, given = key_of("array", path.name, wanted, name), (path, wanted, name)
    return found_beside(
        key,
        f"Reading {name}",
        lambda run: kept_call(run, key, with_limits, READING, read_array, given),
    )


@cached
def images_of(source: Source, column: str, images: Path, spec: ModelInput) -> ArrayFile:
    """Decode the images of a zip that a column of the table names, for an input of a model."""
    key = key_of("images", source.digest, column, images.name, spec.name, spec.shape)
    given = source.frame[column], images, spec
    return found_beside(
        key,
        "Decoding the images",
        lambda run: kept_call(run, key, with_limits, READING, read_images, given),
    )


@cached
def scales_of(
    table: Table, rows_digest: str, settings: Settings, scoring: ModelScoring
) -> pd.DataFrame:
    """Try scales of the model's columns on some rows that it was not trained on."""
    key = key_of("scales", scores_key(rows_digest, scoring), table.roles, settings)
    split = split_of(table, settings)
    return found_beside(
        key, "Trying scales", lambda run: kept_call(run, key, try_scales, table, split, scoring)
    )


@cached
def ranking_scores_of(scores: Scores) -> Scores:
    require_ranking(scores)
    return scores


def ahead_key(table: Table, rows_digest: str, scoring: Scoring, settings: Settings) -> str:
    """Return the key of a choice that begins before the scores of a model are there."""
    if not isinstance(scoring, ModelScoring):
        return ""
    return key_of(AHEAD, table.digest, scores_key(rows_digest, scoring), trial(settings))


def choose_ahead(scoring: Job, key: str, scored: str, table: Table, settings: Settings) -> None:
    """Grow what needs no scores while a model scores the rows of a table that is not large."""
    if not scoring.open or table.classes or table.frame.size > CHECKED_IN_PLACE:
        return

    def work(run: StoredRun) -> Work:
        return ChooseAhead(scoring, ahead_call(run, scored, table, trial(settings)))

    begin_ahead(key, CHOOSING_JOB, work)


@cached
def trial_of(
    table: Table, scores: Scores, settings: Settings, tree: Partition | None, _ahead: str
) -> Choice:
    """Compare all schemes, or fit the one that the settings name."""
    key = scheme_key(table, scores, settings, tree)

    def work(run: StoredRun) -> Work:
        split = split_of(table, division(settings))
        rows = ensemble_rows(table, scores, split, settings, tree)
        return kept_in_parts(run, key, find_scheme, settings, *rows, tree)

    choosing = settings.partition in CHOOSING
    return found_beside(key, CHOOSING_JOB if choosing else FITTING_JOB, work, ahead=_ahead)


@cached
def choice_of(
    table: Table, scores: Scores, settings: Settings, tree: Partition | None, _ahead: str
) -> Choice:
    """Choose among the schemes, or take the rung that the user chose; they are tried once."""
    if settings.take is None:
        return chosen_among(trial_of(table, scores, trial(settings), tree, _ahead), settings)
    free = replace(settings, take=None)
    return take_rung(choice_of(table, scores, free, tree, _ahead), settings.take)


@cached
def partition_of(
    table: Table, scores: Scores | None, settings: Settings, _progress: Progress = silent
) -> Partition:
    split = split_of(table, division(settings))
    quick = settings.tree_size == "given" and settings.partition not in READ_SCORES
    if quick and table.rows <= PASSED_IN_PLACE:
        return grow_partition(table, split, settings, scores, _progress)
    key = partition_key(table, scores, settings)
    given = table, split, settings, scores
    return found_beside(
        key, "Growing the tree", lambda run: kept_call(run, key, grow_partition, *given)
    )


@cached
def view_partition_of(
    table: Table, scores: Scores | None, number: int, partition: Partition, settings: Settings
) -> Partition:
    view, rows = table_view_of(table, number), split_of(table, settings).train
    columns = readable(partition, view.frame, scores).iloc[rows]
    return partition.counting(columns, view.y[rows], view.weight_of(rows))


@cached
def leaf_of(table: Table, scores: Scores | None, partition: Partition) -> Ints:
    return partition.apply(readable(partition, table.frame, scores))


@cached
def leaves_of(
    table: Table, scores: Scores | None, partition: Partition, settings: Settings
) -> pd.DataFrame:
    leaf = leaf_of(table, scores, partition)
    return leaf_table(partition, leaf, table.y, split_of(table, settings), table.weight)


@cached
def first_pass_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    exact: bool,
    _progress: Progress = silent,
) -> FirstPass:
    """Pass over the rows; large tables are sketched unless exact numbers are wanted."""
    split, most = split_of(table, settings), table.rows if exact else SKETCHED_FROM
    leaf = leaf_of(table, scores if scores.activations else None, partition)
    return first_pass(table, scores, split, partition, leaf, most, _progress)


@cached
def maps_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    exact: bool,
) -> LeafCalibrator | ClassCalibrator:
    passed = first_pass_of(table, scores, division(settings), partition, exact)
    many = passed.split.calibration.size * len(table.classes) > FITTED_IN_PLACE
    if choice is not None or not many:
        return fit_maps(passed, settings, choice)
    key = key_of("maps", table.digest, scores.digest, settings, partition.digest)
    return found_beside(
        key, "Fitting the maps", lambda run: kept_call(run, key, fit_maps, passed, settings, None)
    )


@cached
def run_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    exact: bool,
    findings: tuple[Finding, ...] = (),
    _progress: Progress = silent,
) -> Run:
    passed = first_pass_of(table, scores, division(settings), partition, exact, _progress)
    _progress(0.9, "Fitting the map of every leaf")
    chosen = choice if table.classes else None
    calibrator = maps_of(table, scores, maps(settings), partition, chosen, exact)
    if isinstance(calibrator, LeafCalibrator):
        calibrator = calibrator.with_min_rows(settings.min_rows)
    finished = finish_run(passed, settings, partition, calibrator, choice)
    finished = replace(finished, findings=findings)
    sketched = passed.cells is not None and not passed.cells.exact
    if sketched or scores.logit.size <= PASSED_IN_PLACE:
        return finished
    return with_evaluation(finished, _evaluated_beside(finished))


def _evaluated_beside(finished: Run) -> Evaluated:
    key = key_of("evaluation", finished.digest)

    def work(run: StoredRun) -> Work:
        for each in run.kept_results("evaluation"):  # one has three numbers for each test row
            run.forget_result(each)
        return kept_call(run, key, evaluate_rows, rows_to_evaluate(finished))

    return found_beside(key, "Evaluating the test rows", work)


@cached
def view_of(run: Run, number: int, min_rows: int) -> Run:
    return run.view(number, min_rows)


@cached
def saved_run_of(path: Path, min_rows: int, number: int | None = None) -> SavedRun:
    """Take up the run in an artifact: on all classes, or on one against all others."""
    if number is None:
        return saved_run(artifact_of(path), min_rows)
    return saved_run_of(path, min_rows).view(number, min_rows)


@cached
def diagnosis_of(
    key: object, _cells: RoleCells | SavedCells, _leaves: Sequence[Leaf]
) -> pd.DataFrame:
    return diagnose(_cells.train, _cells.test, _leaves)


@cached
def leaf_tests_of(
    key: object, _cells: RoleCells | SavedCells, _run: Run | SavedRun
) -> pd.DataFrame:
    leaves = [each.id for each in _run.partition.leaves]
    return leaf_tests(_cells.train, _cells.test, leaves).assign(p_after=_run.p_after)


@cached
def branch_diagnosis_of(
    key: object, _cells: RoleCells | SavedCells, leaves: tuple[int, ...]
) -> pd.DataFrame:
    """Diagnose and test the rows of some leaves together."""
    roles = [each.chosen(np.isin(each.leaf, leaves)) for each in (_cells.train, _cells.test)]
    return diagnose(*roles, ()).merge(leaf_tests(*roles, ()), on="leaf")


@cached
def histograms_of(
    key: object,
    _cells: RoleCells | SavedCells,
    _leaves: Sequence[Leaf],
    axis: str,
    bins: int,
) -> ScoreHistograms:
    leaves = [each.id for each in _leaves]
    return score_histograms(_cells.train, _cells.test, leaves, axis=axis, bins=bins)


@cached
def conditions_of(
    key: object, _run: Run | SavedRun, _diagnosis: pd.DataFrame
) -> tuple[Condition, ...]:
    return conditions(_diagnosis, _run.comparison, _run.evaluation.lift)


@cached
def curves_of(key: object, _run: Run | SavedRun) -> Curves:
    return result_curves(_run.comparison, _run.evaluation)


@cached
def artifact_of(path: Path, _run: StoredRun | None = None) -> Artifact:
    """Open an artifact of this run, or of one that begins: the zip of a stranger, so beside."""
    key = key_of("artifact", path.name)
    return found_beside(
        key,
        "Opening the artifact",
        lambda run: kept_call(run, key, with_limits, READING, open_kept_artifact, (path,)),
        _run,
    )


@cached
def scored_by_artifact(
    artifact: Path,
    table: Path,
    name: str,
    arrays: dict[str, tuple[Path, str]],
    _run: StoredRun,
) -> tuple[pd.DataFrame, list[str]]:
    """Score the rows of a file with an artifact, all kept under their digests, with notes."""
    given = artifact, table, name, arrays
    key = key_of("scored", artifact.name, table.name, name, arrays)
    return found_beside(
        key,
        f"Scoring {name}",
        lambda run: kept_call(run, key, with_limits, SCORING, score_file, given),
        _run,
    )


@cached
def packed_of(run: Run, scoring: Scoring, _kept: StoredRun) -> Path:
    """Pack a run into an artifact, which is kept under its digest."""
    return _kept.keep_file(artifact_bytes(run, scoring))


@cached
def checked_of(
    artifact: Path, table: Path, name: str, arrays: dict[str, tuple[Path, str]], _run: StoredRun
) -> Checked:
    """Check an artifact on the rows of a file, all kept under their digests."""
    given = artifact, table, name, arrays
    key = key_of("checked", artifact.name, table.name, name, arrays)
    return found_beside(
        key,
        f"Checking {name}",
        lambda run: kept_call(run, key, with_limits, SCORING, check_file, given),
        _run,
    )


@cached
def refitted_of(
    artifact: Path, table: Path, name: str, arrays: dict[str, tuple[Path, str]], _run: StoredRun
) -> Refitted:
    """Fit the maps of an artifact again on the rows of a file, as `checked_of` checks it."""
    given = artifact, table, name, arrays
    key = key_of("refitted", artifact.name, table.name, name, arrays)
    return found_beside(
        key,
        "Fitting the maps again",
        lambda run: kept_call(run, key, with_limits, SCORING, refit_file, given),
        _run,
    )


@cached
def exports_of(
    artifact: Path,
    formats: tuple[str, ...],
    dialects: tuple[str, ...],
    carried: tuple[str, ...],
    _run: Run | SavedRun,
) -> tuple[Export, ...]:
    """Export an artifact that is kept under its digest; each file is compared with it.

    A table has the rows of the run with the columns that are carried.
    """
    wanted = "table" in formats and isinstance(_run, Run)
    scored = scored_with(_run, carried) if wanted else None
    given = artifact, formats, dialects, scored, carried
    key = key_of("export", artifact.name, formats, dialects, carried)
    return found_beside(key, "Making exports", lambda run: kept_call(run, key, export_file, *given))
