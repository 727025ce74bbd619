import json
import random

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from hetcal.calibrators import newton
from hetcal.calibrators.leaf_calibrator import FEW, LeafCalibrator, LeafMap, map_leaves
from hetcal.calibrators.methods import FAMILIES
from hetcal.calibrators.platt import fit_platt
from hetcal.calibrators.shapes import Affine
from hetcal.calibrators.single import (
    BayesianBinningCalibrator,
    BetaCalibrator,
    BiasCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    ScalingBinningCalibrator,
    TemperatureCalibrator,
)
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.errors import CalibrationError
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition, maps_table

CALIBRATORS = {
    "platt": PlattCalibrator,
    "bias": BiasCalibrator,
    "temperature": TemperatureCalibrator,
    "beta": BetaCalibrator,
    "isotonic": IsotonicCalibrator,
    "histogram": HistogramCalibrator,
    "bbq": BayesianBinningCalibrator,
    "scaling-binning": ScalingBinningCalibrator,
}


def logistic(scores, y):
    rival = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    rival.fit(scores[:, None], y)
    return rival.coef_[0, 0], rival.intercept_[0]


@pytest.fixture
def two_leaves():
    """Scores are right in leaf 1 and three times too confident in leaf 2."""
    rng = np.random.default_rng(0)
    leaf = np.repeat([1, 2], 20_000)
    logit = rng.normal(size=leaf.size)
    return np.where(leaf == 2, 3 * logit, logit), rng.binomial(1, expit(logit)), leaf


def test_each_leaf_recovers_its_own_slope(two_leaves):
    maps = LeafCalibrator().fit(*two_leaves).maps_
    assert [each.leaf for each in maps] == [1, 2]
    assert [each.slope for each in maps] == pytest.approx([1, 1 / 3], abs=0.03)
    assert [each.rows for each in maps] == [20_000, 20_000]


def test_maps_are_unpenalised_logistic_regressions(two_leaves):
    scores, y, leaf = two_leaves
    fitted = LeafCalibrator().fit(scores, y, leaf)
    regions = (leaf > 0, leaf == 1, leaf == 2)
    for each, inside in zip((fitted.pooled_, *fitted.maps_), regions, strict=True):
        assert (each.slope, each.intercept) == pytest.approx(
            logistic(scores[inside], y[inside]), rel=1e-6
        )
        assert each.positives == y[inside].sum()


def test_predictions_use_the_map_of_the_leaf(two_leaves):
    fitted = LeafCalibrator().fit(*two_leaves)
    scores = np.array([0.5, 0.5, 0.5, np.nan, np.inf])
    leaf = np.array([2, 1, 77, 1, 1])
    maps = [fitted.maps_[1], fitted.maps_[0], fitted.pooled_]
    expected = [each.slope * 0.5 + each.intercept for each in maps] + [np.nan, np.nan]
    assert fitted.predict_logit(scores, leaf).tolist() == pytest.approx(expected, nan_ok=True)
    assert fitted.predict(scores, leaf) == pytest.approx(expit(expected), nan_ok=True)
    assert fitted.maps_[1].logit(scores[:1])[0] == expected[0]


def with_leaf(scores, y, *, rows=4_000):
    """Put a healthy leaf 1 beside the leaf 2 in question."""
    rng = np.random.default_rng(1)
    healthy = rng.normal(size=rows)
    labels = rng.binomial(1, expit(healthy))
    leaf = np.repeat([1, 2], [rows, len(y)])
    return np.concatenate([healthy, scores]), np.concatenate([labels, y]), leaf


def best_height(offset, y, weight=1.0):
    """What is best added to logits, with a standard normal prior, by a general minimiser."""

    def loss(height):
        logits = offset + height
        return np.sum(weight * (np.logaddexp(0, logits) - y * logits)) + height**2 / 2

    return minimize_scalar(loss, bracket=(-1, 1), tol=1e-12).x


