"""Columns as a tree compares them."""

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.feature_values import feature_kind, number_values


def test_a_large_whole_number_is_the_same_value_beside_a_gap():
    """Just above the middle of two single-precision numbers, double precision rounds to it."""
    large = 2**60 + 2**36 + 1
    assert np.array([large]).astype(np.float32)[0] != np.float32(float(large))
    assert number_values(pd.Series([large]))[0] == number_values(pd.Series([large, np.nan]))[0]


def test_a_column_of_mixed_values_is_refused_by_name():
    with pytest.raises(PartitionError, match="'x' holds lists or other values"):
        feature_kind(pd.Series([1, "a"], name="x", dtype=object))
