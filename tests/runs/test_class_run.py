from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table
from hetcal.errors import CalibrationError
from hetcal.metrics.classes import macro_lift, one_against_rest
from hetcal.metrics.delong import paired_delong
from hetcal.runs.run import class_method, run
from hetcal.runs.settings import Settings


@pytest.fixture(scope="module")
def finished():
    """Three classes; the model knows `z` but not that `x` shifts the classes."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 12_000)).astype(np.float32)
    known = np.column_stack([z, -z, 0 * z])
    chance = softmax(known + np.where(x[:, None] > 0, [1.5, 0, 0], [0, 0, 1.5]), axis=1)
    y = (rng.random((12_000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    frame = pd.DataFrame({"x": x, "z": z, "kind": np.array(["p", "q", "r"])[y]})
    table = make_table(frame, Roles("kind"), "digest")
    scores = make_scores(2.5 * known, "made up", digest="scores")
    return run(table, scores, Settings(fractions=(0.4, 0.0, 0.3, 0.3)))


def test_calibration_lifts_the_macro_auc(finished):
    found = finished.evaluation
    assert found.lift.low > 0.02
    assert found.after.log_loss < found.pooled.log_loss < found.before.log_loss
    assert found.after.top_label_error < found.before.top_label_error


def test_the_numbers_are_scikit_learns_on_the_test_rows(finished):
    rows = finished.split.test
    y, p = finished.table.y[rows], np.exp(finished.after[rows])
    areas = [roc_auc_score(y == c, p[:, c]) for c in range(3)]
    assert finished.evaluation.after.macro_auc == pytest.approx(np.mean(areas), abs=1e-12)
    assert finished.evaluation.after.log_loss == pytest.approx(log_loss(y, p), abs=1e-12)
    assert finished.evaluation.lift.after == pytest.approx(np.mean(areas), abs=1e-12)


def test_a_view_measures_one_class_against_the_rest(finished):
    view = finished.view(1)
    rows = finished.split.test
    y = finished.table.y[rows] == 1
    logs = finished.scores.logit[rows, 1]
    assert view.evaluation.before.auc == pytest.approx(roc_auc_score(y, logs), abs=1e-12)
    assert view.evaluation.lift.after == pytest.approx(
        roc_auc_score(y, finished.after[rows, 1]), abs=1e-12
    )
    assert view.evaluation.lift.auc == pytest.approx(finished.evaluation.by_class.table["lift"][1])


def test_a_view_shows_the_rates_of_its_class(finished):
    rows = finished.split.train
    for number in range(3):
        rate = np.mean(finished.table.y[rows] == number)
        assert finished.view(number).partition.nodes[0].positive_rate == pytest.approx(rate)


def test_every_role_has_rows_of_every_class(finished):
    for rows in (finished.split.train, finished.split.calibration, finished.split.test):
        shares = np.bincount(finished.table.y[rows]) / rows.size
        assert shares == pytest.approx(np.bincount(finished.table.y) / 12_000, abs=0.002)


def test_a_given_partition_takes_the_place_of_the_tree(finished):
    again = run(finished.table, finished.scores, finished.settings, finished.partition)
    assert again.partition is finished.partition
    assert np.array_equal(again.after, finished.after, equal_nan=True)


@pytest.fixture(scope="module")
def chosen(finished):
    settings = Settings(partition="auto", fractions=(0.4, 0.1, 0.2, 0.3))
    return run(finished.table, finished.scores, settings)


def test_auto_chooses_maps_on_validation_and_calibration_rows(chosen):
    held = np.append(chosen.split.calibration, chosen.split.validation)
    assert chosen.choice.chosen == "tree vector"
    assert (chosen.choice.candidates["rows"] == held.size).all()
    expected = ClassCalibrator("vector", shrinkage=chosen.calibrator.shrinkage_)
    expected.fit(chosen.scores.logit[held], chosen.table.y[held], chosen.leaf[held])
    assert chosen.calibrator.to_json() == expected.to_json()
    assert chosen.evaluation.lift.low > 0.02
    assert any(note.startswith("Shrinkage towards") for note in chosen.notes)


def test_the_cross_fitted_lift_foretells_that_of_the_test_rows(chosen):
    table = chosen.choice.candidates.set_index("name")
    foretold, lift = table.loc["tree vector"], chosen.evaluation.lift
    assert lift.auc == pytest.approx(foretold.lift, abs=3 * np.hypot(foretold.se, lift.se))


def test_a_model_that_is_right_is_left_as_it_is(finished):
    logs = finished.scores.logit
    u = np.random.default_rng(3).random((len(logs), 1))
    y = (u > np.cumsum(np.exp(logs), axis=1)).sum(axis=1).clip(0, 2)
    table = replace(finished.table, y=y)
    found = run(table, finished.scores, replace(finished.settings, partition="auto"))
    assert found.choice.chosen == "identity"
    assert np.array_equal(found.after, logs)
    assert (found.evaluation.lift.auc, found.evaluation.lift.se) == (0.0, 0.0)
    assert found.evaluation.pooled != found.evaluation.before
    assert found.view(0).evaluation.lift.auc == 0
    assert "No map is fitted: the model is left as it is." in found.notes


def test_intervals_count_groups(finished):
    site = np.arange(finished.table.rows) // 3
    inner = finished.table
    grouped = replace(
        inner, frame=inner.frame.assign(site=site), roles=replace(inner.roles, group="site")
    )
    found = replace(finished, table=grouped).evaluation
    rows = finished.split.test
    parts = finished.table.y[rows], finished.scores.logit[rows], finished.after[rows]
    assert found.groups == np.unique(site[rows]).size
    assert found.lift == macro_lift(*parts, group=site[rows])
    assert found.lift.se != finished.evaluation.lift.se
    one = found.by_class.table.iloc[1]
    y, before, after = parts
    logits = (one_against_rest(each, 1) for each in (before, after))
    lift = paired_delong((y == 1).astype(np.int8), *logits, group=site[rows])
    assert (one["low"], one["high"]) == (lift.low, lift.high)
    assert finished.evaluation.groups is None


def test_a_given_partition_leaves_nothing_to_choose(finished):
    settings = replace(finished.settings, partition="auto")
    found = run(finished.table, finished.scores, settings, finished.partition)
    assert found.choice is None


def test_the_digest_tells_maps_that_were_chosen_from_those_that_were_not(chosen):
    given = run(chosen.table, chosen.scores, chosen.settings, chosen.partition)
    assert not np.array_equal(chosen.after, given.after)
    assert chosen.digest != given.digest


def test_classes_too_rare_to_count_are_named(finished):
    rows = finished.split.calibration
    logits = finished.scores.logit.copy()
    logits[rows[finished.table.y[rows] == 1][15:]] = np.nan
    scores = make_scores(logits, "made up", digest="rare")
    found = run(finished.table, scores, replace(finished.settings, partition="auto"))
    assert "With too few rows for their AUC to count in the choice: q." in found.notes


def test_rows_without_finite_scores_are_left_out(finished):
    logits = finished.scores.logit.copy()
    logits[:100] = np.nan
    scores = make_scores(logits, "made up", digest="gaps")
    found = run(finished.table, scores, finished.settings)
    assert not np.isin(np.arange(100), np.concatenate([*vars(found.split).values()])).any()
    assert any("100 of" in note and "no finite score" in note for note in found.notes)


def test_the_settings_name_the_map():
    assert class_method(Settings()) == "vector"
    assert class_method(Settings(calibrator="dirichlet")) == "dirichlet"


def test_maps_are_tried_on_groups_that_they_were_not_fitted_on(finished):
    frame = finished.table.frame
    role = finished.split.names(len(frame))
    for group, expected in ((np.arange(len(frame)) % 50, True), (role, False)):
        roles = Roles("kind", features=("x", "z"), group="group", split="split")
        table = make_table(frame.assign(group=group, split=role), roles, "digest")
        if expected:
            assert run(table, finished.scores, Settings(partition="auto")).choice.divided
            continue
        with pytest.raises(CalibrationError, match="cannot be divided in two"):
            run(table, finished.scores, Settings(partition="auto"))
        tree = run(table, finished.scores, Settings(partition="tree"))
        assert tree.calibrator.shrinkage_ == np.inf  # nothing tells the strength
