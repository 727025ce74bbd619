import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import ModelError
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile
from hetcal.models.inputs import (
    InputColumns,
    check_inputs,
    matrix_input,
    suggest_inputs,
    text_codes,
    write_input,
)


def model(*inputs):
    return ModelFile(Path("m"), "m.keras", "keras", "0", inputs, ("out",), "sigmoid", 1)


MATRIX = model(ModelInput("x", 3, layer="x"))
COLUMNS = model(ModelInput("age", 1), ModelInput("job", 1, "string"))
FRAME = pd.DataFrame({"age": [20, 30], "job": ["a", None], "pay": [1.5, np.nan], "Sex": [1, 0]})


def test_named_inputs_find_their_columns():
    found = suggest_inputs(COLUMNS, FRAME.columns)
    assert found == InputColumns((("age", ("age",)), ("job", ("job",))))
    assert found.needed == ("age", "job")


def test_a_matrix_never_gets_columns_by_position():
    assert suggest_inputs(MATRIX, ["a", "b", "c"]) is None
    assert suggest_inputs(MATRIX, ["x", "b", "c"]) is None


def test_an_input_without_its_column_is_not_guessed():
    assert suggest_inputs(COLUMNS, ["age", "Job"]) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("age", "pay"), "takes 3 columns, but 2 are chosen, 1 too few: 'age', 'pay'"),
        (("age", "pay", "Sex", "job"), "4 are chosen, 1 too many"),
        (("age", "pay", "sex"), r"no column 'sex' \(is 'Sex' meant\?\)"),
        (("age", "pay", "usage_1"), r"no column 'usage_1'\."),
    ],
)
def test_columns_that_do_not_fit_a_matrix_are_named(given, message):
    with pytest.raises(ModelError, match=message):
        check_inputs(MATRIX, FRAME, matrix_input(MATRIX, given))


def test_every_input_needs_its_columns():
    with pytest.raises(ModelError, match=r"given for 'age', but the inputs .* are 'age', 'job'"):
        check_inputs(COLUMNS, FRAME, InputColumns((("age", ("age",)),)))


def test_one_list_of_columns_does_not_fit_two_inputs():
    with pytest.raises(ModelError, match="has 2 inputs: 'age', 'job'"):
        matrix_input(COLUMNS, ["age", "job"])


def test_a_table_without_rows_is_refused():
    with pytest.raises(ModelError, match="no rows"):
        check_inputs(COLUMNS, FRAME.iloc[:0], suggest_inputs(COLUMNS, FRAME.columns))


def test_numbers_of_every_type_become_one_float32_matrix(tmp_path):
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "bool": [True, False],
            "nullable": pd.array([1, None], dtype="Int64"),
            "float": [0.5, np.inf],
            "empty": pd.Series([None, None], dtype="str"),
        }
    )
    written, notes = write_input(0, ModelInput("x", 5, layer="layer"), frame, tmp_path)
    array = np.load(tmp_path / written.file, allow_pickle=False)
    assert array.dtype == np.float32
    expected = [[1, 1, 1, 0.5, np.nan], [2, 0, np.nan, np.inf, np.nan]]
    np.testing.assert_array_equal(array, expected)
    assert notes == ["'bool' was given as 0 and 1."]
    assert (written.layer, written.texts) == ("layer", None)


@pytest.mark.parametrize(
    ("values", "spec", "message"),
    [
        (["a", "b"], ModelInput("x", 1), "'c' holds 'a', but the model's input 'x' takes numbers"),
        ([1e39, 0], ModelInput("x", 1), r"holds 1e\+39"),
        ([0.5, 1], ModelInput("x", 1, "int32"), "holds 0.5.*whole numbers"),
        ([np.nan, 1], ModelInput("x", 1, "int64"), "holds missing values"),
        ([3, 10], ModelInput("x", 1, "int32", ids=10), "holds 10.*ids 0 to 9"),
        ([-1, 3], ModelInput("x", 1, "int32", ids=10), "holds -1.*ids 0 to 9"),
    ],
)
def test_values_that_the_input_cannot_take_are_named(tmp_path, values, spec, message):
    with pytest.raises(ModelError, match=message):
        write_input(0, spec, pd.DataFrame({"c": values}), tmp_path)


def test_dates_are_not_numbers(tmp_path):
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(ModelError, match="'day' holds '2020-01-01"):
        write_input(0, ModelInput("x", 1), frame, tmp_path)


def test_a_float64_input_keeps_large_numbers(tmp_path):
    write_input(0, ModelInput("x", 1, "float64"), pd.DataFrame({"c": [1e39]}), tmp_path)
    assert np.load(tmp_path / "input_0.npy").tolist() == [[1e39]]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["b", "a", "b", None], ["b", "a", "b", ""]),
        ([3.0, 2.5, np.nan], ["3", "2.5", ""]),
        ([1, 2], ["1", "2"]),
        ([True, False], ["True", "False"]),
        (pd.Categorical(["x", None, "y"]), ["x", "", "y"]),
    ],
)
def test_text_travels_as_codes(values, texts):
    codes, words = text_codes(pd.Series(values))
    assert [words[code] for code in codes] == texts


def test_missing_text_is_said(tmp_path):
    spec = ModelInput("job", 1, "string", "job")
    written, notes = write_input(1, spec, FRAME[["job"]], tmp_path)
    assert notes == ["1 missing value of 'job' was given as empty text."]
    assert json.loads((tmp_path / written.texts).read_text()) == [["a", ""]]
