import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal import parallel as side_by_side
from hetcal.errors import PartitionError
from hetcal.partitions import boosted
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.ensemble import ensemble_fields, read_ensemble
from hetcal.partitions.forest import ForestPartition
from hetcal.schemes.stages import NestedStage, stacked_stage
from hetcal.strict_json import Fields

FOLDS = "rows are divided into folds, where a weight of 2 is not two rows"


@parametrize_with_checks(
    [BoostedPartition(2, max_iter=3)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": FOLDS},
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(seed, size=2_000):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(size, 4)), columns=[*"abcd"])
    X.loc[rng.random(size) < 0.2, "a"] = np.nan
    X["e"] = pd.Series(rng.choice([*"uvwxyz", None], size), dtype="str")
    signal = np.sin(2 * X["a"].fillna(1)) + X["b"] * X["c"] + 2 * X["e"].isin(["u", "w"])
    return X, (signal + rng.normal(size=size) > 0.5).to_numpy().astype(int)


@pytest.fixture(scope="module")
def caught():
    """A fitted estimator, and the models of LightGBM it was made of."""
    models, read = {}, boosted.grown_trees

    def watched(member):
        models[member.params["seed"]] = member
        return read(member)

    X, y = rows(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosted, "grown_trees", watched)
        patch.setattr(boosted, "FEW_ROWS", 1_000)
        fitted = BoostedPartition(3, max_iter=40).fit(X, y)
    return fitted, [models[seed] for seed in sorted(models)]


def margins(models, matrix):
    """What LightGBM itself says: one row for each model."""
    return np.array([model.predict(matrix, raw_score=True) for model in models])


def test_members_are_grown_on_all_folds_but_one_which_they_judge(caught):
    fitted, models = caught
    X, y = rows(0)
    matrix = fitted.ensemble_.columns.matrix(X)
    folds = [StratifiedKFold(3, shuffle=True, random_state=each) for each in (0, 1)]
    parts = [part for each in folds for part in each.split(matrix, y)]
    unseen = np.full((len(models), len(y)), np.nan)
    for i, (model, (grown, left_out)) in enumerate(zip(models, parts, strict=True)):
        margin = model.predict(matrix, raw_score=True)
        root = model.dump_model()["tree_info"][0]["tree_structure"]
        assert root["internal_count"] == grown.size
        assert roc_auc_score(y[grown], margin[grown]) > roc_auc_score(y[left_out], margin[left_out])
        unseen[i, left_out] = margin[left_out]
    assert (np.isfinite(unseen).sum(axis=0) == 2).all()
    assert np.allclose(fitted.held_out_, np.nanmean(unseen, axis=0), rtol=1e-12)


def test_of_few_rows_the_second_half_of_the_members_draws_its_thresholds(caught, monkeypatch):
    _, models = caught
    assert [each.params["extra_trees"] for each in models] == [False] * 3 + [True] * 3
    monkeypatch.setattr(boosted, "FEWEST_ROWS", 2_000)
    own = BoostedPartition(2)._options(2_000, 5, 4)
    assert not any(each["extra_trees"] for each in own)


def test_many_rows_are_divided_once(monkeypatch):
    X, y = rows(0)
    few = BoostedPartition(2, max_iter=1).fit(X, y)
    monkeypatch.setattr(boosted, "MANY_ROWS", len(y))
    many = BoostedPartition(2, max_iter=1).fit(X, y)
    assert [each.ensemble_.trees for each in (few, many)] == [4, 2]


def test_progress_tells_how_many_trees_are_grown(monkeypatch):
    monkeypatch.setattr(side_by_side, "PAUSE", 0.001)
    X, y = rows(0, 4_000)  # so many that a busy machine looks in between
    told = []
    watched = BoostedPartition(2, max_iter=200, learning_rate=1e-3)
    watched.fit(X, y, progress=lambda done, doing: told.append(done))
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
    assert sum(0 < done < 1 for done in told) > 1
    again = BoostedPartition(2, max_iter=200, learning_rate=1e-3).fit(X, y)
    assert np.array_equal(watched.values_, again.values_)
    assert np.array_equal(watched.held_out_, again.held_out_)


