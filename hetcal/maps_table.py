"""The maps of all leaves as a table."""

import pandas as pd

from hetcal.leaf_calibrator import LeafCalibrator
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
