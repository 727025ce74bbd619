from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.choices import plain_name
from hetcal.errors import CalibrationError
from hetcal.metrics.delong import lift_between, paired_delong
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.tree import TreePartition
from hetcal.schemes import candidates
from hetcal.schemes import choice as choosing
from hetcal.schemes import parts as part_module
from hetcal.schemes.candidates import IDENTITY, Candidate
from hetcal.schemes.choice import Trial, choose_scheme, no_lift_reason
from hetcal.schemes.cross_fitting import (
    CrossFit,
    Folds,
    Gain,
    cross_fit,
    divide_rows,
    draw_folds,
    gain_between,
    loss_gain,
    mean_gain,
    place_rows,
    simplest_near,
)
from hetcal.schemes.parts import (
    BesidePart,
    BoostedPart,
    ForestPart,
    GrownLeavesPart,
    PlainLeavesPart,
    PooledPart,
    ShrunkenLeavesPart,
)
from hetcal.schemes.rows import SchemeRows, joined, sampled
from hetcal.schemes.stages import stacked_stage

RUNGS = ["identity", "pooled", "tree", "shrunken tree"]
RUNGS += ["forest", "boosted", "additive", "stacked"]


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Few small trees, so that the tests are quick."""

    def boosted(members=5, **others):
        return BoostedPartition(members, **{"max_iter": 15, **others, "learning_rate": 0.2})

    def terms(**others):
        return AdditiveTerms(3, **{**others, "max_iter": 20})

    def forest(trees, **others):
        return ForestPartition(5, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "BoostedPartition", boosted)
        patch.setattr(candidates, "AdditiveTerms", terms)
        patch.setattr(candidates, "ForestPartition", forest)
        patch.setattr(part_module, "NESTED_TREES", 4)
        yield


@pytest.fixture(scope="module")
def choice():
    return choose_scheme(drawn(2_000, 0, blind=1.0), drawn(2_000, 1, blind=1.0))


def drawn(size, seed, *, blind=0.0):
    """Rows with a true logit; the score is blind to a part of it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(size, 4)), columns=[*"abcd"])
    X["e"] = rng.choice([*"xyz"], size)
    hidden = 1.5 * X["b"].to_numpy() + 1.5 * (X["e"] == "x").to_numpy()
    scores = np.sin(2 * X["a"].to_numpy()) + X["c"].to_numpy()
    y = (rng.random(size) < expit(scores + blind * hidden)).astype(np.int64)
    return SchemeRows(X, y, scores)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_perfect_model_is_left_as_it_is(seed):
    choice = choose_scheme(drawn(2_000, seed), drawn(2_000, 100 + seed))
    assert choice.chosen == "identity"
    assert choice.scheme.stages == ()
    assert "No candidate" in choice.why


@pytest.mark.parametrize(
    ("lifts", "words"),
    [
        ([0.0, 0.0, -0.01], "None has a higher AUC."),
        ([0.0, 0.00004, -0.01], "None has a higher AUC."),
        (
            [0.0, 0.0, 0.003],
            "The largest lift is +0.0030 AUC (-0.0166 to +0.0226), that of 'one tree'.",
        ),
    ],
)
def test_a_lift_of_nothing_is_not_called_the_largest(lifts, words):
    names = ("identity", "pooled", "tree")
    candidates = tuple(Candidate(name, "", "calibration") for name in names)
    tried = tuple(CrossFit(each, 0.0, *[np.zeros(1)] * 3, 0.0) for each in candidates)
    held = drawn(10, 0)
    trial = Trial(Folds(held, np.zeros(10)), tried, tried, held, candidates)
    trial.__dict__["gains"] = tuple(Gain(each, 0.01) for each in lifts)
    assert no_lift_reason(trial, 0, [0, 1, 2]).endswith(f"was not fitted on. {words}")


