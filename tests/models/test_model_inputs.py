import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from hetcal.data.reading import Source
from hetcal.errors import ModelError, TableError
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile
from hetcal.models.inputs import (
    InputColumns,
    cells_as_seen,
    check_inputs,
    coded_columns,
    listed_inputs,
    matrix_input,
    suggest_inputs,
    text_codes,
    text_columns,
    unlike_training,
    write_input,
)
from hetcal.models.steps import (
    ColumnStep,
    InputSteps,
    fit_steps,
    read_steps,
    scale_all,
    steps_from_text,
    with_scales_undone,
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


MIXED = model(ModelInput("numbers", 2), ModelInput("job", 1, "string"))


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (["numbers=age", "pay", "job=Sex"], {"numbers": ("age", "pay"), "job": ("Sex",)}),
        (["numbers=age", "pay"], {"job": ("job",), "numbers": ("age", "pay")}),
        (["numbers=", "age", "pay"], {"job": ("job",), "numbers": ("age", "pay")}),
    ],
)
def test_several_inputs_are_told_their_columns(listed, expected):
    found = listed_inputs(MIXED, listed, FRAME.columns)
    assert dict(found.columns) == expected
    check_inputs(MIXED, FRAME, found)


def test_a_column_with_an_equals_sign_is_no_input():
    columns = ["x=1", "b", "c"]
    assert listed_inputs(MATRIX, columns, columns).of("x") == ("x=1", "b", "c")
    with pytest.raises(ModelError, match=r"has 2 inputs.*--inputs NAME=c1"):
        listed_inputs(MIXED, ["age", "pay"], FRAME.columns)


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


GRADES = model(ModelInput("grade", 1, "string"))


def test_columns_that_a_text_input_takes_are_named_unless_they_are_text():
    inputs = suggest_inputs(GRADES, ["grade"])
    for values, named in (([1.0, 2.0], ("grade",)), (["1.0", "2.0"], ())):
        assert text_columns(GRADES, inputs, pd.DataFrame({"grade": values})) == named


def test_cells_are_shown_as_the_model_reads_them():
    frame = pd.DataFrame({"age": [1.5, np.nan, 3], "job": ["a", None, "007"]})
    seen = cells_as_seen(COLUMNS, frame, suggest_inputs(COLUMNS, frame.columns), rows=3)
    assert seen.values.tolist() == [
        ["age", "age", "1.5", "", "3"],
        ["job", "job", '"a"', '""', '"007"'],
    ]


def test_codes_that_stay_text_in_the_table_are_numbers_for_a_number_input(tmp_path):
    frame = pd.DataFrame({"code": ["00123", None, "7"]})
    write_input(0, ModelInput("x", 1), frame, tmp_path)
    expected = [[123.0], [np.nan], [7.0]]
    np.testing.assert_array_equal(np.load(tmp_path / "input_0.npy"), expected)


def test_numbers_that_are_given_as_text_are_said(tmp_path):
    spec = ModelInput("grade", 1, "string", "grade")
    _, notes = write_input(0, spec, pd.DataFrame({"grade": [1.0, 2.0]}), tmp_path)
    assert notes == ["The numbers of 'grade' were given as text, such as \"1\"."]


def test_missing_text_is_said(tmp_path):
    spec = ModelInput("job", 1, "string", "job")
    written, notes = write_input(1, spec, FRAME[["job"]], tmp_path)
    assert notes == ["1 missing value of 'job' was given as empty text."]
    assert json.loads((tmp_path / written.texts).read_text()) == [["a", ""]]


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, 50),
            "pay": rng.lognormal(10, 1, 50),
            "plan": rng.choice(["basic", "plus"], 50),
            "fixed": 0.1 + np.zeros(50),
        }
    )


@pytest.mark.parametrize(
    ("way", "scaler"), [("standardise", StandardScaler()), ("min-max", MinMaxScaler())]
)
def test_columns_are_scaled_as_scikit_learn_scales_them(frame, way, scaler):
    numbers = ["age", "pay", "fixed"]
    training = frame.iloc[:30]
    found = scale_all(way, list(frame.columns), training).apply(frame)
    expected = scaler.fit(training[numbers]).transform(frame[numbers])
    np.testing.assert_allclose(found[numbers], expected, rtol=1e-12, atol=1e-12)
    assert found["plan"].equals(frame["plan"])


