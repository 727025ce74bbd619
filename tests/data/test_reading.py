"""Files are read exactly, or refused in words that name what is wrong."""

import gzip
import hashlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hetcal.data.reading import read_file
from hetcal.data.text import Dialect, is_parquet
from hetcal.errors import TableError


@pytest.fixture
def written(tmp_path):
    """Write bytes or text to a file and return its path."""

    def write(content, name="people.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def parquet_file(tmp_path):
    """Write a table as Parquet under a misleading name and return its path."""

    def write(table):
        path = tmp_path / "people.csv"
        pq.write_table(table, path)
        return path

    return write


def refusal(path, *arguments, **options):
    with pytest.raises(TableError) as caught:
        read_file(path, *arguments, **options)
    assert all([caught.value.wrong, caught.value.needed, caught.value.remedy])
    return caught.value


PEOPLE = "age,job,y\n31,clerk,1\n45,NA,0\n,cook,1\n"


def test_numbers_text_and_missing_values_are_told_apart(written):
    reading = read_file(written(PEOPLE))
    assert list(reading.frame.columns) == ["age", "job", "y"]
    assert reading.frame["age"].tolist()[:2] == [31.0, 45.0]
    assert np.isnan(reading.frame["age"][2])
    assert reading.frame["job"].tolist() == ["clerk", "NA", "cook"]
    assert reading.frame["job"].dtype == "str"
    assert reading.frame["y"].dtype == np.int64
    assert reading.dialect == Dialect()
    assert reading.notes == ()


def test_the_digest_is_that_of_the_file(written):
    assert read_file(written(PEOPLE)).digest == hashlib.sha256(PEOPLE.encode()).hexdigest()


@pytest.mark.parametrize(
    "content",
    [
        PEOPLE.encode("utf-8-sig"),
        PEOPLE.encode("utf-16"),
        PEOPLE.replace(",", ";").encode(),
        PEOPLE.replace(",", "\t").encode(),
        PEOPLE.replace("\n", "\r\n").encode(),
        b"\n\n" + PEOPLE.replace("\n", "\n\n").encode(),
        gzip.compress(PEOPLE.encode()),
    ],
    ids=["bom", "utf-16", "semicolon", "tab", "windows", "blank lines", "gzip"],
)
def test_every_way_of_writing_gives_the_same_table(written, content):
    expected = read_file(written(PEOPLE, "plain.csv")).frame
    pd.testing.assert_frame_equal(read_file(written(content)).frame, expected)


def test_windows_text_is_read_with_a_word_of_warning(written):
    reading = read_file(written("city,y\nKöln,1\n".encode("cp1252")))
    assert reading.frame["city"].tolist() == ["Köln"]
    assert any("cp1252" in note for note in reading.notes)


def test_an_accent_far_down_the_file_still_decides_the_encoding(written):
    content = b"city,y\n" + b"Bonn,1\n" * 20_000 + "Köln,0\n".encode("cp1252")
    reading = read_file(written(content))
    assert reading.dialect.encoding == "cp1252"
    assert reading.frame["city"].iloc[-1] == "Köln"


def test_the_wrong_encoding_is_named(written):
    path = written("city,y\nKöln,1\n".encode("cp1252"))
    assert "'utf-8'" in refusal(path, Dialect(encoding="utf-8")).wrong


def test_an_unknown_encoding_is_named(written):
    assert "'klingon'" in refusal(written(PEOPLE), Dialect(encoding="klingon")).wrong


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_an_impossible_delimiter_is_refused(written, delimiter):
    assert "delimiter" in refusal(written(PEOPLE), Dialect(delimiter)).wrong


def test_an_impossible_decimal_mark_is_refused(written):
    assert "';'" in refusal(written(PEOPLE), Dialect(decimal=";")).wrong


def test_decimal_commas_are_detected_and_told(written):
    reading = read_file(written("a;b\n1,5;x\n2,5;y\n"))
    assert reading.frame["a"].tolist() == [1.5, 2.5]
    assert any("decimal comma" in note for note in reading.notes)


def test_the_wrong_delimiter_is_recognised(written):
    error = refusal(written("age;job\n31;clerk\n"), Dialect(","))
    assert "single column" in error.wrong
    assert "';'" in error.needed


def test_repeated_column_names_are_refused(written):
    error = refusal(written("a,b,a\n1,2,3\n"))
    assert "'a'" in error.wrong
    assert "First row" in error.remedy


def test_names_that_differ_by_spaces_alone_are_repeated(written):
    assert "'a'" in refusal(written("a, a\n1,2\n")).wrong


def test_spaces_around_names_are_removed_and_told(written):
    reading = read_file(written("age , job\n31,clerk\n"))
    assert list(reading.frame.columns) == ["age", "job"]
    assert sum("spaces" in note for note in reading.notes) == 2


def test_a_column_without_a_name_gets_one(written):
    reading = read_file(written(",a\n7,1\n8,2\n"))
    assert list(reading.frame.columns) == ["column 1", "a"]
    assert any("no name" in note for note in reading.notes)


def test_a_first_row_of_numbers_is_asked_about(written):
    path = written("1,0.5\n2,0.7\n3,0.9\n")
    assert any("looks like values" in note for note in read_file(path).notes)
    unnamed = read_file(path, Dialect(header=False))
    assert unnamed.frame["column 2"].tolist() == [0.5, 0.7, 0.9]
    assert unnamed.notes == ()


def test_one_extra_field_in_every_row_is_not_taken_as_row_names(written):
    error = refusal(written("a,b\n1,2,3\n4,5,6\n"))
    assert "Every row of 'people.csv' has 3 fields" in error.wrong
    assert "2 columns" in error.wrong


@pytest.mark.parametrize(("row", "fields"), [("1", "1 field "), ("1,2,3", "3 fields ")])
def test_a_ragged_row_is_refused_with_its_line(written, row, fields):
    error = refusal(written(f'a,b\n"x\ny",1\n\n{row}\n5,6\n'))
    assert f"Line 5 of 'people.csv' has {fields}" in error.wrong
    assert "skip bad rows" in error.remedy


def test_ragged_rows_are_counted_when_skipped(written):
    path = written("a,b\n1,2\n3\n4,5,6\n7,8\n")
    reading = read_file(path, Dialect(skip_bad_rows=True))
    assert reading.frame["a"].tolist() == [1, 7]
    assert any("2 rows were left out" in note and "line 3" in note for note in reading.notes)


def test_no_rows_left_after_skipping_is_an_error(written):
    path = written("a,b\n1\n4,5,6\n")
    assert "no rows of values" in refusal(path, Dialect(skip_bad_rows=True)).wrong


def test_an_unclosed_quote_does_not_crash(written):
    content = 'a,b\n1,"x\n' + "2,y\n" * 5
    reading = read_file(written(content))
    assert len(reading.frame) == 1  # the quote swallows the rest, as CSV says it does


def test_a_quote_that_swallows_many_megabytes_is_refused(written):
    content = 'a,b\n1,"x\n' + "2,yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n" * 200_000
    assert "quote" in refusal(written(content)).needed


@pytest.mark.parametrize("dialect", [None, Dialect()])
def test_an_empty_file_is_refused(written, dialect):
    assert "'people.csv' is empty" in refusal(written(""), dialect).wrong


def test_a_header_without_rows_is_refused(written):
    assert "no rows of values" in refusal(written("a,b\n")).wrong


def test_a_line_without_an_end_has_no_rows(written):
    assert "no rows of values" in refusal(written("hello")).wrong


@pytest.mark.parametrize("content", ["hello", '[{"a": 1}]', "", b"\x89HDF", "a,b\n1,2,3\n4,5\n"])
def test_what_is_named_parquet_and_is_no_table_is_said_to_be_no_parquet(written, content):
    assert "'a.parquet' is neither a Parquet file" in refusal(written(content, "a.parquet")).wrong


def test_a_text_table_named_parquet_is_read_all_the_same(written):
    assert read_file(written(PEOPLE, "a.parquet")).frame["age"].tolist()[:2] == [31, 45]


@pytest.mark.parametrize("content", ['{"a": 1}\n{"a": 2}\n', ' [\n{"a": 1}]', "[[1, 2]]", "{}"])
def test_json_is_refused(written, content):
    assert "'people.csv' is JSON" in refusal(written(content)).wrong


def test_names_in_brackets_are_not_json(written):
    assert list(read_file(written("[a],{b}\n1,2\n")).frame) == ["[a]", "{b}"]


def test_a_workbook_named_csv_is_refused_under_the_users_name(written):
    error = refusal(written(b"PK\x03\x04" + b"\x00" * 50, "5f2a"), name="sales.csv")
    assert error.wrong.startswith("'sales.csv' is a zip archive or an Excel workbook")


def test_a_missing_file_is_named(tmp_path):
    assert "nowhere.csv" in refusal(tmp_path / "nowhere.csv").wrong


def test_a_gzip_file_cut_off_late_is_refused(written):
    text = "a,b\n" + "".join(f"{i},{i * 7919 % 104729}\n" for i in range(100_000))
    assert "cut off" in refusal(written(gzip.compress(text.encode())[:-5000])).wrong


def test_a_gzip_file_may_not_unpack_without_end(written, monkeypatch):
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.01")
    file = written(gzip.compress(b"a,b\n" + b"1,2\n" * 400_000))
    assert file.stat().st_size < 10_000
    assert "'people.csv' would take about 1" in refusal(file).wrong
    # 1.6 MB of text in 800,000 fields, each with its place and its number: 16 bytes more.
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.0145")
    assert len(read_file(file).frame) == 400_000


def test_text_beyond_the_budget_is_refused_before_it_is_read(written, monkeypatch):
    monkeypatch.setenv("HETCAL_TABLE_GB", "1e-8")
    error = refusal(written(PEOPLE))
    assert "would take about" in error.wrong
    assert "HETCAL_TABLE_GB" in error.remedy


@pytest.mark.parametrize("columns", [70_000, 400_000])  # in one block of a file, and in several
def test_a_table_of_too_many_columns_is_refused_by_its_header(written, columns):
    error = refusal(written(f"{',x' * columns}\n{',1' * columns}\n"))
    assert "'people.csv' has" in error.wrong
    assert "at most 50,000" in error.needed


def test_a_parquet_file_of_too_many_columns_is_refused_by_its_footer(parquet_file, monkeypatch):
    monkeypatch.setattr("hetcal.data.budget.MOST_COLUMNS", 2)
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    assert "has 3 columns" in refusal(parquet_file(table)).wrong
    assert len(read_file(parquet_file(table.drop(["c"]))).frame) == 1


@pytest.mark.parametrize("given", ["much", "0", "-1", "nan", "inf"])
def test_a_budget_that_is_no_number_is_refused_by_its_name(written, monkeypatch, given):
    monkeypatch.setenv("HETCAL_TABLE_GB", given)
    assert refusal(written(PEOPLE)).wrong == f"The variable HETCAL_TABLE_GB is '{given}'."


def test_parquet_is_recognised_by_its_content(parquet_file):
    path = parquet_file(pa.table({"a": [1, 2], "b": ["x", None]}))
    reading = read_file(path)
    assert is_parquet(path)
    assert reading.dialect is None
    assert reading.frame["a"].tolist() == [1, 2]
    assert reading.frame["b"].dtype == "str"


def test_parquet_types_become_plain_columns(parquet_file):
    table = pa.table(
        {
            "price": pa.array([1, 2], pa.decimal128(10, 2)),
            "day": pa.array([0, 1], pa.date32()),
            "flag": pa.array([True, False]),
            "flag with gaps": pa.array([True, None]),
            "job": pa.array(["a", "b"]).dictionary_encode(),
            "half": pa.array(np.array([0.5, 1.5], np.float16)),
            "huge": pa.array([2**63, 1], pa.uint64()),
            "nothing": pa.nulls(2),
        }
    )
    frame = read_file(parquet_file(table)).frame
    assert frame["price"].tolist() == [1.0, 2.0]
    assert frame["day"].dtype.kind == "M"
    assert frame["flag"].dtype == bool
    assert frame["flag with gaps"][0] == "True"
    assert frame["flag with gaps"].isna().tolist() == [False, True]
    assert frame["job"].dtype == "str"
    assert frame["half"].dtype == np.float32
    assert frame["huge"].tolist() == [str(2**63), "1"]
    assert frame["nothing"].dtype == np.float64


def test_nested_parquet_columns_are_left_out_and_named(parquet_file):
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.ones((1, 2, 2)))
    place = pa.array([{"x": 1, "y": {"z": 2}}])
    values = {"tags": [["x", "y"]], "a": [1], "place": place, "b": [2.5], "t": tensors, "c": ["k"]}
    reading = read_file(parquet_file(pa.table(values)))
    assert reading.frame.iloc[0].to_dict() == {"a": 1, "b": 2.5, "c": "k"}
    assert [note.split("'")[1] for note in reading.notes] == ["tags", "place", "t"]


