"""The recommended scheme: candidates compared by cross-fitting, the simplest good one kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from hetcal.errors import CalibrationError
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.schemes.candidates import (
    IDENTITY,
    POOLED,
    Candidate,
    Growth,
    boosted_candidates,
    class_candidates,
    label_tree,
    named_candidate,
    simple_candidates,
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
SIMPLE_GROWN, SIMPLE_TRIED = 0.2, 0.4  # shares of the time until simple candidates are evaluated
GROWN = 0.75  # share of the time until forests and boosted trees are grown
TRIED = 0.98  # share of the time until all candidates are evaluated
MAX_TRAINING = 100_000
MAX_HELD = 40_000
MAX_CELLS, FEWEST_HELD = 400_000, 10_000  # rows x classes; rows that are used in any case
MOST_EXTREME = 1e150  # the sum of squares of larger scores overflows
LEAST_SHOWN = 5e-5  # a smaller lift is written as 0


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
        From the simplest to the least simple, with the columns `name`, `words`, `lift` (AUC
        against the model as it is, by cross-fitting; macro AUC for more than two classes), `se`,
        `low`, `high`, `log_loss`, `strength` (shrinkage; NaN where nothing is shrunk), `rows`
        (that it was evaluated on) and `chosen`.
    seconds : float
        Time taken.
    measure : str
        What lifts are measured in, `AUC` or `macro AUC`.
    one_map : Scheme
        One map for all rows, the one with the lowest log-loss, for comparison.
    uncounted : tuple of int
        Classes with too few rows for their AUC to count.
    """

    scheme: Scheme
    chosen: str
    why: str
    candidates: pd.DataFrame
    seconds: float
    measure: str = "AUC"
    one_map: Scheme = field(default_factory=Scheme)
    uncounted: tuple[int, ...] = ()

    @property
    def divided(self) -> bool:
        """Whether rows of different leaves have different maps."""
        return self.scheme.divided

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
    more: Sequence[Candidate] | Callable[[SchemeRows], Sequence[Candidate]] = (),
    seed: int = 0,
    progress: Progress = silent,
    growth: Growth | None = None,
) -> Choice:
    """Choose a scheme by cross-fitting on rows that the model was not trained on.

    Trees that read columns and labels only are grown on training rows; boosted trees on the
    other rows, too, each of which gets its margin from trees that were not grown on it. Whatever
    reads scores is fitted on all but one of five folds of the validation and calibration rows
    and evaluated on that one; rows of one group are never separated. Forests and boosted trees
    are candidates for two classes only.

    A candidate has to be significantly better than the model as it is: the 95 % interval of its
    lift in AUC lies above 0, and its log-loss is lower by more than two standard errors. Of those
    within one standard error of the best lift the simplest is chosen. If there is none, one map
    for all rows is chosen where its log-loss is significantly lower and its AUC not significantly
    lower; else the model is left as it is.

    Parameters
    ----------
    training, calibration, validation : SchemeRows
        Rows by role.
    tree : Partition, optional
        The tree on training rows whose leaves get maps; it is grown if not given.
    more : sequence of Candidate, or callable
        Further candidates for two classes, simpler than boosted trees and less simple than the
        forest; a callable gets the rows on which candidates are compared.
    seed : int, default=0
        Decides folds, forests and samples of large tables.
    progress : callable, optional
        Called with the share of the work that is done; what it raises ends the choice.
    growth : Growth, optional
        Trees that have begun to grow on just these rows.
    """
    start = time.perf_counter()
    rows, folds = _divided(calibration, validation, seed)
    training, held = sampled(training, MAX_TRAINING, seed), folds.held
    if held.classes > 2:
        if tree is None:
            progress(0.0, "Growing a tree")
            tree = label_tree(training)
        trial = try_candidates(class_candidates(held, tree), folds, between(progress, 0.0, TRIED))
    else:
        growth = growth or Growth(training, held, tree, seed)
        extra = tuple(more(held) if callable(more) else more)
        try:
            trial = _try_growing(growth, extra, folds, progress)
        finally:
            growth.stop()
    candidates = [each.candidate for each in trial.tried]
    chosen, why = _choose(trial)
    progress(TRIED, f"Fitting: {candidates[chosen].name}")
    if rows is not held and tree is not None:
        candidates = class_candidates(rows, tree)
    return _fitted(trial, candidates, rows, chosen, why, start)


