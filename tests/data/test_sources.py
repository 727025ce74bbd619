"""One file, one file per role and folders all become one table."""

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from hetcal.data.reading import file_per_role, from_path, one_file, read_file
from hetcal.data.text import Dialect
from hetcal.errors import TableError


@pytest.fixture
def folder(tmp_path):
    """Write files by name and return their folder."""

    def write(**contents):
        for name, text in contents.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return tmp_path

    return write


def read_all(folder, *names):
    return {name: read_file(folder / f"{name}.csv") for name in names}


def test_one_file_keeps_its_rows_and_notes(folder):
    reading = read_file(folder(a_csv="x ,y\n1,0\n2,1\n") / "a.csv")
    source = one_file(reading)
    assert source.frame is reading.frame
    assert source.notes == reading.notes != ()
    assert source.split_column is None


def test_the_digest_follows_content_and_dialect_but_not_the_name(folder):
    path = folder(a_csv="1,2\n3,4\n", b_csv="1,2\n3,4\n", c_csv="1,2\n3,5\n")
    digests = [from_path(path / name).digest for name in ("a.csv", "b.csv", "c.csv")]
    assert digests[0] == digests[1] != digests[2]
    assert from_path(path / "a.csv", Dialect(header=False)).digest != digests[0]


def test_one_file_per_role_adds_the_role_of_each_row(folder):
    path = folder(train_csv="x,y\n1,0\n2,1\n", test_csv="y,x\n0,3\n", calibration_csv="x,y\n4,1\n")
    source = file_per_role(read_all(path, "test", "train", "calibration"))
    assert source.split_column == "split"
    assert source.frame["split"].tolist() == ["train", "train", "calibration", "test"]
    assert source.frame["x"].tolist() == [1, 2, 4, 3]


def test_a_split_column_of_the_user_is_not_overwritten(folder):
    path = folder(train_csv="x,split\n1,a\n", test_csv="x,split\n2,b\n")
    source = file_per_role(read_all(path, "train", "test"))
    assert source.split_column == "split (file)"
    assert source.frame["split"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        ("x,z,y\n1,1,0\n", "x,y\n1,0\n", "The test file lacks columns that the train file has"),
        ("x,y\n1,0\n", "x,z,y\n1,1,0\n", "The train file lacks columns that the test file has"),
    ],
)
def test_files_with_different_columns_are_refused_with_column_and_file(folder, train, test, words):
    path = folder(train_csv=train, test_csv=test)
    with pytest.raises(TableError, match="'z'") as caught:
        file_per_role(read_all(path, "train", "test"))
    assert caught.value.wrong.startswith(words)


def test_a_column_of_text_in_one_file_is_text_in_all(folder):
    path = folder(train_csv="code,y\n1,0\n2,1\n,1\n", test_csv="code,y\nA,0\n1,1\n")
    source = file_per_role(read_all(path, "train", "test"))
    assert source.frame["code"].dtype == "str"
    assert source.frame["code"].dropna().tolist() == ["1", "2", "A", "1"]
    assert source.frame["code"].isna().sum() == 1
    assert any("'code'" in note for note in source.notes)


def test_a_column_of_text_in_one_file_is_the_text_that_stands_in_the_others(folder):
    path = folder(
        train_csv="code,day,y\n1.50,2020-01-01,0\n007,2020-01-02,1\n",
        test_csv="code,day,y\nA,unknown,0\n1.50,2020-01-01,1\n",
    )
    frame = file_per_role(read_all(path, "train", "test")).frame
    assert frame["code"].tolist() == ["1.50", "007", "A", "1.50"]
    assert frame["day"].tolist() == ["2020-01-01", "2020-01-02", "unknown", "2020-01-01"]


def test_known_kinds_reach_every_file_of_a_folder_and_its_digest(folder):
    path = folder(a_csv="code\n1.50\n", b_csv="code\n2.50\n")
    source = from_path(path, kinds={"code": "category"})
    assert source.frame["code"].tolist() == ["1.50", "2.50"]
    assert source.digest != from_path(path).digest


def test_an_empty_column_in_one_file_does_not_change_its_kind(folder):
    path = folder(train_csv="n,c\n1,a\n", test_csv="n,c\n,\n")
    frame = file_per_role(read_all(path, "train", "test")).frame
    assert frame["n"].dtype == "float64"
    assert frame["c"].dtype == "str"
    assert frame.isna().sum().tolist() == [1, 1, 0]


