import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main

SCORED = ("--label", "label", "--score", "score", "--split", "split")


def score(artifact, frame, out, capsys, **writing):
    path = out.with_suffix(".new.csv")
    frame.to_csv(path, index=False, **writing)
    capsys.readouterr()  # what came before
    assert main(["score", str(artifact), str(path), "--out", str(out)]) == 0
    return capsys.readouterr()


@pytest.fixture
def saved(segments, tmp_path):
    def run(*options):
        path = tmp_path / "table.csv"
        segments.to_csv(path, index=False)
        out = tmp_path / "out"
        assert main(["run", str(path), *SCORED, *options, "--out", str(out)]) == 0
        return out / "artifact.zip"

    return run


def test_rows_without_a_probability_are_counted(saved, segments, tmp_path, capsys):
    artifact = saved("--partition", "tree")
    some = segments.head(200).copy()
    some.loc[[3, 5, 7], "score"] = [np.nan, np.inf, np.nan]
    said = score(artifact, some, tmp_path / "some.csv", capsys)
    assert "197 of 200 rows scored" in said.out
    assert "3 of 200 rows have no finite score" in said.err
    assert pd.read_csv(tmp_path / "some.csv")["after"].isna().sum() == 3
    whole = score(artifact, segments.head(200), tmp_path / "all.csv", capsys)
    assert whole.out.startswith("200 rows scored")
    assert whole.err == ""


@pytest.mark.parametrize("partition", ["tree", "forest", "boosted"])
def test_categories_that_training_did_not_know_are_counted(
    saved, segments, tmp_path, capsys, partition
):
    artifact = saved("--partition", partition)
    new = segments.head(50).copy()
    new.loc[:6, "segment"] = ["x"] * 4 + ["y"] * 2 + [np.nan]
    said = score(artifact, new, tmp_path / "new.csv", capsys)
    assert said.out.startswith("50 rows scored")
    (note,) = said.err.splitlines()
    assert note.startswith("note: 6 rows have a category in column 'segment'")
    assert "('x', 'y')" in note


def test_what_was_decided_while_reading_new_rows_is_told(saved, segments, tmp_path, capsys):
    artifact = saved("--partition", "tree")
    said = score(artifact, segments, tmp_path / "new.csv", capsys, sep=";", decimal=",")
    assert "decimal comma" in said.err


def test_rows_of_many_classes_without_a_probability_are_counted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y, x = rng.integers(0, 3, 900), rng.normal(size=900)
    p = rng.dirichlet(np.ones(3), 900)
    frame = pd.DataFrame({"x": x, "y": y, "a": p[:, 0], "b": p[:, 1], "c": p[:, 2]})
    path, out = tmp_path / "table.csv", tmp_path / "out"
    frame.to_csv(path, index=False)
    options = ("--label", "y", "--score", "a,b,c", "--partition", "tree", "--out", str(out))
    assert main(["run", str(path), *options]) == 0
    frame.loc[4, "b"] = np.nan
    said = score(out / "artifact.zip", frame, tmp_path / "new.csv", capsys)
    assert "899 of 900 rows scored" in said.out
    assert "1 of 900 rows has no finite score" in said.err
