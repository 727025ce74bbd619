"""A finished run: what the pages show and the artifact saves."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Ints
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import computed_on
from hetcal.choices import CLASS_CALIBRATORS, ClassMethod
from hetcal.data.checks import Finding, check_scores, check_table, check_training
from hetcal.data.columns import row_count
from hetcal.data.scores import Scores, require_ranking
from hetcal.data.splits import (
    NEEDED_ROLES,
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
)
from hetcal.data.table import Table
from hetcal.digests import text_digest
from hetcal.errors import PartitionError, ScoreError, SplitError
from hetcal.metrics.classes import one_against_rest
from hetcal.metrics.curves import OperatingPoint
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.results.curves import points_of_rate
from hetcal.results.evaluation import (
    Evaluation,
    Ways,
    evaluate,
    evaluate_classes,
    score_in_four_ways,
)
from hetcal.runs.fitting import fit_ensemble, grow_partition, lend_rows, sample_note, start_growth
from hetcal.runs.role_cells import (
    SKETCHED_FROM,
    RoleCells,
    grouped_rows,
    groups_of,
    role_cells,
    row_cells,
)
from hetcal.runs.settings import ENSEMBLES, READ_SCORES, Settings
from hetcal.schemes.candidates import Growth
from hetcal.schemes.choice import Choice
from hetcal.schemes.scheme import class_calibrator, maps_apply, with_scheme

CALIBRATED = 1 << 20  # rows at a time
SCORED = 0.3  # share of the work that is done when a model has scored the rows


@dataclass(frozen=True)
class Run:
    """One finished run, for any number of classes.

    With more than two classes, `view` gives the run of one class against all others.

    Parameters
    ----------
    table, scores, settings
        What the run was given.
    split : Split
        The rows of each role whose scores are finite.
    partition : Partition
        Grown on the training rows, or loaded.
    leaf : array of int
        Leaf of every row of the table.
    cells : RoleCells or None
        The scores of each role; None with more than two classes.
    calibrator : LeafCalibrator or ClassCalibrator
        Fitted on the calibration rows, with the maps of the scheme if it has one for each leaf.
    calibrated : array or None
        Calibrated logit of every row, where it is given; rows are cells then.
    choice : Choice or None
        The scheme of many partitions, or the one that was chosen among all, in place of the
        leaf maps; rows are cells then.
    findings : tuple of Finding
        What a careful reader would remark about the table, its split and its scores.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    cells: RoleCells | None
    calibrator: LeafCalibrator | ClassCalibrator
    calibrated: Floats | None = None
    choice: Choice | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label in the order of the scores, where there are more than two."""
        return self.table.classes

    @property
    def role_cells(self) -> RoleCells:
        """The scores of each role, for two classes."""
        if self.cells is None:
            raise TypeError("more than two classes are looked at one by one: see `view`")
        return self.cells

    @property
    def leaf_maps(self) -> LeafCalibrator:
        """The maps of the leaves, for two classes."""
        if isinstance(self.calibrator, ClassCalibrator):
            raise TypeError("more than two classes are looked at one by one: see `view`")
        return self.calibrator

    @cached_property
    def ways(self) -> Ways:
        """The test cells scored in the ways that are compared, for two classes."""
        cells = self.role_cells
        ways = score_in_four_ways(cells.test, cells.calibration, self.leaf_maps)
        if self.calibrated is None and self.choice is None:
            return ways
        rows, table = self.split.test, self.table
        parts = self._calibrate(rows), table.y[rows], self.leaf[rows], table.weight_of(rows)
        return replace(ways, after=Cells.of_rows(*parts))

    @cached_property
    def evaluation(self) -> Evaluation:
        """What calibration is worth on the test rows."""
        rows, table = self.split.test, self.table
        if not self.classes:
            leaves = [each.leaf for each in self.leaf_maps.maps_]
            return evaluate(self.ways, leaves, groups_of(table, rows))
        before = self.scores.logit[rows]
        logs = before, self._one_map(before), self.after[rows]
        weight, group = table.weight_of(rows), table.group(rows)
        return evaluate_classes(self.classes, table.y[rows], logs, weight, group)

    def evaluated(self) -> Self:
        """Work out what calibration is worth now; what fails, fails here."""
        _ = self.evaluation
        return self

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.ways, rate)

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate; a scheme of many trees takes their place."""
        return maps_apply(None if self.choice is None else self.choice.scheme, self.partition)

    @property
    def divided(self) -> bool:
        """Whether leaves have maps of their own."""
        return self.choice is None or self.choice.divided

    @property
    def computed_on(self) -> str:
        """Whether the numbers come from all rows or from a sketch, in a sentence."""
        return computed_on(self.evaluation.sketched)

    @cached_property
    def after(self) -> Floats:
        """Calibrated logit, or log-probabilities, of every row of the table."""
        return self._calibrate_all(silent)

    def complete(self, progress: Progress) -> None:
        """Work out `after` now, and tell how far that has come."""
        if "after" not in vars(self):
            vars(self)["after"] = self._calibrate_all(progress)

    def _calibrate_all(self, progress: Progress) -> Floats:
        rows = self.table.rows
        logits = np.empty(self.scores.logit.shape)
        for begin in range(0, rows, CALIBRATED):
            end = min(begin + CALIBRATED, rows)
            part = between(progress, begin / rows, end / rows)
            logits[begin:end] = self._calibrate(np.arange(begin, end), part)
        return logits

    def _calibrate(self, rows: Ints, progress: Progress = silent) -> Floats:
        """Return the calibrated logits of some rows: many trees take their time with each."""
        if self.calibrated is not None:
            return self.calibrated[rows]
        scores = self.scores.logit[rows]
        if self.choice is not None and not self.classes:
            return self.choice.scheme.logit_of(rows, scores, self.table.X, progress)
        return self.calibrator.predict_logit(scores, self.leaf[rows])

    def _one_map(self, logs: Floats) -> Floats:
        """Calibrate log-probabilities of test rows by one map for all rows."""
        if self.choice is not None:
            return self.choice.one_map.logit_of(self.split.test, logs, self.table.X)
        if isinstance(self.calibrator, ClassCalibrator):
            return self.calibrator.pooled_.logits(logs)
        raise TypeError("two classes are evaluated by their cells")

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the scores and the maps, in sentences."""
        scores = self.scores
        if isinstance(self.calibrator, ClassCalibrator):
            return (scores.how, *self._class_notes(), maps_in_words(self.calibrator, self.divided))
        counted = (
            (scores.excluded, "have no finite score and take no part"),
            (scores.clipped, "have a probability of 0 or 1, pulled in by 1e-7"),
        )
        told = tuple(f"{n:,} of {scores.logit.size:,} rows {what}." for n, what in counted if n)
        drawn = None if self.choice is None else sample_note(self.table, self.split)
        return (scores.how, *told, *([drawn] if drawn else []), *self.calibrator.notes_)

    def _class_notes(self) -> list[str]:
        scores = self.scores
        told = [f"The model's outputs stand for {', '.join(self.classes)}, in this order."]
        if scores.excluded:
            told.append(f"{scores.excluded:,} rows have no finite scores and take no part.")
        if scores.clipped:
            told.append(f"{scores.clipped:,} probabilities below 1e-7 were pulled up to it.")
        if self.choice is not None and self.choice.uncounted:
            few = ", ".join(self.classes[each] for each in self.choice.uncounted)
            told.append(f"With too few rows for their AUC to count in the choice: {few}.")
        return told

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes, or how it is computed."""
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        chosen = None if self.choice is None else self.choice.digest
        exact = self.cells is None or self.cells.exact
        return text_digest(repr((*parts, exact, chosen)))

    def view(self, number: int, min_rows: int | None = None) -> "Run":
        """Return the run as one of several classes against all others sees it.

        The leaf maps of the view are Platt's on the class alone, which tell what its scores
        deserve; the calibrated logit is that of the maps of all classes.

        Parameters
        ----------
        number : int
            Which class.
        min_rows : int, optional
            Fewest calibration rows for one of these leaf maps; default: that of the settings.
        """
        settings = self.settings
        if min_rows is not None:
            settings = replace(settings, min_rows=min_rows)
        table, scores, rows = self.table.view(number), self.scores.view(number), self.split.train
        partition = self.partition.counting(
            table.X.iloc[rows], table.y[rows], table.weight_of(rows)
        )
        leaves = [each.id for each in partition.leaves]
        cells = role_cells(table, scores, self.split, self.leaf, leaves, table.rows)
        maps = LeafCalibrator(min_rows=settings.min_rows).fit_cells(cells.calibration, leaves)
        parts = self.split, partition, self.leaf, cells, maps
        return Run(table, scores, settings, *parts, one_against_rest(self.after, number))


