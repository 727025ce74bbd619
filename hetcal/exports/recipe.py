"""What an artifact does to a row, step by step, as plain numbers that any language can follow.

All comparisons are written for double precision, and give what the artifact's own in single
precision give. The document that `recipe` returns has the keys

- `score`: the `column` of the score, and its `kind`, logit or probability,
- `columns`: `name`, `kind` and `categories` of each column that is read. The code of a category
  is its position; then follow the code of every other category and that of a missing one,
- `trees`: lists of nodes, the root first. A leaf is `[number]`. A split is
  `[column, limit or codes, missing_left, left, right]`: numbers up to the limit go left (null:
  all do), or the codes that are listed,
- `leaf`: the tree that the leaf of a row is read from,
- `steps`: what is done to the logit, first to last.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hetcal.arrays import Floats
from hetcal.artifacts.artifact import Artifact
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import Affine, Shape, shape_document
from hetcal.data.columns import single_limits
from hetcal.data.scores import CLIP
from hetcal.errors import ExportError
from hetcal.models.scoring import ColumnScoring, ModelScoring
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition
from hetcal.partitions.terms import Axis
from hetcal.schemes.stages import (
    AdditiveStage,
    ForestStage,
    LeafMapsStage,
    NestedStage,
    PooledStage,
    Stage,
)

Document = dict[str, Any]
SCORE = "score"  # the column of the score of a model's rows


def double_limits(thresholds: Floats) -> Floats:
    """Return the largest doubles that are at most the thresholds once in single precision.

    >>> bool(double_limits(np.array([0.1]))[0] < 0.1), double_limits(np.array([np.inf])).tolist()
    (True, [inf])
    """
    limits = single_limits(np.asarray(thresholds, dtype=np.float64))
    with np.errstate(over="ignore"):
        above = np.nextafter(limits, np.float32(np.inf))
        # Values from 2**128 on are infinite in single precision.
        ends = np.stack([limits, above]).astype(np.float64).clip(-(2.0**128), 2.0**128)
        middle = ends.mean(axis=0)
        rounded = middle.astype(np.float32) <= limits
    found = np.where(rounded, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isposinf(limits), np.inf, found)


def recipe(artifact: Artifact) -> Document:
    """Return what the artifact does to a row; see the module for the keys."""
    if artifact.classes or not isinstance(artifact.calibrator, LeafCalibrator):
        raise ExportError(
            f"The artifact is of {len(artifact.classes)} classes.",
            "These formats hold the calibration of two classes.",
            "Score with the artifact (`hetcal score`), or set one class against all others.",
        )
    writer = _Writer(artifact)
    leaf = writer.tree(artifact.partition)
    if artifact.scheme is None:
        maps = [each.shape for each in artifact.calibrator.maps_]
        steps = [_leaves(leaf, maps)]
    else:
        steps = [writer.step(stage) for stage in artifact.scheme.stages]
    return {
        "score": _score(artifact, writer.names),
        "columns": writer.columns,
        "trees": writer.trees,
        "leaf": leaf,
        "steps": steps,
    }


def features_of(artifact: Artifact) -> tuple[Feature, ...]:
    """Return the columns that leaf and steps read; some more than once."""
    scheme = () if artifact.scheme is None else artifact.scheme.features
    return *artifact.partition.features, *scheme


def layer_of(artifact: Artifact) -> str | None:
    """Return the layer of the network whose units the partition reads, if it does."""
    scoring = artifact.scoring
    return scoring.layer if isinstance(scoring, ModelScoring) else None


def columns_read(document: Document) -> list[str]:
    """Return the names of the columns that the steps read."""
    trees = (document["trees"][tree] for tree in trees_of(document))
    read = {node[0] for nodes in trees for node in nodes if len(node) > 1}
    terms = (term for step in document["steps"] for term in step.get("terms", ()))
    read |= {axis["column"] for term in terms for axis in term["axes"]}
    return [document["columns"][number]["name"] for number in sorted(read)]


def trees_of(document: Document) -> list[int]:
    """Return the numbers of the trees whose leaves the steps read."""
    return [tree for step in document["steps"] for tree in step.get("trees", ())]


def _score(artifact: Artifact, names: Sequence[str]) -> Document:
    if isinstance(artifact.scoring, ColumnScoring):
        (column,) = artifact.scoring.columns
        return {"column": column, "kind": artifact.scoring.kind, "clip": CLIP}
    column = SCORE
    while column in names:
        column += "_"
    return {"column": column, "kind": "logit", "clip": CLIP}


class _Writer:
    """Writes trees and steps over one list of columns, which all of them share."""

    def __init__(self, artifact: Artifact) -> None:
        known: dict[str, Feature] = {}
        categories: dict[str, set[str]] = {}
        for each in features_of(artifact):
            known.setdefault(each.name, each)
            categories.setdefault(each.name, set()).update(each.categories)
        self.names = list(known)
        self.columns: list[Document] = [
            {"name": each.name, "kind": each.kind, "categories": sorted(categories[each.name])}
            for each in known.values()
        ]
        self.trees: list[list[list[Any]]] = []
        self._written: dict[Partition, int] = {}

    def tree(self, partition: Partition) -> int:
        """Write a tree, once, and return its number."""
        if partition not in self._written:
            leaves = {leaf.node: leaf.id for leaf in partition.leaves}
            known = {each.name: each for each in partition.features}
            self._written[partition] = len(self.trees)
            self.trees.append(
                [
                    [leaves[at]] if node.feature is None else self._split(node, known[node.feature])
                    for at, node in enumerate(partition.nodes)
                ]
            )
        return self._written[partition]

    def _split(self, node: Node, feature: Feature) -> list[Any]:
        column = self.names.index(feature.name)
        rule: float | list[int] | None = None
        if feature.kind == "category":
            rule = list(self._left_codes(column, node, feature))
        elif node.threshold is not None:
            rule = float(double_limits(np.array([node.threshold]))[0])
        return [column, rule, node.missing_left, node.left, node.right]

    def _left_codes(self, column: int, node: Node, feature: Feature) -> Iterator[int]:
        """Yield the codes that go left: of what the tree does not know, as missing values do."""
        names = self.columns[column]["categories"]
        known, left = set(feature.categories), set(node.categories)
        for code, name in enumerate(names):
            if name in left or (node.missing_left and name not in known):
                yield code
        if node.missing_left:
            yield from (len(names), len(names) + 1)

    def step(self, stage: Stage) -> Document:
        """Write a stage of a scheme."""
        if isinstance(stage, PooledStage):
            numbers = {"low": stage.low, "high": stage.high}
            return {"step": "tame", **numbers, **_line(stage.slope, stage.intercept)}
        if isinstance(stage, LeafMapsStage):
            lines = zip(stage.slope.tolist(), stage.intercept.tolist(), strict=True)
            return _leaves(self.tree(stage.partition), [Affine(*each) for each in lines])
        if isinstance(stage, NestedStage | ForestStage):
            return self._many(stage)
        if isinstance(stage, AdditiveStage):
            terms = [
                {
                    "axes": [self._axis(axis) for axis in each.axes],
                    "values": each.values.ravel().tolist(),
                }
                for each in stage.terms.terms
            ]
            return {"step": "add", **_line(stage.weight, stage.intercept), "terms": terms}
        raise TypeError("maps of more than two classes")

    def _many(self, stage: NestedStage | ForestStage) -> Document:
        numbers = [self.tree(stage.trees.partition(each)) for each in range(stage.trees.trees)]
        parts = stage.trees.leaf_starts[1:]
        slope, intercept = (
            [each.tolist() for each in np.split(values, parts)]
            for values in (stage.slope, stage.intercept)
        )
        kind = "nest" if isinstance(stage, NestedStage) else "mean"
        return {"step": kind, "trees": numbers, "slope": slope, "intercept": intercept}

    def _axis(self, axis: Axis) -> Document:
        column = self.names.index(axis.feature.name)
        common = {"column": column, "entries": axis.entries}
        if axis.feature.kind == "number":
            return {**common, "limits": double_limits(axis.cuts).tolist()}
        known = dict(zip(axis.feature.categories, axis.groups.tolist(), strict=True))
        places = [known.get(name, axis.known) for name in self.columns[column]["categories"]]
        return {**common, "places": [*places, axis.known, axis.known + 1]}


def _line(slope: float, intercept: float) -> Document:
    return {"slope": slope, "intercept": intercept}


def _leaves(tree: int, maps: Sequence[Shape]) -> Document:
    """Write one map for each leaf; standard errors are left out."""
    documents = [shape_document(each) for each in maps]
    kept = [{k: v for k, v in each.items() if not k.endswith("_se")} for each in documents]
    return {"step": "leaves", "trees": [tree], "maps": kept}
