"""The recommended scheme: candidates compared by cross-fitting, the simplest good one kept."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from hetcal.choices import Kind, optional_name, plain_name
from hetcal.errors import CalibrationError, did_you_mean
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.schemes.candidates import (
    IDENTITY,
    POOLED,
    Candidate,
    Growth,
    GrowthSettings,
    boosted_candidate,
    class_candidates,
    label_tree,
    named_candidate,
)
from hetcal.schemes.cross_fitting import (
    CrossFit,
    Folds,
    Gain,
    cross_fit,
    divide_rows,
    gain_between,
    loss_gain,
    simplest_near,
)
from hetcal.schemes.rows import SchemeRows, joined, sampled
from hetcal.schemes.scheme import Scheme

FOLDS = 5
TREES_GROWN, TREES_TRIED = 0.15, 0.5  # shares of the work until those of trees are evaluated
TERMS, STACKED = 0.25, 0.17  # shares of fitting curves and boosted trees, which begins meanwhile
GROWN = TREES_TRIED + TERMS + STACKED
TRIED = 0.98  # share of the work until all candidates are evaluated
ALLOWED: tuple[Kind, ...] = ("none", "calibration", "correction")  # what `auto` may choose
MAX_TRAINING = 100_000
MAX_HELD = 40_000
MAX_CELLS, FEWEST_HELD = 400_000, 10_000  # rows x classes; rows that are used in any case
MOST_EXTREME = 1e150  # the sum of squares of larger scores overflows
DEFAULTS = GrowthSettings()
LEAST_SHOWN = 5e-5  # a smaller lift is written as 0
LADDER_HEADS = ("without the model", "the model adds", "numbers")


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen scheme, and the candidates for it, for any number of classes.

    Parameters
    ----------
    scheme : Scheme
        Fitted on all rows that were given.
    chosen : str
        Name of the candidate.
    why : str
        In one or two sentences.
    candidates : DataFrame
        The ladder, from the simplest rung to the least simple, see `candidate_table`.
    seconds : float
        Time taken.
    measure : str
        What lifts are measured in, `AUC` or `macro AUC`.
    one_map : Scheme
        One map for all rows, the one with the lowest log-loss, for comparison.
    without : Scheme
        The chosen scheme fitted with a constant score: what it does without the model. It is
        applied to the same constant.
    uncounted : tuple of int
        Classes with too few rows for their AUC to count.
    trial : Trial or None
        All candidates, from which another can be taken.
    """

    scheme: Scheme
    chosen: str
    why: str
    candidates: pd.DataFrame
    seconds: float
    measure: str = "AUC"
    one_map: Scheme = field(default_factory=Scheme)
    without: Scheme = field(default_factory=Scheme)
    uncounted: tuple[int, ...] = ()
    trial: "Trial | None" = None

    @property
    def divided(self) -> bool:
        """Whether rows of different leaves have different maps."""
        return self.scheme.divided

    @property
    def kind(self) -> Kind:
        """What the chosen scheme does to the score."""
        kind: Kind = self.candidates.set_index("name").at[self.chosen, "kind"]
        return kind

    @cached_property
    def more(self) -> Gain | None:
        """What the rung with the largest lift gives beyond the one in use, on the same rows."""
        if self.trial is None:
            return None
        used, best = (int(self.candidates[by].argmax()) for by in ("chosen", "lift"))
        return gain_between(self.trial.tried[used], self.trial.tried[best], self.trial.folds)

    def take(self, name: str) -> "Choice":
        """Fit another rung of the ladder in place of the chosen one."""
        names = self.candidates["name"].tolist()
        if self.trial is None or name not in names:
            raise CalibrationError(
                f"There is no rung called '{name}'.",
                f"The ladder has: {', '.join(map(optional_name, names))}.",
                did_you_mean(name, names, "Take one of these."),
            )
        if name == self.chosen:
            return self
        start, number = time.perf_counter(), names.index(name)
        why = requested_reason(name, self.trial.gains[number], self.measure)
        taken = _fitted(self.trial, number, why, start, self.candidates["allowed"].tolist())
        return replace(taken, seconds=self.seconds + taken.seconds)

    def among(self, kinds: Sequence[Kind], *, best: bool = False) -> "Choice":
        """Choose again as `choose_scheme` would with these; nothing is tried a second time."""
        if self.trial is None:
            raise ValueError("what was saved cannot be chosen again")
        start, allowed = time.perf_counter(), _allowed(self.trial, kinds)
        chosen, why = _choose(self.trial, np.flatnonzero(allowed).tolist(), best)
        found = _fitted(self.trial, chosen, why, start, allowed)
        return replace(found, seconds=self.seconds + found.seconds)

    @property
    def digest(self) -> str:
        """Equal for equal schemes."""
        return f"{self.chosen} {self.scheme.digest}"


