"""A hundred bad tables, each through reading, roles and scores: a clear message or what is right.

What is right is the plain table below unless the test says otherwise, by hand.
"""

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hetcal.data.reading import from_path
from hetcal.data.scores import guess_kind, scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError

T = "x,y,s\n1,0,0.25\n2,1,0.5\n3,0,0.75\n4,1,0.125\n"
FIRST = "1,0,0.25"
COLUMNS = {"x": [1, 2, 3, 4], "y": [0, 1, 0, 1], "s": [0.25, 0.5, 0.75, 0.125]}


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def first(text):
    """The table with another first value of x."""
    return T.replace(FIRST, f"{text},0,0.25")


def labels(no, yes):
    return T.replace(",0,", f",{no},").replace(",1,", f",{yes},")


def named(name):
    return T.replace("x,", f"{name},", 1)


LIKE_THE_PLAIN_ONE = {
    "byte-order mark": b"\xef\xbb\xbf" + T.encode(),
    "UTF-16": T.encode("utf-16"),
    "UTF-16 without a mark": T.encode("utf-16-le"),
    "UTF-16, the other way": T.encode("utf-16-be"),
    "UTF-32": T.encode("utf-32"),
    "semicolons": T.replace(",", ";"),
    "tabs": T.replace(",", "\t"),
    "bars": T.replace(",", "|"),
    "decimal commas": T.replace(",", ";").replace(".", ","),
    "lines that end in CR": T.replace("\n", "\r"),
    "lines of Windows": T.replace("\n", "\r\n"),
    "two kinds of lines": T.replace("\n", "\r\n", 2),
    "no end of the last line": T[:-1],
    "empty lines at the end": f"{T}\n\n\n",
    "empty lines at the start": f"\n\n{T}",
    "an empty line between": T.replace("\n2", "\n\n2"),
    "all in quotes": "".join(f'"{line}"\n'.replace(",", '","') for line in T.splitlines()),
    "spaces after commas": T.replace(",", ", "),
    "spaces around names": T.replace("x,y,s", " x , y , s "),
    "a space that does not break": first("\u00a01"),
    "a plus": first("+1"),
    "labels with spaces": T.replace(",0,", ", 0,"),
    "gzip": gzip.compress(T.encode()),
    "gzip in two parts": gzip.compress(T[:20].encode()) + gzip.compress(T[20:].encode()),
    "Parquet": parquet(**COLUMNS),
    "decimals": parquet(**{**COLUMNS, "x": pa.array([1, 2, 3, 4], pa.decimal128(9, 2))}),
    "half numbers": parquet(**{**COLUMNS, "x": np.array([1, 2, 3, 4], "float16")}),
    "a label of bytes": parquet(**{**COLUMNS, "y": pa.array([0, 1, 0, 1], pa.uint8())}),
}

FIRST_VALUES = {  # of the column x, where it is another
    "a code": (first("0x1"), "0x1"),
    "a code with zeros": (T.replace("\n1", "\n01").replace("\n2", "\n02"), "01"),
    "a whole number beyond 64 bits": (first("99999999999999999999"), "99999999999999999999"),
    "a number too large": (first("1e400"), np.inf),
    "a number too small": (first("1e-400"), 0.0),
    "thousands": (first('"1,000"'), "1,000"),
    "thousands with underscores": (first("1_000"), "1_000"),
    "money": (first("$1"), "$1"),
    "a minus of typesetters": (first("\u22121"), "\u22121"),
    "wide digits": (first("\uff11"), "\uff11"),
    "a date among numbers": (first("2024-01-01"), "2024-01-01"),
    "a date that is none": (first("2024-13-45"), "2024-13-45"),
    "a formula": (first("=1+1"), "=1+1"),
    "a stray quote": (first('1"'), '1"'),
    "single quotes": (first("'1'"), "'1'"),
    "a very long text": (first("a" * 100_000), "a" * 100_000),
    "not a number": (first("nan"), np.nan),
    "infinite": (first("-Infinity"), -np.inf),
    "an empty cell": (first(""), np.nan),
    "a large unsigned number": (
        parquet(**{**COLUMNS, "x": pa.array([2**64 - 1, 1, 2, 3], pa.uint64())}),
        "18446744073709551615",
    ),
    "a truth value beside a missing one": (
        parquet(**{**COLUMNS, "x": [True, None, False, True]}),
        "True",
    ),
    "categories": (
        parquet(**{**COLUMNS, "x": pa.array(["a", "b", "a", "b"]).dictionary_encode()}),
        "a",
    ),
    "no values": (parquet(**{**COLUMNS, "x": pa.nulls(4)}), np.nan),
}

