import json

import numpy as np
import pandas as pd
import pytest

from hetcal.calibrators.shapes import tame
from hetcal.errors import CalibrationError, HetcalError
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.tree import TreePartition
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import ForestStage, LeafMapsStage, PooledStage, stacked_stage


def rows(seed=0, size=1_200):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=size), "b": rng.choice([*"xyz"], size)})
    y = (X["a"] + (X["b"] == "x") + rng.normal(size=size) > 0.3).to_numpy().astype(np.int64)
    return X, y, rng.normal(size=size)


@pytest.fixture(scope="module")
def scheme():
    X, y, _ = rows()
    rng = np.random.default_rng(1)
    tree = TreePartition(2, min_samples_leaf=100).fit(X, y).partition_
    forest = ForestPartition(3, max_depth=2).fit(X, y).ensemble_
    boosted = BoostedPartition(2, max_iter=4).fit(X, y)
    return Scheme(
        (
            PooledStage(-2.0, 2.5, 0.9, 0.1),
            stacked_stage(boosted, 0.3, 0.8, 0.05),
            LeafMapsStage(tree, *rng.normal(1, 0.1, (2, len(tree.leaves)))),
            ForestStage(forest, *rng.normal(1, 0.1, (2, forest.leaves))),
        )
    )


def test_stages_are_applied_one_after_the_other(scheme):
    X, _, scores = rows(2)
    expected = scores
    for stage in scheme.stages:
        expected = stage.logit(expected, X)
    assert np.array_equal(scheme.logit(scores, X), expected)


def test_forest_stage_is_the_mean_of_the_maps_of_its_trees(scheme):
    X, _, scores = rows(2)
    stage = scheme.stages[3]
    each = [stage.slope[leaf] * scores + stage.intercept[leaf] for leaf in stage.trees.apply(X).T]
    assert np.allclose(stage.logit(scores, X), np.mean(each, axis=0), rtol=1e-13)


def test_leaf_stage_maps_by_leaf(scheme):
    X, _, scores = rows(2)
    stage = scheme.stages[2]
    leaf = stage.partition.apply(X) - 1
    assert np.array_equal(
        stage.logit(scores, X), stage.slope[leaf] * scores + stage.intercept[leaf]
    )


def test_no_stage_leaves_the_score():
    X, _, scores = rows(2)
    assert np.array_equal(Scheme().logit(scores, X), scores)


def test_json_gives_back_every_bit(scheme):
    X, _, scores = rows(3)
    again = Scheme.from_json(scheme.to_json())
    assert again.digest == scheme.digest
    assert np.array_equal(again.logit(scores, X), scheme.logit(scores, X))


def test_more_rows_than_a_block_are_mapped_like_few(scheme, monkeypatch):
    X, _, scores = rows(3)
    whole = scheme.logit(scores, X)
    monkeypatch.setattr("hetcal.partitions.ensemble.BLOCK", 100)
    assert np.array_equal(scheme.logit(scores, X), whole)
    monkeypatch.setattr("hetcal.partitions.ensemble.ENCODED", 250)
    assert np.array_equal(scheme.logit(scores, X), whole)


def test_some_rows_of_a_table_are_mapped_like_the_rows_alone(scheme, monkeypatch):
    X, _, scores = rows(3)
    some = np.arange(len(X))[::-3]
    whole = scheme.logit(scores, X)
    for picked in (100, 1 << 18):
        monkeypatch.setattr("hetcal.schemes.scheme.PICKED", picked)
        assert np.array_equal(scheme.logit_of(some, scores[some], X), whole[some])


def test_progress_of_some_rows_goes_from_none_to_all_of_them(scheme, monkeypatch):
    X, _, scores = rows(3)
    monkeypatch.setattr("hetcal.schemes.scheme.PICKED", 100)
    told = []
    scheme.logit_of(np.arange(len(X)), scores, X, lambda done, _: told.append(done))
    assert told == sorted(told)
    assert all(0 <= each <= 1 for each in told)


def test_compiled_maps_are_those_of_numpy_bit_for_bit(scheme, monkeypatch):
    pytest.importorskip("numba")
    X, _, scores = rows(3)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("HETCAL_COMPILED", switch)
        found.append(scheme.logit(scores, X))
    assert np.array_equal(*found)


def test_a_score_that_is_not_finite_becomes_nan_and_no_other(scheme):
    X, _, scores = rows(3)
    scores[[0, 5, 9]] = np.nan, np.inf, -np.inf
    found = scheme.logit(scores, X)
    assert np.flatnonzero(np.isnan(found)).tolist() == [0, 5, 9]


def test_scores_of_other_rows_are_refused(scheme):
    X, _, scores = rows(3)
    with pytest.raises(CalibrationError, match="7 scores for 1,200 rows"):
        scheme.logit(scores[:7], X)


def test_tame_scores_keep_their_order_and_do_not_move_inside():
    scores = np.sort(np.random.default_rng(0).standard_cauchy(1_000) * 10)
    tamed = tame(scores, -5.0, 5.0)
    assert (np.diff(tamed) > 0).all()
    inside = np.abs(scores) <= 5
    assert np.array_equal(tamed[inside], scores[inside])
    assert tame(np.array([1e300]), -5.0, 5.0)[0] < 700


def test_a_slope_for_too_few_leaves_is_refused(scheme):
    stage = scheme.stages[2]
    with pytest.raises(CalibrationError, match="one map for each leaf"):
        LeafMapsStage(stage.partition, stage.slope[1:], stage.intercept)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(kind="hetcal partition"),
        lambda content: content.update(format=2),
        lambda content: content.update(more=1),
        lambda content: content["stages"][0].update(stage="python"),
        lambda content: content["stages"][0].update(slope="1"),
        lambda content: content["stages"][0].update(low=9.0),
        lambda content: content["stages"][1].update(slope=[1.0]),
        lambda content: content["stages"][1].pop("trees"),
        lambda content: content["stages"][1]["trees"].update(right=[0]),
        lambda content: content["stages"][1]["trees"].update(sizes=[True]),
        lambda content: content["stages"][1]["trees"]["missing_left"].append(10**9),
        lambda content: content["stages"][1]["trees"]["ranks"].pop(),
        lambda content: content["stages"][2]["partition"]["nodes"].pop(),
        lambda content: content["stages"].extend(content["stages"] * 3),
    ],
)
def test_json_that_is_no_scheme_is_refused(scheme, change):
    content = json.loads(scheme.to_json())
    change(content)
    with pytest.raises(HetcalError, match=r"cannot be used|not a partition"):
        Scheme.from_json(json.dumps(content))


def test_text_that_is_no_json_is_refused():
    with pytest.raises(CalibrationError, match="not JSON text"):
        Scheme.from_json("{")