def choose_scheme(
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None = None,
    *,
    tree: Partition | None = None,
    more: Sequence[Candidate] = (),
    kinds: Sequence[Kind] = ALLOWED,
    best: bool = False,
    settings: GrowthSettings = DEFAULTS,
    progress: Progress = silent,
    growth: Growth | None = None,
) -> Choice:
    """Choose a scheme by cross-fitting on rows that the model was not trained on.

    Trees that read columns and labels only are grown on training rows; curves, pairs and boosted
    trees on the other rows, too, each of which is judged by fits that have not seen it. Whatever
    reads scores is fitted on all but one of five folds of the validation and calibration rows
    and evaluated on that one; rows of one group are never separated, and with times a fold is
    evaluated by fits on earlier rows only. Every candidate is fitted a second time with a constant
    score: that is the scheme without the model. With more than two classes only maps of the score
    are candidates.

    A candidate has to be significantly better than the model as it is: the 95 % interval of its
    lift in AUC lies above 0, and its log-loss is lower by more than two standard errors. Of those
    within one standard error of the best lift the simplest is chosen, which the fewest numbers
    decide. With `best`, one standard error is enough, and the best lift itself is chosen. If there
    is none, one map for all rows is chosen where its log-loss is significantly lower and its AUC
    not significantly lower; else the model is left as it is.

    Parameters
    ----------
    training, calibration, validation : SchemeRows
        Rows by role.
    tree : Partition, optional
        The tree on training rows whose leaves get maps; it is grown if not given.
    more : sequence of Candidate
        Further candidates for two classes, less simple than one tree and simpler than a forest.
    kinds : sequence of Kind
        What may be chosen; candidates of other kinds are evaluated all the same.
    best : bool
        Choose the best lift itself, not the simplest near it.
    settings : GrowthSettings, optional
        Decides folds, samples of large tables, trees and terms.
    progress : callable, optional
        Called with the share of the work that is done; what it raises ends the choice.
    growth : Growth, optional
        Trees that have begun to grow on just these rows.
    """
    start, seed = time.perf_counter(), settings.seed
    rows, folds = _divided(calibration, validation, seed)
    training, held = sampled(training, MAX_TRAINING, seed), folds.held
    if held.classes > 2:
        if tree is None:
            progress(0.0, "Growing a tree")
            tree = label_tree(training)
        trial = try_candidates(class_candidates(held, tree), folds, between(progress, 0.0, TRIED))
        # Maps of classes are compared on a sample and fitted on all rows.
        trial = replace(trial, rows=rows, candidates=tuple(class_candidates(rows, tree)))
    else:
        growth = growth or Growth(training, held, tree, settings)
        try:
            trial = _try_growing(growth, training, more, folds, progress)
        finally:
            growth.stop()
    allowed = _allowed(trial, kinds)
    chosen, why = _choose(trial, np.flatnonzero(allowed).tolist(), best)
    progress(TRIED, f"Fitting: {plain_name(trial.tried[chosen].candidate.name)}")
    return _fitted(trial, chosen, why, start, allowed)


def fit_scheme(
    name: str,
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None = None,
    *,
    settings: GrowthSettings = DEFAULTS,
    progress: Progress = silent,
) -> Choice:
    """Fit the scheme of this name, one of `MANY_TREES`, whether or not it helps.

    Parameters are as in `choose_scheme`. The candidates of the result are the model as it is,
    one map for all rows, and the scheme.
    """
    start, seed = time.perf_counter(), settings.seed
    _, folds = _divided(calibration, validation, seed)
    training = sampled(training, MAX_TRAINING, seed)
    growing = between(progress, 0.0, GROWN)
    candidate = named_candidate(name, training, folds.held, settings, growing)
    candidates = [IDENTITY, POOLED, candidate]
    trial = try_candidates(candidates, folds, between(progress, GROWN, 1.0))
    return _fitted(trial, 2, requested_reason(name, trial.gains[2]), start, [True] * 3)