def maps_in_words(calibrator: ClassCalibrator, divided: bool) -> str:
    """Say whether leaves have maps of their own, and how strongly these are shrunk."""
    if calibrator.pooled_.is_identity:
        return "No map is fitted: the model is left as it is."
    if not divided:
        return "One map for all rows: no leaf has its own."
    if calibrator.shrinkage_ == float("inf"):
        return "All leaves have the pooled map: on rows left out, maps of their own lost."
    return f"Shrinkage towards the pooled map: {calibrator.shrinkage_:g}."


def refuse_role_columns(partition: Partition, table: Table) -> None:
    """Refuse a loaded partition that asks for the label, the split or the score."""
    roles = table.roles
    for feature in partition.features:
        if feature.name in (roles.label, roles.split, roles.score, *roles.class_scores):
            raise PartitionError(
                f"The partition splits on '{feature.name}', which is the label, the split or the "
                "score of this table.",
                "A partition may use features only.",
                "Load a partition that was made for this table, or grow a tree.",
            )


def require_scored_classes(table: Table, scores: Scores, split: Split) -> None:
    """Refuse calibration or test rows of which too few have a finite score."""
    needed = "Several classes of" if table.classes else "Positive and negative"
    for role in ("calibration", "test"):
        rows = split.of(role)
        if np.unique(table.y[rows]).size < 2:
            raise ScoreError(
                f"Too few {role} rows have a finite score: of the {rows.size:,} that are left, "
                "none or only one class.",
                f"{needed} {role} rows with a score are needed; "
                f"there is none for {row_count(scores.excluded)} of the table.",
                "Fill the missing scores, or divide the rows otherwise.",
            )


