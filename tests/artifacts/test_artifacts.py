import io
import json
import zipfile

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact, score_with_artifact
from hetcal.artifacts.report import scored_test_rows
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

SCORING = ColumnScoring(("score",), "logit")


@pytest.fixture
def finished(segments):
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    return run(
        table, scores_from_column(segments["score"], "logit", "digest"), Settings(max_depth=2)
    )


@pytest.fixture
def packed(finished):
    return artifact_bytes(finished, SCORING)


def test_a_reopened_artifact_scores_bit_for_bit(finished, packed, segments, tmp_path):
    scored = score_with_artifact(open_artifact(packed, tmp_path), segments, "digest")
    expected = scored_test_rows(finished)
    again = scored.iloc[finished.split.test]
    for column in expected:
        assert np.array_equal(again[column], expected[column]), column


def test_a_reopened_artifact_scores_rows_it_has_not_seen_in_any_order(packed, segments, tmp_path):
    artifact = open_artifact(packed, tmp_path)
    whole = score_with_artifact(artifact, segments, "digest")
    part = score_with_artifact(artifact, segments.iloc[99::-3], "other")
    assert np.array_equal(part["after"], whole["after"].iloc[99::-3])


def test_equal_runs_give_equal_bytes(finished, packed):
    assert artifact_bytes(finished, SCORING) == packed


def test_the_manifest_names_format_versions_digests_and_settings(packed, finished):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.namelist() == [
            *("manifest.json", "partition.json", "calibrators.json", "metrics.json", "maps.json"),
            *("train.sketch", "calibration.sketch", "test.sketch"),
        ]
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["format"] == 2
    assert manifest["libraries"]["numpy"] == np.__version__
    assert manifest["digests"] == {"table": finished.table.digest, "model": None}
    assert manifest["settings"]["max_depth"] == 2
