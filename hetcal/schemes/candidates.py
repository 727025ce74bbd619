"""Candidates for a scheme, the simplest first: the rungs of the ladder."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.choices import ClassMethod, Kind, plain_name
from hetcal.parallel import Task
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.encoding import encode_columns
from hetcal.partitions.ensemble import TreeColumns
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition
from hetcal.progress import Found, Keep, Progress, anew, between, silent
from hetcal.schemes.parts import (
    BesidePart,
    BoostedPart,
    ClassLeavesPart,
    ForestPart,
    Part,
    PlainLeavesPart,
    PooledClassPart,
    PooledPart,
    ShrunkenLeavesPart,
)
from hetcal.schemes.rows import SchemeRows, joined
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import Stage, additive_stage, stacked_stage

STRENGTHS = (80.0, 5.0, 0.3)  # the strongest shrinkage first
FEW_POSITIVES = 200  # rows of the rarer class under which maps are never left nearly unshrunk
NESTED = (200.0,)  # where every map follows on another
PLAIN = (0.0,)
NOTHING_SHRUNK = (float("nan"),)
FOREST = 24  # trees; 40 were no better on test rows
DEEP = 5  # splits on a path of the tree whose maps are shrunk: at most 32 leaves
CLASS_MAPS: tuple[tuple[ClassMethod, str, str], ...] = (
    ("temperature", "temperature", "a temperature"),
    ("vector", "vector", "a weight and a bias per class"),
    ("dirichlet", "Dirichlet", "weights from class to class"),
)
CLASS_STRENGTHS = (1000.0, 100.0, 10.0, 1.0)
MOST_DIRICHLET = 20  # classes: its weights grow with their square, and the time with that
MANY_TREES = ("forest", "boosted", "additive", "stacked")
"""Schemes that can be requested by name, beside those of one partition."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A scheme before it is fitted."""

    name: str
    words: str  # what it does, for a person
    kind: Kind
    parts: tuple[Part, ...] = ()  # its stages before they are fitted
    strengths: tuple[float, ...] = NOTHING_SHRUNK  # to choose from; NaN where nothing is shrunk
    seconds: float = 0.0  # that its trees or terms took to grow

    @property
    def pooled(self) -> bool:
        """True for one map of all rows."""
        pooled = [isinstance(each, PooledPart | PooledClassPart) for each in self.parts]
        return bool(pooled) and all(pooled)

    def scheme(self, start: Floats, held: SchemeRows, strength: float) -> Scheme:
        """Fit on all rows."""
        rows = np.arange(len(held.y))
        return made(self.fit(start, held, rows, strength)[1])

    def fit(
        self, start: Floats, held: SchemeRows, rows: Ints, strength: float
    ) -> tuple[Floats, list[Callable[[], Stage]]]:
        """Fit on some rows; return the logits of all, and functions for the stages.

        `start` are the scores to map: those of the model, or a constant.
        """
        logits, makers = start, []
        for part in self.parts:
            logits, make = part.fit(logits, held, rows, strength)
            makers.append(make)
        return logits, makers


def made(makers: Sequence[Callable[[], Stage]]) -> Scheme:
    """Make the stages of a fitted candidate."""
    return Scheme(tuple(make() for make in makers))


IDENTITY = Candidate("identity", "leave the model as it is", "none")
POOLED = Candidate("pooled", "one map for all rows", "calibration", (PooledPart(),))


def strengths_for(held: SchemeRows) -> tuple[float, ...]:
    """Return how strongly maps of leaves may be shrunk: few positives leave no free choice."""
    fewest = min(int(held.y.sum()), int((1 - held.y).sum()))
    return STRENGTHS if fewest >= FEW_POSITIVES else STRENGTHS[:-1]


def in_words(name: str) -> str:
    """Describe what was chosen by its name, or by what it does where the name says little."""
    words = {each.name: each.words for each in (IDENTITY, POOLED)}
    return words.get(name) or plain_name(name)


def label_tree(training: SchemeRows, depth: int = 3) -> Partition:
    """Grow a tree on training rows whose leaves get maps."""
    return TreePartition(depth).fit(training.X, training.y, training.weight).partition_


@dataclass(frozen=True)
class GrowthSettings:
    """What decides the trees and terms of candidates."""

    seed: int = 0
    pairs: int = 15  # most pairs of columns of `additive`
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()


class Growth:
    """Trees and terms that read columns and labels only, which grow in a thread.

    Parameters
    ----------
    training, held : SchemeRows
        Training rows, and the rows on which candidates are compared.
    tree : Partition or None
        The tree whose leaves get maps, if it is not to be grown.
    settings : GrowthSettings
        What decides them.
    keep : callable
        Is given each part of the choice, and may have kept it from a choice that was ended.
    """

    def __init__(
        self,
        training: SchemeRows,
        held: SchemeRows,
        tree: Partition | None,
        settings: GrowthSettings,
        keep: Keep = anew,
    ) -> None:
        pool, rows, self.keep = ThreadPoolExecutor(1), (training, held), keep
        trees = partial(tree_candidates, *rows, tree, settings)
        self.trees = Task(pool, partial(_kept, keep, "trees", trees))
        curves = partial(additive_candidate, *rows, settings)
        self.additive = Task(pool, partial(_kept, keep, "curves", curves))
        stacked = partial(stacked_candidate, *rows, settings)
        self.stacked = Task(pool, partial(_kept, keep, "stacked", stacked))
        pool.shutdown(wait=False)

    def stop(self) -> None:
        """End the growth."""
        for task in (self.stacked, self.additive, self.trees):
            task.stop()