def test_what_progress_raises_ends_the_growth_of_all_members(monkeypatch):
    from lightgbm import Booster

    monkeypatch.setattr(side_by_side, "PAUSE", 0.001)
    X, y = rows(0, 400)
    grown, update = [], Booster.update

    def counted(self, *args, **kwargs):
        grown.append(1)
        return update(self, *args, **kwargs)

    def stop(done, doing):
        if done > 0.005:
            raise KeyboardInterrupt

    monkeypatch.setattr(Booster, "update", counted)
    estimator = BoostedPartition(4, max_iter=5_000, learning_rate=1e-4)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y, progress=stop)
    assert 0.005 * 20_000 < len(grown) < 0.5 * 20_000
    assert not hasattr(estimator, "ensemble_")


def test_margin_is_the_mean_of_what_lightgbm_predicts(caught):
    fitted, models = caught
    X, _ = rows(1)
    X.loc[:99, "e"] = "new"
    matrix = fitted.ensemble_.columns.matrix(X)
    expected = margins(models, matrix).mean(axis=0)
    assert np.isnan(matrix[:100, 4]).all()
    assert np.abs(fitted.decision_function(X) - expected).max() < 1e-12


def test_categories_of_a_small_table_are_divided_in_the_order_of_their_rates():
    X, y = rows(0)
    trees = BoostedPartition(2, max_iter=5).fit(X, y).ensemble_
    assert (trees.feature == 4).any()
    assert trees.sets.node.size == 0


def test_categories_are_divided_into_sets_that_need_not_follow_their_rates(monkeypatch):
    monkeypatch.setattr(boosted, "FEW_ROWS", 4_000)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4_000, 2)), columns=["number", "noise"])
    X["letter"] = rng.choice([*"pqrstu"], 4_000)
    rate = X["letter"].map(dict(zip("pqrstu", [0.35, 0.4, 0.45, 0.5, 0.55, 0.6], strict=True)))
    sign = np.where(X["letter"].isin([*"prt"]), 1, -1)  # every second one in the order of rates
    y = rng.random(4_000) < (rate + 0.3 * sign * np.sign(X["number"]))
    trees = BoostedPartition(2, max_iter=10).fit(X, y).ensemble_
    assert np.array_equal(trees.sets.node, np.flatnonzero(trees.feature == 2))
    nodes = [node for tree in range(trees.trees) for node in trees.partition(tree).nodes]
    left = {node.categories for node in nodes if node.feature == "letter"}
    assert any("".join(letters) not in "pqrstu" for letters in left)


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_rules_in_words_and_the_file_send_rows_to_the_same_leaves(caught, compiled, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    fitted, _ = caught
    X, _ = rows(1)
    X.loc[:99, "e"] = "new"
    leaves = fitted.apply(X)
    text = json.dumps(ensemble_fields(fitted.ensemble_))
    read = read_ensemble(Fields(json.loads(text), "the trees"))
    assert fitted.ensemble_.sets.node.size > 50
    assert np.array_equal(np.column_stack([each.apply(X) for each in fitted.partitions_]), leaves)
    assert np.array_equal(read.apply(X) - read.leaf_starts + 1, leaves)
    assert json.dumps(ensemble_fields(read)) == text


def test_nested_maps_with_first_slope_0_are_the_boosted_model_whatever_the_score(caught):
    fitted, _ = caught
    X, _ = rows(1)
    scores = np.random.default_rng(2).normal(size=len(X))
    stage = stacked_stage(fitted, 0.0, 1.0, 0.0)
    assert np.abs(stage.logit(scores, X) - fitted.decision_function(X)).max() < 1e-12


def test_nested_maps_at_identity_are_the_network(caught):
    fitted, _ = caught
    X, _ = rows(1)
    scores = np.random.default_rng(2).normal(size=len(X))
    assert np.array_equal(stacked_stage(fitted, 1.0, 0.0, 0.0).logit(scores, X), scores)


def test_stage_is_a_weighted_sum_of_score_and_margin(caught):
    fitted, _ = caught
    X, _ = rows(1)
    scores = np.random.default_rng(2).normal(size=len(X))
    expected = 0.4 * scores + 0.7 * fitted.decision_function(X) - 0.3
    assert np.abs(stacked_stage(fitted, 0.4, 0.7, -0.3).logit(scores, X) - expected).max() < 1e-12


def test_two_rounds_are_nested_as_in_the_paper():
    X, y = rows(1)
    trees = ForestPartition(2).fit(X, y).ensemble_
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, trees.leaves))
    scores = rng.normal(size=len(X))
    first, second = trees.partition(0).apply(X) - 1, trees.partition(1).apply(X) - 1
    second += len(trees.partition(0).leaves)
    expected = a[second] * (a[first] * scores + b[first]) + b[second]
    assert np.allclose(NestedStage(trees, a, b).logit(scores, X), expected, rtol=1e-14)