@pytest.mark.parametrize(
    ("scores", "y", "reason"),
    [
        (np.linspace(-1, 1, 198), np.arange(198) % 2, FEW),
        (np.linspace(1, -1, 3_000), (np.arange(3_000) % 31 == 0).astype(int), FEW),
        (np.linspace(-1, 1, 400), np.ones(400, int), "one class"),
        (np.full(400, 0.5), np.arange(400) % 2, "constant scores"),
        (np.linspace(-1, 1, 400), np.repeat([0, 1], 200), "separated"),
        (
            np.linspace(-1, 1, 400),
            np.repeat([1, 0, 1, 0], [180, 20, 20, 180]),
            "slope not positive",
        ),
    ],
)
def test_a_leaf_without_a_slope_has_the_pooled_one_and_its_own_intercept(scores, y, reason):
    fitted = LeafCalibrator().fit(*with_leaf(scores, y))
    own, troubled = fitted.maps_
    assert own.fallback is None
    assert troubled.fallback == reason
    assert troubled.slope == fitted.pooled_.slope
    expected = best_height(fitted.pooled_.logit(scores), y)
    assert troubled.intercept == pytest.approx(fitted.pooled_.intercept + expected, abs=1e-6)
    assert (troubled.rows, troubled.positives) == (len(y), y.sum())


def test_a_small_leaf_of_many_positives_is_not_given_the_rate_of_all():
    rng = np.random.default_rng(2)
    scores, y = rng.normal(size=20_000), rng.binomial(1, 0.26, 20_000)
    leaf = np.repeat([1, 2], [19_850, 150])
    y[leaf == 2] = np.arange(150) < 98  # 65 %
    fitted = LeafCalibrator().fit(scores, y, leaf)
    assert fitted.maps_[1].fallback == FEW
    assert fitted.predict(scores, leaf)[leaf == 2].mean() == pytest.approx(0.65, abs=0.02)


def test_the_prior_of_an_intercept_counts_rows_whatever_the_unit_of_the_weights():
    scores, y, leaf = with_leaf(np.linspace(-1, 1, 30), np.repeat([1, 0], [24, 6]))
    weight = np.random.default_rng(0).uniform(0.2, 3, len(y))
    fitted, scaled = (LeafCalibrator().fit(scores, y, leaf, f * weight) for f in (1, 50))
    inside, rows = leaf == 2, weight * weight.sum() / np.sum(weight**2)
    expected = best_height(fitted.pooled_.logit(scores[inside]), y[inside], rows[inside])
    found = fitted.maps_[1].intercept - fitted.pooled_.intercept
    assert found == pytest.approx(expected, abs=1e-6)
    assert scaled.maps_[1].intercept == pytest.approx(fitted.maps_[1].intercept, abs=1e-9)


def test_a_hundred_rows_of_the_rarer_class_are_enough():
    rng = np.random.default_rng(0)
    scores, y = rng.permutation(np.linspace(-1, 1, 3_000)), np.zeros(3_000, int)
    y[np.argsort(-scores - rng.normal(size=3_000))[:100]] = 1
    fitted = LeafCalibrator().fit(*with_leaf(scores, y))
    assert fitted.maps_[1].fallback is None
    assert fitted.with_min_rows(101).maps_[1].fallback == FEW
    other = LeafCalibrator().fit(*with_leaf(-scores, 1 - y))
    assert other.maps_[1].fallback is None
    assert other.with_min_rows(101).maps_[1].fallback == FEW


@pytest.mark.parametrize("method", CALIBRATORS)
@pytest.mark.parametrize("shrinkage", [0.0, 7.0, "cv"])
def test_equal_scores_get_the_rates_of_the_leaves(method, shrinkage):
    if shrinkage and method not in FAMILIES:
        pytest.skip("cannot be shrunk")
    leaf = np.repeat([1, 2, 3], [400, 300, 5])
    y = np.concatenate([np.arange(400) < 100, np.arange(300) < 225, np.zeros(5)]).astype(int)
    fitted = LeafCalibrator(method=method, shrinkage=shrinkage).fit(
        np.zeros(705), y, leaf, leaves=[1, 2, 3, 4]
    )
    found = fitted.predict(np.zeros(5), np.array([1, 2, 3, 4, 99]))
    near = 0.03 if shrinkage == 7.0 else 0.01
    assert found[:2] == pytest.approx([0.25, 0.75], abs=near)
    assert 0 < found[2] < y.mean()
    assert found[3:] == pytest.approx([y.mean()] * 2, abs=2e-3)


def test_equal_scores_are_noted():
    (note,) = LeafCalibrator().fit(np.ones(9), np.arange(9) % 2, np.ones(9, int)).notes_
    assert "the same score" in note


