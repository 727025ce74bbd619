"""Columns are described by what they hold."""

import datetime

import numpy as np
import pandas as pd
import pytest

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.single import HistogramCalibrator, IsotonicCalibrator, PlattCalibrator
from hetcal.data.columns import (
    column_kind,
    describe_columns,
    feature_kind,
    row_weights,
    single_limit,
    single_limits,
    single_values,
    value_codes,
)
from hetcal.errors import CalibrationError, PartitionError
from hetcal.partitions.tree import TreePartition


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


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=600)
    return scores, rng.binomial(1, 1 / (1 + np.exp(-scores))), 1 + rng.random(600)


def test_ordinary_weights_stay_as_they_are(rows):
    assert row_weights(rows[2], rows[0]) is rows[2]
    single = np.array([0.1, 0.0], dtype=np.float32)
    assert row_weights(single, np.zeros(2)).tolist() == single.astype(np.float64).tolist()


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("kind", [PlattCalibrator, IsotonicCalibrator, HistogramCalibrator])
def test_maps_do_not_depend_on_the_unit_of_weights(rows, kind, unit):
    scores, y, weight = rows
    expected = kind().fit(scores, y, weight).predict(scores)
    assert kind().fit(scores, y, unit * weight).predict(scores) == pytest.approx(expected)


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_trees_and_maps_of_leaves_do_not_depend_on_the_unit_of_weights(rows, unit):
    scores, y, weight = rows
    tree, other = (TreePartition(2).fit(scores[:, None], y, w) for w in (weight, unit * weight))
    leaf = tree.apply(scores[:, None])
    assert np.array_equal(other.apply(scores[:, None]), leaf)
    one, two = (LeafCalibrator().fit(scores, y, leaf, w) for w in (weight, unit * weight))
    assert two.predict(scores, leaf) == pytest.approx(one.predict(scores, leaf))


@pytest.mark.parametrize(("bad", "message"), [(-1.0, "Negative"), (np.nan, "NaN")])
def test_weights_that_are_none_are_not_left_out_in_silence(rows, bad, message):
    scores, y, weight = rows
    weight, leaf = np.append(bad, weight[1:]), np.ones(600, int)
    with pytest.raises(ValueError, match=message):
        LeafCalibrator().fit(scores, y, leaf, weight)
    with pytest.raises(ValueError, match=message):
        ClassCalibrator().fit(np.column_stack([-scores, scores]), y, leaf, weight)


def test_rows_without_any_weight_are_refused_in_words(rows):
    with pytest.raises(CalibrationError, match="no rows"):
        LeafCalibrator().fit(rows[0], rows[1], np.ones(600, int), np.zeros(600))
