"""The recommended maps of more than two classes, compared by cross-fitting, or none."""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Ints
from hetcal.auto_words import candidate_table, lift_reason, no_lift_reason
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_cross_fitting import ClassCrossFit, ClassFolds, class_candidates
from hetcal.class_map import ClassMap
from hetcal.class_rows import ClassRows
from hetcal.cross_fitting import Gain, draw_folds, loss_gain, simplest_of_best
from hetcal.digests import text_digest
from hetcal.errors import CalibrationError
from hetcal.progress import Progress, silent

FOLDS = 5
MEASURE = "macro AUC"
LEFT = (
    "Leave the model as it is: on rows that it was not fitted on, no candidate is better by more "
    "than chance both in its order and in its log-loss."
)
FEWEST = 20  # rows of a class whose AUC counts, and of all others
MAX_HELD = 40_000
MAX_CELLS, FEWEST_HELD = 400_000, 10_000  # rows x classes; rows that are tried all the same


@dataclass(frozen=True, eq=False)
class ClassChoice:
    """What was chosen, and what it was chosen from.

    Parameters
    ----------
    calibrator : ClassCalibrator
        Fitted on all rows that were given; its leaves have the same map unless a tree was
        chosen.
    pooled : ClassMap
        The map of all rows with the lowest log-loss, for comparison.
    chosen : str
        Name of the candidate.
    divided : bool
        Whether the leaves have maps of their own.
    why : str
        In one or two sentences.
    candidates : DataFrame
        As in `hetcal.auto.Choice`; the lift is that of the macro AUC, and `strength` is NaN
        but for maps of leaves.
    uncounted : tuple of int
        Classes with too few rows for their AUC to count.
    seconds : float
        Time taken.
    """

    calibrator: ClassCalibrator
    pooled: ClassMap
    chosen: str
    divided: bool
    why: str
    candidates: pd.DataFrame
    uncounted: tuple[int, ...]
    seconds: float

    @property
    def digest(self) -> str:
        """Equal for equal maps."""
        return f"{self.chosen} {text_digest(self.calibrator.to_json())}"


def choose_class_maps(
    rows: ClassRows, leaves: tuple[int, ...], *, seed: int = 0, progress: Progress = silent
) -> ClassChoice:
    """Choose maps by cross-fitting on rows that the model was not trained on.

    Every candidate is fitted on all but one of five folds and tried on that one. It has to be
    better than the model as it is by more than chance: the 95 % interval of its lift in macro
    AUC lies above 0, and its log-loss is lower by more than two standard errors, too. What
    only seems to mend the order does not mend the probabilities. Of those within one standard
    error of the best the simplest is chosen. If there is none, one map for all rows is chosen
    where it makes the log-loss better by more than chance, and the order not worse.

    Parameters
    ----------
    rows : ClassRows
        Validation and calibration rows.
    leaves : tuple of int
        Ids of the leaves of a tree that has not seen these rows.
    seed : int, default=0
        Decides folds, and the sample of a large table.
    progress : callable, optional
        Is told how far the work has come; what it raises ends the choice.
    """
    start = time.perf_counter()
    rows = _used(rows)
    tried_on = _sampled(rows, seed)
    fold = draw_folds(tried_on.y, FOLDS, seed, tried_on.group)
    counted = _counted(tried_on, fold)
    folds = ClassFolds(tried_on, fold, leaves, counted)
    candidates, tried = class_candidates(rows.logits.shape[1]), list[ClassCrossFit]()
    for candidate in candidates:
        progress(len(tried) / (len(candidates) + 1), f"Trying: {candidate.name}")
        tried.append(folds.cross_fit(candidate))
    gains = [folds.gain(tried[0], each) for each in tried]
    chosen, why = _choose(tried, gains, folds)
    progress(len(tried) / (len(candidates) + 1), "Fitting the maps of all classes")
    found = tried[chosen]
    pooled = min((each for each in tried if each.candidate.pooled), key=lambda each: each.log_loss)
    return ClassChoice(
        calibrator=found.candidate.calibrator(rows, leaves, found.strength),
        pooled=pooled.candidate.calibrator(rows, (), pooled.strength).pooled_,
        chosen=found.candidate.name,
        divided=chosen > 0 and not found.candidate.pooled,
        why=why,
        candidates=_table(tried, gains, chosen),
        uncounted=tuple(sorted(set(range(rows.logits.shape[1])) - set(counted))),
        seconds=time.perf_counter() - start,
    )


