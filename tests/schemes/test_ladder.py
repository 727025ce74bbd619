"""The ladder: every scheme with and without the model, by kind, and any rung can be taken."""

import json
import zlib
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hetcal.choices import KINDS, plain_name
from hetcal.errors import CalibrationError, HetcalError
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.runs.fitting import allowed_kinds, chosen_among, fit_roles
from hetcal.runs.settings import Settings
from hetcal.schemes import candidates
from hetcal.schemes import parts as part_module
from hetcal.schemes.candidates import (
    IDENTITY,
    POOLED,
    STRENGTHS,
    Candidate,
    GrowthSettings,
    additive_candidate,
    strengths_for,
)
from hetcal.schemes.choice import choose_scheme, fit_scheme
from hetcal.schemes.cross_fitting import cross_fit, divide_rows, time_folds
from hetcal.schemes.parts import BesidePart, PooledPart
from hetcal.schemes.rows import SchemeRows
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import AdditiveStage

KIND_OF = {
    "identity": "none",
    **dict.fromkeys(["pooled", "tree", "shrunken tree", "forest", "boosted"], "calibration"),
    "additive": "correction",
    "stacked": "second model",
}


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Few small trees, so that the tests are quick."""
    with pytest.MonkeyPatch.context() as patch:
        small = partial(BoostedPartition, 3, max_iter=25, learning_rate=0.2)
        patch.setattr(candidates, "BoostedPartition", small)
        patch.setattr(candidates, "AdditiveTerms", partial(AdditiveTerms, 3, max_iter=30))
        patch.setattr(candidates, "ForestPartition", lambda _, **more: ForestPartition(5, **more))
        patch.setattr(part_module, "NESTED_TREES", 4)
        yield


def drawn(size, seed, *, score="columns and more"):
    """Rows whose labels follow from columns, and from what a score alone may know."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(size, 3)), columns=[*"abc"])
    X["d"] = rng.choice([*"xyz"], size)
    told = (1.5 * X["a"] + 1.5 * (X["d"] == "x") - 0.5).to_numpy()
    secret, noise = rng.normal(0, 1.5, size), rng.normal(size=size)
    logit, scores = {
        "columns and more": (told + secret, 0.3 * told + secret),
        "noise": (told, noise),
        "secret": (secret, secret),
    }[score]
    y = (rng.random(size) < expit(logit)).astype(np.int64)
    return SchemeRows(X, y, scores)


@pytest.fixture(scope="module")
def choice():
    return choose_scheme(drawn(1_500, 0), drawn(1_500, 1), kinds=KINDS, best=True)


@pytest.fixture(scope="module")
def ladders():
    """The tables of a score that is noise, and of one that alone has the information."""
    return {
        kind: choose_scheme(drawn(1_500, 0, score=kind), drawn(1_500, 1, score=kind))
        for kind in ("noise", "secret")
    }


def test_every_rung_has_its_kind(choice):
    assert dict(zip(choice.candidates.name, choice.candidates.kind, strict=True)) == KIND_OF
    assert choice.kind == KIND_OF[choice.chosen]


def test_what_the_model_adds_is_the_lift_less_the_lift_without_it(choice):
    table = choice.candidates
    assert table.adds.to_numpy() == pytest.approx((table.lift - table.without).to_numpy())
    assert ((table.adds_low < table.adds) & (table.adds < table.adds_high)).all()
    wide = (table.adds_high - table.adds_low) / (2 * 1.959964)
    expected = 2 * (1 - expit_normal(table.adds.abs() / wide))
    assert table.adds_p.to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-6)


def expit_normal(z):
    from scipy.stats import norm

    return pd.Series(norm.cdf(z), index=z.index)


def test_lifts_are_those_of_scikit_learn_fold_by_fold(choice):
    trial, table = choice.trial, choice.candidates
    held, parts = trial.folds.held, trial.folds.parts

    def area(logits):
        return np.mean([roc_auc_score(held.y[rows], logits[rows]) for rows in parts])

    for i, (after, without) in enumerate(zip(trial.tried, trial.without, strict=True)):
        assert table.auc[i] == pytest.approx(area(after.logits), abs=1e-12)
        assert table.lift[i] == pytest.approx(area(after.logits) - area(held.scores), abs=1e-12)
        expected = area(without.logits) - area(held.scores)
        assert table.without[i] == pytest.approx(expected, abs=1e-12)


def test_the_model_without_the_model_is_a_guess(choice):
    table = choice.candidates.set_index("name")
    for name in ("identity", "pooled"):
        assert table.auc[name] - table.lift[name] + table.without[name] == pytest.approx(0.5)


