"""Columns of text become numbers and dates only where that loses nothing unsaid."""

import pyarrow as pa
import pytest

from hetcal.data.types import typed_column


def typed(values, decimal="."):
    return typed_column("x", pa.chunked_array([values], pa.large_string()), decimal)


def test_whole_numbers_stay_whole():
    column = typed(["1", "-20", "0"])
    assert column.values.type == pa.int64()
    assert column.values.to_pylist() == [1, -20, 0]
    assert column.note is None


def test_infinity_and_exponents_are_numbers():
    assert typed(["inf", "-Infinity", "1e3", ".5", "+2"]).values.to_pylist() == [
        float("inf"),
        float("-inf"),
        1000.0,
        0.5,
        2.0,
    ]


@pytest.mark.parametrize("marker", ["NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-"])
def test_markers_in_a_column_of_numbers_are_missing(marker):
    column = typed(["1.5", marker, "2.5"])
    assert column.values.fill_null(-1).to_pylist()[::2] == [1.5, 2.5]
    assert str(column.values[1].as_py()) in ("None", "nan")


def test_markers_that_became_missing_are_counted_and_shown():
    note = typed(["1", "-", "-", "?", "2"]).note
    assert "'x'" in note
    assert "3 other values" in note
    assert "'-', '?'" in note


@pytest.mark.parametrize("word", ["NA", "None", "null", "?", "-"])
def test_a_column_of_text_keeps_words_that_look_missing(word):
    column = typed(["DE", word, "FR"])
    assert column.values.to_pylist() == ["DE", word, "FR"]
    assert column.note is None


def test_nine_tenths_of_numbers_make_a_column_of_numbers():
    column = typed(["7"] * 90 + ["unknown"] * 10)
    assert column.values.to_pylist() == [7] * 90 + [None] * 10
    assert "10 other values" in column.note


def test_fewer_numbers_leave_the_column_as_text_and_say_why():
    column = typed(["7"] * 89 + ["unknown"] * 11)
    assert column.values[0].as_py() == "7"
    assert "89%" in column.note
    assert "'unknown'" in column.note


def test_codes_among_numbers_are_not_thrown_away():
    values = [str(i) for i in range(100, 290)] + [f"V{i}" for i in range(10)]
    assert typed(values).values.to_pylist() == values


def test_a_few_typing_errors_do_not_make_a_long_column_text():
    values = [f"{i}.5" for i in range(5000)] + [f"{i}abc" for i in range(10)]
    assert typed(values).values.null_count == 10


@pytest.mark.parametrize(
    "values", [["00123", "10115"], ["1.5", "008.2"], ["012", "?", "13"], ["0x1A"]]
)
def test_leading_zeros_and_hexadecimals_stay_text(values):
    column = typed(values)
    assert column.values.to_pylist() == values
    assert "look like codes" in column.note


def test_a_zero_before_the_point_is_no_leading_zero():
    assert typed(["0", "-0.5", "0.25"]).values.to_pylist() == [0, -0.5, 0.25]


def test_whole_numbers_beyond_64_bits_stay_text():
    column = typed(["9223372036854775808", "1"])
    assert column.values.to_pylist() == ["9223372036854775808", "1"]
    assert "9223372036854775808" in column.note


def test_the_largest_64_bit_number_is_exact():
    assert typed(["9223372036854775807"]).values.to_pylist() == [9223372036854775807]


def test_decimal_commas_are_read_when_asked_for():
    assert typed(["1,5", "-2,25"], ",").values.to_pylist() == [1.5, -2.25]
    assert typed(["1,5", "2,25"]).values.to_pylist() == ["1,5", "2,25"]


def test_a_point_is_no_decimal_mark_beside_a_decimal_comma():
    assert typed(["1.234,5", "2,5"], ",").values.to_pylist() == ["1.234,5", "2,5"]


def test_spaces_around_numbers_do_not_matter():
    assert typed([" 5", "6 ", "7"]).values.to_pylist() == [5, 6, 7]


def test_spaces_around_text_are_kept_because_models_see_them():
    assert typed([" yes", "no"]).values.to_pylist() == [" yes", "no"]


def test_iso_dates_become_dates():
    column = typed(["2024-01-31", None, "2024-02-01"])
    assert pa.types.is_timestamp(column.values.type)
    assert "dates" in column.note


def test_an_empty_column_is_named():
    column = typed([None, None])
    assert column.values.null_count == 2
    assert column.note == "Column 'x' has no values."