def test_a_model_that_misses_a_column_is_corrected_by_the_column(choice):
    assert choice.chosen in ("forest", "boosted", "additive")
    new = drawn(4_000, 2, blind=1.0)
    lift = paired_delong(new.y, new.scores, choice.scheme.logit(new.scores, new.X))
    table = choice.candidates.set_index("name")
    assert lift.z > 5
    assert lift.auc == pytest.approx(table.lift[choice.chosen], abs=4 * lift.se)


def test_a_model_that_is_only_over_confident_gets_one_map_for_all_rows():
    training, calibration = drawn(1_500, 0), drawn(2_500, 1)
    calibration = replace(calibration, scores=3 * calibration.scores)
    choice = choose_scheme(training, calibration)
    assert choice.chosen == "pooled"
    assert choice.scheme.stages[0].slope == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_scores_that_separate_the_classes_or_are_all_equal_can_be_chosen_for(spread):
    training, calibration = drawn(800, 0), drawn(800, 1)
    noise = np.random.default_rng(2).random(800)
    scores = spread * (2 * calibration.y - 1 + 0.1 * noise)
    choice = choose_scheme(training, replace(calibration, scores=scores))
    assert (choice.chosen in ("identity", "pooled")) == (spread > 0)


def test_equal_inputs_give_equal_schemes_and_scores_of_training_rows_are_not_read(choice):
    training, calibration = drawn(2_000, 0, blind=1.0), drawn(2_000, 1, blind=1.0)
    again = choose_scheme(replace(training, scores=None), calibration)
    assert again.scheme.digest == choice.scheme.digest
    tables = [each.candidates.drop(columns="seconds") for each in (again, choice)]
    pd.testing.assert_frame_equal(*tables)


def test_the_table_lists_lift_interval_and_choice(choice):
    table = choice.candidates
    assert table.name.tolist() == RUNGS
    assert table.name[table.chosen].tolist() == [choice.chosen]
    assert table.lift[:2].tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.allclose(table.high - table.low, 2 * 1.959964 * table.se, rtol=1e-5)


def test_progress_is_reported_from_the_first_tree_to_the_last_candidate():
    told = []
    choose_scheme(
        drawn(1_000, 0), drawn(1_000, 1), progress=lambda done, doing: told.append((done, doing))
    )
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert 0.95 < shares[-1] < 1.0
    tried = [done for done, doing in told if doing == "Trying: curves"]
    assert len(set(tried)) == 10  # five folds with the model, and five without it
    others = [doing for _, doing in told if doing.startswith(("Trying", "Fitting: "))]
    assert list(dict.fromkeys(others)) == [
        *(f"Trying: {plain_name(name)}" for name in RUNGS),
        "Fitting: leave it",
    ]


@pytest.mark.parametrize("where", ["Growing", "Trying: forest"])
def test_what_progress_raises_ends_the_choice(where):
    told = []

    def tell(done, doing):
        told.append(doing)
        if doing.startswith(where):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_scheme(drawn(1_000, 0), drawn(1_000, 1), progress=tell)
    assert told[-1].startswith(where)


def test_more_candidates_take_part():
    def grow(X, y, scores, weight):
        return TreePartition(1).fit(X, y, weight).partition_

    part = GrownLeavesPart(grow)
    extra = Candidate("mine", "a tree of mine", "calibration", (PooledPart(), part), (5.0,))
    choice = choose_scheme(drawn(800, 0), drawn(800, 1), more=[extra])
    assert choice.candidates.name.tolist() == [*RUNGS[:4], "mine", *RUNGS[4:]]


def test_rows_of_a_large_table_are_sampled(monkeypatch):
    sizes = []
    monkeypatch.setattr(choosing, "MAX_TRAINING", 1_000)
    monkeypatch.setattr(choosing, "MAX_HELD", 800)
    stacked = candidates.stacked_candidate

    def watched(training, held, *others):
        sizes.append((len(training.y), len(held.y)))
        return stacked(training, held, *others)

    monkeypatch.setattr(candidates, "stacked_candidate", watched)
    choose_scheme(drawn(1_500, 0), drawn(900, 1), drawn(500, 2))
    assert sizes == [(1_000, 800)]