def test_equal_scores_take_no_steps_that_lead_nowhere(monkeypatch):
    taken, descend = [], newton.descend
    monkeypatch.setattr(newton, "descend", lambda *given: taken.append(0) or descend(*given))
    LeafCalibrator(method="temperature").fit(np.zeros(40), np.arange(40) % 2, np.ones(40, int))
    assert 0 < len(taken) < 10


def test_a_shrunken_slope_is_never_negative():
    """A leaf whose scores are reversed gets the best map with slope 0."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300)
    parts = with_leaf(scores, rng.binomial(1, expit(-2 * scores + 1)))
    fitted = LeafCalibrator(shrinkage=2.0).fit(*parts)
    own, y = fitted.maps_[1], parts[1][parts[2] == 2]
    mean, scale = parts[0].mean(), parts[0].std()
    a, b = fitted.pooled_.slope * scale, fitted.pooled_.intercept + fitted.pooled_.slope * mean

    def loss(place):
        logits = place[0] * (scores - mean) / scale + place[1]
        return np.sum(np.logaddexp(0, logits) - y * logits) + np.sum((place - [a, b]) ** 2)

    best = minimize(loss, [a, b], bounds=[(0, None), (None, None)], tol=1e-12).x
    assert (own.fallback, own.slope) == (None, 0.0)
    assert own.intercept == pytest.approx(best[1], abs=1e-5)


def test_leaves_without_rows_are_listed(two_leaves):
    fitted = LeafCalibrator().fit(*two_leaves, leaves=[1, 2, 3])
    assert [(each.leaf, each.rows, each.fallback) for each in fitted.maps_] == [
        (1, 20_000, None),
        (2, 20_000, None),
        (3, 0, FEW),
    ]
    assert fitted.maps_[2].shape == fitted.pooled_.shape


def test_without_weights_the_errors_are_those_of_the_fisher_information(two_leaves):
    scores, y, leaf = two_leaves
    fit = fit_platt(scores, y, leaf, [1, 2])
    maps = LeafCalibrator().fit(scores, y, leaf).maps_
    assert [each.slope_se for each in maps] == fit.slope_se.tolist()
    assert PlattCalibrator().fit(scores[leaf == 1], y[leaf == 1]).slope_se_ == maps[0].slope_se


def test_scores_that_are_not_finite_and_weights_of_zero_are_left_out(two_leaves):
    scores, y, leaf = two_leaves
    plain = LeafCalibrator().fit(scores, y, leaf, np.ones(len(y)))
    spoiled = np.concatenate([scores, [np.nan, np.inf, -np.inf, 5.0]])
    weight = np.append(np.ones(len(y) + 3), 0.0)
    again = LeafCalibrator().fit(
        spoiled, np.append(y, [1, 0, 1, 0]), np.append(leaf, [1, 1, 2, 2]), weight
    )
    assert again.maps_ == plain.maps_
    assert again.pooled_ == plain.pooled_


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        ([], [], "no rows"),
        ([np.nan, np.nan], [0, 1], "no rows"),
        ([0, 1, 2], [0, 0, 0], "one class only"),
        ([0, 1, 2], [0, 1, 1], "separate the two classes"),
        ([0, 1, 2], [0, 1, 2], "other than 0 and 1"),
    ],
)
def test_rows_without_a_pooled_map_are_refused(scores, y, message):
    with pytest.raises(CalibrationError, match=message):
        LeafCalibrator().fit(np.array(scores, float), np.array(y), np.ones(len(y), int))


def test_reversed_scores_are_noted(two_leaves):
    scores, y, leaf = two_leaves
    assert LeafCalibrator().fit(scores, y, leaf).notes_ == ()
    (note,) = LeafCalibrator().fit(-scores, y, leaf).notes_
    assert "Check that the score is that of the positive class" in note


def test_a_slope_within_two_standard_errors_of_0_is_not_called_reversed():
    scores, leaf = np.tile([-1.0, 1.0], 100), np.ones(200, int)
    fits = []
    for more in (1, 12):  # positive labels among the lower scores, beyond half
        y = np.where(scores < 0, np.arange(200) // 2 < 50 + more, np.arange(200) // 2 < 50 - more)
        fits.append(LeafCalibrator().fit(scores, y.astype(int), leaf))
    weak, strong = fits
    assert -2 < weak.pooled_.slope / weak.pooled_.slope_se < 0
    assert weak.notes_ == ()
    assert strong.pooled_.slope / strong.pooled_.slope_se < -2
    assert len(strong.notes_) == 1


def test_fitting_again_forgets_everything(two_leaves):
    scores, y, leaf = two_leaves
    calibrator = LeafCalibrator().fit(scores, y, leaf)
    fresh = clone(calibrator).fit(scores[::2], y[::2], leaf[::2] + 5)
    calibrator.fit(scores[::2], y[::2], leaf[::2] + 5)
    assert calibrator.maps_ == fresh.maps_


def test_predicting_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        LeafCalibrator().predict(np.zeros(1), np.ones(1, int))


def test_json_gives_back_every_bit(two_leaves):
    scores, y, leaf = two_leaves
    fitted = LeafCalibrator(min_rows=7).fit(scores, y, leaf, leaves=[1, 2, 9])
    again = LeafCalibrator.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert again.min_rows == 7
    assert np.array_equal(again.predict_logit(scores, leaf), fitted.predict_logit(scores, leaf))


def test_maps_of_leaves_numbered_from_0_are_read_back(two_leaves):
    scores, y, leaf = two_leaves
    fitted = LeafCalibrator().fit(scores, y, leaf - 1)
    again = LeafCalibrator.from_json(fitted.to_json())
    assert [each.leaf for each in again.maps_] == [0, 1]
    expected = fitted.predict_logit(scores, leaf - 1)
    assert np.array_equal(again.predict_logit(scores, leaf - 1), expected)


def test_scores_of_one_column_are_those_of_an_array(two_leaves):
    scores, y, leaf = two_leaves
    assert LeafCalibrator().fit(scores[:, None], y, leaf).maps_ == (
        LeafCalibrator().fit(scores, y, leaf).maps_
    )


def test_spoiled_maps_raise_nothing_but_calibration_errors(two_leaves):
    text = LeafCalibrator().fit(*two_leaves).to_json()
    chance, refused = random.Random(0), 0
    junk = [None, True, -1, 0, 2**70, 1e308, "", "few rows", [], {}, [{}]]
    for _ in range(300):
        content = json.loads(text)
        target = chance.choice([content, *content["maps"]])
        target[chance.choice(sorted(target))] = chance.choice(junk)
        try:
            calibrator = LeafCalibrator.from_json(json.dumps(content))
            calibrator.predict(np.array([0.0, 1.0]), np.array([1, 2]))
        except CalibrationError:
            refused += 1
    assert 100 < refused < 300
    for spoiled in ("", "[]", text[:-1], text.replace("maps", "map"), text.replace("1", "NaN", 1)):
        with pytest.raises(CalibrationError):
            LeafCalibrator.from_json(spoiled)


def test_the_table_lists_all_rows_and_then_the_leaves(two_leaves):
    x = Feature("x", "number")
    nodes = (Node(2, 0.5, "x", 0.5, (), False, 1, 2), Node(1, 0.5), Node(1, 0.5))
    fitted = LeafCalibrator(min_rows=20_001).fit(*two_leaves)
    shown = maps_table(fitted, Partition((x,), nodes))
    assert shown["rule"].tolist() == ["all rows", "x ≤ 0.5", "x > 0.5"]
    assert shown["leaf"].tolist() == [0, 1, 2]
    assert shown["fallback"].tolist() == ["", FEW, FEW]
    assert shown["slope"].tolist() == [fitted.pooled_.slope] * 3
    assert shown["intercept"].nunique() == 3


@pytest.fixture(scope="module")
def many_rows():
    """Leaf 1 needs half the slope, leaf 2 is right, leaf 3 has 70 rows."""
    rng = np.random.default_rng(3)
    leaf = rng.permutation(np.repeat([1, 2, 3], [30_000, 20_000, 70]))
    scores = rng.normal(scale=2, size=leaf.size)
    return scores, rng.binomial(1, expit(np.array([0, 0.5, 1, 1])[leaf] * scores - 0.5)), leaf


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_polished_with_their_rows_have_the_maps_of_the_rows(many_rows, weighted):
    weight = np.random.default_rng(4).exponential(size=50_070) if weighted else None
    cells = sketch_rows(*many_rows, [1, 2, 3], Grid(16.0, 256), weight).cells()
    rows = Cells.of_rows(*many_rows, weight)
    exact = LeafCalibrator(min_rows=0).fit(*many_rows, weight)
    polished = LeafCalibrator(min_rows=0).fit_cells(cells, [1, 2, 3], polish_with=rows)
    rough = LeafCalibrator(min_rows=0).fit_cells(cells, [1, 2, 3])
    pairs = zip((polished.pooled_, *polished.maps_), (exact.pooled_, *exact.maps_), strict=True)
    for found, expected in pairs:
        assert (found.rows, found.positives) == (expected.rows, expected.positives)
        assert found.slope == pytest.approx(expected.slope, abs=1e-9)
        assert found.intercept == pytest.approx(expected.intercept, abs=1e-9)
        assert found.slope_se == pytest.approx(expected.slope_se, rel=0.02)
    assert rough.maps_[0].slope != pytest.approx(exact.maps_[0].slope, abs=1e-9)


def test_the_rows_of_a_cell_count_and_not_the_cell(many_rows):
    cells = sketch_rows(*many_rows, [1, 2, 3], Grid(16.0, 256)).cells()
    assert np.count_nonzero(cells.leaf == 1) < 1_000
    few = LeafCalibrator(min_rows=1_000).fit_cells(cells, [1, 2, 3])
    assert [each.fallback for each in few.maps_] == [None, None, FEW]


def test_another_min_rows_chooses_other_maps_without_a_fit(many_rows, monkeypatch):
    rarer = min(many_rows[1][many_rows[2] == 3].sum(), 70 - many_rows[1][many_rows[2] == 3].sum())
    fitted = LeafCalibrator(min_rows=rarer).fit(*many_rows)
    expected = LeafCalibrator(min_rows=rarer + 1).fit(*many_rows)
    for name in ("fit_leaves", "level_leaves"):
        monkeypatch.setattr(f"hetcal.calibrators.leaf_calibrator.{name}", None)
    stricter = fitted.with_min_rows(rarer + 1)
    assert (stricter.min_rows, stricter.maps_) == (rarer + 1, expected.maps_)
    assert (fitted.min_rows, fitted.maps_[2].fallback) == (rarer, None)
    assert stricter.with_min_rows(rarer).maps_ == fitted.maps_
    again = LeafCalibrator.from_json(fitted.with_min_rows(0).to_json())
    assert again.with_min_rows(rarer + 1).maps_ == expected.maps_


def test_maps_of_the_first_format_are_read():
    numbers = {"slope": 0.5, "intercept": -0.25, "slope_se": 0.1, "intercept_se": 0.2}
    counts = {"rows": 10, "positives": 3, "fallback": None}
    maps = [{"leaf": leaf, **numbers, **counts} for leaf in (0, 1)]
    text = json.dumps({"kind": "hetcal calibrators", "format": 1, "min_rows": 7, "maps": maps})
    calibrator = LeafCalibrator.from_json(text)
    assert (calibrator.method, calibrator.shrinkage_, calibrator.min_rows) == ("platt", 0, 7)
    assert calibrator.maps_ == (LeafMap(1, Affine(0.5, -0.25, 0.1, 0.2), 10, 3),)
    assert calibrator.predict_logit(np.array([2.0]), np.array([1])).tolist() == [0.75]


@pytest.mark.parametrize("method", CALIBRATORS)
def test_the_map_of_a_leaf_is_that_of_the_calibrator_of_its_rows(two_leaves, method):
    scores, y, leaf = (each[::20] for each in two_leaves)
    fitted = LeafCalibrator(method=method).fit(scores, y, leaf)
    assert [each.fallback for each in fitted.maps_] == [None, None]
    for each in (1, 2):
        inside = leaf == each
        alone = CALIBRATORS[method]().fit(scores[inside], y[inside])
        found = fitted.predict(scores[inside], leaf[inside])
        assert found == pytest.approx(alone.predict(scores[inside]), abs=1e-9)
    pooled = CALIBRATORS[method]().fit(scores, y).predict(scores)
    assert fitted.predict(scores, np.full(len(y), 9)) == pytest.approx(pooled, abs=1e-9)


@pytest.mark.parametrize("method", CALIBRATORS)
def test_maps_of_any_shape_are_read_back_bit_for_bit(two_leaves, method):
    scores, y, leaf = (each[::20] for each in two_leaves)
    fitted = LeafCalibrator(method=method).fit(scores, y, leaf, leaves=[1, 2, 9])
    again = LeafCalibrator.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert (again.method, again.maps_[2].fallback) == (method, FEW)
    assert np.array_equal(again.predict_logit(scores, leaf), fitted.predict_logit(scores, leaf))
    assert np.isnan(again.predict_logit(np.array([np.nan, -np.inf]), np.array([1, 2]))).all()


@pytest.mark.parametrize("method", CALIBRATORS)
def test_spoiled_shapes_raise_nothing_but_calibration_errors(two_leaves, method):
    text = LeafCalibrator(method=method).fit(*(each[::20] for each in two_leaves)).to_json()
    chance, refused = random.Random(0), 0
    junk = [None, True, -1, 2**70, "", [], {}, [0.5], [1, 0], [[]], "steps"]
    for _ in range(100):
        content = json.loads(text)
        target = chance.choice([content, *(each["shape"] for each in content["maps"])])
        target[chance.choice(sorted(target))] = chance.choice(junk)
        try:
            calibrator = LeafCalibrator.from_json(json.dumps(content))
            calibrator.predict(np.array([0.0, 1.0]), np.array([1, 2]))
        except CalibrationError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("method", "scores", "reason"),
    [
        ("bias", np.full(100, 0.5), None),
        ("temperature", np.zeros(100), "constant scores"),
        ("temperature", np.repeat([-1.0, 1.0], 50) * np.linspace(1, 2, 100), "separated"),
        ("beta", np.full(100, 0.5), "constant scores"),
        ("beta", np.linspace(-1, 1, 100), "separated"),
        ("beta", np.linspace(1, -1, 100), "separated"),
        ("isotonic", np.linspace(-1, 1, 100), None),
        ("histogram", np.full(100, 0.5), None),
        ("histogram", np.linspace(1, -1, 100), "slope not positive"),
        ("scaling-binning", np.linspace(-1, 1, 100), "separated"),
    ],
)
def test_every_method_has_fallbacks_of_its_own(method, scores, reason):
    y = np.repeat([0, 1], 50) if np.ptp(scores) else np.arange(100) % 2
    fitted = LeafCalibrator(method=method, min_rows=50).fit(*with_leaf(scores, y))
    own, pooled = fitted.maps_[1], fitted.pooled_
    assert own.fallback == reason
    apart = own.logit(scores) - pooled.logit(scores)
    expected = best_height(pooled.logit(scores), y)
    assert (apart == pytest.approx(np.full(100, expected), abs=1e-5)) == (reason is not None)


def test_non_linear_maps_have_words_and_no_slope(two_leaves):
    x = Feature("x", "number")
    nodes = (Node(2, 0.5, "x", 0.5, (), False, 1, 2), Node(1, 0.5), Node(1, 0.5))
    fitted = LeafCalibrator(method="histogram").fit(*two_leaves)
    shown = maps_table(fitted, Partition((x,), nodes))
    assert shown["slope"].isna().all()
    assert shown["map"].str.match(r"15 steps from 0\.\d+ to 0\.\d+").all()


def test_a_falling_map_of_any_shape_is_noted(two_leaves):
    scores, y, leaf = two_leaves
    (note,) = LeafCalibrator(method="histogram").fit(-scores, y, leaf).notes_
    assert "does not rise" in note


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "spline"}, "no calibration method 'spline'"),
        ({"method": "isotonic", "shrinkage": 1.0}, "'isotonic' cannot be shrunk"),
        ({"method": "bbq", "shrinkage": "cv"}, "'bbq' cannot be shrunk"),
        ({"shrinkage": -1.0}, "shrinkage is -1"),
        ({"shrinkage": float("nan")}, "shrinkage is nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(two_leaves, settings, message):
    with pytest.raises(CalibrationError, match=message):
        LeafCalibrator(**settings).fit(*two_leaves)


@pytest.mark.parametrize("method", ["platt", "bias", "temperature", "beta"])
def test_shrinkage_runs_from_maps_of_their_own_to_one_map(two_leaves, method):
    scores, y, leaf = (each[::20] for each in two_leaves)
    plain = LeafCalibrator(method=method).fit(scores, y, leaf)
    weak = LeafCalibrator(method=method, shrinkage=1e-9).fit(scores, y, leaf)
    one = LeafCalibrator(method=method, shrinkage=np.inf).fit(scores, y, leaf)
    assert weak.predict_logit(scores, leaf) == pytest.approx(plain.predict_logit(scores, leaf))
    assert one.predict_logit(scores, leaf) == pytest.approx(plain.pooled_.logit(scores))
    again = LeafCalibrator.from_json(one.to_json())
    assert (again.shrinkage, again.shrinkage_) == (np.inf, np.inf)


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        (np.linspace(-1, 1, 9), np.arange(9) % 2),
        (np.linspace(-1, 1, 100), np.ones(100, int)),
        (np.full(100, 0.5), np.arange(100) % 2),
        (np.linspace(-1, 1, 100), np.repeat([0, 1], 50)),
    ],
)
def test_with_shrinkage_a_small_or_odd_leaf_has_a_map_of_its_own(scores, y):
    fitted = LeafCalibrator(shrinkage=10.0).fit(*with_leaf(scores, y))
    assert fitted.maps_[1].fallback is None
    assert fitted.maps_[1].slope != fitted.pooled_.slope
    assert fitted.with_min_rows(10**6).maps_ == fitted.maps_


def test_compiled_maps_are_those_of_numpy(monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    scores = np.append(rng.normal(size=40_000), [np.nan, np.inf, -np.inf])
    position = rng.integers(-1, 3, scores.size)
    slope, intercept, found = np.array([0.5, 2.0, 0.0]), np.array([1.0, -1.0, 3.0]), []
    for switch in ("0", "1"):
        monkeypatch.setenv("HETCAL_COMPILED", switch)
        found.append(map_leaves(scores, position, slope, intercept))
    assert np.array_equal(*found, equal_nan=True)
    assert np.isnan(found[1][-3:]).all()


@pytest.mark.parametrize("method", CALIBRATORS)
def test_maps_of_cells_are_close_to_those_of_their_rows(many_rows, method):
    """Some rows lie on the other side of an edge, where there are edges."""
    scores, _, leaf = many_rows
    rows = Cells.of_rows(*many_rows)
    cells = sketch_rows(*many_rows, [1, 2, 3], Grid()).cells()
    exact = LeafCalibrator(method=method).fit_cells(rows, [1, 2, 3])
    found = LeafCalibrator(method=method).fit_cells(cells, [1, 2, 3], polish_with=rows)
    inside = leaf < 3
    off = np.abs(found.predict(scores, leaf) - exact.predict(scores, leaf))[inside]
    assert np.mean(off) < (1e-5 if method in FAMILIES else 2e-3)


def test_maps_of_extreme_scores_have_the_slope_of_all_rows():
    rng = np.random.default_rng(0)
    scores, leaf = rng.normal(size=600), np.arange(600) % 2 + 1
    y = rng.binomial(1, expit(scores))
    fitted = LeafCalibrator(shrinkage=10.0).fit(1e200 * scores, y, leaf)
    again = LeafCalibrator.from_json(fitted.to_json())
    assert np.array_equal(again.predict(1e200 * scores, leaf), fitted.predict(1e200 * scores, leaf))
    together = LogisticRegression(C=np.inf).fit(scores[:, None], y)
    expected = together.decision_function(scores[:, None])
    for each in (1, 2):
        inside = leaf == each
        expected[inside] += best_height(expected[inside], y[inside])
    assert fitted.predict(1e200 * scores, leaf) == pytest.approx(expit(expected), abs=1e-4)


@pytest.mark.parametrize("shrinkage", [-1, np.nan, "some", None])
def test_a_shrinkage_that_is_none_is_refused(shrinkage):
    rng = np.random.default_rng(0)
    parts = rng.normal(size=60), np.arange(60) % 2, np.ones(60, dtype=int)
    with pytest.raises(CalibrationError, match=f"The shrinkage is {shrinkage!r}"):
        LeafCalibrator(shrinkage=shrinkage).fit(*parts)


def test_leaf_ids_are_whole_numbers_of_any_kind():
    rng = np.random.default_rng(0)
    scores, y, leaf = rng.normal(size=400), rng.integers(0, 2, 400), rng.integers(1, 3, 400)
    expected = LeafCalibrator().fit(scores, y, leaf).predict(scores, leaf)
    for kind in ("f8", "u1", "u8", "i2"):
        fitted = LeafCalibrator().fit(scores, y, leaf.astype(kind))
        assert np.array_equal(fitted.predict(scores, leaf.astype(kind)), expected)
    for wrong in (leaf + 0.5, leaf.astype(str), np.where(leaf == 1, np.nan, 1)):
        with pytest.raises(CalibrationError, match="leaves of the rows are not whole numbers"):
            LeafCalibrator().fit(scores, y, wrong)
