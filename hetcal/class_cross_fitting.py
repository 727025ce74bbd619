"""Try maps of more than two classes on rows that they were not fitted on."""

from dataclasses import dataclass, field

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.class_calibrator import STRENGTHS, ClassCalibrator
from hetcal.class_map import ClassMap, ClassMethod, identity_map
from hetcal.class_metrics import class_placements, macro_lift_of
from hetcal.class_rows import ClassRows, fit_leaf_class_maps, fit_pooled_class_map, mapped_logits
from hetcal.cross_fitting import Gain, mean_gain

KINDS: tuple[tuple[ClassMethod, str, str], ...] = (
    ("temperature", "temperature", "a temperature"),
    ("vector", "vector", "a weight and a bias per class"),
    ("dirichlet", "Dirichlet", "weights from class to class"),
)
ONE_MAP = STRENGTHS[-1:]  # endless shrinkage
MOST_DIRICHLET = 20  # classes: its weights grow with their square, and the time with that


@dataclass(frozen=True)
class ClassCandidate:
    """Maps before they are fitted.

    Parameters
    ----------
    name : str
        For the table.
    words : str
        What they do, for a person.
    method : {"temperature", "vector", "dirichlet"} or None
        Which maps; None leaves the model as it is.
    strengths : tuple of float
        Shrinkages to choose from; endless is one map for all rows.
    """

    name: str
    words: str
    method: ClassMethod | None = None
    strengths: tuple[float, ...] = ONE_MAP

    @property
    def pooled(self) -> bool:
        """True for one map of all rows."""
        return self.method is not None and self.strengths == ONE_MAP

    def calibrator(
        self, rows: ClassRows, leaves: tuple[int, ...], strength: float
    ) -> ClassCalibrator:
        """Fit on all rows."""
        if self.method is None:
            return ClassCalibrator.identity(rows.logits.shape[1], leaves)
        calibrator = ClassCalibrator(self.method, shrinkage=strength)
        return calibrator.fit(rows.logits, rows.y, rows.leaf, rows.weight, leaves)


@dataclass(frozen=True, eq=False)
class ClassCrossFit:
    """A candidate tried on every row by maps of the other folds.

    Parameters
    ----------
    candidate : ClassCandidate
        What was tried.
    strength : float
        The shrinkage with the lowest log-loss.
    placed : array, rows x classes that count
        Placement of each row within its fold, each class against the rest.
    losses : array of float
        Log-loss of each row.
    log_loss : float
        Their mean.
    """

    candidate: ClassCandidate
    strength: float
    placed: Floats
    losses: Floats
    log_loss: float


@dataclass(frozen=True, eq=False)
class ClassFolds:
    """Rows in folds: what is tried on one of them was fitted on the others.

    Parameters
    ----------
    rows : ClassRows
        Rows that the model was not trained on.
    fold : array of int
        Number of the fold of each.
    leaves : tuple of int
        Ids of all leaves.
    counted : tuple of int
        The classes whose AUCs count.
    """

    rows: ClassRows
    fold: Ints
    leaves: tuple[int, ...]
    counted: tuple[int, ...]
    _pooled: dict[tuple[ClassMethod, int], ClassMap] = field(default_factory=dict)

    def cross_fit(self, candidate: ClassCandidate) -> ClassCrossFit:
        """Fit a candidate on all folds but one, and try it there, for each shrinkage in turn."""
        own = np.arange(self.rows.y.size), self.rows.y
        best: tuple[float, float, Floats] | None = None
        for strength in candidate.strengths:
            logs = self._logs(candidate.method, strength)
            log_loss = float(np.average(-logs[own], weights=self.rows.weight))
            if best is None or log_loss < best[0]:
                best = log_loss, strength, logs
        if best is None:
            raise ValueError(f"the candidate {candidate.name!r} has no strengths")
        log_loss, strength, logs = best
        return ClassCrossFit(candidate, strength, self._placed(logs), -logs[own], log_loss)

    def gain(self, before: ClassCrossFit, after: ClassCrossFit) -> Gain:
        """Compare two candidates in every fold by their macro AUC; the gain is the mean."""
        lifts = []
        for number in range(int(self.fold.max()) + 1):
            here = np.flatnonzero(self.fold == number)
            rows, placed = self.rows.of(here), (before.placed[here], after.placed[here])
            lifts.append(macro_lift_of(rows.y, self.counted, *placed, rows.weight, rows.group))
        return mean_gain(lifts)

    def _logs(self, method: ClassMethod | None, strength: float) -> Floats:
        if method is None:
            return identity_map(self.rows.logits.shape[1]).logits(self.rows.logits)
        logs = np.empty(self.rows.logits.shape)
        for number in range(int(self.fold.max()) + 1):
            here = self.fold == number
            kept, left_out = self.rows.of(~here), self.rows.of(here)
            pooled = self._pooled.get((method, number)) or fit_pooled_class_map(method, kept)
            self._pooled[method, number] = pooled
            maps = fit_leaf_class_maps(method, kept, self.leaves, pooled, strength)
            logs[here] = mapped_logits(pooled, maps, left_out.logits, left_out.leaf)
        return logs

    def _placed(self, logs: Floats) -> Floats:
        """Place every row within its fold: maps of different folds are not compared."""
        placed = np.empty((self.fold.size, len(self.counted)))
        for number in range(int(self.fold.max()) + 1):
            here = np.flatnonzero(self.fold == number)
            rows = self.rows.of(here)
            placed[here] = class_placements(rows.y, logs[here], self.counted, rows.weight)
        return placed


def class_candidates(classes: int) -> tuple[ClassCandidate, ...]:
    """Return the candidates for so many classes, the simplest first."""
    kinds = KINDS if classes <= MOST_DIRICHLET else KINDS[:-1]
    own = "in every leaf"
    return (
        ClassCandidate("identity", "leave the model as it is"),
        *(
            ClassCandidate(f"pooled {name}", f"{words} for all rows", method)
            for method, name, words in kinds
        ),
        *(
            ClassCandidate(f"tree {name}", f"{words} {own}", method, STRENGTHS[:-1])
            for method, name, words in kinds
        ),
    )
