"""What a result owes to the model: the same scheme without it, on the same rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.data.scores import make_scores, scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.metrics.delong import paired_delong
from hetcal.runs.run import finish_run, first_pass, fit_maps, run, split_table
from hetcal.runs.settings import Settings

COLUMNS = ("p_ant", "p_bee", "p_cow")


def of_segments(frame, partition="tree", **roles):
    table = make_table(frame, Roles("label", split="split", score="score", **roles), "digest")
    scores = scores_from_column(frame["score"], "logit", "digest")
    return run(table, scores, Settings(partition=partition, max_depth=2))


@pytest.fixture
def weighted(segments):
    return segments.assign(w=np.random.default_rng(1).exponential(size=len(segments)))


@pytest.mark.parametrize("weight", [None, "w"])
def test_leaf_maps_without_the_model_are_the_rates_of_the_leaves(weighted, weight):
    done = of_segments(weighted, weight=weight)
    w = np.ones(len(weighted)) if weight is None else weighted["w"].to_numpy()
    fitted, test = done.split.calibration, done.split.test
    inside = pd.DataFrame({"leaf": done.leaf, "y": done.table.y * w, "w": w}).iloc[fitted]
    sums = inside.groupby("leaf").sum()
    alone = logit((sums["y"] / sums["w"]).loc[done.leaf[test]].to_numpy())
    y, found = done.table.y[test], done.evaluation
    assert found.without == found.tree
    assert found.without.auc == pytest.approx(roc_auc_score(y, alone, sample_weight=w[test]))
    given = None if weight is None else w[test]
    byhand = paired_delong(y, alone, done.after[test], given)
    assert found.network_adds.auc == pytest.approx(byhand.auc)
    assert found.network_adds.low == pytest.approx(byhand.low)


def test_the_share_of_leaf_maps_is_that_of_their_slopes(segments):
    done = of_segments(segments)
    rows = done.split.test
    slope = {each.leaf: each.slope for each in done.calibrator.maps_}
    scores = done.scores.logit[rows]
    part = np.array([slope[leaf] for leaf in done.leaf[rows]]) * (scores - scores.mean())
    (_, shared), (_, total) = np.cov(part, done.after[rows])
    assert done.evaluation.network_share == pytest.approx(shared / total)
    assert 0 < shared / total < 1


def test_the_fall_of_the_log_loss_is_that_of_its_means(segments):
    done = of_segments(segments)
    rows = done.split.test
    y, before, after = done.table.y[rows], done.scores.logit[rows], done.after[rows]
    fall = log_loss(y, expit(before)) - log_loss(y, expit(after))
    assert done.evaluation.loss.fall == pytest.approx(fall, abs=1e-9)
    assert done.evaluation.loss.low < fall < done.evaluation.loss.high


@pytest.mark.parametrize("partition", ["forest", "boosted", "additive", "stacked"])
def test_a_scheme_without_the_model_starts_from_a_constant(segments, partition):
    done = of_segments(segments, partition)
    rows, found = done.split.test, done.evaluation
    columns = segments[["segment", "size"]].iloc[rows]
    alone = done.choice.without.logit(np.zeros(rows.size), columns)
    y = done.table.y[rows]
    assert found.without.auc == pytest.approx(roc_auc_score(y, alone))
    assert found.network_adds.auc == pytest.approx(found.after.auc - found.without.auc)
    assert found.network_adds.low > 0  # the score knows what no column does
    scores = done.scores.logit[rows]
    level = done.choice.scheme.logit(np.full(rows.size, scores.mean()), columns)
    (_, shared), (_, total) = np.cov(done.after[rows] - level, done.after[rows])
    assert found.network_share == pytest.approx(shared / total)


def test_a_score_that_is_noise_has_no_part(segments):
    noise = np.random.default_rng(5).normal(size=len(segments))
    done = of_segments(segments.assign(score=noise), "additive")
    assert done.evaluation.lift.low > 0
    assert done.evaluation.network_adds.low < 0
    assert done.evaluation.network_share < 0.05
    assert done.verdict.startswith("The score is noise: ")
    assert "The columns do the work" in done.verdict


def test_the_model_as_it_is_has_the_whole_share():
    rng = np.random.default_rng(0)
    score = rng.normal(size=4_000)
    frame = pd.DataFrame({"x": rng.normal(size=4_000), "p": score})
    frame["y"] = rng.binomial(1, expit(score))
    table = make_table(frame, Roles("y", score="p"), "digest")
    settings = Settings(partition="auto", fractions=(0.3, 0.1, 0.3, 0.3), take="identity")
    done = run(table, make_scores(score, "made up", digest="scores"), settings)
    assert done.evaluation.network_share == pytest.approx(1)
    assert done.evaluation.without.auc == 0.5
    assert (done.kind, done.numbers, done.scheme_name) == ("none", 0, "identity")
    assert done.verdict.startswith("Leave your model as it is")


def test_a_sketch_has_nearly_the_numbers_of_its_rows(segments):
    frame = pd.concat([segments] * 10, ignore_index=True)
    exact = of_segments(frame)
    parts = exact.table, exact.scores, split_table(exact.table, exact.settings), exact.partition
    passed = first_pass(*parts, exact.leaf, sketched_from=1)
    sketched = finish_run(passed, exact.settings, exact.partition, fit_maps(passed, exact.settings))
    found, expected = sketched.evaluation, exact.evaluation
    assert found.sketched
    assert found.without.auc == pytest.approx(expected.without.auc, abs=1e-12)
    assert found.network_adds.auc == pytest.approx(expected.network_adds.auc, abs=1e-3)
    assert found.network_share == pytest.approx(expected.network_share, abs=1e-3)
    assert found.loss.fall == pytest.approx(expected.loss.fall, abs=1e-3)


@pytest.mark.parametrize("partition", ["tree", "auto"])
def test_classes_without_the_model_have_their_rates_or_the_scheme_of_a_constant(kinds, partition):
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    done = run(table, scores, Settings(partition=partition, max_depth=2))
    rows, found = done.split.test, done.evaluation
    if partition == "tree":
        fitted = done.split.calibration
        rates = pd.crosstab(done.leaf[fitted], table.y[fitted], normalize="index")
        probability = rates.loc[done.leaf[rows]].to_numpy()
        assert (rates > 0).all(axis=None)  # else half a row would count
    else:
        constant = np.full((rows.size, 3), -np.log(3))
        probability = np.exp(done.choice.without.logit(constant, table.X.iloc[rows]))
    y = table.y[rows]
    areas = [roc_auc_score(y == each, probability[:, each]) for each in range(3)]
    assert found.without.macro_auc == pytest.approx(np.mean(areas), abs=1e-9)
    assert found.network_adds.auc == pytest.approx(found.after.macro_auc - np.mean(areas))
    assert 0 < found.network_share <= 1
    before, after = (np.exp(each[rows]) for each in (scores.logit, done.after))
    assert found.loss.fall == pytest.approx(log_loss(y, before) - log_loss(y, after), abs=1e-6)
    view = done.view(1).evaluation
    assert view.without.auc == pytest.approx(areas[1], abs=1e-9)


def test_mean_probabilities_are_compared_with_rates_role_by_role(segments):
    done = of_segments(segments)
    found = done.mean_probabilities().set_index("role")
    frame = segments.assign(after=expit(done.after))
    for role, inside in frame.groupby("split"):
        assert found.at[role, "rows"] == len(inside)
        assert found.at[role, "rate"] == pytest.approx((inside["label"] == "yes").mean())
        assert found.at[role, "before"] == pytest.approx(expit(inside["score"]).mean())
        assert found.at[role, "after"] == pytest.approx(inside["after"].mean())


def test_additive_has_no_map_in_each_leaf_but_depends_on_columns(segments):
    done = of_segments(segments, "additive")
    assert not done.applied
    assert done.divided
    assert done.kind == "correction"
    assert done.numbers == done.choice.scheme.numbers > 2


def test_the_ladder_of_leaf_maps_is_measured_on_test_rows(segments):
    done = of_segments(segments)
    ladder, found = done.ladder.set_index("name"), done.evaluation
    assert ladder.index.tolist() == ["identity", "tree"]
    assert ladder.at["tree", "numbers"] == 2 * len(done.partition.leaves)
    assert ladder.at["tree", "lift"] == pytest.approx(found.after.auc - found.before.auc)
    assert ladder.at["tree", "without"] == pytest.approx(found.tree.auc - found.before.auc)
    assert list(done.ladder.columns) == list(of_segments(segments, "forest").ladder.columns)
