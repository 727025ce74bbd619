from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from hetcal.data.demo import toy_table
from hetcal.data.scores import scores_from_column
from hetcal.data.splits import Split
from hetcal.data.table import Roles, make_table
from hetcal.results.evaluation import tree_alone
from hetcal.runs.fitting import grow_partition
from hetcal.runs.run import first_pass, fit_maps, run, split_table, usable_rows
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
    finished = run_on(frame, roles, Settings(max_depth=4, min_leaf=1000))

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