def test_rows_without_weight_or_score_do_not_count():
    training, calibration = drawn(1_000, 0, blind=1.0), drawn(1_000, 1, blind=1.0)
    weight = np.r_[np.ones(700), np.zeros(300)]
    scores = np.where(np.arange(1_000) < 10, np.nan, calibration.scores)
    first = choose_scheme(training, replace(calibration, scores=scores, weight=weight))
    inside = slice(10, 700)
    part = SchemeRows(calibration.X[inside], calibration.y[inside], scores[inside], np.ones(690))
    assert first.scheme.digest == choose_scheme(training, part).scheme.digest


def test_too_few_rows_of_a_class_are_refused():
    calibration = drawn(500, 1)
    with pytest.raises(CalibrationError, match="the most are 7"):
        choose_scheme(
            drawn(1_000, 0), replace(calibration, y=(np.arange(500) < 7).astype(np.int64))
        )


def one(*parts):
    """A candidate of these parts."""
    return Candidate("one", "", "calibration", parts, (3.0,))


def parts():
    training, held = drawn(2_000, 0, blind=1.0), drawn(1_000, 1, blind=1.0)
    tree = TreePartition(2).fit(training.X, training.y).partition_
    forest = ForestPartition(4).fit(training.X, training.y).ensemble_
    boosted = BoostedPartition(3, max_iter=10).fit(training.X, training.y)
    columns = boosted.ensemble_.columns
    return (
        training,
        held,
        [
            PooledPart(),
            PlainLeavesPart(tree, tree.apply(held.X)),
            ShrunkenLeavesPart(tree, tree.apply(held.X)),
            ForestPart(forest, forest.apply(held.X)),
            BoostedPart(columns, columns.matrix(held.X)),
            BesidePart(boosted.decision_function(held.X), partial(stacked_stage, boosted)),
        ],
    )


def test_the_scheme_of_each_part_gives_the_logits_that_were_tried():
    _, held, each = parts()
    everything = np.arange(len(held.y))
    for part in each:
        candidate = one(part)
        expected, _ = candidate.fit(held.scores, held, everything, 3.0)
        scheme = candidate.scheme(held.scores, held, 3.0)
        assert np.allclose(scheme.logit(held.scores, held.X), expected)


def test_a_part_reads_no_score_or_label_beyond_its_rows():
    _, held, each = parts()
    rows = np.arange(600)
    other = replace(held, y=np.r_[held.y[:600], 1 - held.y[600:]])
    for part in each:
        fits = (one(part).fit(held.scores, rows_of, rows, 3.0) for rows_of in (held, other))
        assert np.array_equal(*(logits for logits, _ in fits))


def test_algorithm_1_is_among_the_candidates():
    _, held, each = parts()
    plain = each[1]
    everything = np.arange(len(held.y))
    calibrator = LeafCalibrator().fit(held.scores, held.y, plain.leaf)
    found, _ = one(plain).fit(held.scores, held, everything, 0.0)
    assert np.allclose(expit(found), calibrator.predict(held.scores, plain.leaf))


def test_gain_is_the_mean_of_the_folds_differences_in_auc():
    _, held, each = parts()
    folds = divide_rows(held, 4, 0)
    fold = folds.number
    before = cross_fit(IDENTITY, folds, held.scores)
    after = cross_fit(one(each[5]), folds, held.scores)
    areas = [
        [roc_auc_score(held.y[fold == k], fit.logits[fold == k]) for k in range(4)]
        for fit in (before, after)
    ]
    gain = gain_between(before, after, folds)
    assert gain.auc == pytest.approx(np.mean(areas[1]) - np.mean(areas[0]), abs=1e-12)
    whole = paired_delong(held.y, before.logits, after.logits)
    assert gain.se == pytest.approx(whole.se, rel=0.1)


