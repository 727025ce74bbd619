from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.demo import toy_table
from hetcal.data.scores import make_scores, scores_from_column
from hetcal.data.splits import Split
from hetcal.data.table import Roles, make_table
from hetcal.errors import CalibrationError
from hetcal.metrics.classes import macro_lift, one_against_rest
from hetcal.metrics.delong import paired_delong
from hetcal.results.evaluation import tree_alone
from hetcal.runs.fitting import grow_partition
from hetcal.runs.run import (
    class_method,
    first_pass,
    fit_maps,
    run,
    split_table,
    usable_rows,
)
from hetcal.runs.settings import Settings
from tests.shared_data import needs_data, shared_data

ROLES = Roles(label="label", split="split", score="score")


def run_on(frame, roles=ROLES, settings=None):
    table = make_table(frame, roles, "digest")
    scores = scores_from_column(table.frame[roles.score], "logit", "digest")
    return run(table, scores, settings or Settings())


def test_the_papers_toy_has_the_papers_numbers():
    finished = run_on(toy_table(400_000), Roles(label="y", split="split", score="score"))
    lift = finished.evaluation.lift
    assert lift.before == pytest.approx(0.8302, abs=0.002)
    assert lift.after == pytest.approx(0.8533, abs=0.002)
    maps = sorted(finished.calibrator.maps_, key=lambda each: each.intercept)
    assert [each.slope for each in maps] == pytest.approx([0.5, 0.5], abs=0.02)
    assert [each.intercept for each in maps] == pytest.approx([-0.65, 0.65], abs=0.04)


def test_rows_without_a_finite_score_take_no_part(segments):
    missing = segments.copy()
    missing.loc[::7, "score"] = np.nan
    finished = run_on(missing)
    for role in ("train", "calibration", "test"):
        rows = finished.split.of(role)
        assert (rows % 7 != 0).all()
        assert rows.size == ((missing["split"] == role) & missing["score"].notna()).sum()
    assert np.isnan(finished.after[::7]).all()


def test_the_tree_alone_gives_each_leaf_its_calibration_rate(segments):
    finished = run_on(segments)
    logits = tree_alone(finished.cells.calibration, finished.leaf)
    calibration = finished.split.calibration
    for leaf in np.unique(finished.leaf):
        inside = calibration[finished.leaf[calibration] == leaf]
        rate = finished.table.y[inside].mean()
        assert logits[finished.leaf == leaf] == pytest.approx(np.log(rate / (1 - rate)))


