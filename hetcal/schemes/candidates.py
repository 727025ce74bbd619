"""Candidates for a scheme, the simplest first."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.choices import ClassMethod
from hetcal.parallel import Task
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition
from hetcal.progress import Progress, silent
from hetcal.schemes.parts import (
    BoostedPart,
    ClassLeavesPart,
    ForestPart,
    NestedPart,
    Part,
    PlainLeavesPart,
    PooledClassPart,
    PooledPart,
    ShrunkenLeavesPart,
)
from hetcal.schemes.rows import SchemeRows, joined
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import Stage

STRENGTHS = (0.3, 5.0, 80.0)
STRONG = (8.0, 40.0, 200.0)  # where every map follows on another
PLAIN = (0.0,)
NOTHING_SHRUNK = (float("nan"),)
CLASS_MAPS: tuple[tuple[ClassMethod, str, str], ...] = (
    ("temperature", "temperature", "a temperature"),
    ("vector", "vector", "a weight and a bias per class"),
    ("dirichlet", "Dirichlet", "weights from class to class"),
)
CLASS_STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
MOST_DIRICHLET = 20  # classes: its weights grow with their square, and the time with that


@dataclass(frozen=True, eq=False)
class Candidate:
    """A scheme before it is fitted."""

    name: str
    words: str  # what it does, for a person
    parts: tuple[Part, ...] = ()  # its stages before they are fitted
    strengths: tuple[float, ...] = NOTHING_SHRUNK  # to choose from; NaN where nothing is shrunk

    @property
    def pooled(self) -> bool:
        """True for one map of all rows."""
        pooled = [isinstance(each, PooledPart | PooledClassPart) for each in self.parts]
        return bool(pooled) and all(pooled)

    def logits(self, held: SchemeRows, rows: Ints, strength: float) -> Floats:
        """Fit on some rows, and return the logits of all."""
        return self._fit(held, rows, strength)[0]

    def scheme(self, held: SchemeRows, strength: float) -> Scheme:
        """Fit on all rows."""
        rows = np.arange(len(held.y))
        return Scheme(tuple(make() for make in self._fit(held, rows, strength)[1]))

    def _fit(
        self, held: SchemeRows, rows: Ints, strength: float
    ) -> tuple[Floats, list[Callable[[], Stage]]]:
        logits, makers = held.known_scores, []
        for part in self.parts:
            logits, make = part.fit(logits, held, rows, strength)
            makers.append(make)
        return logits, makers


IDENTITY = Candidate("identity", "leave the model as it is")
POOLED = Candidate("pooled", "one map for all rows", (PooledPart(),))


def in_words(name: str) -> str:
    """Describe what was chosen by its name, or by what it does where the name says little."""
    return {each.name: each.words for each in (IDENTITY, POOLED)}.get(name, name)


def label_tree(training: SchemeRows) -> Partition:
    """Grow the tree on training rows whose leaves get maps."""
    return TreePartition().fit(training.X, training.y, training.weight).partition_


@dataclass(frozen=True, eq=False)
class SimpleTrees:
    """Trees of the simpler candidates, grown on training rows, with the leaves of held-out rows."""

    tree: PlainLeavesPart
    forest: ForestPart
    nested: NestedPart


class Growth:
    """Trees that read columns and labels only, which grow in a thread: they need no scores.

    Parameters
    ----------
    training, held : SchemeRows
        Training rows, and the rows on which candidates are compared.
    tree : Partition or None
        The tree whose leaves get maps, if it is not to be grown.
    seed : int
        Decides forests and boosted trees.
    """

    def __init__(
        self, training: SchemeRows, held: SchemeRows, tree: Partition | None, seed: int
    ) -> None:
        pool = ThreadPoolExecutor(1)
        self.simple = Task(pool, partial(_simple_trees, training, held, tree, seed))
        self.boosted = Task(pool, partial(_boosted, training, held, seed))
        pool.shutdown(wait=False)

    def stop(self) -> None:
        """End the growth."""
        self.boosted.stop()
        self.simple.stop()


def _simple_trees(
    training: SchemeRows, held: SchemeRows, tree: Partition | None, seed: int, progress: Progress
) -> SimpleTrees:
    if tree is None:
        progress(0.0, "Growing a tree")
        tree = label_tree(training)
    many = _forest(training, held, seed, progress)
    sequence = BoostedPartition(2, learning_rate=0.3, max_iter=15, max_leaf_nodes=8)
    short = sequence.fit(training.X, training.y, training.weight).ensemble_
    leaves = PlainLeavesPart(tree, tree.apply(held.X))
    return SimpleTrees(leaves, many, NestedPart(short, short.apply(held.X)))


def simple_candidates(trees: SimpleTrees) -> list[Candidate]:
    """Return the candidates for two classes without those of boosted trees, the simplest first."""
    pooled, tree = PooledPart(), trees.tree
    return [
        IDENTITY,
        POOLED,
        Candidate("tree", "one tree, a map in every leaf", (tree,), PLAIN),
        Candidate(
            "shrunken tree",
            "a tree, its maps shrunk towards one for all",
            (pooled, ShrunkenLeavesPart(tree.partition, tree.leaf)),
            STRENGTHS,
        ),
        _forest_candidate(trees.forest),
        Candidate(
            "nested", "small boosted trees, one after another", (pooled, trees.nested), STRONG
        ),
    ]


def boosted_candidates(boosted: BoostedPart, many: ForestPart) -> list[Candidate]:
    """Return the candidates with boosted trees, the simplest first."""
    parts = (PooledPart(), boosted, many)
    words = "boosted trees, then the forest"
    return [_boosted_candidate(boosted), Candidate("boosted forest", words, parts, STRENGTHS)]


def class_candidates(held: SchemeRows, tree: Partition) -> list[Candidate]:
    """Return all candidates for more than two classes, the simplest first."""
    methods = CLASS_MAPS if held.classes <= MOST_DIRICHLET else CLASS_MAPS[:-1]
    leaf, pooled, divided = tree.apply(held.X), [], []
    for method, name, words in methods:
        one = PooledClassPart(method)
        pooled.append(Candidate(f"pooled {name}", f"{words} for all rows", (one,)))
        own = ClassLeavesPart(one, tree, leaf)
        words = f"{words} in every leaf"
        divided.append(Candidate(f"tree {name}", words, (own,), CLASS_STRENGTHS))
    return [IDENTITY, *pooled, *divided]


def named_candidate(
    name: str, training: SchemeRows, held: SchemeRows, seed: int, progress: Progress = silent
) -> Candidate:
    """Return the forest or the boosted trees alone."""
    if name == "forest":
        return _forest_candidate(_forest(training, held, seed, progress))
    return _boosted_candidate(_boosted(training, held, seed, progress))


def _forest_candidate(many: ForestPart) -> Candidate:
    parts = (PooledPart(), many)
    return Candidate("forest", "many trees with shrunken maps", parts, STRENGTHS)


def _boosted_candidate(boosted: BoostedPart) -> Candidate:
    return Candidate("boosted", "the score and boosted trees", (PooledPart(), boosted))


def _forest(training: SchemeRows, held: SchemeRows, seed: int, progress: Progress) -> ForestPart:
    grower = ForestPartition(random_state=seed)
    forest = grower.fit(training.X, training.y, training.weight, progress=progress).ensemble_
    return ForestPart(forest, forest.apply(held.X))


def _boosted(training: SchemeRows, held: SchemeRows, seed: int, progress: Progress) -> BoostedPart:
    """Grow boosted trees on all rows; labels of training rows order the categories."""
    both = joined(training, held)
    ranked = np.arange(len(both.y)) < len(training.y)
    boosted = BoostedPartition(random_state=seed)
    boosted.fit(both.X, both.y, both.weight, ranked, groups=both.group, progress=progress)
    return BoostedPart(boosted, boosted.held_out_[len(training.y) :])