NAMES = {  # what the first column is called
    "Western letters": (named("größe").encode("cp1252"), "größe"),
    "no name": (named(""), "column 1"),
    "a picture": (named("\U0001f600"), "\U0001f600"),
    "a tag": (named("<script>"), "<script>"),
    "colours of a terminal": (named("x\x1b[31m"), "x\x1b[31m"),
    "another direction": (named("\u202ex"), "\u202ex"),
    "a line end in quotes": (named('"x\n1"'), "x\n1"),
    "quotes in quotes": (named('"x ""a"""'), 'x "a"'),
    "capital letters only apart": (named("Y"), "Y"),
    "a number": (named("1"), "1"),
    "very long": (named("x" * 5_000), "x" * 5_000),
}

LABELS = {  # of rows whose labels are 0, 1, 0, 1 otherwise
    "words": labels("no", "yes"),
    "minus one": labels("-1", "1"),
    "one and two": T.replace(",1,", ",2,").replace(",0,", ",1,"),
    "truth values": labels("False", "TRUE"),
}

REFUSED = {
    "nothing": (b"", "is empty"),
    "zeros": (bytes(1_000), "is empty"),
    "a zero among letters": (named("x\0"), "binary file"),
    "noise": (np.random.default_rng(0).bytes(5_000), "binary file"),
    "JSON": (json.dumps([COLUMNS]), "is JSON"),
    "JSON by line": ('{"a": 1}\n{"a": 2}\n', "is JSON"),
    "a page": ("<html><body>Not found</body></html>", "no rows of values"),
    "a message in place of a file": ("404: Not Found", "no rows of values"),
    "a pointer of git": ("version https://git-lfs\noid sha256:a\nsize 12\n", "no column 'y'"),
    "a letter": ("Dear reader,\nhow are you, and you?\n", "as many fields|no column 'y'"),
    "a workbook": (b"PK\x03\x04" + bytes(100), "Excel workbook"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(100), "old Excel workbook"),
    "a document": (b"%PDF-1.4\n", "PDF document"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "binary file"),
    "a pickle": (b"\x80\x04\x95" + bytes(50), "binary file"),
    "Feather": (b"ARROW1\x00\x00" + bytes(50), "binary file"),
    "SQLite": (b"SQLite format 3\x00" + bytes(100), "binary file"),
    "bzip2": (bz2.compress(T.encode()), "bzip2 archive"),
    "xz": (lzma.compress(T.encode()), "xz archive"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd archive"),
    "letters of a mainframe": (T.encode("cp500"), "no rows of values"),
    "a colon between columns": (T.replace(",", ":"), "such as 'x:y:s'"),
    "a hint for Excel": (f"sep=,\n{T}", "first row names 2 columns"),
    "a comment": (f"# made by me\n{T}", "first row names 1 column"),
    "a line of spaces": (f"{T}   \n", "Line 6 .* has 1 field instead of 3"),
    "a short row": (f"{T}5,1\n", "Line 6 .* has 2 fields instead of 3"),
    "a long row": (f"{T}5,1,1,1\n", "Line 6 .* has 4 fields instead of 3"),
    "a name too few": (T.replace("x,y,s", "y,s"), "has 3 fields, .* names 2 columns"),
    "a delimiter too many": (T.replace("\n", ",\n").replace(",\n", "\n", 1), "has 4 fields"),
    "a quote without an end": (T.replace(FIRST, f'"{FIRST}'), "every quote an end"),
    "names only": ("x,y,s\n", "no rows of values"),
    "no names": (T.split("\n", 1)[1], "no column 'y'"),
    "names without letters": (T.replace("x,y,s", ",,"), "such as 'column 1'"),
    "a name twice": (named("y"), "more than one column named 'y'"),
    "a name twice but for spaces": (named(" y"), "more than one column named 'y'"),
    "the names again": (T + T, "score column 's' holds 's'"),
    "types below the names": (T.replace("s\n", "s\nint,int,float\n", 1), "holds 'float'"),
    "a row of commas": (f"{T},,\n", "'y' is empty in 1 of 5 rows"),
    "one row": ("x,y,s\n1,0,0.5\n", "single value"),
    "one class": (T.replace(",1,", ",0,"), "single value"),
    "no label": (T.replace(",y,", ",z,"), "no column 'y'"),
    "a label that is missing": (T.replace(FIRST, "1,,0.25"), "'y' is empty in 1 of 4 rows"),
    "labels that are all missing": (labels("", ""), "has no values at all"),
    "labels of fractions": (labels("0.5", "0.7"), "holds fractions"),
    "a label for each row": ("x,y,s\n" + "".join(f"{i},{i},0\n" for i in range(200)), "200 dist"),
    "no score": (T.replace(",s\n", ",t\n"), "no column 's'"),
    "a score in words": (T.replace("0.25", "high"), "'s' holds 'high', not numbers"),
    "scores in percent": (T.replace("0.", "0%."), "not numbers"),
    "an error of a workbook": (T.replace("0.125", "#DIV/0!"), "holds '#DIV/0!', not numbers"),
    "half a gzip": (gzip.compress(T.encode() * 50)[:-20], "gzip file that is damaged"),
    "gzip of another sum": (gzip.compress(T.encode())[:-8] + bytes(8), "gzip file that is damaged"),
    "gzip and more": (gzip.compress(T.encode()) + b"junk", "gzip file that is damaged"),
    "gzip in gzip": (gzip.compress(gzip.compress(T.encode())), "binary file"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip of Parquet": (gzip.compress(parquet(**COLUMNS)), "compressed Parquet file"),
    "half a Parquet file": (parquet(**COLUMNS)[:-30], "damaged, cut off or encrypted"),
    "the first word of Parquet": (b"PAR1", "damaged, cut off or encrypted"),
    "its first and last word": (b"PAR1" + bytes(20) + b"PAR1", "damaged, cut off or encrypted"),
    "Parquet without rows": (parquet(y=pa.array([], pa.int64())), "no rows of values"),
    "Parquet without columns": (parquet(), "0 columns"),
    "Parquet of lists": (parquet(y=[[1]] * 4), "nested values"),
}


def opened(content, folder):
    """The frame, the labels and the logits of a file, as every door reads them."""
    path = folder / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    table = make_table(from_path(path).frame, Roles(label="y", score="s"))
    column = table.frame["s"]
    return table.frame, table.y.tolist(), scores_from_column(column, guess_kind(column)).logit


def test_there_are_a_hundred():
    groups = LIKE_THE_PLAIN_ONE, FIRST_VALUES, NAMES, LABELS, REFUSED
    assert sum(map(len, groups)) >= 100


@pytest.mark.parametrize("name", LIKE_THE_PLAIN_ONE)
def test_another_way_to_write_it_is_the_same_table(name, tmp_path):
    frame, y, logit = opened(LIKE_THE_PLAIN_ONE[name], tmp_path)
    assert frame.to_dict("list") == COLUMNS
    assert y == COLUMNS["y"]
    assert logit == pytest.approx(np.log([1 / 3, 1, 3, 1 / 7]))


@pytest.mark.parametrize("name", FIRST_VALUES)
def test_an_odd_value_stays_what_it_is_or_is_missing(name, tmp_path):
    content, expected = FIRST_VALUES[name]
    frame, y, _ = opened(content, tmp_path)
    found = frame["x"].iloc[0]
    assert found == expected or (found != found and expected != expected)
    assert y == COLUMNS["y"]


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_name_is_kept(name, tmp_path):
    content, expected = NAMES[name]
    frame, y, _ = opened(content, tmp_path)
    assert frame.columns.tolist() == [expected, "y", "s"]
    assert (frame[expected].tolist(), y) == (COLUMNS["x"], COLUMNS["y"])


@pytest.mark.parametrize("name", LABELS)
def test_two_values_of_any_kind_are_a_label(name, tmp_path):
    assert opened(LABELS[name], tmp_path)[1] == COLUMNS["y"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused_in_three_sentences(name, tmp_path):
    content, words = REFUSED[name]
    with pytest.raises(HetcalError, match=words) as caught:
        opened(content, tmp_path)
    told = caught.value
    assert all(each.endswith(".") for each in (told.wrong, told.needed, told.remedy))
