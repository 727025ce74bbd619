"""How a file is written is found out from its first bytes."""

import gzip

import pytest

from hetcal.data.text import Dialect, detect_dialect
from hetcal.errors import TableError


@pytest.fixture
def written(tmp_path):
    """Write bytes or text to a file and return its path."""

    def write(content, name="people.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_character_that_divides_every_row_alike(written, delimiter):
    rows = [["age", "job title", "y"], ["31", "clerk; part-time, new", "1"], ["45", "cook", "0"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert detect_dialect(written(text)).delimiter == delimiter


def test_decimal_commas_are_told_from_a_comma_delimiter_even_without_a_header(written):
    assert detect_dialect(written("1,5;2,5\n3,5;4,5\n")) == Dialect(";", decimal=",")


def test_thousands_in_quotes_are_no_decimal_commas(written):
    assert detect_dialect(written('a,b\n"1,234",2\n')) == Dialect(",")


def test_a_decimal_point_in_a_semicolon_file_stays_a_point(written):
    assert detect_dialect(written("a;b\n1.5;x\n")).decimal == "."


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
    ],
)
def test_the_encoding_is_recognised(written, encoding, found):
    content = "city,y\nMálaga,1\nKöln,0\n".encode(encoding)
    assert detect_dialect(written(content)).encoding == found


def test_bytes_that_windows_does_not_define_are_read_as_latin_1(written):
    assert detect_dialect(written(b"city,y\nK\xf6ln\x81,1\n")).encoding == "latin-1"


def test_a_sample_that_ends_inside_a_letter_is_still_utf_8(written):
    header = "a,b\n"
    content = header + "x" * (65536 - len(header) - 1) + "é,1\n"
    assert detect_dialect(written(content)).encoding == "utf-8"


def test_gzip_is_recognised_without_its_ending(written):
    assert detect_dialect(written(gzip.compress(b"a;b\n1;2\n"))) == Dialect(";", gzip=True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "'people.csv' is empty"),
        (b" \n\n", "'people.csv' is empty"),
        (b"PK\x03\x04rest", "zip archive or an Excel workbook"),
        (b"\xd0\xcf\x11\xe0rest", "old Excel workbook"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"a,b\n1,\x00\x00\x002\n", "zero bytes"),
        (gzip.compress(b"PAR1" + b"x" * 10, mtime=0), "compressed Parquet"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:20], "damaged or cut off"),
    ],
)
def test_what_is_not_text_is_refused_by_its_content(written, content, words):
    with pytest.raises(TableError, match=words) as caught:
        detect_dialect(written(content))
    assert caught.value.needed
    assert caught.value.remedy