def _choose(tried: list[ClassCrossFit], gains: list[Gain], folds: ClassFolds) -> tuple[int, str]:
    """Return the position of what is chosen, and why."""
    about = folds.rows.weight, folds.rows.group
    falls = [loss_gain(tried[0].losses, each.losses, *about) for each in tried]
    mending = [i for i, (fall, se) in enumerate(falls) if fall > 2 * se]
    clear = [i for i in mending if gains[i].low > 0]
    if clear:
        chosen, best = simplest_of_best(
            clear, gains, lambda i, best: folds.gain(tried[i], tried[best])
        )
        return chosen, lift_reason(tried, gains, chosen, best, MEASURE)
    kept = [i for i in mending if tried[i].candidate.pooled and gains[i].high >= 0]
    if not kept:
        return 0, no_lift_reason(LEFT, tried, gains, MEASURE)
    chosen = _simplest_map(kept, tried, folds)
    said = (
        f"'{tried[chosen].candidate.name}' makes the probabilities better: log-loss "
        f"{tried[0].log_loss:.4f} before and {tried[chosen].log_loss:.4f} after. No candidate is "
        "better by more than chance in its order, too."
    )
    return chosen, no_lift_reason(said, tried, gains, MEASURE)


def _simplest_map(kept: list[int], tried: list[ClassCrossFit], folds: ClassFolds) -> int:
    """Return the simplest of some maps within one standard error of the lowest log-loss."""
    best = min(kept, key=lambda i: tried[i].log_loss)
    for i in kept:
        about = folds.rows.weight, folds.rows.group
        fall, se = loss_gain(tried[i].losses, tried[best].losses, *about)
        if fall <= se:
            return i
    return best


def _table(tried: list[ClassCrossFit], gains: list[Gain], chosen: int) -> pd.DataFrame:
    """List the candidates; only maps of leaves are shrunken."""
    table = candidate_table(tried, gains, chosen)
    return table.assign(strength=table["strength"].where(np.isfinite(table["strength"])))


def _used(rows: ClassRows) -> ClassRows:
    """Leave out rows without weight or without finite scores."""
    use: Bools = np.asarray(np.isfinite(rows.logits).all(axis=1))
    if rows.weight is not None:
        use &= rows.weight > 0
    return rows.of(use)


def _sampled(rows: ClassRows, seed: int) -> ClassRows:
    most = min(MAX_HELD, max(FEWEST_HELD, MAX_CELLS // rows.logits.shape[1]))
    if rows.y.size <= most:
        return rows
    drawn = np.random.default_rng(seed).choice(rows.y.size, most, replace=False)
    return rows.of(np.sort(drawn))


def _counted(rows: ClassRows, fold: Ints) -> tuple[int, ...]:
    """Return the classes with enough rows inside and outside for an AUC in every fold."""
    classes, folds = rows.logits.shape[1], int(fold.max(initial=0)) + 1
    inside = np.bincount(fold * classes + rows.y, minlength=folds * classes).reshape(folds, -1)
    outside = inside.sum(axis=1, keepdims=True) - inside
    often = np.minimum(inside.sum(axis=0), outside.sum(axis=0)) >= FEWEST
    counted = np.flatnonzero(often & (np.minimum(inside, outside) > 0).all(axis=0))
    if not counted.size:
        raise CalibrationError(
            f"Of the {rows.y.size:,} validation and calibration rows with scores, no class has "
            f"{FEWEST} rows or more and leaves as many to the others, in every fold.",
            "Maps are chosen by how well they tell a class from the rest.",
            "Give more calibration rows, or choose the tree of Algorithm 1.",
        )
    return tuple(counted.tolist())