def _kept(keep: Keep, name: str, grow: Callable[[Progress], Found], progress: Progress) -> Found:
    return keep(name, partial(grow, progress))


def tree_candidates(
    training: SchemeRows,
    held: SchemeRows,
    tree: Partition | None,
    settings: GrowthSettings,
    progress: Progress = silent,
) -> list[Candidate]:
    """Grow trees, and return the candidates with one of them or with a forest."""
    start = time.perf_counter()
    progress(0.0, "Growing a tree")
    small = tree or label_tree(training)
    deep = label_tree(training, DEEP)
    seconds = time.perf_counter() - start
    forest = forest_candidate(training, held, settings, between(progress, 0.1, 1.0))
    shrunken = PooledPart(), ShrunkenLeavesPart(deep, deep.apply(held.X))
    return [
        Candidate(
            "tree",
            "a map in every leaf of a small tree",
            "calibration",
            (PlainLeavesPart(small, small.apply(held.X)),),
            PLAIN,
            seconds,
        ),
        Candidate(
            "shrunken tree",
            "a larger tree, its maps shrunk towards one for all",
            "calibration",
            shrunken,
            strengths_for(held),
            seconds,
        ),
        forest,
    ]


def forest_candidate(
    training: SchemeRows, held: SchemeRows, settings: GrowthSettings, progress: Progress = silent
) -> Candidate:
    """Grow a forest on the training rows."""
    start = time.perf_counter()
    grower = ForestPartition(FOREST, random_state=settings.seed)
    forest = grower.fit(training.X, training.y, training.weight, progress=progress).ensemble_
    part = ForestPart(forest, forest.apply(held.X))
    return Candidate(
        "forest",
        "many trees, their shrunken maps averaged",
        "calibration",
        (PooledPart(), part),
        strengths_for(held),
        time.perf_counter() - start,
    )


def boosted_candidate(training: SchemeRows, held: SchemeRows) -> Candidate:
    """Prepare nested calibration; its trees read scores, so that each fit grows its own."""
    weight = np.ones(len(training.y)) if training.weight is None else training.weight
    _, encoded = encode_columns(training.X, training.y, weight)
    columns = TreeColumns.of(encoded)
    part = BoostedPart(columns, columns.matrix(held.X))
    words = "small trees one after another, each map on the one before"
    return Candidate("boosted", words, "calibration", (PooledPart(), part), NESTED)


def additive_candidate(
    training: SchemeRows, held: SchemeRows, settings: GrowthSettings, progress: Progress = silent
) -> Candidate:
    """Fit curves and pairs of columns on all rows."""
    start, both, ranked = time.perf_counter(), joined(training, held), _first(training, held)
    found = AdditiveTerms(
        pairs=settings.pairs,
        increasing=settings.increasing,
        decreasing=settings.decreasing,
        random_state=settings.seed,
    )
    rows = both.X, both.y, both.weight, ranked
    found.fit(*rows, groups=both.group, times=both.time, progress=progress)

    part = BesidePart(found.held_out_[len(training.y) :], partial(additive_stage, found))
    words, seconds = (
        "the score plus a curve per column and a few pairs",
        time.perf_counter() - start,
    )
    return Candidate("additive", words, "correction", (PooledPart(), part), seconds=seconds)


def stacked_candidate(
    training: SchemeRows, held: SchemeRows, settings: GrowthSettings, progress: Progress = silent
) -> Candidate:
    """Grow boosted trees on all rows; labels of training rows order the categories."""
    start, both, ranked = time.perf_counter(), joined(training, held), _first(training, held)
    found = BoostedPartition(random_state=settings.seed)
    rows = both.X, both.y, both.weight, ranked
    found.fit(*rows, groups=both.group, times=both.time, progress=progress)
    part = BesidePart(found.held_out_[len(training.y) :], partial(stacked_stage, found))
    words, seconds = "the score beside boosted trees", time.perf_counter() - start
    return Candidate("stacked", words, "second model", (PooledPart(), part), seconds=seconds)


def _first(training: SchemeRows, held: SchemeRows) -> Bools:
    return np.arange(len(training.y) + len(held.y)) < len(training.y)


def class_candidates(held: SchemeRows, tree: Partition) -> list[Candidate]:
    """Return all candidates for more than two classes, the simplest first."""
    methods = CLASS_MAPS if held.classes <= MOST_DIRICHLET else CLASS_MAPS[:-1]
    leaf, pooled, divided = tree.apply(held.X), [], []
    for method, name, words in methods:
        one = PooledClassPart(method)
        pooled.append(Candidate(f"pooled {name}", f"{words} for all rows", "calibration", (one,)))
        own = ClassLeavesPart(one, tree, leaf)
        words = f"{words} in every leaf"
        divided.append(Candidate(f"tree {name}", words, "calibration", (own,), CLASS_STRENGTHS))
    return [IDENTITY, *pooled, *divided]


def named_candidate(
    name: str,
    training: SchemeRows,
    held: SchemeRows,
    settings: GrowthSettings,
    progress: Progress = silent,
) -> Candidate:
    """Return one of `MANY_TREES`."""
    if name == "boosted":
        return boosted_candidate(training, held)
    make = {
        "forest": forest_candidate,
        "additive": additive_candidate,
        "stacked": stacked_candidate,
    }[name]
    return make(training, held, settings, progress)