def test_a_parquet_file_of_nested_columns_only_is_refused(parquet_file):
    assert "'tags'" in refusal(parquet_file(pa.table({"tags": [["x", "y"]]}))).wrong


def test_repeated_parquet_names_are_refused(parquet_file):
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "'a'" in refusal(parquet_file(table)).wrong


def test_parquet_without_rows_is_refused(parquet_file):
    assert "no rows" in refusal(parquet_file(pa.table({"a": pa.array([], pa.int64())}))).wrong


def test_the_memory_of_a_parquet_file_is_known_before_it_is_read(parquet_file, monkeypatch):
    path = parquet_file(pa.table({"a": np.zeros(1_000_000), "b": np.zeros(1_000_000)}))
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.015")
    assert "about 16.0 MB of memory (1,000,000 rows, 2 columns)" in refusal(path).wrong
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.017")  # 2 million numbers of 8 bytes
    assert len(read_file(path).frame) == 1_000_000


@pytest.mark.parametrize("store_schema", [True, False])
def test_texts_stored_once_are_counted_as_often_as_they_occur(tmp_path, monkeypatch, store_schema):
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None] * 10_000, pa.int32()), pa.array(["x" * 10_000, "y"])
    )
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"s": texts}), path, store_schema=store_schema)
    assert path.stat().st_size < 50_000
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.09")  # 10,000 times 10,000 letters
    assert "about 100.0 MB of memory (with the texts of column 's')" in refusal(path).wrong
    monkeypatch.setenv("HETCAL_TABLE_GB", "0.11")
    found = read_file(path).frame["s"]
    assert found.dtype == "str"
    assert found.str.len().value_counts().to_dict() == {10_000: 10_000, 1: 10_000}
    assert found.isna().sum() == 10_000


def test_a_parquet_file_with_a_damaged_name_of_a_column_is_refused(parquet_file):
    path = parquet_file(pa.table({"quite_a_name": [1, 2]}).replace_schema_metadata(None))
    path.write_bytes(path.read_bytes().replace(b"quite_a_name", b"quite\xe3a_name"))
    assert "damaged" in refusal(path).wrong


def test_a_cut_off_parquet_file_is_refused(parquet_file):
    path = parquet_file(pa.table({"a": np.arange(1000)}))
    path.write_bytes(path.read_bytes()[:500])
    assert "damaged" in refusal(path).wrong


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text('ab01.,;"\n\t|é', max_size=60).map(str.encode))
def test_no_content_ends_in_anything_but_a_table_or_a_told_error(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    try:
        frame = read_file(path).frame
    except TableError:
        return
    assert len(frame) > 0
    assert frame.columns.is_unique