def test_a_folder_of_role_names_is_one_file_per_role(folder):
    path = folder(train_csv="x,y\n1,0\n", Val_tsv="x\ty\n2,5\t1\n", notes_csv="other\n1\n")
    (path / "cal.csv.gz").write_bytes(gzip.compress(b"x,y\n3,1\n"))
    pd.DataFrame({"x": [4], "y": [0]}).to_parquet(path / "TEST.parquet")
    source = from_path(path)
    assert source.frame["split"].tolist() == ["train", "validation", "calibration", "test"]
    assert source.frame["x"].tolist() == [1, 2.5, 3, 4]
    assert any("'notes.csv'" in note for note in source.notes)


def test_two_files_for_one_role_are_refused(folder):
    path = folder(val_csv="x\n1\n", validation_csv="x\n1\n", train_csv="x\n1\n")
    with pytest.raises(TableError, match=r"'val.csv' and 'validation.csv' both name"):
        from_path(path)


def test_other_folders_hold_parts_of_one_table_in_name_order(folder):
    path = folder(part2_csv="x,y\n2,1\n", part1_csv="x,y\n1,0\n", README_md="hello")
    (path / ".hidden.csv").write_text("z\n1\n")
    source = from_path(path)
    assert source.frame["x"].tolist() == [1, 2]
    assert source.split_column is None
    assert "2 files were joined" in source.notes[0]


def test_a_folder_with_one_table_is_that_table(folder):
    path = folder(train_csv="x,y\n1,0\n")
    assert from_path(path).digest == from_path(path / "train.csv").digest


def test_parts_that_do_not_fit_together_are_named(folder):
    with pytest.raises(TableError, match=r"'b.csv' lacks columns that 'a.csv' has \('x'\)"):
        from_path(folder(a_csv="x\n1\n", b_csv="z\n1\n"))


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(TableError, match="contains no tables"):
        from_path(tmp_path)


def test_a_path_to_nowhere_is_refused(tmp_path):
    with pytest.raises(TableError, match="There is no file"):
        from_path(tmp_path / "nothing")


@pytest.mark.parametrize("path", ["a" * 5_000, "~nobody-of-that-name/table.csv", "a\0b.csv"])
def test_a_path_that_no_system_takes_is_refused_like_any_other(path):
    with pytest.raises(TableError, match="There is no file"):
        from_path(Path(path))


def test_a_file_without_permission_is_refused(folder, monkeypatch):
    path = folder(train_csv="x\n1\n") / "train.csv"
    monkeypatch.setattr("hetcal.data.text.os.access", lambda *_: False)
    with pytest.raises(TableError, match="the permissions of the file"):
        from_path(path)


def test_folders_named_by_values_are_columns_as_arrow_reads_them(tmp_path):
    frame = pd.DataFrame(
        {
            "x": range(6),
            "year": [2023, 2023, 2024, 2024, 2024, 2023],
            "kind": ["a b", None, "a b", "c/d", None, "1"],
        }
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    flavour = pads.HivePartitioning(pa.schema([("year", pa.int64()), ("kind", pa.string())]))
    pads.write_dataset(table, tmp_path, format="parquet", partitioning=flavour)
    source = from_path(tmp_path)
    read = pads.dataset(tmp_path, partitioning=flavour).to_table().to_pandas()
    for found in (source.frame, read):
        pd.testing.assert_frame_equal(
            found.sort_values("x", ignore_index=True), frame, check_dtype=False
        )
    assert source.frame["year"].dtype == "int64"
    assert source.frame["kind"].dtype == "str"
    assert "6 files were joined" in source.notes[0]


def test_a_column_that_repeats_the_name_of_its_folder_is_taken_once(tmp_path):
    for name, rows in (("year=2023/kind=a b", "1,a b,2023\n"), ("year=2024/kind=c", "2,c,2024\n")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "part.csv").write_text(f"x,kind,year\n{rows}")
    found = from_path(tmp_path).frame
    assert found.to_dict("list") == {"x": [1, 2], "kind": ["a b", "c"], "year": [2023, 2024]}


def test_a_column_that_says_another_value_than_its_folder_is_refused(tmp_path):
    for year in ("2023", "2024"):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "part.csv").write_text("x,year\n1,2\n")
    with pytest.raises(TableError, match="more than one column named 'year'"):
        from_path(tmp_path)