@pytest.mark.parametrize(
    ("others", "short", "expected"),
    [
        ([1, 2, 3], {1: 0.005, 2: 0.002}, 2),  # 1 falls short of 3 by more than its error
        ([1, 2, 3], {1: 0.003, 2: 0.003}, 1),
        ([1, 2, 3], {1: 0.009, 2: 0.009}, 3),
        ([3], {}, 3),
    ],
)
def test_the_simplest_within_one_standard_error_of_the_best_is_taken(others, short, expected):
    found = simplest_near(3, others, lambda first, best: (short.get(first, 0.0), 0.003))
    assert found == expected


def test_folds_have_equal_shares_of_each_class():
    y = np.arange(1_003) % 7 // 3
    fold = draw_folds(y, 5, 0)
    for label in (0, 1, 2):
        counts = np.bincount(fold[y == label])
        assert counts.max() - counts.min() <= 1


def test_the_unit_of_the_weights_does_not_matter():
    _, held, each = parts()
    weighted = replace(held, weight=np.full(len(held.y), 2.0))
    gains = []
    for folds in (divide_rows(held, 4, 0), divide_rows(weighted, 4, 0)):
        tried = cross_fit(one(each[4]), folds, held.scores)
        gains.append(gain_between(cross_fit(IDENTITY, folds, held.scores), tried, folds))
    assert gains[0].auc == pytest.approx(gains[1].auc, abs=1e-6)
    assert gains[0].se == pytest.approx(gains[1].se, rel=1e-3)