def test_a_score_of_noise_adds_nothing_to_what_columns_tell(ladders):
    table = ladders["noise"].candidates.set_index("name")
    for name in ("forest", "additive", "stacked"):
        assert table.lift[name] > 0.2
        assert abs(table.adds[name]) < 0.02
        assert table.adds_low[name] < 0.005
    scheme = ladders["noise"].take("additive").scheme
    assert scheme.stages[0].slope * scheme.stages[1].weight == pytest.approx(0.0, abs=0.15)


def test_a_score_that_alone_has_the_information_is_all_there_is(ladders):
    choice = ladders["secret"]
    table = choice.candidates.set_index("name")
    assert choice.chosen == "identity"
    for name in ("tree", "forest", "boosted", "additive", "stacked"):
        before = table.auc[name] - table.lift[name]
        assert before + table.without[name] < 0.55
        assert table.adds_low[name] > 0.2
        assert table.adds_p[name] < 1e-6


def test_the_scheme_without_the_model_is_the_same_whatever_the_score(choice):
    training, held = drawn(1_500, 0), drawn(1_500, 1)
    other = replace(held, scores=np.random.default_rng(0).permutation(held.scores))
    again = choose_scheme(training, other, kinds=KINDS).take(choice.chosen)
    assert again.without.digest == choice.without.digest
    assert again.scheme.digest != choice.scheme.digest
    new = drawn(1_500, 2)
    alone = roc_auc_score(new.y, choice.without.logit(np.zeros(1_500), new.X))
    table = choice.candidates.set_index("name")
    before = table.auc["identity"]
    assert alone == pytest.approx(before + table.without[choice.chosen], abs=0.05)


def test_any_rung_can_be_taken(choice):
    held = drawn(1_500, 1)
    for name, kind in KIND_OF.items():
        taken = choice.take(name)
        assert (taken.chosen, taken.kind) == (name, kind)
        assert taken.candidates.name[taken.candidates.chosen].tolist() == [name]
        pd.testing.assert_frame_equal(
            taken.candidates.drop(columns="chosen"), choice.candidates.drop(columns="chosen")
        )
        if name not in ("identity", choice.chosen):
            assert f"'{plain_name(name)}' was requested" in taken.why
    alone = fit_scheme("additive", drawn(1_500, 0), held)
    assert choice.take("additive").scheme.digest == alone.scheme.digest
    assert choice.take(choice.chosen) is choice


def test_a_rung_that_is_not_there_is_refused_with_those_that_are(choice):
    with pytest.raises(CalibrationError, match="no rung called 'ladder'") as told:
        choice.take("ladder")
    assert "leave it (identity), one map (pooled), one tree (tree), shrunken tree" in str(
        told.value
    )


def test_only_allowed_kinds_are_chosen_and_all_are_tried():
    roles = drawn(1_500, 0), drawn(1_500, 1)
    found = {}
    for kinds in (("none",), ("none", "calibration"), ("none", "calibration", "correction")):
        found[kinds] = choose_scheme(*roles, kinds=kinds)
        table = found[kinds].candidates
        assert table.name.tolist() == [*KIND_OF]
        assert (table.allowed == table.kind.isin(kinds)).all()
        assert found[kinds].kind in kinds
    chosen = [each.chosen for each in found.values()]
    assert chosen[0] == "identity"
    assert chosen[1] in ("tree", "shrunken tree", "forest", "boosted")
    assert chosen[2] == "additive"


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        (Settings(), ("none", "calibration", "correction")),
        (Settings(partition="best"), KINDS),
        (Settings(only="calibration"), ("none", "calibration")),
        (Settings(partition="best", only="calibration"), ("none", "calibration")),
    ],
)
def test_settings_say_which_kinds_may_be_chosen(settings, kinds):
    assert allowed_kinds(settings) == kinds


def test_settings_take_a_rung():
    roles = drawn(800, 0), drawn(800, 1), None
    found = fit_roles(Settings(partition="auto", take="shrunken tree"), *roles)
    assert found.chosen == "shrunken tree"
    assert "auc-gain" in found.candidates.name.tolist()


def test_numbers_are_those_of_the_scheme(choice):
    table = choice.candidates.set_index("name")
    assert (table.numbers["identity"], table.numbers["pooled"]) == (0, 2)
    (leaves,) = choice.take("tree").scheme.stages
    assert 0 < table.numbers["tree"] <= 2 * len(leaves.partition.leaves)
    _, stage = choice.take("additive").scheme.stages
    sizes = [each.values.size for each in stage.terms.terms]
    assert table.numbers["additive"] == 2 + 2 + sum(sizes)