def fit_scheme(
    name: str,
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Fit the scheme of this name, `forest` or `boosted`, whether or not it helps.

    Parameters are as in `choose_scheme`. The candidates of the result are the model as it is,
    one map for all rows, and the scheme.
    """
    start = time.perf_counter()
    rows, folds = _divided(calibration, validation, seed)
    training = sampled(training, MAX_TRAINING, seed)
    candidate = named_candidate(name, training, rows, seed, between(progress, 0.0, GROWN))
    candidates = [IDENTITY, POOLED, candidate]
    trial = try_candidates(candidates, folds, between(progress, GROWN, 1.0))
    return _fitted(trial, candidates, rows, 2, requested_reason(name, trial.gains[2]), start)


@dataclass(frozen=True, eq=False)
class Trial:
    """Candidates evaluated on the same rows, the first of which is the identity."""

    folds: Folds
    tried: tuple[CrossFit, ...]  # the simplest first

    @cached_property
    def gains(self) -> tuple[Gain, ...]:
        """What each gains in AUC over the model as it is."""
        return tuple(gain_between(self.tried[0], each, self.folds) for each in self.tried)

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
        return loss_gain(self.tried[before], self.tried[after], self.folds.held)


def try_candidates(
    candidates: Sequence[Candidate], folds: Folds, progress: Progress = silent
) -> Trial:
    """Cross-fit all candidates; each takes as long as it has strengths to choose from."""
    ends = np.cumsum([len(each.strengths) for each in candidates])
    shares = [0.0, *(ends / ends[-1]).tolist()]
    spans = zip(candidates, shares[:-1], shares[1:], strict=True)
    tried = (cross_fit(each, folds, between(progress, *span)) for each, *span in spans)
    return Trial(folds, tuple(tried))


def _try_growing(
    growth: Growth, extra: Sequence[Candidate], folds: Folds, progress: Progress
) -> Trial:
    """Try the simpler candidates for two classes while boosted trees grow, then these."""
    trees = growth.simple.result(between(progress, 0.0, SIMPLE_GROWN))
    simple = [*simple_candidates(trees), *extra]
    first = try_candidates(simple, folds, between(progress, SIMPLE_GROWN, SIMPLE_TRIED))
    boosted = growth.boosted.result(between(progress, SIMPLE_TRIED, GROWN))
    others = boosted_candidates(boosted, trees.forest)
    second = try_candidates(others, folds, between(progress, GROWN, TRIED))
    return Trial(folds, first.tried + second.tried)


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


def _choose(trial: Trial) -> tuple[int, str]:
    """Return the position of what is chosen, and why."""
    falls = [trial.loss_fall(0, i) for i in range(len(trial.tried))]
    better = [i for i, (fall, se) in enumerate(falls) if fall > 2 * se]
    clear = [i for i in better if trial.gains[i].low > 0]
    if clear:
        best = max(clear, key=lambda i: trial.gains[i].auc)
        chosen = simplest_near(best, clear, trial.auc_gain)
        return chosen, lift_reason(trial, chosen, best)
    kept = [i for i in better if trial.tried[i].candidate.pooled and trial.gains[i].high >= 0]
    best = min(kept, key=lambda i: trial.tried[i].log_loss, default=0)
    chosen = simplest_near(best, kept, trial.loss_fall)
    return chosen, no_lift_reason(trial, chosen)


def _fitted(
    trial: Trial,
    candidates: Sequence[Candidate],
    rows: SchemeRows,
    chosen: int,
    why: str,
    start: float,
) -> Choice:
    """Fit the chosen candidate on all rows, and one map for all of them for comparison."""
    maps = [i for i, each in enumerate(candidates) if each.pooled]
    one_map = min(maps, key=lambda i: trial.tried[i].log_loss)
    schemes = [candidates[i].scheme(rows, trial.tried[i].strength) for i in (chosen, one_map)]
    uncounted = set() if rows.classes == 2 else {*range(rows.classes)} - {*trial.folds.counted}
    return Choice(
        schemes[0],
        candidates[chosen].name,
        why,
        candidate_table(trial, chosen),
        time.perf_counter() - start,
        trial.measure,
        schemes[1],
        tuple(sorted(uncounted)),
    )


def lift_reason(trial: Trial, chosen: int, best: int) -> str:
    """Say why a candidate was chosen for its lift; `best` has the largest significant one."""
    gains, names = trial.gains, [each.candidate.name for each in trial.tried]
    own = _shown(gains[chosen], trial.measure)
    if chosen == best:
        return f"The lift of '{names[chosen]}' is the largest: {own}."
    return (
        f"The lift of '{names[chosen]}' is {own}, within one standard error of the largest, "
        f"{_shown(gains[best], trial.measure)} of '{names[best]}', and it is simpler."
    )


def no_lift_reason(trial: Trial, chosen: int) -> str:
    """Say why nothing, or one map for all rows, was chosen; and how large the largest lift is."""
    tried, measure = trial.tried, trial.measure
    said = (
        "Leave the model as it is: on rows that it was not fitted on, no candidate is "
        f"significantly better in both {measure} and log-loss."
    )
    if chosen:
        said = (
            f"'{tried[chosen].candidate.name}' improves the probabilities: log-loss "
            f"{tried[0].log_loss:.4f} before and {tried[chosen].log_loss:.4f} after. No candidate "
            f"is significantly better in {measure}, too."
        )
    best = max(range(1, len(tried)), key=lambda i: trial.gains[i].auc)
    if trial.gains[best].auc < LEAST_SHOWN:
        return f"{said} None has a higher {measure}."
    largest = f"{_shown(trial.gains[best], measure)} ({tried[best].candidate.name})"
    return f"{said} The largest lift is {largest}."


def requested_reason(name: str, gain: Gain) -> str:
    """Say how good a requested scheme is on rows that it was not fitted on."""
    found = "significantly better" if gain.low > 0 else "not significantly better"
    found = "significantly worse" if gain.high < 0 else found
    return f"'{name}' was requested. It is {found} than the model: {_shown(gain)}."


def candidate_table(trial: Trial, chosen: int) -> pd.DataFrame:
    """List the candidates as `Choice` holds them."""
    tried, gains = trial.tried, trial.gains
    return pd.DataFrame(
        {
            "name": [each.candidate.name for each in tried],
            "words": [each.candidate.words for each in tried],
            "lift": [gain.auc for gain in gains],
            "se": [gain.se for gain in gains],
            "low": [gain.low for gain in gains],
            "high": [gain.high for gain in gains],
            "log_loss": [each.log_loss for each in tried],
            "strength": [each.strength for each in tried],
            "rows": [each.losses.size for each in tried],
            "chosen": [i == chosen for i in range(len(tried))],
        }
    )


def candidate_lines(choice: Choice) -> str:
    """Write the candidates as a table of text, the simplest first, and what was chosen."""
    wide = max(map(len, choice.candidates["name"]))
    lines = [f"  {'candidate':{wide}} {choice.measure} lift (95 % interval), cross-fitted"]
    for each in choice.candidates.itertuples():
        mark = ">" if each.chosen else " "
        interval = f"{each.low:+.4f} to {each.high:+.4f}"
        lines.append(f"{mark} {each.name:{wide}} {each.lift:+.4f} ({interval})")
    chosen = choice.candidates[choice.candidates["chosen"]]
    lines += [f"Chosen: {each.name} ({each.words})." for each in chosen.itertuples()]
    return "\n".join(lines)


def _shown(gain: Gain, measure: str = "AUC") -> str:
    return f"{gain.auc:+.4f} {measure} ({gain.low:+.4f} to {gain.high:+.4f})"
