from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from scipy.stats import t as student
from sklearn.metrics import log_loss, roc_auc_score, roc_curve

from hetcal.errors import HetcalError
from hetcal.results.compare import ComparedRun, compare_runs, comparison_lines, other_rows

ROWS = 1_500


def run(name, seed=0, noise=0.5, **changes):
    """A run whose rows depend on the seed, and whose calibrated score on the noise as well."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=ROWS)
    y = (rng.random(ROWS) < expit(2 * truth)).astype(np.int8)
    before = truth + rng.normal(size=ROWS)
    after = truth + noise * np.random.default_rng([seed, int(1000 * noise)]).normal(size=ROWS)
    parts = {
        "y": y,
        "before": before,
        "after": 1.5 * after,
        "rows": np.arange(ROWS) * 2,
        "columns": {"age": "1", "income": "2"},
        "settings": {"max_depth": "3", "seed": "0"},
    }
    return ComparedRun(name, **(parts | changes))


def of_classes(name, noise, **changes):
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(ROWS, 3))
    y = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    after = log_softmax(truth + noise * np.random.default_rng(5).normal(size=truth.shape), axis=1)
    before = log_softmax(3 * truth, axis=1)
    parts = {"y": y, "before": before, "after": after, "classes": ("ant", "bee", "cow")}
    return run(name, **(parts | changes))


def areas_left_out(y, scores, group):
    """The AUC without the rows of each group in turn, by scikit-learn."""
    kept = (group != each for each in np.unique(group))
    return np.array([roc_auc_score(y[rows], scores[rows]) for rows in kept])


def test_measures_of_each_run_are_those_of_scikit_learn():
    first, second = run("a"), run("b", noise=1.0)
    found = compare_runs([first, second]).runs.set_index("run")
    for each in (first, second):
        areas = [roc_auc_score(each.y, scores) for scores in (each.before, each.after)]
        losses = [log_loss(each.y, expit(scores)) for scores in (each.before, each.after)]
        row = found.loc[each.name]
        assert row[["before", "after"]].tolist() == pytest.approx(areas)
        assert row["lift"] == pytest.approx(areas[1] - areas[0])
        assert row[["log_loss_before", "log_loss_after"]].tolist() == pytest.approx(losses)
        assert row["low"] < row["lift"] < row["high"]


def test_the_difference_of_two_runs_has_the_interval_of_the_paired_bootstrap():
    first, second = run("a"), run("b", noise=0.8)
    (found,) = compare_runs([first, second]).differences.to_dict("records")
    rng, drawn = np.random.default_rng(0), []
    for _ in range(400):
        rows = rng.integers(0, ROWS, ROWS)
        drawn.append(
            roc_auc_score(first.y[rows], second.after[rows])
            - roc_auc_score(first.y[rows], first.after[rows])
        )
    areas = [roc_auc_score(first.y, each.after) for each in (first, second)]
    assert found["auc"] == pytest.approx(areas[1] - areas[0])
    ends = np.quantile(drawn, [0.025, 0.975])
    assert [found["low"], found["high"]] == pytest.approx(ends, abs=0.15 * (ends[1] - ends[0]))
    assert found["high"] < 0
    assert found["p"] < 0.05


def test_the_difference_in_log_loss_has_the_interval_of_the_paired_t_test():
    first, second = run("a"), run("b", noise=0.8)
    (found,) = compare_runs([first, second]).differences.to_dict("records")
    losses = [
        -np.log(np.where(first.y == 1, expit(each.after), 1 - expit(each.after)))
        for each in (first, second)
    ]
    rise = losses[1] - losses[0]
    ends = student.interval(0.95, ROWS - 1, rise.mean(), rise.std(ddof=1) / np.sqrt(ROWS))
    assert found["log_loss"] == pytest.approx(rise.mean())
    assert [found["log_loss_low"], found["log_loss_high"]] == pytest.approx(ends)


def test_rows_of_a_group_count_as_one_whichever_run_knows_the_groups():
    group, few = np.arange(ROWS) // 5, slice(0, ROWS // 5)
    alike = {name: np.repeat(getattr(run("a"), name)[few], 5) for name in ("y", "before", "after")}
    own = run("a", **alike)
    other = run("b", **(alike | {"after": np.repeat(run("b", noise=0.8).after[few], 5)}))
    known = replace(own, group=group), replace(other, group=group)
    left_out = areas_left_out(own.y, other.after, group) - areas_left_out(own.y, own.after, group)
    n = left_out.size
    se = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())  # the jackknife's
    for runs in ([known[0], other], [own, known[1]], known):
        found = compare_runs(runs).differences.iloc[0]
        assert (found["high"] - found["low"]) / (2 * 1.96) == pytest.approx(se, rel=0.03)
    plain = compare_runs([own, other]).differences.iloc[0]
    assert (plain["high"] - plain["low"]) / (2 * 1.96) == pytest.approx(se / np.sqrt(5), rel=0.03)


def test_a_weight_counts_like_repeated_rows():
    times = np.random.default_rng(2).integers(1, 4, ROWS)
    first, second = run("a", weight=times * 1.0), run("b", noise=0.8, weight=times * 1.0)
    comparison = compare_runs([first, second])
    y, *scores = (np.repeat(each, times) for each in (first.y, first.after, second.after))
    areas = [roc_auc_score(y, each) for each in scores]
    losses = [log_loss(y, expit(each)) for each in scores]
    found = comparison.differences.iloc[0]
    assert comparison.runs["after"].tolist() == pytest.approx(areas)
    assert found["auc"] == pytest.approx(areas[1] - areas[0])
    assert found["log_loss"] == pytest.approx(losses[1] - losses[0])


def test_more_than_two_classes_are_compared_by_their_mean_auc():
    first, second = of_classes("a", 0.2), of_classes("b", 1.0)
    comparison = compare_runs([first, second], shown=2)
    areas = [
        np.mean([roc_auc_score(each.y == c, _one(each.after, c)) for c in range(3)])
        for each in (first, second)
    ]
    losses = [log_loss(each.y, np.exp(each.after)) for each in (first, second)]
    found = comparison.differences.iloc[0]
    assert comparison.runs["measure"].tolist() == ["macro AUC"] * 2
    assert found["auc"] == pytest.approx(areas[1] - areas[0])
    assert found["log_loss"] == pytest.approx(losses[1] - losses[0])
    assert found["high"] < 0
    assert comparison.shown == "cow"
    assert comparison.curves[0].auc == pytest.approx(
        roc_auc_score(first.y == 2, _one(first.after, 2))
    )


def _one(logs, number):
    p = np.exp(logs[:, number])
    return p / (1 - p)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rows": np.arange(ROWS)}, "their numbers in the table are others"),
        ({"y": 1 - run("a").y}, "the labels are others"),
        ({"weight": np.full(ROWS, 2.0)}, "the weights are others"),
        ({"classes": ("ant", "bee", "cow")}, "the classes are others"),
        ({"columns": {"height": "1"}}, "no feature is in both"),
        ({"columns": {"age": "1", "income": "3"}}, "the column 'income' has other values"),
    ],
)
def test_other_rows_are_told_apart(changes, why):
    assert why in other_rows(run("a"), run("b", **changes))


def test_rows_stay_the_same_with_other_features_and_weights_of_one():
    changed = run("b", columns={"age": "1", "height": "7"}, weight=np.ones(ROWS))
    assert other_rows(run("a"), changed) == ""


def test_runs_on_other_rows_are_side_by_side_without_a_test():
    comparison = compare_runs([run("a"), run("b", rows=np.arange(ROWS))])
    (found,) = comparison.differences.to_dict("records")
    assert not found["same_rows"]
    assert np.isnan([found["auc"], found["low"], found["p"], found["log_loss"]]).all()
    lines = comparison_lines(comparison)
    assert any("'b' and 'a' are on other test rows (their numbers" in each for each in lines)
    assert any("without a test" in each for each in lines)
    assert comparison.runs["lift"].notna().all()


def test_only_settings_that_differ_are_listed():
    runs = [
        run("a"),
        run("b", settings={"max_depth": "2", "seed": "0"}),
        run("c", settings={"max_depth": "3", "seed": "0", "bins": "4"}),
    ]
    comparison = compare_runs(runs)
    assert comparison.settings.to_numpy().tolist() == [
        ["max_depth", "a", "3"],
        ["max_depth", "b", "2"],
        ["max_depth", "c", "3"],
        ["bins", "a", ""],
        ["bins", "b", ""],
        ["bins", "c", "4"],
    ]
    assert "  max_depth  a: 3; b: 2; c: 3" in comparison_lines(comparison)
    assert comparison_lines(compare_runs([run("a"), run("b")]))[-1] == (
        "Their settings are the same."
    )


@pytest.mark.parametrize(
    ("noise", "words"),
    [(0.1, "'b' ranks better than"), (1.5, "'b' ranks worse than"), (0.5, "is not shown to rank")],
)
def test_the_words_follow_the_interval(noise, words):
    first, second = run("a", noise=0.5), run("b", noise=noise)
    (line,) = (each for each in comparison_lines(compare_runs([first, second])) if "'a'" in each)
    assert words in line
    assert "on the same 1,500 test rows: AUC " in line


def test_the_curve_of_a_run_is_that_of_scikit_learn():
    first, second = run("a"), run("b", noise=0.8)
    comparison = compare_runs([first, second])
    for each, curve in zip((first, second), comparison.curves, strict=True):
        false, true, _ = roc_curve(each.y, each.after, drop_intermediate=False)
        points = np.column_stack([curve.false_positive_rate, curve.true_positive_rate])
        whole = {(round(x, 9), round(y, 9)) for x, y in zip(false, true, strict=True)}
        assert curve.name == each.name
        assert {(round(x, 9), round(y, 9)) for x, y in points} <= whole
        assert points[[0, -1]].tolist() == [[0, 0], [1, 1]]
        area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
        assert area == pytest.approx(roc_auc_score(each.y, each.after), abs=1e-3)


def test_a_score_before_that_all_runs_have_has_one_curve():
    first, second = run("a"), run("b", noise=0.8)
    assert [each.name for each in compare_runs([first, second]).before] == ["before"]
    other = run("c", before=second.before + 1e-3 * np.arange(ROWS))
    before = compare_runs([first, second, other]).before
    assert [each.name for each in before] == ["a before", "b before", "c before"]
    assert before[2].auc == pytest.approx(roc_auc_score(other.y, other.before))


def test_any_number_of_curves_stays_within_what_a_browser_takes():
    for count in (2, 9):
        comparison = compare_runs([run(str(seed), seed) for seed in range(count)])
        curves = (*comparison.curves, *comparison.before)
        assert sum(each.threshold.size for each in curves) <= 1_980
        for each in curves:
            area = np.trapezoid(each.true_positive_rate, each.false_positive_rate)
            assert area == pytest.approx(each.auc, abs=5e-3)


@pytest.mark.parametrize("runs", [[run("a")], [run("a"), run("a")]])
def test_fewer_than_two_names_are_refused(runs):
    with pytest.raises(HetcalError, match="at least two, each with a name of its own"):
        compare_runs(runs)
