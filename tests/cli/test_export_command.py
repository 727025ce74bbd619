"""The command `export`: files that were compared with their artifact, or a reason."""

import subprocess
import sys

import pandas as pd
import pytest

from hetcal.choices import EXPORTS
from hetcal.cli.main import main
from tests.exports.artifacts import packed, people


@pytest.fixture
def artifact(tmp_path):
    path = tmp_path / "artifact.zip"
    path.write_bytes(packed(partition="tree"))
    return path


def test_a_file_is_written_and_its_largest_difference_is_said(artifact, tmp_path, capsys):
    out = tmp_path / "scorer.py"
    assert main(["export", str(artifact), "--to", "python", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: ")
    assert "Compared with the artifact: 20,000 rows by numpy" in said
    assert "largest difference" in said
    done = subprocess.run([sys.executable, "-S", str(out)], capture_output=True, check=True)
    assert done.stdout.startswith(b"5 examples")


def test_a_folder_is_made_for_the_files(artifact, tmp_path):
    out = tmp_path / "made" / "here"
    assert main(["export", str(artifact), "--to", "python", "--out", str(out)]) == 0
    assert [each.name for each in out.iterdir()] == ["calibrated.py"]


def test_several_formats_and_dialects_are_files_of_a_folder(artifact, tmp_path, capsys):
    words = ["export", str(artifact), "--to", "python,sql", "--dialect", "sqlite,spark", "--out"]
    assert main([*words, str(tmp_path / "out")]) == 0
    names = ["calibrated.py", "calibrated_spark.sql", "calibrated_sqlite.sql"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == names
    assert main([*words, str(tmp_path / "one.sql")]) == 2
    assert "one file, and 3 are to be written" in capsys.readouterr().err


def test_a_dialect_without_sql_is_refused(artifact, tmp_path, capsys):
    words = ["export", str(artifact), "--to", "python", "--dialect", "spark"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    assert "--dialect has no effect here" in capsys.readouterr().err


def test_an_unknown_format_is_refused_with_the_known_ones(artifact, tmp_path, capsys):
    assert main(["export", str(artifact), "--to", "pickle", "--out", str(tmp_path / "x")]) == 2
    assert "one of " + ", ".join(EXPORTS) in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_scored_table_has_the_id_and_the_columns_that_are_named(artifact, tmp_path, capsys):
    table, out = tmp_path / "rows.csv", tmp_path / "scored.csv"
    people()[:20].assign(id=[f"n{i}" for i in range(20)]).to_csv(table, index=False)
    words = ["export", str(artifact), "--to", "table", "--rows", str(table), "--out", str(out)]
    assert main([*words, "--id", "id", "--carry", "age"]) == 0
    found = pd.read_csv(out)
    assert list(found) == ["row", "id", "age", "leaf", "score", "before", "after"]
    assert found["id"].tolist() == [f"n{i}" for i in range(20)]
    assert "20 rows by reading both files back: largest difference 0." in capsys.readouterr().out
    assert main(["export", str(artifact), "--to", "table", "--out", str(tmp_path / "x")]) == 2
    assert "--rows TABLE" in capsys.readouterr().err