def sites(size, seed, per_site):
    """Rows of sites, each with a rate of its own and a number that tells only which it is."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, size // per_site, size)
    rate, number = rng.normal(0, 2, (2, site.max() + 1))
    X = pd.DataFrame({"number": number[site], "noise": rng.normal(size=size)})
    scores = rng.normal(size=size)
    y = (rng.random(size) < expit(scores + rate[site])).astype(np.int64)
    return SchemeRows(X, y, scores, group=np.char.add(f"{seed} ", site.astype(str)))


def test_what_is_known_of_other_rows_of_a_group_does_not_count_as_a_lift():
    training, held = sites(2_000, 0, 50), sites(2_000, 1, 50)
    alone = [replace(each, group=None) for each in (training, held)]
    apart, mixed = choose_scheme(training, held), choose_scheme(*alone)
    assert mixed.candidates.set_index("name").loc["stacked", "low"] > 0.05
    assert apart.candidates["lift"].max() < 0.02
    assert apart.chosen in ("identity", "pooled")


def test_groups_of_one_row_are_no_groups_but_for_the_draw():
    held = replace(drawn(1_000, 1), group=np.arange(1_000))
    training = replace(drawn(1_000, 0), group=np.arange(1_000, 2_000))
    found = choose_scheme(training, held).candidates
    plain = choose_scheme(*(replace(each, group=None) for each in (training, held))).candidates
    assert found["log_loss"].to_numpy() == pytest.approx(plain["log_loss"].to_numpy(), abs=0.01)


def test_rows_that_name_no_group_are_groups_of_their_own():
    named, plain = sites(200, 0, 50), drawn(100, 1)
    both = joined(named, plain)
    assert pd.Series(both.group).nunique() == len(set(named.group)) + 100
    assert joined(plain, plain).group is None


def test_too_few_groups_are_refused():
    held = drawn(500, 1)
    with pytest.raises(CalibrationError, match="cannot be divided in two"):
        choose_scheme(drawn(500, 0), replace(held, group=np.zeros(500)))


def test_scores_whose_squares_are_no_numbers_are_refused():
    held = drawn(500, 1)
    held.scores[7] = -1.5e300
    with pytest.raises(CalibrationError, match=r"as extreme as -1.5e\+300"):
        choose_scheme(drawn(500, 0), held)


def test_a_tree_on_scores_can_be_grown_on_labels_that_alternate():
    rows = drawn(1_000, 3, blind=1.0)
    pairs = min((rows.y == 0).sum(), (rows.y == 1).sum())
    order = np.column_stack([np.flatnonzero(rows.y == k)[:pairs] for k in (0, 1)]).ravel()
    held = SchemeRows(rows.X.iloc[order], rows.y[order], rows.scores[order])
    assert held.y[:6].tolist() == [0, 1, 0, 1, 0, 1]

    def grow(X, y, scores, weight):
        assert y.mean() == pytest.approx(0.5, abs=0.01)
        return TreePartition(1).fit(X, y).partition_

    scheme = one(PooledPart(), GrownLeavesPart(grow)).scheme(held.scores, held, 1.0)
    logits = scheme.logit(held.scores, held.X)
    assert roc_auc_score(held.y, logits) > roc_auc_score(held.y, held.scores)


def test_a_tree_on_scores_is_calibrated_on_groups_that_it_was_not_grown_on():
    rows = drawn(600, 3)
    rows = replace(rows, group=pd.Series(np.arange(600) // 3, index=np.arange(600)[::-1]))
    grown_on = []

    def grow(X, y, scores, weight):
        grown_on.extend(X.index)
        return TreePartition(1).fit(X, y).partition_

    GrownLeavesPart(grow).fit(rows.scores, rows, np.arange(600), 1.0)
    numbers = np.flatnonzero(rows.X.index.isin(grown_on))
    assert 200 < numbers.size < 400
    assert (
        np.bincount(numbers // 3).max()
        == np.bincount(numbers // 3, minlength=200)[numbers // 3].min()
        == 3
    )


def test_groups_may_be_a_series_with_any_index():
    held = replace(drawn(400, 1), group=pd.Series(np.arange(400) % 30, index=np.arange(400)[::-1]))
    plain = replace(held, group=held.group.to_numpy(), weight=np.r_[np.zeros(10), np.ones(390)])
    found = [sampled(each, 400, 0).group for each in (replace(held, weight=plain.weight), plain)]
    assert np.array_equal(*found)
    assert found[0][:3].tolist() == [10, 11, 12]


def test_rows_that_repeat_in_groups_add_no_precision():
    once, each = parts()[1:]
    rows = np.repeat(np.arange(len(once.y)), 4)
    fourfold = SchemeRows(once.X.iloc[rows], once.y[rows], once.scores[rows], group=rows)
    fold = draw_folds(once.y, 4, 0)
    gains, falls = [], []
    for held, number in ((once, fold), (fourfold, fold[rows])):
        folds = Folds(held, number)
        before = cross_fit(IDENTITY, folds, held.scores)
        logits = each[5].margin if held is once else each[5].margin[rows]
        losses = np.logaddexp(0.0, logits) - held.y * logits
        after = replace(before, placed=place_rows(logits, folds), losses=losses)
        gains.append(gain_between(before, after, folds))
        falls.append(loss_gain(before, after, folds))
    assert gains[0].auc == pytest.approx(gains[1].auc, abs=1e-12)
    assert gains[0].se == pytest.approx(gains[1].se, rel=0.02)
    assert falls[0] == pytest.approx(falls[1], rel=0.02)


def test_the_error_over_folds_of_a_single_group_is_their_spread():
    lifts = [lift_between(0.7, 0.7 + gain, float("nan")) for gain in (0.01, 0.03, 0.02)]
    assert mean_gain(lifts).auc == pytest.approx(0.02)
    assert mean_gain(lifts).se == pytest.approx(0.01 / np.sqrt(3))  # deviation over root of three
    known = [lift_between(0.7, 0.7 + gain, 0.006) for gain in (0.01, 0.03, 0.02)]
    assert mean_gain(known).se == pytest.approx(0.006 / np.sqrt(3))