def require_weight(table: Table, split: Split) -> None:
    """Refuse weights that leave less than two classes of some role with any."""
    if table.weight is None:
        return
    for role in NEEDED_ROLES:
        rows = split.of(role)
        weighted = set(np.unique(table.y[rows[table.weight[rows] > 0]]).tolist())
        if len(weighted) > 1:
            continue
        remedy = f"Check the weight column '{table.roles.weight}', or the split."
        if table.classes:
            raise SplitError(
                f"The weight is 0 for all {role} rows but those of one class, or for all.",
                f"Several classes need some weight among the {role} rows.",
                remedy,
            )
        kind = "positive" if 0 in weighted else "negative"
        raise SplitError(
            f"All {kind} {role} rows have the weight 0.",
            f"Both classes need some weight among the {role} rows.",
            remedy,
        )


DEFAULTS = Settings()
Tell = Callable[[tuple[Finding, ...]], object]


@dataclass(frozen=True)
class FirstPass:
    """What is kept of the rows once they have their roles and their leaves.

    Parameters
    ----------
    table, scores
        The rows.
    split : Split
        The rows of each role whose scores are finite.
    leaf : array of int
        Leaf of every row of the table.
    leaves : tuple of int
        Ids of all leaves.
    cells : RoleCells or None
        The scores of each role; None with more than two classes, whose rows stay rows.
    """

    table: Table
    scores: Scores
    split: Split
    leaf: Ints
    leaves: tuple[int, ...]
    cells: RoleCells | None