@dataclass(frozen=True, eq=False)
class Trial:
    """Candidates evaluated on the same rows, the first of which is the identity."""

    folds: Folds
    tried: tuple[CrossFit, ...]  # the simplest first
    without: tuple[CrossFit, ...]  # the same with a constant score
    rows: SchemeRows  # that what is chosen is fitted on
    candidates: tuple[Candidate, ...]  # prepared for these rows

    @cached_property
    def gains(self) -> tuple[Gain, ...]:
        """What each gains in AUC over the model as it is."""
        return tuple(gain_between(self.tried[0], each, self.folds) for each in self.tried)

    @cached_property
    def adds(self) -> tuple[Gain, ...]:
        """What the model adds in AUC to each candidate without it."""
        both = zip(self.without, self.tried, strict=True)
        return tuple(gain_between(*each, self.folds) for each in both)

    @property
    def auc(self) -> float:
        """The AUC of the model as it is, fold mean."""
        return gain_between(self.without[0], self.tried[0], self.folds).auc + 0.5

    @property
    def measure(self) -> str:
        """What a gain is measured in."""
        return "AUC" if self.folds.held.classes == 2 else "macro AUC"

    def auc_gain(self, before: int, after: int) -> tuple[float, float]:
        """Return how much higher the AUC of the second is, and the standard error of that."""
        gain = gain_between(self.tried[before], self.tried[after], self.folds)
        return gain.auc, gain.se

    def loss_fall(self, before: int, after: int) -> tuple[float, float]:
        """Return how much lower the log-loss of the second is, and the standard error of that."""
        return loss_gain(self.tried[before], self.tried[after], self.folds)


def try_candidates(
    candidates: Sequence[Candidate], folds: Folds, progress: Progress = silent
) -> Trial:
    """Cross-fit all candidates; each takes as long as it has strengths to choose from."""
    ends = np.cumsum([len(each.strengths) for each in candidates])
    shares = [0.0, *(ends / ends[-1]).tolist()]
    scores, constant = folds.held.known_scores, folds.held.constant_scores
    tried, without = [], []
    for each, low, high in zip(candidates, shares[:-1], shares[1:], strict=True):
        middle = (low + high) / 2
        tried.append(cross_fit(each, folds, scores, between(progress, low, middle)))
        without.append(cross_fit(each, folds, constant, between(progress, middle, high)))
    return Trial(folds, tuple(tried), tuple(without), folds.held, tuple(candidates))


def _joined(first: Trial, second: Trial) -> Trial:
    tried, without = first.tried + second.tried, first.without + second.without
    candidates = first.candidates + second.candidates
    return Trial(first.folds, tried, without, first.rows, candidates)


def _try_growing(
    growth: Growth,
    training: SchemeRows,
    more: Sequence[Candidate],
    folds: Folds,
    progress: Progress,
) -> Trial:
    """Try the candidates of trees while curves and boosted trees grow, then these."""

    def told(done: float, doing: str) -> None:
        progress(done + TERMS * growth.additive.done + STACKED * growth.stacked.done, doing)

    tree, shrunken, forest = growth.trees.result(between(told, 0.0, TREES_GROWN))

    def try_maps() -> Trial:
        boosted = boosted_candidate(training, folds.held)
        maps = [IDENTITY, POOLED, tree, shrunken, *more, forest, boosted]
        return try_candidates(maps, folds, between(told, TREES_GROWN, TREES_TRIED))

    trial = growth.keep("tried", try_maps)
    curves = growth.additive.result(between(told, TREES_TRIED, TREES_TRIED))
    stacked = growth.stacked.result(between(told, TREES_TRIED, TREES_TRIED))
    others = try_candidates([curves, stacked], folds, between(progress, GROWN, TRIED))
    return _joined(trial, others)