def test_labels_of_rows_that_do_not_rank_leave_the_ranks_alone():
    X, y = rows(0)
    ranked = np.arange(len(X)) < 1_000
    other = np.where(ranked, y, 1 - y)
    both = [BoostedPartition(2, max_iter=2).fit(X, each, ranked=ranked) for each in (y, other)]
    assert both[0].ensemble_.columns.ranks == both[1].ensemble_.columns.ranks


def test_a_weight_of_0_leaves_a_row_out():
    X, y = rows(0)
    weight = np.r_[np.ones(1_500), np.zeros(500)]
    fitted = BoostedPartition(2, max_iter=5).fit(X, y, weight)
    other = BoostedPartition(2, max_iter=5).fit(X[:1_500], y[:1_500], np.ones(1_500))
    assert np.array_equal(fitted.values_, other.values_)
    assert np.isnan(fitted.held_out_[1_500:]).all()


def test_a_column_without_values_and_one_of_rare_names_are_not_split():
    X, y = rows(0, 600)
    X["empty"], X["name"] = np.nan, [f"row {i}" for i in range(len(X))]
    X["once"] = np.where(np.arange(len(X)) == 5, 1.0, np.nan)  # empty for one of the members
    fitted = BoostedPartition(2, max_iter=5, learning_rate=0.5).fit(X, y)
    names = [feature.name for feature in fitted.ensemble_.columns.features]
    split = {names[i] for i in fitted.ensemble_.feature if i >= 0}
    assert split <= {*"abcde"}
    assert np.isfinite(fitted.held_out_).all()
    assert np.corrcoef(fitted.held_out_, y)[0, 1] > 0.3


def test_more_members_than_rows_of_a_class_are_refused():
    X, y = rows(0)
    with pytest.raises(PartitionError, match="3 rows of the rarer class"):
        BoostedPartition(5).fit(X, np.arange(len(y)) < 3)


def test_margins_of_a_group_come_from_trees_that_have_not_seen_it():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 40, 2_000)
    number, rate = rng.permutation(40), rng.random(40)
    X = pd.DataFrame({"number": number[group], "noise": rng.normal(size=2_000)})
    y = (rng.random(2_000) < rate[group]).astype(int)
    seen = BoostedPartition(4, max_iter=30).fit(X, y).held_out_
    unseen = BoostedPartition(4, max_iter=30).fit(X, y, groups=group)
    assert roc_auc_score(y, seen) > 0.7
    assert roc_auc_score(y, unseen.held_out_) < 0.6


def test_there_are_no_more_members_than_groups():
    X, y = rows(0, 600)
    group = np.arange(600) % 3
    four, three = (BoostedPartition(each, max_iter=3).fit(X, y, groups=group) for each in (4, 3))
    assert np.array_equal(four.decision_function(X), three.decision_function(X))
    assert np.array_equal(four.held_out_, three.held_out_)


def test_a_single_group_is_refused():
    X, y = rows(0, 200)
    with pytest.raises(PartitionError, match="cannot be divided in two"):
        BoostedPartition(2, max_iter=3).fit(X, y, groups=np.zeros(200))


@pytest.mark.parametrize("unit", [2.0**-40, 1 / 2_000, 3e6])
def test_the_unit_of_the_weights_does_not_matter(unit):
    X, y = rows(0)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 2_000)
    weight /= weight.mean()
    found = BoostedPartition(2, max_iter=20).fit(X, y, unit * weight).held_out_
    other = BoostedPartition(2, max_iter=20).fit(X, y, weight).held_out_
    assert np.ptp(found) > 2
    assert found == pytest.approx(other, abs=1e-6)


def test_groups_of_other_rows_are_refused():
    X, y = rows(0, 200)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BoostedPartition(2, max_iter=3).fit(X, y, groups=np.arange(199))


def test_with_times_margins_come_from_trees_on_earlier_rows_only():
    X, y = rows(0, 900)
    earlier, times = np.arange(900) < 300, np.random.default_rng(4).permutation(900)
    later = np.flatnonzero(~earlier)[np.argsort(times[300:])]  # from the earliest to the latest
    changed = y.copy()
    changed[later[400:]] = 1 - y[later[400:]]
    small = BoostedPartition(3, max_iter=5)
    one, two = (small.fit(X, each, None, earlier, times=times).held_out_ for each in (y, changed))
    assert np.isnan(one[earlier]).all()
    assert np.isfinite(one[later]).all()
    assert np.array_equal(one[later[:200]], two[later[:200]])
