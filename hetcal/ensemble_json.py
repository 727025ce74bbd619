"""Many trees as fields of JSON, and back with every value checked."""

from typing import Any

import numpy as np

from hetcal.nodes import MAX_LEAVES
from hetcal.partition_json import feature_fields, read_feature
from hetcal.strict_json import Fields, JsonError
from hetcal.tree_columns import TreeColumns
from hetcal.tree_ensemble import TreeEnsemble


def ensemble_fields(trees: TreeEnsemble) -> dict[str, Any]:
    """Return the fields of many trees; a threshold beyond all values is left out."""
    endless = np.isposinf(trees.threshold)
    return {
        "features": [feature_fields(feature) for feature in trees.columns.features],
        "ranks": [{"order": list(ranks)} for ranks in trees.columns.ranks],
        "sizes": trees.sizes.tolist(),
        "feature": trees.feature.tolist(),
        "threshold": np.where(endless, 0.0, trees.threshold).tolist(),
        "endless": np.flatnonzero(endless).tolist(),
        "missing_left": np.flatnonzero(trees.missing_left).tolist(),
        "right": trees.right.tolist(),
    }


def read_ensemble(fields: Fields) -> TreeEnsemble:
    """Read what `ensemble_fields` gave; what is no ensemble is a `PartitionError`."""
    keys = "features ranks sizes feature threshold endless missing_left right"
    fields.only(*keys.split())
    features = tuple(read_feature(each) for each in fields.objects("features"))
    ranks = tuple(_order(each) for each in fields.objects("ranks"))
    if len(ranks) != len(features):
        raise JsonError("not every column of the trees has an order")
    threshold = np.array(fields.numbers("threshold"), dtype=np.float64)
    threshold[_marks(fields, "endless", threshold.size)] = np.inf
    missing_left = np.zeros(threshold.size, dtype=np.bool_)
    missing_left[_marks(fields, "missing_left", threshold.size)] = True
    return TreeEnsemble(
        TreeColumns(features, ranks),
        np.array(fields.integers("sizes", 1, 2 * MAX_LEAVES), dtype=np.int64),
        np.array(fields.integers("feature", -1, 2**31), dtype=np.int64),
        threshold,
        missing_left,
        np.array(fields.integers("right", 0, 2 * MAX_LEAVES), dtype=np.int64),
    )


def _order(fields: Fields) -> tuple[int, ...]:
    fields.only("order")
    return tuple(fields.integers("order", 0, 2**31))


def _marks(fields: Fields, key: str, size: int) -> list[int]:
    return fields.integers(key, 0, size - 1)