def _divided(
    calibration: SchemeRows, validation: SchemeRows | None, seed: int
) -> tuple[SchemeRows, Folds]:
    """Return the rows that the chosen scheme is fitted on, and those for the comparison.

    Both are the same sample of a large table for two classes. Maps of more classes take little
    time, and are fitted on all rows in the end.
    """
    rows = joined(calibration, validation)
    if rows.classes == 2:
        rows = held = sampled(rows, MAX_HELD, seed)
    else:
        most = min(MAX_HELD, max(FEWEST_HELD, MAX_CELLS // rows.classes))
        rows = held = sampled(rows, len(rows.y), seed)
        if len(rows.y) > most:
            held = sampled(rows, most, seed)
    folds = divide_rows(held, FOLDS, seed)
    farthest = held.known_scores.flat[np.abs(held.known_scores).argmax()]
    if rows.classes == 2 and abs(farthest) > MOST_EXTREME:
        raise CalibrationError(
            f"The calibration rows have scores as extreme as {farthest:.3g}.",
            "A scheme is chosen on scores whose sum of squares is finite.",
            "Leave such scores empty, or choose a partition with other maps.",
        )
    return rows, folds


def _allowed(trial: Trial, kinds: Sequence[Kind]) -> list[bool]:
    return [each.candidate.kind in kinds for each in trial.tried]


def _choose(trial: Trial, allowed: Sequence[int], largest: bool) -> tuple[int, str]:
    """Return the position of what is chosen among those allowed, and why."""
    falls = {i: trial.loss_fall(0, i) for i in allowed}
    better = [i for i, (fall, se) in falls.items() if fall > 2 * se]
    better.sort(key=lambda i: trial.tried[i].numbers)  # the simplest first
    good = [i for i in better if trial.gains[i].low > 0]
    if largest:  # of few rows hardly anything is significant
        likely = [i for i, (fall, se) in falls.items() if fall > se]
        good = [i for i in likely if trial.gains[i].auc > trial.gains[i].se]
    if good:
        best = max(good, key=lambda i: trial.gains[i].auc)
        chosen = best if largest else simplest_near(best, good, trial.auc_gain)
        return chosen, lift_reason(trial, chosen, best)
    kept = [i for i in better if trial.tried[i].candidate.pooled and trial.gains[i].high >= 0]
    best = min(kept, key=lambda i: trial.tried[i].log_loss, default=0)
    chosen = simplest_near(best, kept, trial.loss_fall)
    return chosen, no_lift_reason(trial, chosen, allowed)


def _fitted(trial: Trial, chosen: int, why: str, start: float, allowed: Sequence[bool]) -> Choice:
    """Fit the chosen candidate on all rows, with and without the model, and one map for all."""
    candidates, rows = trial.candidates, trial.rows
    maps = [i for i, each in enumerate(candidates) if each.pooled]
    one_map = min(maps, key=lambda i: trial.tried[i].log_loss)
    scheme, pooled = (
        candidates[i].scheme(rows.known_scores, rows, trial.tried[i].strength)
        for i in (chosen, one_map)
    )
    strength = trial.without[chosen].strength
    without = candidates[chosen].scheme(rows.constant_scores, rows, strength)
    uncounted = set() if rows.classes == 2 else {*range(rows.classes)} - {*trial.folds.counted}
    return Choice(
        scheme,
        candidates[chosen].name,
        why,
        candidate_table(trial, chosen, allowed),
        time.perf_counter() - start,
        trial.measure,
        pooled,
        without,
        tuple(sorted(uncounted)),
        trial,
    )


def lift_reason(trial: Trial, chosen: int, best: int) -> str:
    """Say why a candidate was chosen for its lift; `best` has the largest of the good ones."""
    gains, names = trial.gains, [plain_name(each.candidate.name) for each in trial.tried]
    own = _shown(gains[chosen], trial.measure)
    larger = any(each.auc > gains[best].auc for each in gains)
    largest = "the largest of those that may be chosen" if larger else "the largest"
    if chosen == best:
        return f"The lift of '{names[chosen]}' is {largest}: {own}."
    return (
        f"The lift of '{names[chosen]}' is {own}. Of those that are significantly better "
        f"it is the simplest that falls short of {largest}, {_shown(gains[best], trial.measure)} "
        f"of '{names[best]}', by no more than one standard error of the difference."
    )


def no_lift_reason(trial: Trial, chosen: int, allowed: Sequence[int]) -> str:
    """Say why nothing, or one map for all rows, was chosen; and how large the largest lift is."""
    tried, measure = trial.tried, trial.measure
    candidate = "candidate" if len(allowed) == len(tried) else "candidate that may be chosen"
    said = (
        f"No {candidate} is significantly better in both {measure} and log-loss on rows that it "
        "was not fitted on."
    )
    if chosen:
        said = (
            f"'{plain_name(tried[chosen].candidate.name)}' improves the probabilities: log-loss "
            f"{tried[0].log_loss:.4f} before and {tried[chosen].log_loss:.4f} after. No "
            f"{candidate} is significantly better in {measure}, too."
        )
    best = max((i for i in allowed if i), key=lambda i: trial.gains[i].auc, default=0)
    if trial.gains[best].auc < LEAST_SHOWN:
        return f"{said} None has a higher {measure}."
    largest = f"{_shown(trial.gains[best], measure)}, that of"
    return f"{said} The largest lift is {largest} '{plain_name(tried[best].candidate.name)}'."


def requested_reason(name: str, gain: Gain, measure: str = "AUC") -> str:
    """Say how good a requested scheme is on rows that it was not fitted on."""
    if name == IDENTITY.name:
        return f"'{plain_name(name)}' was requested: the model stays as it is."
    found = "significantly better" if gain.low > 0 else "not significantly better"
    found = "significantly worse" if gain.high < 0 else found
    shown = _shown(gain, measure)
    return f"'{plain_name(name)}' was requested. It is {found} than the model: {shown}."


def candidate_table(trial: Trial, chosen: int, allowed: Sequence[bool]) -> pd.DataFrame:
    """List the rungs of the ladder, the simplest first.

    Returns
    -------
    DataFrame
        `name`, `words` and `kind`; `auc`; `lift` (AUC against the model as it is, by
        cross-fitting; macro AUC for more than two classes) with `se`, `low` and `high`;
        `without` (the lift of the same scheme with a constant score) and `adds` (what the model
        adds to that) with `adds_low`, `adds_high` and `adds_p`; `log_loss`, and `loss_fall` (how
        much lower it is than the model's) with `loss_se`; `strength` (shrinkage; NaN where nothing
        is shrunk), `numbers` (that decide), `seconds` (of growing and cross-fitting), `rows` (that
        it was evaluated on), `allowed` (to be chosen) and `chosen`.
    """
    before, rows = trial.auc, trial.folds.judged.size
    found = []
    for i, (each, gain, adds) in enumerate(zip(trial.tried, trial.gains, trial.adds, strict=True)):
        fall, loss_se = trial.loss_fall(0, i)
        candidate = each.candidate
        found.append(
            {
                "name": candidate.name,
                "words": candidate.words,
                "kind": candidate.kind,
                "auc": before + gain.auc,
                "lift": gain.auc,
                "se": gain.se,
                "low": gain.low,
                "high": gain.high,
                "without": gain.auc - adds.auc,
                "adds": adds.auc,
                "adds_low": adds.low,
                "adds_high": adds.high,
                "adds_p": adds.p,
                "log_loss": each.log_loss,
                "loss_fall": fall,
                "loss_se": loss_se,
                "strength": each.strength,
                "numbers": each.numbers,
                "seconds": candidate.seconds + each.seconds,
                "rows": rows,
                "allowed": allowed[i],
                "chosen": i == chosen,
            }
        )
    return pd.DataFrame(found)


def candidate_lines(choice: Choice) -> str:
    """Write the ladder as a table of text, the simplest first, and what was chosen.

    Lifts are in AUC or macro AUC against the model as it is, by cross-fitting.
    """
    rungs = [("candidate (--take)", "kind", f"{choice.measure} lift, cross-fitted", *LADDER_HEADS)]
    for each in choice.candidates.itertuples():
        lift = f"{each.lift:+.4f} ({each.low:+.4f} to {each.high:+.4f})"
        adds = f"{each.adds:+.4f} ({each.adds_low:+.4f} to {each.adds_high:+.4f})"
        without = f"{each.without:+.4f}"
        name = optional_name(each.name)
        rungs.append((name, each.kind, lift, without, adds, f"{each.numbers:,}"))
    wide = [max(map(len, column)) for column in zip(*rungs, strict=True)]
    marks = [" ", *(">" if chosen else " " for chosen in choice.candidates["chosen"])]
    lines = []
    for mark, (*texts, numbers) in zip(marks, rungs, strict=True):
        cells = [f"{text:{width}}" for text, width in zip(texts, wide, strict=False)]
        lines.append(f"{mark} {'  '.join(cells)}  {numbers:>{wide[-1]}}")
    chosen = choice.candidates[choice.candidates["chosen"]]
    lines += [f"Chosen: {plain_name(each.name)} ({each.words})." for each in chosen.itertuples()]
    return "\n".join(lines)


def _shown(gain: Gain, measure: str = "AUC") -> str:
    return f"{gain.auc:+.4f} {measure} ({gain.low:+.4f} to {gain.high:+.4f})"
