import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from scipy.special import expit

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.artifacts.report import result_json, scored_table
from hetcal.artifacts.saved_run import saved_run
from hetcal.artifacts.seal import DIGESTS, sealed
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition
from hetcal.runs import run as algorithm
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from hetcal.schemes.scheme import Scheme, composed_maps
from hetcal.schemes.stages import LeafMapsStage, PooledStage
from tests.schemes.chosen import OF_ONE_PARTITION, chosen_of_table

ONE_MAP_PER_LEAF = ("identity", "pooled", *OF_ONE_PARTITION)
SCORING = ColumnScoring(("score",), "logit")


@pytest.fixture
def finished(segments, monkeypatch):
    def finish(name, **settings):
        monkeypatch.setattr(algorithm, "fit_ensemble", chosen_of_table(name))
        table = make_table(segments, Roles("label", split="split", score="score"), "digest")
        scores = scores_from_column(segments["score"], "logit", "digest")
        return run(table, scores, Settings(partition="auto", **settings))

    return finish


@pytest.mark.parametrize("name", ONE_MAP_PER_LEAF)
def test_the_listed_maps_give_the_probabilities_after(finished, name):
    run = finished(name, min_rows=100_000)
    scored = scored_table(run)
    for leaf in json.loads(result_json(run))["leaves"]:
        rows = scored[scored["leaf"] == leaf["id"]]
        straight = np.ones(len(rows), dtype=bool)
        if leaf["limits"] is not None:
            straight = rows["score"].between(*leaf["limits"])
            assert straight.mean() > 0.95
        expected = expit(leaf["slope"] * rows["score"] + leaf["intercept"])
        assert np.allclose(rows["after"][straight], expected[straight], rtol=0, atol=1e-12)
        assert leaf["applied"]
    assert run.applied
    logits = run.calibrator.predict_logit(run.scores.logit, run.leaf)
    assert np.allclose(logits, run.after, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["tree", "pooled", "forest"])
def test_what_is_measured_does_not_follow_from_the_maps_that_are_listed(finished, name):
    run = finished(name)
    scheme = run.choice.scheme
    assert np.array_equal(run.after, scheme.logit(run.scores.logit, run.table.X))
    plain = Settings(partition="tree")
    same_leaves = algorithm.run(run.table, run.scores, plain, run.partition).evaluation
    assert run.evaluation.pooled == same_leaves.pooled
    assert run.evaluation.tree == same_leaves.tree


def test_the_maps_of_many_trees_are_said_not_to_calibrate(finished):
    run = finished("forest")
    assert not run.applied
    assert not any(leaf["applied"] for leaf in json.loads(result_json(run))["leaves"])


@pytest.mark.parametrize("name", ["identity", "shrunken tree", "tree", "forest"])
def test_a_saved_run_has_the_maps_of_its_run(finished, name, tmp_path):
    run = finished(name)
    artifact = open_artifact(artifact_bytes(run, SCORING), tmp_path)
    saved = saved_run(artifact, 100_000)
    assert saved.applied == run.applied
    assert repr(artifact.calibrator.maps_) == repr(run.calibrator.maps_)
    if run.applied:
        assert repr(saved.calibrator.maps_) == repr(run.calibrator.maps_)
    assert np.isfinite(saved.evaluation.pooled.log_loss)


def test_artifacts_with_the_maps_of_algorithm_1_get_those_of_their_scheme(finished, tmp_path):
    run = finished("shrunken tree")
    older = algorithm.run(run.table, run.scores, Settings(), run.partition).calibrator
    changed = BytesIO()
    with zipfile.ZipFile(BytesIO(artifact_bytes(run, SCORING))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != DIGESTS}
    entries["calibrators.json"] = older.to_json().encode()
    with zipfile.ZipFile(changed, "w") as other:
        for name, content in sealed(entries).items():
            other.writestr(name, content)
    artifact = open_artifact(changed.getvalue(), tmp_path)
    for calibrator in (artifact.calibrator, saved_run(artifact, 50).calibrator):
        assert repr(calibrator.maps_) == repr(run.calibrator.maps_)


def test_stages_that_are_no_map_of_each_leaf_are_not_made_into_one(segments):
    X, y = segments[["segment", "size"]], (segments["label"] == "yes").to_numpy()
    tree = TreePartition(1).fit(X, y).partition_
    other = TreePartition(2).fit(X, y).partition_
    leaves = LeafMapsStage(tree, np.array([2.0, 3.0]), np.array([1.0, -1.0]))
    pooled = PooledStage(-1.0, 1.0, 0.5, 0.25)
    twice = composed_maps(Scheme((leaves, leaves)), tree)
    assert [(each.slope, each.intercept) for each in twice] == [(4.0, 3.0), (9.0, -4.0)]
    assert composed_maps(Scheme((leaves, pooled)), tree) is None
    assert composed_maps(Scheme((leaves,)), other) is None
    assert composed_maps(Scheme((pooled, leaves)), Partition.from_json(tree.to_json())) is not None
