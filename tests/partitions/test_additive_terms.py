import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal import parallel as side_by_side
from hetcal.errors import PartitionError
from hetcal.partitions import additive, boosting
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.boosting import member_parts

FOLDS = "rows are divided into folds, where a weight of 2 is not two rows"


@parametrize_with_checks(
    [AdditiveTerms(2, max_iter=3, pairs=1)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": FOLDS},
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(seed, size=2_000):
    """Numbers with gaps, one of few values, and names, some of which are rare or missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=size), "b": rng.integers(0, 6, size)})
    X["c"] = rng.exponential(size=size)
    X.loc[rng.random(size) < 0.2, "a"] = np.nan
    X["d"] = pd.Series(rng.choice([*"uvwxyz", None], size), dtype="str")
    X.loc[:4, "d"] = "rare"
    signal = np.sin(2 * X["a"].fillna(1)) + 0.3 * X["b"] * (X["c"] > 1) + X["d"].isin(["u", "w"])
    return X, (rng.random(size) < expit(2 * signal - 2)).to_numpy().astype(int)


@pytest.fixture(scope="module")
def caught():
    """An estimator that drops nothing, and the models of LightGBM with what they read."""
    grown, boost = [], additive.boost_members

    def watched(given, *args):
        models = boost(given, *args)
        each = given if isinstance(given, list) else [given] * len(models)
        grown.extend((model, own.matrix) for model, own in zip(models, each, strict=True))
        return models

    X, y = rows(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive, "boost_members", watched)
        patch.setattr(additive, "_helping", lambda columns, fits, places, *_: [True] * len(places))
        fitted = AdditiveTerms(3, pairs=4, max_iter=30).fit(X, y)
    return fitted, grown


@pytest.fixture(scope="module")
def fitted():
    return AdditiveTerms(3, pairs=4, max_iter=30).fit(*rows(0))


def test_terms_are_the_mean_of_all_that_lightgbm_predicts(caught):
    fitted, grown = caught
    assert len(grown) == 6  # curves and pairs of three members
    sums = sum(model.predict(matrix, raw_score=True) for model, matrix in grown)
    assert len(fitted.terms_.pairs) == 4
    assert np.abs(fitted.decision_function(rows(0)[0]) - sums / 3).max() < 1e-9


def test_rows_left_out_have_the_sums_of_the_member_that_has_not_seen_them(caught):
    fitted, grown = caught
    _, y = rows(0)
    parts = member_parts(y, 3, 0)
    for number, (_, left_out) in enumerate(parts):
        both = grown[number], grown[3 + number]
        expected = sum(model.predict(matrix[left_out], raw_score=True) for model, matrix in both)
        assert np.abs(fitted.held_out_[left_out] - expected).max() < 1e-9


def test_baseline_and_terms_add_up_to_the_logit(fitted):
    X, _ = rows(1)
    expected = fitted.baseline_ + fitted.terms_.values(X).sum(axis=1)
    assert np.abs(fitted.decision_function(X) - expected).max() < 1e-12


def test_pairs_hold_nothing_that_one_column_could(fitted):
    assert fitted.terms_.pairs
    for pair in fitted.terms_.pairs:
        assert np.abs((pair.rows * pair.values).sum(axis=0)).max() < 1e-6
        assert np.abs((pair.rows * pair.values).sum(axis=1)).max() < 1e-6


def test_curves_have_mean_0_over_the_training_rows(fitted):
    for curve in fitted.terms_.curves:
        assert np.average(curve.values, weights=curve.rows) == pytest.approx(0.0, abs=1e-9)


def test_rows_of_terms_are_those_of_the_table(fitted):
    X, _ = rows(0)
    for term in fitted.terms_.terms:
        assert term.rows.sum() == len(X)
    (names,) = (curve for curve in fitted.terms_.curves if curve.name == "d")
    counts = X["d"].value_counts()
    assert names.axis.labels == (*"uvwxyz", "other", "missing")
    expected = [*(counts[each] for each in "uvwxyz"), counts["rare"], X["d"].isna().sum()]
    assert names.rows.tolist() == expected


def test_the_most_important_term_comes_first(fitted):
    importance = fitted.terms_.importance
    assert (np.diff(importance) <= 0).all()


def test_entries_without_training_rows_add_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.choice([*"xy"], 600)})
    y = (X["a"] + (X["b"] == "x") + rng.normal(size=600) > 0).to_numpy()
    fitted = AdditiveTerms(2, pairs=1, max_iter=20).fit(X, y)
    new = pd.DataFrame({"a": [np.nan, 5.0, np.nan], "b": ["unseen", None, "x"]})
    added = fitted.terms_.values(new)
    assert fitted.decision_function(new[:1]) == pytest.approx(fitted.baseline_, abs=1e-12)
    at = {name: i for i, name in enumerate(fitted.terms_.names)}
    assert added[:2, at["b"]].tolist() == [0.0, 0.0]
    assert added[[0, 2], at["a"]].tolist() == [0.0, 0.0]
    for term in fitted.terms_.curves:
        assert (term.values[term.rows == 0] == 0).all()


def test_known_steps_are_recovered():
    rng = np.random.default_rng(0)
    size = 20_000
    X = pd.DataFrame(rng.random((size, 4)), columns=[*"abcd"])
    X["e"] = rng.choice([*"uvw"], size)
    truth = {
        "a": np.where(X["a"] < 0.5, -1.0, 1.0),
        "b": np.select([X["b"] < 0.25, X["b"] < 0.75], [-1.0, 0.5], 0.0),
        "e": X["e"].map({"u": 0.8, "v": -0.8, "w": 0.0}).to_numpy(),
    }
    truth["a × c"] = np.where((X["a"] < 0.5) ^ (X["c"] < 0.5), 1.0, -1.0)
    y = rng.random(size) < expit(sum(truth.values()))
    fitted = AdditiveTerms(2, pairs=1).fit(X, y)
    added = pd.DataFrame(fitted.terms_.values(X), columns=fitted.terms_.names)
    assert set(truth) <= set(added)
    for name, steps in truth.items():
        wrong = added[name] - (steps - steps.mean())
        assert np.sqrt((wrong**2).mean()) < 0.3 * steps.std()
    assert (added.drop(columns=[*truth]).std() < 0.15).all()


def test_a_column_of_noise_is_dropped():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(1_500, 5)), columns=[*"abcde"])
    y = rng.random(1_500) < expit(2 * X["a"])
    names = AdditiveTerms(3, max_iter=40).fit(X, y).terms_.names
    assert names[0] == "a"
    assert len(names) < 5 + 10


@pytest.mark.parametrize("pairs", [0, 3])
def test_terms_rise_or_fall_where_that_is_asked_for(pairs):
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(1_500, 3)), columns=[*"abc"])
    y = rng.random(1_500) < expit(np.sin(3 * X["a"]) + X["a"] * X["b"] - np.sin(3 * X["c"]))
    asked = {"increasing": ["a"], "decreasing": ["c"]}
    free, bound = (AdditiveTerms(2, pairs=pairs, **each).fit(X, y) for each in ({}, asked))
    steps = np.linspace(-3, 3, 80)
    for name, side in (("a", 1), ("c", -1)):
        for row in range(5):
            sweep = X.iloc[[row] * steps.size].assign(**{name: steps})
            assert (side * np.diff(bound.decision_function(sweep)) >= -1e-9).all()
        assert (side * np.diff(free.decision_function(sweep)) < -1e-9).any()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"increasing": ["nowhere"]}, "'nowhere' is not among the columns"),
        ({"increasing": ["d"]}, "'d' holds categories"),
        ({"increasing": ["a"], "decreasing": ["a"]}, "'a' is asked to rise and to fall"),
    ],
)
def test_columns_that_cannot_rise_are_named(asked, words):
    with pytest.raises(PartitionError, match=words):
        AdditiveTerms(2, max_iter=3, **asked).fit(*rows(0, 300))


@pytest.mark.parametrize(
    "estimator", [AdditiveTerms(4, pairs=3, max_iter=10), BoostedPartition(4, max_iter=10)]
)
def test_what_is_said_of_a_row_does_not_depend_on_its_own_label(estimator, monkeypatch):
    X, y = rows(0, 1_200)
    ranked = np.arange(1_200) < 700
    parts = member_parts(y, 4, 0)
    # The labels decide the folds, too.
    monkeypatch.setattr(boosting, "member_parts", lambda *_: parts)
    here = np.intersect1d(parts[2][1], np.flatnonzero(~ranked))[:6]
    other = y.copy()
    other[here] = 1 - y[here]
    one, two = (estimator.fit(X, each, ranked=ranked).held_out_ for each in (y, other))
    assert np.array_equal(one[here], two[here])
    elsewhere = np.setdiff1d(np.arange(1_200), parts[2][1])
    assert not np.isclose(one[elsewhere], two[elsewhere]).all()


def test_labels_of_noise_cannot_be_told_from_terms_of_rows_left_out():
    aucs = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(1_000, 8)), columns=[*"abcdefgh"])
        y, held = rng.integers(0, 2, 1_000), np.arange(1_000) >= 500
        sums = AdditiveTerms(3, max_iter=30).fit(X, y, ranked=~held).held_out_[held]
        aucs.append(roc_auc_score(y[held], sums))
    assert np.mean(aucs) < 0.5 + 3 * 0.026 / np.sqrt(6)  # 0.026 is the error of one AUC


def test_equal_inputs_give_equal_terms(fitted):
    again = AdditiveTerms(3, pairs=4, max_iter=30).fit(*rows(0))
    assert again.terms_.names == fitted.terms_.names
    for one, other in zip(again.terms_.terms, fitted.terms_.terms, strict=True):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.error, other.error)
    assert np.array_equal(again.held_out_, fitted.held_out_)


def test_a_weight_of_0_leaves_a_row_out():
    X, y = rows(0, 1_000)
    weight = np.r_[np.ones(800), np.zeros(200)]
    one = AdditiveTerms(2, max_iter=10).fit(X, y, weight)
    other = AdditiveTerms(2, max_iter=10).fit(X[:800], y[:800], np.ones(800))
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.isnan(one.held_out_[800:]).all()


@pytest.mark.parametrize("unit", [2.0**-40, 1 / 2_000, 3e6])
def test_the_unit_of_the_weights_does_not_matter(unit):
    X, y = rows(0, 1_000)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 1_000)
    weight /= weight.mean()
    found = AdditiveTerms(2, max_iter=10).fit(X, y, unit * weight)
    other = AdditiveTerms(2, max_iter=10).fit(X, y, weight)
    assert found.held_out_ == pytest.approx(other.held_out_, abs=1e-5)


def test_sums_of_a_group_come_from_a_member_that_has_not_seen_it():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 40, 2_000)
    number, rate = rng.permutation(40), rng.random(40)
    X = pd.DataFrame({"number": number[group], "noise": rng.normal(size=2_000)})
    y = (rng.random(2_000) < rate[group]).astype(int)
    seen = AdditiveTerms(4, max_iter=60).fit(X, y).held_out_
    unseen = AdditiveTerms(4, max_iter=60).fit(X, y, groups=group).held_out_
    assert roc_auc_score(y, seen) > 0.7
    assert roc_auc_score(y, unseen) < 0.6


def test_with_times_sums_come_from_members_on_earlier_rows_only():
    X, y = rows(0, 900)
    earlier, times = np.arange(900) < 300, np.random.default_rng(4).permutation(900)
    later = np.flatnonzero(~earlier)[np.argsort(times[300:])]  # from the earliest to the latest
    changed = y.copy()
    changed[later[400:]] = 1 - y[later[400:]]
    small = AdditiveTerms(3, pairs=0, max_iter=5)
    one, two = (small.fit(X, each, None, earlier, times=times).held_out_ for each in (y, changed))
    assert np.isnan(one[earlier]).all()
    assert np.isfinite(one[later]).all()
    assert np.array_equal(one[later[:200]], two[later[:200]])


def test_progress_goes_from_none_to_nearly_all(monkeypatch):
    monkeypatch.setattr(side_by_side, "PAUSE", 0.001)
    told = []
    AdditiveTerms(2, max_iter=30).fit(*rows(0, 600), progress=lambda *each: told.append(each))
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.9 < shares[-1] <= 1.0
    assert list(dict.fromkeys(doing for _, doing in told)) == [
        "Fitting curves",
        "Looking for pairs of columns",
        "Fitting pairs of columns",
        "Choosing the terms",
    ]


@pytest.mark.parametrize("where", ["Fitting curves", "Fitting pairs of columns"])
def test_what_progress_raises_ends_the_fit(where):
    def stop(done, doing):
        if doing == where:
            raise KeyboardInterrupt

    estimator = AdditiveTerms(2, max_iter=30)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*rows(0, 600), progress=stop)
    assert not hasattr(estimator, "terms_")


def test_many_names_share_the_entries_of_a_pair():
    rng = np.random.default_rng(0)
    names = np.array([f"name {i:02}" for i in range(30)])
    X = pd.DataFrame({"name": rng.choice(names, 6_000), "a": rng.normal(size=6_000)})
    strong = X["name"].isin(names[::3]).to_numpy()
    y = rng.random(6_000) < expit(np.where(strong, 2.0, -2.0) * (X["a"] > 0) + 0.5 * strong)
    fitted = AdditiveTerms(2, pairs=1, max_iter=100).fit(X, y)
    (pair,) = fitted.terms_.pairs
    assert pair.name == "name × a"
    assert 2 <= pair.first.known <= 16
    assert roc_auc_score(y, fitted.decision_function(X)) > 0.75


def test_more_members_than_rows_of_a_class_are_refused():
    X, y = rows(0, 300)
    with pytest.raises(PartitionError, match="3 rows of the rarer class"):
        AdditiveTerms(5).fit(X, np.arange(len(y)) < 3)
