"""Columns are described by what they hold."""

import datetime

import numpy as np
import pandas as pd
import pytest

from hetcal.data.columns import column_kind, describe_columns, value_codes


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series([1, 2]), "number"),
        (pd.Series([1.5, np.nan]), "number"),
        (pd.Series([1, None], dtype="Int64"), "number"),
        (pd.Series([True, False]), "category"),
        (pd.Series(["a", None], dtype="str"), "category"),
        (pd.Series(["a", None], dtype=object), "category"),
        (pd.Series(["a", "b"], dtype="category"), "category"),
        (pd.Series(pd.to_datetime(["2024-01-01"])), "date"),
        (pd.Series(pd.to_timedelta(["1D"])), "other"),
        (pd.Series([datetime.time(1), None]), "other"),
        (pd.Series([b"x"]), "other"),
        (pd.Series([1j]), "other"),
    ],
)
def test_each_type_has_its_kind(values, kind):
    assert column_kind(values) == kind


def test_values_are_enumerated_by_size_and_missing_ones_are_minus_one():
    codes, values = value_codes(pd.Series([10.0, np.nan, 2.0, 10.0]))
    assert values == ["2", "10"]
    assert codes.tolist() == [1, -1, 0, 1]


def test_values_with_the_same_text_are_one():
    codes, values = value_codes(pd.Series([1, "1", 1.0, "x"], dtype=object))
    assert values == ["1", "x"]
    assert codes.tolist() == [0, 0, 0, 1]


def test_the_description_counts_missing_and_distinct_values():
    frame = pd.DataFrame({"n": [np.nan, 2.0, 2.0], "c": pd.Series(["u", "v", None], dtype="str")})
    frame["empty"] = np.nan
    assert describe_columns(frame).to_dict("split")["data"] == [
        ["n", "number", 1, 1, "2"],
        ["c", "category", 1, 2, "u"],
        ["empty", "number", 3, 0, ""],
    ]


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_the_first_value_of_a_column_is_written_in_few_digits_unless_it_is_whole(kind):
    frame = pd.DataFrame({"a": [0.4671611072370462, 1], "b": [12345678.0, 1]}, dtype=kind)
    assert describe_columns(frame)["example"].tolist() == ["0.467161", "12345678"]
