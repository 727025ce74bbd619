"""A scored table as a file: what is written is read back, and nothing in it is run."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from hetcal.artifacts.artifact import score_with_artifact
from hetcal.artifacts.report import with_columns
from hetcal.errors import ExportError
from hetcal.exports import scored_file
from hetcal.exports.export import make_exports
from tests.exports.artifacts import CITY, artifact, people


@pytest.fixture(scope="module")
def made():
    frame = people()[:50].assign(**{"=1+1": ["=cmd()", "-x", "@a", "plain", None] * 10})
    opened = artifact(partition="tree")
    scored = with_columns(score_with_artifact(opened, frame), frame[["=1+1", CITY]])
    files = make_exports(opened, ["table"], scored=scored, carried=["=1+1", CITY])
    return scored, {each.name: each for each in files}


def test_both_files_hold_the_chosen_columns_and_the_artifacts_probabilities(made):
    scored, files = made
    assert list(files) == ["scored.csv", "scored.parquet", "scored.json"]
    assert files["scored.csv"].parity.rows == 50
    assert files["scored.csv"].parity.difference == 0
    read = pd.read_parquet(io.BytesIO(files["scored.parquet"].content))
    pd.testing.assert_frame_equal(read, scored)
    assert list(read) == ["row", "=1+1", CITY, "leaf", "score", "before", "after"]
    expected = score_with_artifact(artifact(partition="tree"), people()[:50])
    assert np.array_equal(read["after"], expected["after"], equal_nan=True)


def test_names_and_cells_like_formulas_have_an_apostrophe_in_csv(made):
    lines = list(csv.reader(io.StringIO(made[1]["scored.csv"].content.decode())))
    assert lines[0][1] == "'=1+1"
    assert [line[1] for line in lines[1:5]] == ["'=cmd()", "'-x", "'@a", "plain"]


def test_what_the_rows_are_of_is_beside_them_and_inside_parquet(made):
    said = json.loads(made[1]["scored.json"].content)
    inside = parquet.read_schema(io.BytesIO(made[1]["scored.parquet"].content)).metadata
    assert json.loads(inside[b"hetcal"]) == said
    assert said["digests"]["partition"] == artifact(partition="tree").partition.digest
    assert len(said["examples"]) == 5
    assert said["examples"][0]["row"][CITY] == people()[CITY][0]


def test_rows_that_are_read_back_otherwise_are_not_given_out(made, monkeypatch):
    scored = made[0]
    write = scored_file.table_files

    def rounded(table, about):
        return write(table.round({"after": 3}), about)

    monkeypatch.setattr(scored_file, "table_files", rounded)
    with pytest.raises(ExportError, match="not read back as they were"):
        scored_file.check(scored, {})


def test_an_artifact_alone_has_no_rows_to_write():
    with pytest.raises(ExportError, match=r"needs rows.*--rows TABLE"):
        make_exports(artifact(partition="tree"), ["table"])