def test_missing_values_are_left_out_of_the_scale_and_stay_missing():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0]})
    found = scale_all("standardise", ["a"], frame)
    assert found.steps == (ColumnStep("a", "standardise", 2.0, 1.0),)
    np.testing.assert_array_equal(found.apply(frame)["a"], [-1, np.nan, 1])


def test_the_given_frame_is_not_changed(frame):
    before = frame.copy(deep=True)
    scale_all("min-max", ["age"], frame).apply(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_codes_are_places_in_the_stated_order_and_others_missing():
    step = ColumnStep("plan", "codes", codes=("plus", "basic"))
    values = step.apply(pd.Series(["basic", "plus", "gold", None]))
    np.testing.assert_array_equal(values, [1, 0, np.nan, np.nan])


def test_one_hot_columns_are_as_scikit_learn_makes_them(frame):
    frame["rank"] = np.resize([10.0, 9.0, 2.0], 50)
    names = ["plan", "rank"]
    steps = fit_steps(dict.fromkeys(names, "one-hot"), frame)
    found = steps.apply(frame[["age", *names]])
    expected = OneHotEncoder(sparse_output=False).fit_transform(frame[names])
    assert list(found) == ["age", "plan=basic", "plan=plus", "rank=2", "rank=9", "rank=10"]
    np.testing.assert_array_equal(found.drop(columns="age"), expected)


def test_values_that_are_not_listed_are_all_zero():
    step = ColumnStep("plan", "one-hot", codes=("plus", "basic"))
    values = step.apply(pd.Series(["basic", "plus", "gold", None]))
    assert values.tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]


def test_one_hot_columns_count_as_many_where_the_input_is_filled(tmp_path):
    step = ColumnStep("job", "one-hot", codes=("b", "a"))
    inputs = InputColumns((("x", ("age", "job")),), InputSteps((step,)))
    check_inputs(MATRIX, FRAME, inputs)
    seen = cells_as_seen(MATRIX, FRAME, inputs).set_index("column")
    assert seen["row 1"].to_dict() == {"age": "20", "job=b": "0", "job=a": "1"}
    with pytest.raises(ModelError, match="takes 3 columns, but 4 are chosen"):
        check_inputs(MATRIX, FRAME, InputColumns((("x", ("age", "pay", "job")),), inputs.steps))


def test_a_column_of_too_many_values_is_no_category():
    frame = pd.DataFrame({"id": [f"c{i}" for i in range(1_001)]})
    with pytest.raises(ModelError, match="'id' has 1,001 values"):
        fit_steps({"id": "one-hot"}, frame)


def test_columns_of_text_for_an_input_of_numbers_are_named():
    given = FRAME.assign(code=["00123", "7"], day=pd.to_datetime(["2020-01-01", "2020-01-02"]))
    inputs = InputColumns((("x", ("age", "job", "code", "day")),))
    assert coded_columns(MATRIX, inputs, given) == ("job",)
    assert coded_columns(COLUMNS, suggest_inputs(COLUMNS, FRAME.columns), FRAME) == ()


def test_columns_too_wide_for_the_weights_of_the_first_layer_are_named():
    # Deviations 10, 1000 and 1, weights 0.1, 0.2 and 3: sums vary by √(1² + 200² + 3²) = 200.
    heavy = model(ModelInput("x", 3, layer="x", reach=(0.1, 0.2, 3.0)))
    sign = np.resize([-1.0, 1.0], 100)
    frame = pd.DataFrame({"age": 40 + 10 * sign, "pay": 5e4 + 1000 * sign, "z": sign})
    inputs = matrix_input(heavy, ["age", "pay", "z"])
    assert "sums vary by 200, where a few units are usual, most by 'pay'" in unlike_training(
        heavy, inputs, frame
    )
    scaled = replace(inputs, steps=scale_all("standardise", list(frame), frame))
    assert unlike_training(heavy, scaled, frame) is None
    assert unlike_training(MATRIX, inputs, frame) is None, "no weights are known"
    assert unlike_training(heavy, inputs, frame.assign(pay=np.nan)) is None