def test_the_terms_of_a_correction_add_up_to_its_logit(choice):
    scheme, new = choice.take("additive").scheme, drawn(800, 5)
    pooled, stage = scheme.stages
    assert isinstance(stage, AdditiveStage)
    before = pooled.logit(new.scores, new.X)
    expected = stage.weight * before + stage.intercept + stage.terms.values(new.X).sum(axis=1)
    assert np.abs(scheme.logit(new.scores, new.X) - expected).max() < 1e-9
    again = Scheme.from_json(scheme.to_json())
    assert np.array_equal(again.logit(new.scores, new.X), scheme.logit(new.scores, new.X))


@pytest.mark.parametrize(
    "change",
    [
        lambda stage: stage.update(weight="1"),
        lambda stage: stage.update(more=1),
        lambda stage: stage.pop("intercept"),
        lambda stage: stage.update(terms=[]),
        lambda stage: stage["terms"].pop("features"),
        lambda stage: stage["terms"]["terms"][0]["values"].pop(),
        lambda stage: stage["terms"]["features"][0].update(kind="python"),
    ],
)
def test_json_that_is_no_correction_is_refused(choice, change):
    content = json.loads(choice.take("additive").scheme.to_json())
    change(content["stages"][1])
    with pytest.raises(HetcalError, match=r"cannot be used|not a partition"):
        Scheme.from_json(json.dumps(content))


