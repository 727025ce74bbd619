import io
import json
import zipfile
from dataclasses import astuple, fields, replace

import numpy as np
import pytest

from hetcal.algorithm import finish_run, first_pass, fit_maps, run
from hetcal.artifact_reading import open_artifact
from hetcal.artifacts import artifact_bytes
from hetcal.cells import Cells
from hetcal.errors import ArtifactError
from hetcal.histograms import score_histograms
from hetcal.saved_run import saved_run
from hetcal.scores import scores_from_column
from hetcal.scoring import ColumnScoring
from hetcal.settings import Settings
from hetcal.table import Roles, make_table

SCORING = ColumnScoring(("score",), "logit")
SETTINGS = Settings(max_depth=2, min_rows=60)
ROLES = ("train", "calibration", "test")


def finished(frame, weight=None):
    table = make_table(
        frame, Roles(label="label", split="split", score="score", weight=weight), "digest"
    )
    return run(table, scores_from_column(frame["score"], "logit", "digest"), SETTINGS)


@pytest.fixture
def exact(segments):
    return finished(segments)


@pytest.fixture
def reopened(exact, tmp_path):
    return open_artifact(artifact_bytes(exact, SCORING), tmp_path)


def as_format_1(data):
    """The zip as it was written before it held sketches."""
    out = io.BytesIO()
    entries = ("manifest.json", "partition.json", "calibrators.json", "metrics.json")
    with zipfile.ZipFile(io.BytesIO(data)) as new, zipfile.ZipFile(out, "w") as old:
        content = {name: new.read(name) for name in entries}
        manifest = json.loads(content["manifest.json"]) | {"format": 1}
        for name, text in content.items():
            old.writestr(name, json.dumps(manifest) if name == "manifest.json" else text)
    return out.getvalue()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_saved_run_has_the_numbers_of_the_run_within_their_bounds(segments, tmp_path, weighted):
    weights = np.random.default_rng(1).exponential(size=len(segments))
    frame = segments.assign(w=weights) if weighted else segments
    exact = finished(frame, "w" if weighted else None)
    saved = saved_run(open_artifact(artifact_bytes(exact, SCORING), tmp_path), SETTINGS.min_rows)
    found, expected = saved.evaluation, exact.evaluation
    for way in ("before", "pooled", "tree", "after"):
        off = np.abs(np.subtract(astuple(getattr(found, way)), astuple(getattr(expected, way))))
        assert np.all(off[:4] <= np.array(astuple(getattr(found.errors, way)))[:4] + 1e-12)
    assert abs(found.lift.auc - expected.lift.auc) <= found.errors.lift + 1e-12
    assert found.lift.se == pytest.approx(expected.lift.se, rel=0.01)
    assert found.rows == expected.rows
    counts = ["leaf", "rows", "positives"]
    assert found.leaves[counts].equals(expected.leaves[counts])


def test_a_saved_run_counts_every_row_in_the_histograms(exact, reopened):
    saved = saved_run(reopened, 50)
    leaves = [each.id for each in exact.partition.leaves]
    found, expected = (
        score_histograms(each.cells.train, each.cells.test, leaves, bins=1).rows
        for each in (saved, exact)
    )
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("min_rows", [10, 60, 150, 10_000])
def test_any_least_number_of_rows_gives_the_maps_of_the_run(exact, reopened, min_rows):
    assert saved_run(reopened, min_rows).calibrator.maps_ == (
        exact.calibrator.with_min_rows(min_rows).maps_
    )


def test_the_cells_of_a_sketched_run_come_back_bit_for_bit(exact, tmp_path):
    parts = exact.table, exact.scores, exact.split, exact.partition, exact.leaf
    passed = first_pass(*parts, sketched_from=100)
    sketched = finish_run(*parts[:2], SETTINGS, exact.partition, passed, fit_maps(passed, SETTINGS))
    saved = saved_run(open_artifact(artifact_bytes(sketched, SCORING), tmp_path), 60)
    for role in ROLES:
        found, expected = getattr(saved.cells, role), getattr(sketched.cells, role)
        for each in fields(Cells):
            assert np.array_equal(getattr(found, each.name), getattr(expected, each.name))


def test_a_saved_run_says_that_it_has_no_rows_to_ask(reopened):
    told = saved_run(reopened, 50).exactness_details
    assert told.startswith("From a saved run, without its rows. Computed from cells of rows, off")


def test_a_saved_run_says_that_it_does_not_know_its_groups(exact, tmp_path):
    plain = saved_run(open_artifact(artifact_bytes(exact, SCORING), tmp_path), 50)
    assert "groups" not in plain.exactness
    roles = replace(exact.table.roles, group="size")
    grouped = replace(exact, table=replace(exact.table, roles=roles))
    saved = saved_run(open_artifact(artifact_bytes(grouped, SCORING), tmp_path), 50)
    assert "count rows, not the groups of 'size'" in saved.exactness


def test_bounds_wider_than_the_standard_error_are_named(segments, tmp_path):
    wide = segments.assign(score=segments["score"] / 1e4)
    wide.loc[wide.index % 9 == 0, "score"] *= 1e4  # so the bins are too coarse for the others
    saved = saved_run(open_artifact(artifact_bytes(finished(wide), SCORING), tmp_path), 50)
    errors = saved.evaluation.errors
    assert "auc" in errors.wide
    assert errors.lift >= saved.evaluation.lift.se
    assert (
        "Perhaps off by more than a standard error, with no rows to ask: AUC"
        in saved.exactness_details
    )
    assert "too coarse here for AUC" in saved.exactness


def test_an_artifact_of_format_1_opens_but_holds_no_run_to_explore(exact, segments, tmp_path):
    old = open_artifact(as_format_1(artifact_bytes(exact, SCORING)), tmp_path)
    assert old.cells is None
    assert old.calibrator.maps_ == exact.calibrator.maps_
    assert old.auc_after == exact.evaluation.after.auc
    with pytest.raises(ArtifactError, match="holds no sketches"):
        saved_run(old, 50)