@pytest.mark.parametrize(
    ("way", "expected"), [("log", [np.nan, 0, np.nan]), ("log1p", [0, np.log(2), np.nan])]
)
def test_logarithms_that_are_not_finite_are_missing(way, expected):
    values = ColumnStep("pay", way).apply(pd.Series([0.0, 1.0, -2.0]))
    np.testing.assert_allclose(values, expected)


def test_a_file_names_numbers_or_ways(frame, tmp_path):
    said = {
        "age": {"mean": 40, "scale": 10},
        "pay": "log1p",
        "plan": {"codes": ["basic", "plus"]},
        "fixed": "as is",
    }
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(said))
    assert fit_steps(read_steps(path), frame) == InputSteps(
        (
            ColumnStep("age", "standardise", 40.0, 10.0),
            ColumnStep("pay", "log1p"),
            ColumnStep("plan", "codes", codes=("basic", "plus")),
        )
    )


@pytest.mark.parametrize("way", ["standardise", "min-max", "log", "log1p", "codes"])
def test_a_step_that_is_undone_gives_the_column_back(way):
    column = pd.Series(["b", None, "a", "b"] if way == "codes" else [20.0, np.nan, 31.0, 90.0])
    (step,) = fit_steps({"age": way}, pd.DataFrame({"age": column})).steps
    seen = pd.Series(step.apply(column)).round(4)  # as a file may hold it
    undone = step.undo(seen)
    assert undone.isna().tolist() == [False, True, False, False]
    known, expected = undone.dropna().tolist(), column.dropna().tolist()
    assert known == (pytest.approx(expected, rel=1e-4) if "log" in way else expected)


def test_fractions_stay_when_a_scale_is_undone():
    column = pd.Series([0.25, 10.5, 99.75])
    (step,) = fit_steps({"fee": "standardise"}, pd.DataFrame({"fee": column})).steps
    assert step.undo(pd.Series(step.apply(column))).tolist() == pytest.approx(column.tolist())


def test_undone_columns_are_read_in_place_of_scaled_ones():
    frame = pd.DataFrame({"age": [-1.0, 0.5], "plan": ["a", "b"], "y": [0, 1]})
    asked = {"age": ColumnStep("age", "standardise", 40.0, 10.0), "plan": "as is"}
    found = with_scales_undone(Source(frame, "d", (), None), asked, "steps.json")
    assert found.frame["age (raw)"].tolist() == [30.0, 45.0]
    assert (found.raw, found.prepared) == (("age (raw)",), ("age",))
    assert found.digest != "d"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"age": "standardise"}, "The step 'standardise' of the column 'age' has no numbers"),
        ({"aged": ColumnStep("aged", "standardise")}, "There is no column 'aged'"),
    ],
)
def test_steps_that_cannot_be_undone_are_refused(asked, words):
    with pytest.raises((ModelError, TableError)) as error:
        with_scales_undone(Source(FRAME, "d", (), None), asked, "steps.json")
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "column,mean,scale\nage,18,72\n",
        "column,min,max\nage,18,90\n",
        '{"age": {"min": 18, "max": 90}}',
    ],
)
def test_numbers_come_from_csv_or_json(frame, text):
    (step,) = fit_steps(steps_from_text(text, "f"), frame).steps
    assert (step.column, step.shift, step.scale) == ("age", 18.0, 72.0)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "age,1,2",
        '{"age": 3}',
        '{"age": {"mean": 1, "scale": 0}}',
        '{"age": {"mean": 1, "scale": "x"}}',
        '{"age": {"mean": NaN, "scale": 1}}',
        '{"age": {"min": 2, "max": 1}}',
        '{"age": {"codes": [[1], 2]}}',
        '{"age": {"one-hot": []}}',
        '{"age": "cube"}',
        "[" * 10_000,
        '{"a":' * 10_000,
    ],
)
def test_a_file_that_says_nothing_of_use_is_refused(text):
    with pytest.raises(ModelError):
        steps_from_text(text, "f.json")


def test_a_column_that_is_not_there_is_named(frame):
    with pytest.raises(ModelError, match=r"no column 'agee'.*'age', if that is meant"):
        fit_steps({"agee": "log"}, frame)


def test_text_cannot_be_scaled(frame):
    with pytest.raises(ModelError, match="'plan' holds"):
        fit_steps({"plan": "standardise"}, frame)
