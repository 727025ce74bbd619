"""A saved run of a scheme of many trees: what the scheme did is there without the rows."""

import io
import json
import zipfile
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.artifacts.saved_run import saved_run
from hetcal.cells.joint import joint_sketch, joint_sketch_bytes
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import ArtifactError
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.artifacts.test_artifact_reading import manifest_with, repacked

SCORING = ColumnScoring(("score",), "logit")


def finished(frame, weight=None, **settings):
    roles = Roles(label="label", split="split", score="score", weight=weight)
    scores = scores_from_column(frame["score"], "logit", "digest")
    asked = Settings(partition="forest", max_depth=2, **settings)
    return run(make_table(frame, roles, "digest"), scores, asked)


@pytest.fixture
def forest(segments):
    return finished(segments)


@pytest.fixture
def packed(forest):
    return artifact_bytes(forest, SCORING)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_saved_scheme_has_nearly_the_numbers_of_its_run(segments, tmp_path, weighted):
    weights = np.random.default_rng(1).exponential(size=len(segments))
    exact = finished(segments.assign(w=weights), "w" if weighted else None)
    saved = saved_run(open_artifact(artifact_bytes(exact, SCORING), tmp_path), 50)
    found, expected = saved.evaluation, exact.evaluation
    for way in ("before", "pooled", "tree", "after"):
        off = np.abs(np.subtract(astuple(getattr(found, way)), astuple(getattr(expected, way))))
        assert np.all(off[:5] <= 1e-3)
    assert found.lift.auc == pytest.approx(expected.lift.auc, abs=1e-3)
    assert found.lift.se == pytest.approx(expected.lift.se, rel=0.02)
    assert found.rows == expected.rows


@pytest.mark.parametrize("weighted", [False, True])
def test_the_leaves_of_a_saved_scheme_have_nearly_their_numbers(segments, tmp_path, weighted):
    weights = np.random.default_rng(1).exponential(size=len(segments))
    exact = finished(segments.assign(w=weights), "w" if weighted else None)
    saved = saved_run(open_artifact(artifact_bytes(exact, SCORING), tmp_path), 50)
    found, expected = saved.evaluation.leaves, exact.evaluation.leaves
    for way in ("before", "after"):
        for name in (f"auc_{way}", f"log_loss_{way}"):
            assert np.allclose(found[name], expected[name], rtol=0, atol=5e-3)
    off = np.abs(found["contribution"] - expected["contribution"])
    assert np.all(off <= 0.05 * expected["contribution_se"])
    assert np.allclose(found["contribution_se"], expected["contribution_se"], rtol=0.02)


def test_the_least_rows_of_a_map_do_not_change_what_a_scheme_did(packed, tmp_path):
    artifact = open_artifact(packed, tmp_path)
    few, many = (saved_run(artifact, min_rows).evaluation for min_rows in (10, 10_000))
    assert few.after == many.after


def test_a_saved_scheme_is_told_by_its_name_and_the_reason(forest, packed, tmp_path):
    choice = saved_run(open_artifact(packed, tmp_path), 50).choice
    assert (choice.chosen, choice.why) == ("forest", forest.choice.why)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert json.loads(archive.read("manifest.json"))["why"] == forest.choice.why


def test_a_saved_scheme_keeps_its_ladder_and_what_the_model_adds(forest, packed, tmp_path):
    saved = saved_run(open_artifact(packed, tmp_path), 50)
    ladder, expected = saved.choice.candidates, forest.choice.candidates
    assert list(ladder.columns) == list(expected.columns)
    assert ladder["seconds"].isna().all()
    same = [each.drop(columns="seconds") for each in (ladder, expected)]
    pd.testing.assert_frame_equal(*same, check_exact=True, check_dtype=False)
    assert (saved.kind, saved.findings) == ("calibration", forest.findings)
    for name in ("without", "network_adds", "network_share", "loss"):
        assert getattr(saved.evaluation, name) == getattr(forest.evaluation, name)
    assert saved.verdict.split(".")[0] == forest.verdict.split(".")[0]
    assert "Your model stays in charge: it adds" in saved.verdict


def without_keys(data, *keys):
    """The artifact as it was written before these numbers were saved."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        metrics = json.loads(archive.read("metrics.json"))
    kept = {name: each for name, each in metrics.items() if name not in keys}
    return repacked(data, metrics=json.dumps(kept).encode())


def test_an_artifact_without_a_ladder_says_less(packed, tmp_path):
    new = "ladder", "without_network", "network_adds", "network_share", "loss", "findings"
    saved = saved_run(open_artifact(without_keys(packed, *new), tmp_path), 50)
    assert saved.choice.candidates is None
    assert saved.evaluation.without is None
    assert saved.evaluation.network_adds is None
    assert saved.evaluation.loss.fall > 0  # from the sketch
    assert "was not saved" in saved.verdict


def with_ladder(data, **changes):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        metrics = json.loads(archive.read("metrics.json"))
    metrics["ladder"] = [each | changes for each in metrics["ladder"]]
    return repacked(data, metrics=json.dumps(metrics).encode())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "magic"}, "kind that is not known"),
        ({"chosen": False}, "does not hold what was chosen"),
        ({"lift": "high"}, "not a number"),
    ],
)
def test_a_damaged_ladder_is_refused(packed, tmp_path, changes, words):
    with pytest.raises(ArtifactError, match=words):
        open_artifact(with_ladder(packed, **changes), tmp_path)


def test_equal_runs_of_a_scheme_give_equal_bytes(segments, packed):
    assert artifact_bytes(finished(segments), SCORING) == packed


def test_a_scheme_saved_without_its_joint_sketch_scores_rows_only(packed, tmp_path):
    old = open_artifact(repacked(packed, joint=None), tmp_path)
    assert old.scheme is not None
    with pytest.raises(ArtifactError, match="cannot be explored"):
        saved_run(old, 50)


def other_rows(finished):
    """The joint sketch of all test rows but one."""
    compared, leaves = finished.comparison, [each.id for each in finished.partition.leaves]
    before, after = (each.chosen(slice(1, None)) for each in (compared.before, compared.after))
    return joint_sketch_bytes(joint_sketch(before, after, leaves))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda data, _: repacked(data, joint=b"{}\n"), "sketch cannot be used"),
        (lambda data, run: repacked(data, joint=other_rows(run)), "not of its test rows"),
        (lambda data, _: manifest_with(data, why=3), "not text"),
        (lambda data, _: manifest_with(data, chosen=None), "not text"),
    ],
)
def test_a_damaged_artifact_of_a_scheme_is_refused_in_words(
    forest, packed, tmp_path, broken, words
):
    with pytest.raises(ArtifactError, match=words):
        open_artifact(broken(packed, forest), tmp_path)
