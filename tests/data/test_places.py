"""Paths from a visitor lead to plain files below one folder, or nowhere."""

import os

import pytest

from hetcal.data.places import below, open_folder
from hetcal.errors import TableError


@pytest.fixture
def folder(tmp_path):
    inside, outside = tmp_path / "tables", tmp_path / "private"
    for each in (inside / "parts", inside / "leaky", outside):
        each.mkdir(parents=True)
        (each / "a.csv").write_text("a\n1\n")
    (inside / "within").symlink_to(inside / "parts")
    (inside / "file").symlink_to(outside / "a.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "leaky" / "b.csv").symlink_to(outside / "a.csv")
    (inside / "null.csv").symlink_to("/dev/null")
    os.mkfifo(inside / "pipe.csv")
    return inside


@pytest.mark.parametrize(
    ("text", "place"),
    [("parts", "parts"), ("parts/a.csv", "parts/a.csv"), ("within/a.csv", "parts/a.csv")],
)
def test_what_is_below_the_folder_is_found_without_its_links(folder, text, place):
    assert below(folder, text) == folder / place
    assert below(folder, str(folder / text)) == folder / place


@pytest.mark.parametrize(
    "text",
    [
        *("../private/a.csv", "/etc/passwd", "file", "folder", "folder/a.csv", "leaky"),
        *("null.csv", "pipe.csv", "/proc/self/environ", "none", "x" * 5_000, "a\0b"),
    ],
)
def test_everything_else_is_refused(folder, text):
    with pytest.raises(TableError, match="There is no file or folder"):
        below(folder, text)


def test_the_system_is_no_data_even_where_everything_is_open(tmp_path):
    root = tmp_path.__class__("/")
    for text in ("/proc/self/environ", "/dev/null", "/sys/kernel/notes"):
        with pytest.raises(TableError):
            below(root, text)


def test_no_folder_is_open_unless_one_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("HETCAL_PATHS", raising=False)
    assert open_folder() is None
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path / "none"))
    assert open_folder() is None
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
    assert open_folder() == tmp_path.resolve()