def test_equal_inputs_give_equal_runs_and_a_seed_changes_them(segments):
    roles = replace(ROLES, split=None, ignore=("split",))
    first, second, other = (run_on(segments, roles, Settings(seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.after, second.after)
    assert first.digest == second.digest
    assert not np.array_equal(first.split.test, other.split.test)
    assert first.digest != other.digest


def test_a_given_partition_takes_the_place_of_the_tree(segments):
    grown = run_on(segments, settings=Settings(max_depth=1))
    table = make_table(segments, ROLES, "digest")
    scores = scores_from_column(segments["score"], "logit", "digest")
    again = run(table, scores, Settings(max_depth=6), grown.partition)
    assert np.array_equal(again.after, grown.after)


@pytest.mark.parametrize("sketched_from", [100, 10_000])
def test_groups_are_left_out_as_a_whole_where_the_shrinkage_is_chosen(segments, sketched_from):
    frame = segments.assign(weight=np.arange(len(segments)) % 3, site=segments["segment"])
    settings = Settings(partition="tree", shrinkage="cv", min_leaf=200)
    for group, expected in (("site", True), (None, False)):
        roles = replace(ROLES, group=group, weight="weight", features=("segment",))
        table = make_table(frame, roles, "digest")
        scores = scores_from_column(frame["score"], "logit", "digest")
        split = split_table(table, settings)
        partition = grow_partition(table, split, settings)
        assert len(partition.leaves) == 2  # one for each site
        leaf = partition.apply(frame)
        passed = first_pass(table, scores, split, partition, leaf, sketched_from)
        assert (fit_maps(passed, settings).shrinkage_ == np.inf) == expected


@needs_data
def test_census_equals_a_tree_and_regressions_written_with_scikit_learn():
    frame = pd.read_csv(shared_data() / "data" / "census_income.csv.gz").drop(columns="split")
    case = np.load(shared_data() / "cases" / "census_income-w1-none-std-lr0.001-last-s0.npz")
    frame["score"], frame["split"] = case["s"].astype(float), case["split"]
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    roles = Roles(
        label="income", positive=">50K", features=tuple(numbers), split="split", score="score"
    )
    finished = run_on(frame, roles, Settings(max_depth=4, min_leaf=1000, min_rows=0))

    train, calibration, test = (case["split"] == name for name in ("train", "cal", "test"))
    X, y, s = frame[numbers].to_numpy(), case["y"], case["s"].astype(float)[:, None]
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=1000, random_state=0)
    leaf = tree.fit(X[train], y[train]).apply(X)
    after = np.empty(len(y))
    for each in np.unique(leaf):
        inside = leaf == each
        regression = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
        regression.fit(s[calibration & inside], y[calibration & inside])
        after[inside] = regression.predict_proba(s[inside])[:, 1]
    assert finished.evaluation.after.auc == pytest.approx(
        roc_auc_score(y[test], after[test]), abs=1e-6
    )
    assert finished.evaluation.before.auc == pytest.approx(
        roc_auc_score(y[test], s[test, 0]), abs=1e-12
    )


def test_rows_without_a_score_leave_their_role_and_others_are_not_copied():
    split = Split(*(np.array(rows) for rows in ([0, 4], [1], [2, 5], [3])))
    assert usable_rows(split, np.ones(6, dtype=bool)) is split
    found = usable_rows(split, np.array([True, True, False, True, False, True]))
    roles = found.train, found.validation, found.calibration, found.test
    assert [rows.tolist() for rows in roles] == [[0], [1], [5], [3]]


@pytest.fixture(scope="module")
def three():
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


def test_calibration_lifts_the_macro_auc(three):
    found = three.evaluation
    assert found.lift.low > 0.02
    assert found.after.log_loss < found.pooled.log_loss < found.before.log_loss
    assert found.after.top_label_error < found.before.top_label_error


def test_the_numbers_are_scikit_learns_on_the_test_rows(three):
    rows = three.split.test
    y, p = three.table.y[rows], np.exp(three.after[rows])
    areas = [roc_auc_score(y == c, p[:, c]) for c in range(3)]
    assert three.evaluation.after.macro_auc == pytest.approx(np.mean(areas), abs=1e-12)
    assert three.evaluation.after.log_loss == pytest.approx(log_loss(y, p), abs=1e-12)
    assert three.evaluation.lift.after == pytest.approx(np.mean(areas), abs=1e-12)


def test_a_view_measures_one_class_against_the_rest(three):
    view = three.view(1)
    rows = three.split.test
    y = three.table.y[rows] == 1
    logs = three.scores.logit[rows, 1]
    assert view.evaluation.before.auc == pytest.approx(roc_auc_score(y, logs), abs=1e-12)
    assert view.evaluation.lift.after == pytest.approx(
        roc_auc_score(y, three.after[rows, 1]), abs=1e-12
    )
    assert view.evaluation.lift.auc == pytest.approx(three.evaluation.by_class.table["lift"][1])


def test_a_view_shows_the_rates_of_its_class(three):
    rows = three.split.train
    for number in range(3):
        rate = np.mean(three.table.y[rows] == number)
        assert three.view(number).partition.nodes[0].positive_rate == pytest.approx(rate)


def test_every_role_has_rows_of_every_class(three):
    for rows in (three.split.train, three.split.calibration, three.split.test):
        shares = np.bincount(three.table.y[rows]) / rows.size
        assert shares == pytest.approx(np.bincount(three.table.y) / 12_000, abs=0.002)


def test_a_given_partition_takes_the_place_of_the_tree_for_three_classes(three):
    again = run(three.table, three.scores, three.settings, three.partition)
    assert again.partition is three.partition
    assert np.array_equal(again.after, three.after, equal_nan=True)


@pytest.fixture(scope="module")
def chosen(three):
    settings = Settings(partition="auto", fractions=(0.4, 0.1, 0.2, 0.3))
    return run(three.table, three.scores, settings)


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


def test_a_model_that_is_right_is_left_as_it_is(three):
    logs = three.scores.logit
    u = np.random.default_rng(3).random((len(logs), 1))
    y = (u > np.cumsum(np.exp(logs), axis=1)).sum(axis=1).clip(0, 2)
    table = replace(three.table, y=y)
    found = run(table, three.scores, replace(three.settings, partition="auto"))
    assert found.choice.chosen == "identity"
    assert np.array_equal(found.after, logs)
    assert (found.evaluation.lift.auc, found.evaluation.lift.se) == (0.0, 0.0)
    assert found.evaluation.pooled != found.evaluation.before
    assert found.view(0).evaluation.lift.auc == 0
    assert "No map is fitted: the model is left as it is." in found.notes


def test_intervals_count_groups(three):
    site = np.arange(three.table.rows) // 3
    inner = three.table
    grouped = replace(
        inner, frame=inner.frame.assign(site=site), roles=replace(inner.roles, group="site")
    )
    found = replace(three, table=grouped).evaluation
    rows = three.split.test
    parts = three.table.y[rows], three.scores.logit[rows], three.after[rows]
    assert found.groups == np.unique(site[rows]).size
    assert found.lift == macro_lift(*parts, group=site[rows])
    assert found.lift.se != three.evaluation.lift.se
    one = found.by_class.table.iloc[1]
    y, before, after = parts
    logits = (one_against_rest(each, 1) for each in (before, after))
    lift = paired_delong((y == 1).astype(np.int8), *logits, group=site[rows])
    assert (one["low"], one["high"]) == (lift.low, lift.high)
    assert three.evaluation.groups is None


def test_a_given_partition_leaves_nothing_to_choose(three):
    settings = replace(three.settings, partition="auto")
    found = run(three.table, three.scores, settings, three.partition)
    assert found.choice is None


def test_the_digest_tells_maps_that_were_chosen_from_those_that_were_not(chosen):
    given = run(chosen.table, chosen.scores, chosen.settings, chosen.partition)
    assert not np.array_equal(chosen.after, given.after)
    assert chosen.digest != given.digest


def test_classes_too_rare_to_count_are_named(three):
    rows = three.split.calibration
    logits = three.scores.logit.copy()
    logits[rows[three.table.y[rows] == 1][15:]] = np.nan
    scores = make_scores(logits, "made up", digest="rare")
    found = run(three.table, scores, replace(three.settings, partition="auto"))
    assert "Not used in the choice, because they have too few rows: q." in found.notes


def test_rows_without_a_score_for_every_class_take_no_part(three):
    logits = three.scores.logit.copy()
    logits[:100] = np.nan
    scores = make_scores(logits, "made up", digest="gaps")
    found = run(three.table, scores, three.settings)
    assert not np.isin(np.arange(100), np.concatenate([*vars(found.split).values()])).any()
    assert any("100 of" in note and "no finite score" in note for note in found.notes)


def test_the_settings_name_the_map():
    assert class_method(Settings()) == "vector"
    assert class_method(Settings(calibrator="dirichlet")) == "dirichlet"


def test_maps_are_tried_on_groups_that_they_were_not_fitted_on(three):
    frame = three.table.frame
    role = three.split.names(len(frame))
    for group, expected in ((np.arange(len(frame)) % 50, True), (role, False)):
        roles = Roles("kind", features=("x", "z"), group="group", split="split")
        table = make_table(frame.assign(group=group, split=role), roles, "digest")
        if expected:
            assert run(table, three.scores, Settings(partition="auto")).choice.divided
            continue
        with pytest.raises(CalibrationError, match="cannot be divided in two"):
            run(table, three.scores, Settings(partition="auto"))
        tree = run(table, three.scores, Settings(partition="tree"))
        assert tree.calibrator.shrinkage_ == np.inf  # nothing tells the strength
