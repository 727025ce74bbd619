from dataclasses import astuple, replace

import numpy as np
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.artifacts.saved_run import largest_auc_error, saved_run
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.results.histograms import score_histograms
from hetcal.runs.run import finish_run, first_pass, fit_maps, run
from hetcal.runs.settings import Settings

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


@pytest.mark.parametrize("weighted", [False, True])
def test_a_saved_run_has_nearly_the_numbers_of_the_run(segments, tmp_path, weighted):
    weights = np.random.default_rng(1).exponential(size=len(segments))
    frame = segments.assign(w=weights) if weighted else segments
    exact = finished(frame, "w" if weighted else None)
    saved = saved_run(open_artifact(artifact_bytes(exact, SCORING), tmp_path), SETTINGS.min_rows)
    found, expected = saved.evaluation, exact.evaluation
    for way in ("before", "pooled", "tree", "after"):
        off = np.abs(np.subtract(astuple(getattr(found, way)), astuple(getattr(expected, way))))
        assert np.all(off[:5] <= 1e-3)
    assert found.lift.auc == pytest.approx(expected.lift.auc, abs=1e-4)
    assert found.lift.se == pytest.approx(expected.lift.se, rel=0.01)
    assert found.rows == expected.rows
    counts = ["leaf", "rows", "positives"]
    assert found.leaves[counts].equals(expected.leaves[counts])


def test_a_saved_run_counts_every_row_in_the_histograms(exact, reopened):
    saved = saved_run(reopened, 50)
    leaves = [each.id for each in exact.partition.leaves]
    found, expected = (
        score_histograms(each.role_cells.train, each.role_cells.test, leaves, bins=1).rows
        for each in (saved, exact)
    )
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("min_rows", [10, 60, 150, 10_000])
def test_any_least_number_of_rows_gives_the_maps_of_the_run(exact, reopened, min_rows):
    assert saved_run(reopened, min_rows).calibrator.maps_ == (
        exact.calibrator.with_min_rows(min_rows).maps_
    )


def test_the_cells_of_a_sketched_run_come_back_with_rounded_scores(exact, tmp_path):
    parts = exact.table, exact.scores, exact.split, exact.partition, exact.leaf
    passed = first_pass(*parts, sketched_from=100)
    sketched = finish_run(passed, SETTINGS, exact.partition, fit_maps(passed, SETTINGS))
    saved = saved_run(open_artifact(artifact_bytes(sketched, SCORING), tmp_path), 60)
    for role in ROLES:
        found, expected = getattr(saved.role_cells, role), getattr(sketched.cells, role)
        for name in ("y", "leaf", "weight", "squares", "rows"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        step = sketched.role_cells.sketches.test.grid.width / 2**16
        for name in ("score", "low", "high"):
            assert np.abs(getattr(found, name) - getattr(expected, name)).max() <= step


def test_a_saved_run_says_that_it_has_no_rows(reopened):
    told = saved_run(reopened, 50).computed_on
    assert told == "From the sketch saved with the run; its rows are not here."


def test_a_saved_run_says_that_it_does_not_know_its_groups(exact, tmp_path):
    roles = replace(exact.table.roles, group="size")
    grouped = replace(exact, table=replace(exact.table, roles=roles))
    saved = saved_run(open_artifact(artifact_bytes(grouped, SCORING), tmp_path), 50)
    assert "count rows, not the groups of 'size'" in saved.computed_on


def test_a_sketch_that_is_too_coarse_is_called_so(segments, tmp_path):
    wide = segments.assign(score=segments["score"] / 1e4)
    wide.loc[wide.index % 9 == 0, "score"] *= 1e4  # so the bins are too coarse for the others
    run = finished(wide)
    saved = saved_run(open_artifact(artifact_bytes(run, SCORING), tmp_path), 50)
    most = largest_auc_error(saved.comparison.before)
    assert 0.001 < abs(saved.evaluation.before.auc - run.evaluation.before.auc) <= most
    assert f"AUC may be off by up to {most:.1g}" in saved.computed_on


def test_the_largest_error_counts_the_pairs_that_share_a_bin():
    scores, y = np.array([0.001, 0.002, 0.003, 5.0, 5.0, -2.0]), np.array([0, 1, 1, 1, 0, 0])
    cells = sketch_rows(scores, y, np.ones(6, int), [1], Grid()).cells()
    # Of nine pairs two share the first bin; the rows at 5.0 are alone in their cells, and tied.
    assert largest_auc_error(cells) == pytest.approx(2 / 9)
