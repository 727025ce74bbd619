"""Features and nodes as JSON text, and back with every value checked."""

import json
from typing import Any, cast

from hetcal.errors import PartitionError
from hetcal.nodes import Feature, Node, broken
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal partition"
FORMAT = 1
ROUNDING = 1e-9  # how far a rate may be beyond 0 and 1


def write_tree(features: tuple[Feature, ...], nodes: tuple[Node, ...]) -> str:
    """Write JSON text; equal trees give equal text."""
    return json.dumps(tree_fields(features, nodes), indent=1, allow_nan=False)


def tree_fields(features: tuple[Feature, ...], nodes: tuple[Node, ...]) -> dict[str, Any]:
    """Return the fields of a partition for JSON."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "features": [feature_fields(feature) for feature in features],
        "nodes": [_node_fields(node, features) for node in nodes],
    }


def read_tree(text: str | bytes) -> tuple[tuple[Feature, ...], tuple[Node, ...]]:
    """Read what `write_tree` wrote; anything else is a `PartitionError`."""
    try:
        return read_tree_fields(parse_object(text))
    except JsonError as problem:
        raise broken(str(problem)) from problem


def read_tree_fields(fields: Fields) -> tuple[tuple[Feature, ...], tuple[Node, ...]]:
    """Read what `tree_fields` gave."""
    _check_header(fields)
    features = tuple(read_feature(each) for each in fields.objects("features"))
    kinds = {feature.name: feature.kind for feature in features}
    return features, tuple(_read_node(each, kinds) for each in fields.objects("nodes"))


def _check_header(fields: Fields) -> None:
    if "kind" not in fields or fields.text("kind") != KIND:
        raise PartitionError(
            "The file is not a partition saved by hetcal.",
            f"Its JSON has to say that it is a {KIND!r}.",
            "Choose the file that 'Download this partition' gave, or train a tree.",
        )
    if fields.integer("format", 0, 2**31) != FORMAT:
        raise PartitionError(
            "The partition was saved in a format that this version of hetcal does not know.",
            f"Format {FORMAT} is needed.",
            "Update hetcal, or train a new tree.",
        )
    fields.only("kind", "format", "features", "nodes")


def feature_fields(feature: Feature) -> dict[str, Any]:
    """Return the fields of a column for JSON."""
    common = {"name": feature.name, "kind": feature.kind, "missing": feature.missing}
    if feature.kind == "category":
        return {**common, "rare": feature.rare, "categories": list(feature.categories)}
    return {**common, "whole": feature.whole, "digits": feature.digits}


def read_feature(fields: Fields) -> Feature:
    """Read what `feature_fields` gave."""
    name, kind, missing = fields.text("name"), fields.text("kind"), fields.flag("missing")
    if kind == "number":
        fields.only("name", "kind", "missing", "whole", "digits")
        digits = fields.integer("digits", 1, 17)
        return Feature(name, "number", (), fields.flag("whole"), digits, missing)
    if kind != "category":
        raise JsonError("a column is neither a number nor a category")
    fields.only("name", "kind", "missing", "rare", "categories")
    names, rare = fields.texts("categories"), fields.flag("rare")
    return Feature(name, "category", names, missing=missing, rare=rare)


def _node_fields(node: Node, features: tuple[Feature, ...]) -> dict[str, Any]:
    counts = {"rows": node.rows, "positive_rate": node.positive_rate}
    if node.feature is None:
        return counts
    kind = next(feature.kind for feature in features if feature.name == node.feature)
    cut = (
        {"threshold": node.threshold} if kind == "number" else {"categories": list(node.categories)}
    )
    children = {"missing_left": node.missing_left, "left": node.left, "right": node.right}
    return {"feature": node.feature, **cut, **children, **counts}


def _read_rate(fields: Fields) -> float:
    """Read a rate; earlier versions wrote some that rounding had brought beyond 0 or 1."""
    rate = fields.number("positive_rate")
    nearest = min(max(rate, 0.0), 1.0)
    return nearest if abs(rate - nearest) < ROUNDING else fields.number("positive_rate", 0.0, 1.0)


def _read_node(fields: Fields, kinds: dict[str, Any]) -> Node:
    rows = fields.integer("rows", 0, 2**53)
    rate = _read_rate(fields)
    if "feature" not in fields:
        fields.only("rows", "positive_rate")
        return Node(rows, rate)
    name = fields.text("feature")
    if name not in kinds:
        raise JsonError("a node splits on a column that is not listed")
    threshold, categories = None, cast(tuple[str, ...], ())
    cut = "categories" if kinds[name] == "category" else "threshold"
    if cut == "categories":
        categories = fields.texts("categories")
    elif not fields.is_null("threshold"):
        threshold = fields.number("threshold")
    fields.only("feature", cut, "missing_left", "left", "right", "rows", "positive_rate")
    children = fields.integer("left", 1, 2**31), fields.integer("right", 1, 2**31)
    return Node(rows, rate, name, threshold, categories, fields.flag("missing_left"), *children)