def run(
    table: Table,
    scores: Scores | Callable[[Progress], Scores],
    settings: Settings = DEFAULTS,
    partition: Partition | None = None,
    progress: Progress = silent,
    tell: Tell = lambda _: None,
) -> Run:
    """Carry out what the settings ask for, for any number of classes.

    Divide the rows and look the table over, leave out rows without a score, partition,
    calibrate in every leaf, evaluate. All numbers are computed on all rows, at any size.

    Parameters
    ----------
    table : Table
        Rows whose columns have their roles, see `make_table`.
    scores : Scores or callable
        The scores of every row of the table, see `scores_from_column` and
        `scores_from_columns`; or what waits for those of a model that is running: meanwhile,
        trees that need no scores grow.
    settings : Settings, optional
        How to divide and calibrate the rows; by default the paper's Algorithm 1.
        `Settings(partition="auto")` lets hetcal choose, as the command line does.
    partition : Partition, optional
        Takes the place of the one that the settings ask for.
    progress : callable, optional
        Is told how far the work has come, a share and a text; what it raises ends the run.
    tell : callable, optional
        Is given the findings about table, split and scores, before anything is fitted; where a
        model is running, those about the scores when it has ended.

    Returns
    -------
    Run
        `evaluation` has the test rows before and after, and the lift; `verdict` says it in
        words. `after` is the calibrated logit of every row of the table, or its calibrated
        log-probabilities of more than two classes; `partition`, `calibrator` and `choice` are
        what was fitted, and `artifact_bytes` saves it all.

    Raises
    ------
    HetcalError
        When the rows cannot be divided, scored or calibrated.
    """
    split, choice, growth = split_table(table, settings), None, None
    about_table = tuple(check_table(table, split))
    waiting = not isinstance(scores, Scores)
    if waiting:
        tell(about_table)
        growth = start_growth(table, split, settings) if partition is None else None
    try:
        if not isinstance(scores, Scores):
            scores = scores(between(progress, 0.0, SCORED))
            progress = between(progress, SCORED, 1.0)
        scored = scored_rows(table, scores, split)
        about_scores = *check_training(table.roles), *check_scores(table, scores)
        findings = *about_scores, *about_table
        tell(about_scores if waiting else findings)
        if partition is None:
            partition, choice = divide(table, scores, split, settings, progress, growth)
    finally:
        if growth is not None:
            growth.stop()
    leaf = partition.apply(readable(partition, table.frame, scores))
    passed = first_pass(table, scores, scored, partition, leaf, sketched_from=table.rows)
    calibrator = fit_maps(passed, settings, choice)
    finished = finish_run(passed, settings, partition, calibrator, choice)
    return replace(finished, findings=findings).evaluated()


def divide(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    progress: Progress = silent,
    growth: Growth | None = None,
) -> tuple[Partition, Choice | None]:
    """Grow the partition that the settings ask for, or choose it together with its maps."""
    if settings.partition not in ENSEMBLES:
        return grow_partition(table, split, settings, scores), None
    require_ranking(scores)
    if table.classes:  # the tree is shown, whether or not its leaves get maps
        tree = grow_partition(table, split, settings, scores, between(progress, 0.0, 0.2))
        choosing = between(progress, 0.2, 1.0)
        return tree, fit_ensemble(table, scores, split, settings, choosing, tree)
    choice = fit_ensemble(table, scores, split, settings, progress, growth=growth)
    return choice.scheme.partition or grow_partition(table, split, settings, scores), choice


def readable(partition: Partition, frame: pd.DataFrame, scores: Scores | None) -> pd.DataFrame:
    """Return the columns that the partition reads: those of the frame, or units of a layer."""
    if scores is not None and scores.activations is not None:
        units = scores.activations.frame
        if all(each.name in units for each in partition.features):
            return units
    return frame