def test_a_correction_by_30_columns_and_15_pairs_is_small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(6_000, 30)), columns=[f"column {i}" for i in range(30)])
    told = X.to_numpy()
    logit = 0.4 * told.sum(axis=1) + sum(told[:, i] * told[:, i + 1] for i in range(0, 30, 2))
    y = (rng.random(6_000) < expit(0.5 * logit)).astype(np.int64)
    held = SchemeRows(X, y, rng.normal(size=6_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "AdditiveTerms", partial(AdditiveTerms, 2))
        found = additive_candidate(replace(held, scores=None), held, GrowthSettings())
    scheme = found.scheme(held.scores, held, float("nan"))
    terms = scheme.stages[1].terms
    assert len(terms.curves) >= 28
    assert len(terms.pairs) >= 12
    assert len(zlib.compress(scheme.to_json().encode())) < 120_000  # as in an artifact


@pytest.mark.parametrize("sides", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_neither_score_nor_terms_are_ever_reversed(sides):
    held = drawn(1_500, 1)
    margin = 2 * held.X["a"].to_numpy()
    weights = []
    part = BesidePart(sides[1] * margin, lambda *found: weights.extend(found))
    logits, make = part.fit(sides[0] * held.scores, held, np.arange(1_500), float("nan"))
    make()
    score, other, intercept = weights
    assert (score > 0) == (sides[0] > 0)
    assert (other > 0) == (sides[1] > 0)
    assert min(score, other) >= 0
    expected = score * sides[0] * held.scores + other * sides[1] * margin + intercept
    assert logits == pytest.approx(expected)
    used = [each for each, side in zip((held.scores, margin), sides, strict=True) if side > 0]
    assert expit(logits).mean() == pytest.approx(held.y.mean(), abs=1e-3)
    if used:
        rival = LogisticRegression(C=np.inf).fit(np.column_stack(used), held.y)
        kept = [each for each in (score, other) if each > 0]
        assert kept == pytest.approx(rival.coef_[0], rel=0.02)


@pytest.mark.parametrize(("positives", "weakest"), [(199, 5.0), (200, 0.3)])
def test_maps_are_left_nearly_unshrunk_only_with_enough_of_both_classes(positives, weakest):
    rows = drawn(1_000, 0)
    for label in (0, 1):
        y = np.where(np.arange(1_000) < positives, label, 1 - label)
        assert min(strengths_for(replace(rows, y=y))) == weakest
    assert list(STRENGTHS) == sorted(STRENGTHS, reverse=True)


def test_folds_by_time_are_fitted_on_earlier_rows_only():
    held = replace(drawn(1_200, 1), time=np.random.default_rng(3).integers(0, 200, 1_200) / 1.0)
    folds = divide_rows(held, 5, 0)
    assert len(folds.parts) == 5
    assert np.bincount(folds.number + 1).min() > 150
    for number, here in enumerate(folds.parts):
        fitted = folds.fitted_on(number)
        assert held.time[fitted].max() < held.time[here].min()
    earliest = np.setdiff1d(np.arange(1_200), folds.judged)
    assert held.time[earliest].max() < held.time[folds.judged].min()
    everything = np.sort(np.concatenate([earliest, *folds.parts]))
    assert np.array_equal(everything, np.arange(1_200))


def test_equal_times_are_never_separated():
    time = np.repeat([3.0, 1.0, 2.0], [10, 50, 40])
    fold = time_folds(time, 5)
    assert all(np.unique(fold[time == each]).size == 1 for each in (1, 2, 3))
    assert (np.diff(fold[np.argsort(time, kind="stable")]) >= 0).all()


def test_rows_of_later_times_do_not_change_what_earlier_ones_are_judged_by():
    held = replace(drawn(1_200, 1), time=np.arange(1_200.0))
    y = np.r_[held.y[:800], 1 - held.y[800:]]
    candidate = Candidate("one", "", "calibration", (PooledPart(),))
    fits = [
        cross_fit(candidate, divide_rows(each, 5, 0), held.scores).logits
        for each in (held, replace(held, y=y))
    ]
    assert np.array_equal(fits[0][200:800], fits[1][200:800])
    assert not np.allclose(fits[0][1_000:], fits[1][1_000:])


def test_a_choice_by_time_counts_the_rows_that_are_judged():
    training, held = drawn(900, 0), drawn(1_200, 1)
    training = replace(training, time=np.arange(900.0))
    held = replace(held, time=np.arange(900.0, 2_100.0))
    found = choose_scheme(training, held)
    assert (found.candidates.rows == 1_000).all()  # but for the earliest sixth
    assert found.candidates.set_index("name").lift["additive"] > 0.02


def test_weaker_shrinkage_is_not_tried_once_it_is_worse():
    held = drawn(1_200, 1)
    folds = divide_rows(held, 4, 0)
    tried = []

    class Worse:
        def fit(self, logits, held, rows, strength):
            tried.append(strength)
            return logits * (1 + 0.1 * abs(np.log(strength / 10))), IDENTITY.scheme

    candidate = Candidate("one", "", "calibration", (Worse(),), (1000.0, 10.0, 1.0, 0.1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hetcal.schemes.cross_fitting.made", lambda _: Scheme())
        found = cross_fit(candidate, folds, held.scores * 2)
    assert found.strength == 10.0
    assert sorted({*tried}) == [1.0, 10.0, 1000.0]


def test_one_map_is_the_same_whatever_is_taken(choice):
    held = drawn(1_500, 1)
    expected = POOLED.scheme(held.scores, held, float("nan"))
    assert choice.one_map.digest == expected.digest
    assert choice.take("pooled").scheme.digest == expected.digest


def test_what_the_best_rung_gives_beyond_the_model_as_it_is_is_its_lift(choice):
    best = choice.candidates.loc[choice.candidates["lift"].idxmax()]
    more = choice.take("identity").more
    found = more.auc, more.low, more.high
    assert found == pytest.approx((best["lift"], best["low"], best["high"]))
    assert choice.take(best["name"]).more.auc == 0


def test_best_takes_the_largest_lift_and_auto_the_simplest_near_it(choice):
    rungs = choice.candidates.assign(better=lambda each: each["loss_fall"] > 2 * each["loss_se"])
    clear = rungs[rungs["better"] & (rungs["low"] > 0)]
    assert choice.chosen == rungs.loc[rungs["lift"].idxmax(), "name"]
    auto = choice.among(("none", "calibration", "correction")).candidates
    own = auto[auto["chosen"]].iloc[0]
    allowed = clear[clear["kind"] != "second model"]
    best = allowed.loc[allowed["lift"].idxmax()]
    assert own["numbers"] <= best["numbers"]


def test_best_takes_the_largest_lift_of_maps_of_the_score_where_only_these_may_be_chosen(choice):
    maps = choice.candidates[choice.candidates["kind"] == "calibration"].set_index("name")
    best, auto = (
        chosen_among(choice, Settings(partition=each, only="calibration")).chosen
        for each in ("best", "auto")
    )
    assert best == maps["lift"].idxmax()
    assert maps.at[auto, "numbers"] < maps.at[best, "numbers"]


def test_of_few_rows_best_takes_a_lift_that_is_not_significant_and_auto_does_not():
    found = choose_scheme(drawn(200, 2), drawn(120, 3), kinds=KINDS, best=True)
    rungs = found.candidates
    higher = rungs[(rungs["lift"] > rungs["se"]) & (rungs["loss_fall"] > rungs["loss_se"])]
    assert len(higher)
    assert not ((higher["low"] > 0) & (higher["loss_fall"] > 2 * higher["loss_se"])).any()
    assert found.chosen == higher.loc[higher["lift"].idxmax(), "name"]
    assert found.among(("none", "calibration", "correction")).chosen in ("identity", "pooled")


def test_best_takes_no_rung_that_ranks_better_with_worse_probabilities():
    own = (drawn(size, seed, score="secret") for size, seed in ((200, 2), (120, 3)))
    found = choose_scheme(*own, kinds=KINDS, best=True)
    higher = found.candidates["lift"] > 0
    assert higher.any()
    assert (found.candidates.loc[higher, "loss_fall"] < 0).all()
    assert found.chosen == "identity"
