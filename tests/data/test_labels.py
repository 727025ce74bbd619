"""A label has values, and one of them is positive."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.table import encode_label, guess_positive, label_codes, label_values
from hetcal.errors import TableError


def refusal(values, positive=None, *, drop=False):
    with pytest.raises(TableError) as caught:
        encode_label(pd.Series(values, name="grade"), positive, drop)
    assert "'grade'" in caught.value.wrong
    assert caught.value.needed
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.Series([1.0, 0.0, np.nan]), ["0", "1"]),
        (pd.Series([1, -1]), ["-1", "1"]),
        (pd.Series([True, False]), ["False", "True"]),
        (pd.Series(["yes", "no", None], dtype="str"), ["no", "yes"]),
    ],
)
def test_label_values_are_text_without_needless_decimals(column, values):
    assert label_values(column) == values


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (["0", "1"], "1"),
        (["1", "2"], "2"),
        (["-1", "1"], "1"),
        (["9", "10"], "10"),
        (["no", "yes"], "yes"),
        (["N", "Y"], "Y"),
        (["False", "True"], "True"),
        (["negative", "positive"], "positive"),
        (["<=50K", ">50K"], ">50K"),
        (["churned", "not churned"], "churned"),
        (["good", "bad"], "bad"),
        (["alpha", "beta"], "beta"),
    ],
)
def test_the_guess_does_not_depend_on_the_order(values, positive):
    assert guess_positive(values) == guess_positive(values[::-1]) == positive


@pytest.mark.parametrize("values", [[], ["a"], ["a", "b", "c"]])
def test_other_numbers_of_values_have_no_positive_one(values):
    assert guess_positive(values) is None


@pytest.mark.parametrize(
    ("values", "positive", "y"),
    [
        ([1, 2, 1], None, [0, 1, 0]),
        ([1, 2, 1], "1", [1, 0, 1]),
        ([-1, 1, 1], None, [0, 1, 1]),
        ([0.0, 1.0], "1.0", [0, 1]),
        ([True, False], "True", [1, 0]),
        (["b", "a"], "a", [0, 1]),
    ],
)
def test_the_positive_value_becomes_one(values, positive, y):
    found = encode_label(pd.Series(values, name="grade"), positive, False)
    assert found.y.dtype == np.int8
    assert found.y.tolist() == y
    assert found.labelled.all()
    assert found.classes == ()


def test_more_than_two_values_are_classes_unless_one_is_named():
    found = encode_label(pd.Series(list("cbacab"), name="kind"), None, False)
    assert found.classes == ("a", "b", "c")
    assert found.y.tolist() == [2, 1, 0, 2, 0, 1]
    assert found.positive is None


def test_of_too_many_values_only_the_most_frequent_are_shown():
    error = refusal(["x", "x", *(f"v{i}" for i in range(1000))])
    assert "1,001 distinct values ('x' in 2 rows, " in error.wrong
    assert error.wrong.endswith(", …).")
    assert "name a positive value" in error.remedy


def test_one_value_is_refused():
    assert "a single value ('1' in 2 rows)" in refusal([1, 1]).wrong


def test_an_empty_label_is_refused():
    assert "no values at all" in refusal([np.nan, np.nan]).wrong


@pytest.mark.parametrize("values", [[0.2, 0.7, 1.0], [0.25, 0.75]])
def test_fractions_are_refused_as_scores(values):
    error = refusal(values)
    assert f"fractions ({values[0]}, {values[1]}" in error.wrong
    assert "scores" in error.needed


def test_missing_labels_are_counted():
    error = refusal([1.0, 0.0, np.nan, np.nan])
    assert "empty in 2 of 4 rows" in error.wrong
    assert "leave rows without a label out" in error.remedy


def test_missing_labels_may_be_left_out():
    found = encode_label(pd.Series([1.0, np.nan, 0.0], name="grade"), None, True)
    assert found.y[found.labelled].tolist() == [1, 0]
    assert found.labelled.tolist() == [True, False, True]
    assert found.positive == "1"


def test_a_positive_value_that_does_not_occur_is_refused():
    error = refusal(["no", "yes"], "maybe")
    assert "'maybe'" in error.wrong
    assert "'no' or 'yes'" in error.needed


@pytest.mark.parametrize(
    ("values", "written", "meant"),
    [
        (["no", "yes"], "YES ", "yes"),
        (["No", "Yes"], "yes", "Yes"),
        ([True, False], "1", "True"),
        ([True, False], "false", "False"),
        ([1, 0], "true", "1"),
        (["1", "true"], "True", "true"),
        (["yes", "Yes"], "Yes", "Yes"),
    ],
)
def test_a_positive_value_may_be_written_otherwise(values, written, meant):
    assert encode_label(pd.Series(values, name="grade"), written, False).positive == meant


def test_a_positive_value_that_could_be_either_is_refused():
    assert "'YES'" in refusal(["yes", "Yes"], "YES").wrong


def test_a_named_value_stands_against_all_others():
    found = encode_label(pd.Series(list("abcaab"), name="kind"), "b", False)
    assert found.y.tolist() == [0, 1, 0, 0, 0, 1]
    assert found.labelled.all()
    assert found.positive == "b"


def test_a_named_value_must_be_one_of_many():
    with pytest.raises(TableError) as caught:
        encode_label(pd.Series(list("abcdefg"), name="kind"), "z", False)
    assert caught.value.needed == "It must be one of its values, such as 'a', 'b', 'c', 'd', 'e'."


def test_codes_number_the_labels_in_order():
    codes, values = label_codes(pd.Series(["b", None, "a", "c"], name="kind"), True)
    assert values == ["a", "b", "c"]
    assert codes.tolist() == [1, -1, 0, 2]