def scored_rows(table: Table, scores: Scores, split: Split) -> Split:
    """Leave out the rows without finite scores; enough must be left in every role."""
    require_ranking(scores)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    return split


def first_pass(
    table: Table,
    scores: Scores,
    split: Split,
    partition: Partition,
    leaf: Ints,
    sketched_from: int = SKETCHED_FROM,
    progress: Progress = silent,
) -> FirstPass:
    """Turn rows of two classes into cells, sketched in larger tables."""
    refuse_role_columns(partition, table)
    split = scored_rows(table, scores, split)
    leaves, cells = tuple(each.id for each in partition.leaves), None
    if not table.classes:
        cells = role_cells(table, scores, split, leaf, leaves, sketched_from, progress)
    return FirstPass(table, scores, split, leaf, leaves, cells)


def fit_maps(
    passed: FirstPass, settings: Settings, choice: Choice | None = None
) -> LeafCalibrator | ClassCalibrator:
    """Fit the map of every leaf on the calibration rows, unless maps of classes were chosen."""
    if passed.cells is not None:
        return _fit_leaf_maps(passed, passed.cells, settings)
    if choice is not None:
        return class_calibrator(choice.scheme, len(passed.table.classes), passed.leaves)
    table, rows = passed.table, passed.split.calibration
    calibrator = ClassCalibrator(class_method(settings), random_state=settings.seed)
    parts = passed.scores.logit[rows], table.y[rows], passed.leaf[rows], table.weight_of(rows)
    return calibrator.fit(*parts, passed.leaves, groups=table.group(rows))


def _fit_leaf_maps(passed: FirstPass, cells: RoleCells, settings: Settings) -> LeafCalibrator:
    calibrator = LeafCalibrator(
        method=settings.calibrator,
        shrinkage=settings.shrinkage,
        min_rows=settings.min_rows,
        random_state=settings.seed,
    )
    parts = passed.table, passed.scores, passed.split.calibration, passed.leaf
    rows = None if cells.exact else row_cells(*parts)
    folds = grouped_rows(*parts, settings.seed) if settings.shrinkage == "cv" else None
    return calibrator.fit_cells(cells.calibration, passed.leaves, rows, folds)


def class_method(settings: Settings) -> ClassMethod:
    """Return the map of classes that the settings ask for; vector scaling by default."""
    named = [each for each in CLASS_CALIBRATORS if each == settings.calibrator]
    return named[0] if named else "vector"


def finish_run(
    passed: FirstPass,
    settings: Settings,
    partition: Partition,
    calibrator: LeafCalibrator | ClassCalibrator,
    choice: Choice | None = None,
) -> Run:
    """Put the parts of a run together; the maps of a scheme that has one per leaf are shown."""
    if choice is not None and isinstance(calibrator, LeafCalibrator):
        calibrator = with_scheme(calibrator, choice.scheme, partition)
    parts = passed.split, partition, passed.leaf, passed.cells, calibrator
    return Run(passed.table, passed.scores, settings, *parts, choice=choice)


def split_table(table: Table, settings: Settings) -> Split:
    """Divide the rows by the split column, or else by seeded fractions."""
    roles = table.roles
    if roles.split is not None:
        split = split_by_column(table.frame[roles.split])
    else:
        group = None if roles.group is None else table.frame[roles.group]
        split = split_by_fraction(table.y, settings.fractions, settings.seed, group)
    if settings.partition in READ_SCORES:
        split = lend_rows(split, table.y, settings.seed, table.group(split.calibration))
    require_both_classes(split, table.y)
    require_weight(table, split)
    return split


def usable_rows(split: Split, usable: Bools) -> Split:
    """Leave the rows without a finite score out of every role."""
    if usable.all():  # millions of row numbers are not copied for nothing
        return split
    return Split(*(rows[usable[rows]] for rows in _roles_of(split)))


def _roles_of(split: Split) -> Iterable[Ints]:
    return split.train, split.validation, split.calibration, split.test
