"""The maps of all leaves as a table."""

from collections.abc import Sequence

import pandas as pd

from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_map import LeafMap
from hetcal.partition import Partition
from hetcal.rules import ALL_ROWS


def maps_table(calibrator: LeafCalibrator, partition: Partition) -> pd.DataFrame:
    """List the maps.

    Returns
    -------
    DataFrame
        The map of all rows (leaf 0), then one row per leaf: `leaf`, `rule`, `rows`,
        `positives`, `map` (in words), `slope`, `slope_se`, `intercept`, `intercept_se` (NaN
        for a map that is not straight), `fallback` (text, empty for a leaf with a map of its
        own).
    """
    rules = {0: ALL_ROWS} | {leaf.id: leaf.rule for leaf in partition.leaves}
    maps = (calibrator.pooled_, *calibrator.maps_)
    numbers = ("slope", "slope_se", "intercept", "intercept_se")
    return pd.DataFrame(
        {
            "leaf": [each.leaf for each in maps],
            "rule": [rules.get(each.leaf, "") for each in maps],
            "rows": [each.rows for each in maps],
            "positives": [each.positives for each in maps],
            "map": [each.shape.words for each in maps],
            **{name: [getattr(each, name) for each in maps] for name in numbers},
            "fallback": [each.fallback or "" for each in maps],
        }
    )


def fallback_words(maps: Sequence[LeafMap]) -> str:
    """Name the leaves that have the map of all rows, by the reason; empty if there are none."""
    leaves: dict[str, list[str]] = {}
    for each in maps:
        if each.fallback is not None:
            leaves.setdefault(each.fallback, []).append(str(each.leaf))
    return "; ".join(
        f"{'leaf' if len(ids) == 1 else 'leaves'} {', '.join(ids)} ({reason})"
        for reason, ids in leaves.items()
    )
