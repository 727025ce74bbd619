"""Columns as a tree compares them."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.columns import (
    feature_kind,
    single_limit,
    single_limits,
    single_values,
)
from hetcal.errors import PartitionError


def test_a_large_whole_number_is_the_same_value_beside_a_gap():
    """Just above the middle of two single-precision numbers, double precision rounds to it."""
    large = 2**60 + 2**36 + 1
    assert np.array([large]).astype(np.float32)[0] != np.float32(float(large))
    assert single_values(pd.Series([large]))[0] == single_values(pd.Series([large, np.nan]))[0]


def test_a_column_of_mixed_values_is_refused_by_name():
    with pytest.raises(PartitionError, match="'x' holds lists or other values"):
        feature_kind(pd.Series([1, "a"], name="x", dtype=object))


def test_the_single_limit_parts_single_numbers_as_the_threshold_does():
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 1e-46, 3.5e38, -3.5e38, 1e300, -1e300, np.inf, 16777217.0]
    thresholds = np.array([*rng.normal(size=300) * 10.0 ** rng.integers(-40, 38, 300), *edges])
    for threshold, limit in zip(thresholds, single_limits(thresholds), strict=True):
        near = np.float32(np.clip(threshold, -3e38, 3e38))
        beside = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
        values = np.array([near, *beside, np.inf, -np.inf, np.nan], dtype=np.float32)
        expected = values.astype(np.float64) <= threshold
        assert (values <= limit).tolist() == expected.tolist()
        assert limit == single_limit(threshold)
