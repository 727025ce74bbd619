"""Algorithm 1 from table to result, and the finished run that pages show and artifacts save."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Ints
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.class_map import count_numbers as numbers_of_class_map
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import count_numbers
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import computed_on
from hetcal.choices import CLASS_CALIBRATORS, ClassMethod, Kind
from hetcal.data.checks import Finding, check_scores, check_table, check_training, check_validation
from hetcal.data.columns import row_count
from hetcal.data.scores import Scores, require_ranking
from hetcal.data.splits import (
    NEEDED_ROLES,
    ROLES,
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
    split_by_time,
)
from hetcal.data.table import Table, require_features, time_numbers
from hetcal.digests import text_digest
from hetcal.errors import PartitionError, ScoreError, SplitError
from hetcal.metrics.classes import one_against_rest
from hetcal.metrics.curves import OperatingPoint
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.results.curves import points_of_rate
from hetcal.results.evaluation import (
    Comparison,
    Controls,
    Evaluation,
    class_rates,
    evaluate,
    evaluate_classes,
    mean_probabilities,
    measured_ladder,
    score_four_schemes,
)
from hetcal.results.leaf_tests import calibrated_p_values
from hetcal.results.measures import measure_change
from hetcal.results.words import verdict
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
from hetcal.schemes.rows import constant_scores
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
        Calibrated logit of every row, where it is given; every row is then a cell.
    choice : Choice or None
        The scheme of many partitions, or the one that was chosen among all, in place of the
        leaf maps; every row is then a cell.
    findings : tuple of Finding
        Warnings and notes about the table, its split and its scores.
    given_controls : Controls or None
        What the test rows would get if the model did not know them, where it is given.
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
    given_controls: Controls | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label in the order of the scores, where there are more than two."""
        return self.table.classes

    @property
    def role_cells(self) -> RoleCells:
        """The scores of each role, for two classes."""
        if self.cells is None:
            raise TypeError("more than two classes are viewed one by one: see `view`")
        return self.cells

    @property
    def leaf_maps(self) -> LeafCalibrator:
        """The maps of the leaves, for two classes."""
        if isinstance(self.calibrator, ClassCalibrator):
            raise TypeError("more than two classes are viewed one by one: see `view`")
        return self.calibrator

    @cached_property
    def comparison(self) -> Comparison:
        """The test cells with the logits of the schemes that are compared, for two classes."""
        cells = self.role_cells
        compared = score_four_schemes(cells.test, cells.calibration, self.leaf_maps)
        if self.calibrated is None and self.choice is None:
            return compared
        rows, table, controls = self.split.test, self.table, self.controls
        about_rows = table.y[rows], self.leaf[rows], table.weight_of(rows)
        logits = self.test_logits, controls.without, controls.centred
        after, without, centred = (Cells.of_rows(each, *about_rows) for each in logits)
        return replace(compared, after=after, without=without, centred=centred)

    @cached_property
    def test_logits(self) -> Floats:
        """Calibrated logits of the test rows."""
        return self.after_of(self.split.test)

    @cached_property
    def controls(self) -> Controls:
        """What the test rows would get if the model did not know them."""
        if self.given_controls is not None:
            return self.given_controls
        rows, table = self.split.test, self.table
        scores, leaf = self.scores.logit[rows], self.leaf[rows]
        mean = np.average(scores, axis=0, weights=table.weight_of(rows))
        mean = np.broadcast_to(mean, scores.shape)
        if self.choice is not None:
            without = self.choice.without.logit_of(rows, constant_scores(scores), table.X)
            return Controls(without, self.choice.scheme.logit_of(rows, mean, table.X))
        fitted = self.split.calibration
        known = table.y[fitted], self.leaf[fitted], table.weight_of(fitted)
        without = class_rates(known, leaf, len(self.classes))
        return Controls(without, self.calibrator.predict_logit(mean, leaf))

    @cached_property
    def evaluation(self) -> Evaluation:
        """The metrics of the test rows before and after calibration, and the lift."""
        rows, table = self.split.test, self.table
        if not self.classes:
            leaves = [each.leaf for each in self.leaf_maps.maps_]
            return evaluate(self.comparison, leaves, groups_of(table, rows))
        before = self.scores.logit[rows]
        logs = before, self._one_map(before), self.after[rows]
        weight, group = table.weight_of(rows), table.group(rows)
        return evaluate_classes(self.classes, table.y[rows], logs, self.controls, weight, group)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Every measure of the test rows with its intervals, for two classes.

        Columns as in `hetcal.results.measures.measure_change`.
        """
        compared, group = self.comparison, groups_of(self.table, self.split.test)
        return measure_change(compared.before, compared.after, self.evaluation, group)

    @cached_property
    def p_after(self) -> Floats:
        """P-values of calibrated probabilities after: of all rows, then of each leaf."""
        leaves = [each.id for each in self.partition.leaves]
        return calibrated_p_values(self.comparison.after, leaves)

    @property
    def scheme_name(self) -> str:
        """The rung of the ladder that calibrates, or the partition whose leaves have maps."""
        return self.settings.partition if self.choice is None else self.choice.chosen

    @property
    def kind(self) -> Kind:
        """What is done to the score."""
        return "calibration" if self.choice is None else self.choice.kind

    @property
    def numbers(self) -> int:
        """How many numbers decide."""
        if self.choice is not None:
            return self.choice.scheme.numbers
        if isinstance(self.calibrator, ClassCalibrator):
            one = numbers_of_class_map(self.calibrator.method, len(self.classes))
            return one * len(self.calibrator.maps_)
        return sum(count_numbers(each.shape) for each in self.calibrator.maps_)

    @property
    def ladder(self) -> pd.DataFrame:
        """The schemes that were compared; columns as in `candidate_table`.

        By cross-fitting where a scheme was chosen, else the model and the leaf maps on test rows.
        """
        if self.choice is not None:
            return self.choice.candidates
        return measured_ladder(
            self.evaluation, self.scheme_name, "a map in every leaf", self.numbers
        )

    @property
    def verdict(self) -> str:
        """What to do with the model, in sentences, see `hetcal.results.words.verdict`."""
        ladder = None if self.choice is None else self.choice.candidates
        one_map = bool(self.classes) and not self.divided
        return verdict(self.evaluation, self.kind, ladder, self.findings, one_map=one_map)

    def mean_probabilities(self) -> pd.DataFrame:
        """Compare mean probabilities with rates role by role, for two classes.

        Columns as in `hetcal.results.evaluation.mean_probabilities`.
        """
        parts = [self.split.of(role) for role in ROLES]
        logits = [(self.scores.logit[rows], self.after[rows]) for rows in parts]
        weights = [self.table.weight_of(rows) for rows in parts]
        return mean_probabilities(ROLES, [self.table.y[rows] for rows in parts], logits, weights)

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.comparison, rate)

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate; a scheme of many trees takes their place."""
        return self.choice is None or maps_apply(self.choice.scheme, self.partition)

    @property
    def divided(self) -> bool:
        """Whether leaves have maps of their own."""
        return self.choice is None or self.choice.divided

    @property
    def computed_on(self) -> str:
        """Whether the numbers come from all rows or from a sketch, in a sentence."""
        return computed_on(self.evaluation.sketched)

    @property
    def after(self) -> Floats:
        """Calibrated logit, or log-probabilities, of every row of the table."""
        return self.complete(silent)

    def complete(self, progress: Progress) -> Floats:
        """Compute `after`, the first time, and report progress."""
        if "_after" not in vars(self):
            rows, logits = self.table.rows, np.empty(self.scores.logit.shape)
            for begin in range(0, rows, CALIBRATED):
                end = min(begin + CALIBRATED, rows)
                part = between(progress, begin / rows, end / rows)
                logits[begin:end] = self.after_of(np.arange(begin, end), part)
            vars(self)["_after"] = logits
        return vars(self)["_after"]

    def after_of(self, rows: Ints, progress: Progress = silent) -> Floats:
        """Return the calibrated logits of some rows of the table."""
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
        scores, maps, notes = self.scores, self.calibrator, []
        if self.classes:
            notes.append(f"The model's outputs are, in this order: {', '.join(self.classes)}.")
        if scores.excluded:
            rows = f"{scores.excluded:,} of {len(scores.logit):,} rows"
            notes.append(f"{rows} have no finite score and are left out.")
        if scores.clipped:
            end = "0" if self.classes else "0 or 1"
            notes.append(f"Probabilities within 1e-7 of {end} were clipped: {scores.clipped:,}.")
        if self.choice is not None and self.choice.uncounted:
            few = ", ".join(self.classes[each] for each in self.choice.uncounted)
            notes.append(f"Not used in the choice, because they have too few rows: {few}.")
        if self.choice is not None and not self.classes:
            drawn = sample_note(self.table, self.split, self.settings)
            notes += [] if drawn is None else [drawn]
        if self.partition.edited:
            notes.append("The tree was edited by hand.")
        several = isinstance(maps, ClassCalibrator)
        about_maps = [maps_in_words(maps, self.divided)] if several else maps.notes_
        return (scores.how, *notes, *about_maps)

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes, or how it is computed."""
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        chosen = None if self.choice is None else self.choice.digest
        exact = self.cells is None or self.cells.exact
        return text_digest(repr((*parts, exact, chosen)))

    def view(self, number: int, min_rows: int | None = None) -> "Run":
        """Return the run for one of several classes against all others.

        Its leaf maps are Platt's on this class alone, with at least `min_rows` calibration rows
        (default: that of the settings); its calibrated logit is that of the maps of all classes.
        """
        settings = self.settings
        if min_rows is not None:
            settings = replace(settings, min_rows=min_rows)
        table, scores, rows = self.table.view(number), self.scores.view(number), self.split.train
        columns = readable(self.partition, table.frame, self.scores).iloc[rows]
        partition = self.partition.counting(columns, table.y[rows], table.weight_of(rows))
        leaves = [each.id for each in partition.leaves]
        cells = role_cells(table, scores, self.split, self.leaf, leaves, table.rows)
        maps = LeafCalibrator(min_rows=settings.min_rows).fit_cells(cells.calibration, leaves)
        parts = self.split, partition, self.leaf, cells, maps
        controls = Controls(
            one_against_rest(self.controls.without, number),
            one_against_rest(self.controls.centred, number),
        )
        after = one_against_rest(self.after, number)
        return Run(table, scores, settings, *parts, after, given_controls=controls)


def maps_in_words(calibrator: ClassCalibrator, divided: bool) -> str:
    """Say whether leaves have maps of their own, and how strongly these are shrunk."""
    if calibrator.pooled_.is_identity:
        return "No map is fitted: the model is left as it is."
    if not divided:
        return "One map for all rows: no leaf has its own."
    if calibrator.shrinkage_ == float("inf"):
        return (
            "All leaves have the pooled map: separate maps did not lower the cross-validated "
            "log-loss."
        )
    return f"Shrinkage towards the pooled map: {calibrator.shrinkage_:g}."


def refuse_role_columns(partition: Partition, table: Table) -> None:
    """Refuse a loaded partition that splits on the label, the split or the score."""
    roles = table.roles
    for feature in partition.features:
        if feature.name in (roles.label, roles.split, roles.score, *roles.class_scores):
            raise PartitionError(
                f"The partition splits on '{feature.name}', which is the label, the split or the "
                "score of this table.",
                "A partition may use features only.",
                "Load a partition that was made for this table, or grow a tree.",
            )


def require_weight(table: Table, split: Split) -> None:
    """Refuse weights that are 0 for all classes of a role but one."""
    if table.weight is None:
        return
    names = table.classes or ("negative", "positive")
    for role in NEEDED_ROLES:
        rows = split.of(role)
        weighted = np.unique(table.y[rows[table.weight[rows] > 0]])
        if weighted.size < 2:
            found = f"only the class '{names[weighted[0]]}' has" if weighted.size else "none has"
            raise SplitError(
                f"Of the classes of the {role} rows, {found} weights above 0.",
                f"At least two classes of {role} rows need some weight.",
                f"Check the weight column '{table.roles.weight}', or the split.",
            )


DEFAULTS = Settings()
Tell = Callable[[tuple[Finding, ...]], object]


@dataclass(frozen=True)
class FirstPass:
    """The rows with their roles and their leaves."""

    table: Table
    scores: Scores
    split: Split  # the rows of each role whose scores are finite
    leaf: Ints  # of every row of the table
    leaves: tuple[int, ...]
    cells: RoleCells | None  # None with more than two classes, whose rows stay rows


def run(
    table: Table,
    scores: Scores | Callable[[Progress], Scores],
    settings: Settings = DEFAULTS,
    partition: Partition | None = None,
    progress: Progress = silent,
    tell: Tell = lambda _: None,
    choice: Choice | None = None,
) -> Run:
    """Calibrate the scores of a table, for any number of classes.

    Split the rows, leave out those without a score, check the table, partition, calibrate
    in every leaf, evaluate. All numbers are computed on all rows, at any size.

    Parameters
    ----------
    table : Table
        Rows whose columns have their roles, see `make_table`.
    scores : Scores or callable
        The scores of every row of the table, see `scores_from_column` and
        `scores_from_columns`; or what waits for those of a model that is running: meanwhile,
        trees that need no scores grow.
    settings : Settings, optional
        How to split and calibrate the rows; by default the paper's Algorithm 1.
        `Settings(partition="auto")` lets hetcal choose, as the command line does.
    partition : Partition, optional
        Used in place of the one that the settings describe.
    progress : callable, optional
        Called with the share that is done and a text; what it raises ends the run.
    tell : callable, optional
        Called with the findings about table, split and scores, before anything is fitted on
        them; twice where a model is still running: first with those about the table.
    choice : Choice, optional
        The scheme that the settings ask for, where it was found before.

    Returns
    -------
    Run
        `evaluation` has the metrics of the test rows before and after, the lift, and what the
        model adds to the same scheme without it; `verdict` says it in words. `after` is the
        calibrated logit of every row of the table, or its calibrated log-probabilities of more
        than two classes; `partition`, `calibrator` and `choice` are what was fitted, and
        `artifact_bytes` saves it all.

    Raises
    ------
    HetcalError
        When the rows cannot be split, scored or calibrated.
    """
    if partition is None and settings.partition not in ("layer", "columns"):
        require_features(table.roles)
    split, growth = split_table(table, settings), None
    about_table, waiting = tuple(check_table(table, split)), not isinstance(scores, Scores)
    if waiting:
        tell(about_table)
        growth = start_growth(table, split, settings) if partition is None else None
    try:
        if not isinstance(scores, Scores):
            scores = scores(between(progress, 0.0, SCORED))
            progress = between(progress, SCORED, 1.0)
        scored = scored_rows(table, scores, split)
        about_scores = *check_scores(table, scores, split), *check_training(table.roles)
        if partition is None and settings.reuses_validation:
            about_scores = *about_scores, *check_validation(table, scores, split)
        findings = *about_scores, *about_table
        tell(about_scores if waiting else findings)
        if partition is None:
            partition, choice = divide(table, scores, split, settings, progress, growth, choice)
    finally:
        if growth is not None:
            growth.stop()
    leaf = partition.apply(readable(partition, table.frame, scores))
    passed = first_pass(table, scores, scored, partition, leaf, sketched_from=table.rows)
    calibrator = fit_maps(passed, settings, choice)
    finished = replace(
        finish_run(passed, settings, partition, calibrator, choice), findings=findings
    )
    _ = finished.evaluation  # computed now, so that errors are raised here
    return finished


def divide(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    progress: Progress = silent,
    growth: Growth | None = None,
    choice: Choice | None = None,
) -> tuple[Partition, Choice | None]:
    """Grow the partition that the settings name, or choose it together with its maps.

    A `choice` that was made before is used.
    """
    if settings.partition not in ENSEMBLES:
        return grow_partition(table, split, settings, scores), None
    require_ranking(scores)
    if table.classes:  # the tree is shown, whether or not its leaves get maps
        tree = grow_partition(table, split, settings, scores, between(progress, 0.0, 0.2))
        choosing = between(progress, 0.2, 1.0)
        return tree, choice or fit_ensemble(table, scores, split, settings, choosing, tree)
    choice = choice or fit_ensemble(table, scores, split, settings, progress, growth=growth)
    return choice.scheme.partition or grow_partition(table, split, settings, scores), choice


def readable(partition: Partition, frame: pd.DataFrame, scores: Scores | None) -> pd.DataFrame:
    """Return the columns that the partition reads: those of the frame, or units of a layer."""
    if scores is not None and scores.activations is not None:
        units = scores.activations.frame
        if all(each.name in units for each in partition.features):
            return units
    return frame


def scored_rows(table: Table, scores: Scores, split: Split) -> Split:
    """Leave out the rows without finite scores; several classes must be left in every role."""
    require_ranking(scores)
    split = usable_rows(split, scores.usable)
    for role in ("calibration", "test"):
        rows = split.of(role)
        if np.unique(table.y[rows]).size < 2:
            raise ScoreError(
                f"Too few {role} rows have a finite score: of the {rows.size:,} that are left, "
                "none or only one class.",
                f"At least two classes of {role} rows with a score are needed; "
                f"{row_count(scores.excluded)} of the table have none.",
                "Fill the missing scores, or split the rows otherwise.",
            )
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
    passed: FirstPass,
    settings: Settings,
    choice: Choice | None = None,
    progress: Progress = silent,
) -> LeafCalibrator | ClassCalibrator:
    """Fit the map of every leaf on the calibration rows, unless maps of classes were chosen."""
    progress(0.0, "Fitting the map of every leaf")
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
    """Return the map of classes that the settings name; vector scaling by default."""
    return next((each for each in CLASS_CALIBRATORS if each == settings.calibrator), "vector")


def finish_run(
    passed: FirstPass,
    settings: Settings,
    partition: Partition,
    calibrator: LeafCalibrator | ClassCalibrator,
    choice: Choice | None = None,
) -> Run:
    """Put the parts of a run together, with the maps of a scheme that has one per leaf."""
    if choice is not None and isinstance(calibrator, LeafCalibrator):
        calibrator = with_scheme(calibrator, choice.scheme, partition)
    parts = passed.split, partition, passed.leaf, passed.cells, calibrator
    return Run(passed.table, passed.scores, settings, *parts, choice=choice)


def split_table(table: Table, settings: Settings) -> Split:
    """Split the rows by the split column, or else by fractions: by time, or at random."""
    roles = table.roles
    if roles.split is not None:
        split = split_by_column(table.frame[roles.split])
    elif roles.time is not None:
        split = split_by_time(time_numbers(table.frame[roles.time]), settings.fractions)
    else:
        groups = None if roles.group is None else table.frame[roles.group]
        split = split_by_fraction(table.y, settings.fractions, settings.seed, groups)
    if settings.partition in READ_SCORES:
        group = table.group(split.calibration)
        used = settings.use_validation
        split = lend_rows(split, table.y, settings.seed, group, use_validation=used)
    require_both_classes(split, table.y)
    require_weight(table, split)
    return split


def usable_rows(split: Split, usable: Bools) -> Split:
    """Leave the rows without a finite score out of every role."""
    if usable.all():  # millions of row numbers are not copied for nothing
        return split
    of_roles = (split.of(role) for role in ROLES)
    return Split(*(rows[usable[rows]] for rows in of_roles))
