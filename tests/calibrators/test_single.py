import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.calibrators.newton import GroupedRows, PlattLosses, descend
from hetcal.calibrators.platt import fit_platt
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
from hetcal.errors import CalibrationError

ONE_DIMENSION = "the check asks for several columns; a calibrator takes one score per row"
NO_OVERLAP = "the check's scores part the classes, where the likelihood has no maximum"


def expected_failures(estimator):
    one_dimension = [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_shape",
    ]
    if isinstance(estimator, HistogramCalibrator):
        return dict.fromkeys([*one_dimension, "check_fit1d"], ONE_DIMENSION)
    return dict.fromkeys(one_dimension, ONE_DIMENSION) | {
        "check_estimators_pickle": NO_OVERLAP,
        "check_pipeline_consistency": NO_OVERLAP,
    }


@parametrize_with_checks(
    [PlattCalibrator(), BetaCalibrator(), HistogramCalibrator()],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def sample(rows, slope, intercept, *, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=rows) * scale
    return scores, rng.binomial(1, expit(slope * scores + intercept))


def one_leaf(scores, y, weight=None, squares=None):
    scores, y = np.asarray(scores, dtype=float), np.asarray(y)
    return fit_platt(scores, y, np.ones(len(y), dtype=int), [1], weight, squares)


def loss(parameters, scores, y, weight):
    margin = parameters[0] * scores + parameters[1]
    return np.sum(weight * (np.logaddexp(0, margin) - y * margin))


@pytest.mark.parametrize(
    ("slope", "intercept", "scale"),
    [(1, 0, 1), (0.5, -2, 3), (-1, 1, 1), (0.01, 0.5, 100), (4, -6, 1), (1e-3, 0, 1), (0, 0, 30)],
)
def test_agrees_with_unpenalised_logistic_regression(slope, intercept, scale):
    scores, y = sample(2_000, slope, intercept, scale=scale)
    rival = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    rival.fit(scores[:, None], y)
    fit = one_leaf(scores, y)
    assert fit.converged.all()
    assert fit.slope[0] == pytest.approx(rival.coef_[0, 0], rel=1e-6, abs=1e-8)
    assert fit.intercept[0] == pytest.approx(rival.intercept_[0], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("outlier", [0.0, 1e3, 1e7])
def test_many_rows_agree_with_unpenalised_logistic_regression(outlier):
    rng = np.random.default_rng(3)
    scores = rng.normal(-1, 2, 20_000)
    y = rng.binomial(1, expit(0.7 * scores - 1))
    scores[0], y[0] = outlier, 1  # joined rows tell little where all but one share a bin
    fit = fit_platt(scores, y, np.ones(20_000, int), [1])
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(scores[:, None], y)
    assert fit.converged.all()
    assert fit.slope[0] == pytest.approx(model.coef_[0, 0], abs=1e-9)
    assert fit.intercept[0] == pytest.approx(model.intercept_[0], abs=1e-9)


def test_all_leaves_at_once_are_the_leaves_one_by_one():
    rng = np.random.default_rng(1)
    parts = [sample(300 + 50 * i, 0.3 * i, i - 2, scale=i + 1, seed=i) for i in range(5)]
    scores, y = np.concatenate([part[0] for part in parts]), np.concatenate([p[1] for p in parts])
    leaf = np.repeat([7, 3, 9, 1, 4], [len(part[0]) for part in parts])
    order = rng.permutation(len(y))
    together = fit_platt(scores[order], y[order], leaf[order], [9, 1, 3])
    for position, part in enumerate((parts[2], parts[3], parts[1])):
        alone = one_leaf(*part)
        assert together.slope[position] == pytest.approx(alone.slope[0], rel=1e-10)
        assert together.intercept_se[position] == pytest.approx(alone.intercept_se[0], rel=1e-10)


def test_a_leaf_with_extreme_scores_does_not_disturb_the_others():
    calm, wild = sample(500, 1, 0), sample(500, 1e-6, 0, scale=1e6, seed=1)
    scores, y = np.concatenate([calm[0], wild[0]]), np.concatenate([calm[1], wild[1]])
    fit = fit_platt(scores, y, np.repeat([1, 2], 500), [1, 2])
    assert fit.converged.all()
    assert fit.slope[0] == pytest.approx(one_leaf(*calm).slope[0], rel=1e-10)
    assert fit.slope[1] == pytest.approx(one_leaf(*wild).slope[0], rel=1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1, 1e6, 1e150, 1e300])
def test_scaling_the_scores_scales_the_slope(scale):
    scores, y = sample(400, 1, -1)
    plain, scaled = one_leaf(scores, y), one_leaf(scores * scale, y)
    assert scaled.converged.all()
    assert scaled.slope[0] * scale == pytest.approx(plain.slope[0], rel=1e-8)
    assert scaled.intercept[0] == pytest.approx(plain.intercept[0], rel=1e-8)
    assert scaled.slope_se[0] * scale == pytest.approx(plain.slope_se[0], rel=1e-8)


def test_a_wide_score_with_a_small_slope_does_not_diverge():
    """From slope 1 an undamped Newton step runs away here."""
    scores, y = sample(5_000, 0.002, -2, scale=300)
    fit = one_leaf(scores, y)
    flat = loss((0, np.log(y.mean() / (1 - y.mean()))), scores, y, 1)
    assert fit.converged.all()
    assert loss((fit.slope[0], fit.intercept[0]), scores, y, 1) <= flat


@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e9, -1e6])
def test_one_score_far_away_does_not_diverge(outlier):
    scores, y = sample(200, 1, 0)
    scores[0] = outlier
    fit = one_leaf(scores, y)
    assert fit.converged.all()
    found = loss((fit.slope[0], fit.intercept[0]), scores, y, 1)
    for factor in (0.99, 1.01):  # the optimum in each direction
        assert loss((fit.slope[0] * factor, fit.intercept[0]), scores, y, 1) > found
        assert loss((fit.slope[0], fit.intercept[0] + factor - 1), scores, y, 1) > found


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_classes_that_hardly_overlap_still_have_a_best_slope(overlap):
    scores = np.concatenate([np.linspace(-5, 0, 500), np.linspace(0, 5, 500)])
    y = np.repeat([0, 1], 500)
    scores[499], scores[500] = overlap, 0
    fit = one_leaf(scores, y)
    assert fit.converged.all()
    assert not fit.separated.any()
    probability = expit(fit.slope[0] * scores + fit.intercept[0])
    residual = np.where(y == 1, expit(-fit.slope[0] * scores - fit.intercept[0]), -probability)
    assert residual.sum() == pytest.approx(0, abs=1e-9)
    assert (residual * scores).sum() == pytest.approx(0, abs=1e-3 * overlap)


def likelihood_is_unbounded(scores, y):
    """Some direction never lowers and somewhere raises the likelihood, by brute force."""
    signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
    cuts = np.unique(scores)
    directions = [(0.0, 1.0), (0.0, -1.0)] + [(a, -a * cut) for cut in cuts for a in (1.0, -1.0)]
    margins = [signs * (a * np.asarray(scores) + b) for a, b in directions]
    return any((margin >= 0).all() and (margin > 0).any() for margin in margins)


def test_separation_is_recognised_exactly():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(3_000):
        rows = rng.integers(2, 7)
        scores, y = rng.integers(0, 4, rows).astype(float), rng.integers(0, 2, rows)
        fit = one_leaf(scores, y)
        one_class, constant = np.ptp(y) == 0, np.ptp(scores) == 0
        assert fit.one_class[0] == one_class
        assert fit.constant[0] == (constant and not one_class)
        if not one_class and not constant:
            assert fit.separated[0] == likelihood_is_unbounded(scores, y)
            assert fit.converged[0] == (not fit.separated[0])
            seen.add(bool(fit.separated[0]))
        if not fit.converged[0]:
            assert np.isnan([fit.slope[0], fit.intercept[0], fit.slope_se[0]]).all()
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("scores", "y", "separated"),
    [
        ([0, 1, 2, 3], [0, 0, 1, 1], True),
        ([0, 1, 2, 3], [1, 1, 0, 0], True),
        ([0, 1, 1, 3], [0, 0, 1, 1], True),
        ([1, 1, 1, 3], [0, 0, 1, 1], True),
        ([0, 2, 1, 3], [0, 0, 1, 1], False),
    ],
)
def test_classes_that_touch_in_one_score_are_separated(scores, y, separated):
    assert one_leaf(scores, y).separated[0] == separated


NUMBERS = ("slope", "intercept", "slope_se", "intercept_se")


def test_a_cell_counts_as_its_rows():
    scores, y = sample(300, 1, 0)
    rng = np.random.default_rng(3)
    count = rng.integers(0, 4, 300)
    cell = np.repeat(np.arange(300), count)
    weight = rng.exponential(size=cell.size)
    rows = one_leaf(scores[cell], y[cell], weight)
    sums, squares = (np.bincount(cell, each, 300) for each in (weight, weight**2))
    cells = one_leaf(scores, y, sums, squares)
    for name in NUMBERS:
        assert getattr(cells, name)[0] == pytest.approx(getattr(rows, name)[0], rel=1e-9)


@pytest.mark.parametrize("unit", [1e-20, 1e-3, 1e3])
def test_the_unit_of_the_weights_does_not_matter(unit):
    scores, y = sample(2_000, 0.7, -1, scale=2)
    leaf = np.arange(2_000) % 3
    weight = np.random.default_rng(4).exponential(size=2_000) * (1 + leaf)
    plain, other = (fit_platt(scores, y, leaf, [0, 1, 2], w) for w in (weight, unit * weight))
    for name in NUMBERS:
        assert getattr(other, name) == pytest.approx(getattr(plain, name), rel=1e-12)


def test_equal_weights_have_the_errors_of_no_weights_in_the_long_run():
    scores, y = sample(100_000, 0.7, -1, scale=2)
    plain, weighted = one_leaf(scores, y), one_leaf(scores, y, np.full(100_000, 5.0))
    for name in NUMBERS:
        assert getattr(weighted, name)[0] == pytest.approx(getattr(plain, name)[0], rel=0.01)


def test_weighted_errors_are_those_of_the_sandwich():
    scores, y = sample(500, 0.7, -1, scale=2)
    scores = scores + 3
    weight = np.random.default_rng(4).exponential(size=500)
    fit = one_leaf(scores, y, weight)
    x = np.column_stack([scores, np.ones(500)])
    p = expit(fit.slope[0] * scores + fit.intercept[0])
    bread = np.linalg.inv((x * (weight * p * (1 - p))[:, None]).T @ x)
    gradient = x * (weight * (y - p))[:, None]
    errors = np.sqrt(np.diag(bread @ (gradient.T @ gradient) @ bread))
    assert [fit.slope_se[0], fit.intercept_se[0]] == pytest.approx(errors, rel=1e-9)


def test_weighted_errors_are_those_of_the_bootstrap():
    """Negative rows were thinned out to a fifth and stand for five each."""
    scores, y = sample(4_000, 0.7, -1, scale=2)
    rng = np.random.default_rng(6)
    kept = (y == 1) | (rng.random(4_000) < 0.2)
    scores, y = scores[kept], y[kept]
    weight = np.where(y == 1, 1.0, 5.0)
    fit = one_leaf(scores, y, weight)
    drawn = rng.integers(0, y.size, (300, y.size)).ravel()
    draw = np.repeat(np.arange(300), y.size)
    again = fit_platt(scores[drawn], y[drawn], draw, range(300), weight[drawn])
    assert fit.slope_se[0] == pytest.approx(again.slope.std(), rel=0.15)
    assert fit.intercept_se[0] == pytest.approx(again.intercept.std(), rel=0.15)


def test_standard_errors_are_those_of_the_numerical_hessian():
    scores, y = sample(500, 0.7, -1, scale=2)
    scores, weight = scores + 3, 1.0
    fit = one_leaf(scores, y)
    best, step = np.array([fit.slope[0], fit.intercept[0]]), 1e-4
    hessian = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            a, b = np.eye(2)[i] * step, np.eye(2)[j] * step
            corners = [best + a + b, best + a - b, best - a + b, best - a - b]
            values = [loss(corner, scores, y, weight) for corner in corners]
            hessian[i, j] = (values[0] - values[1] - values[2] + values[3]) / (4 * step**2)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert [fit.slope_se[0], fit.intercept_se[0]] == pytest.approx(errors, rel=1e-4)


def test_a_step_that_only_raises_the_loss_is_not_taken():
    scores, y = sample(100, 1, 0)
    losses = PlattLosses(GroupedRows(scores, y == 1, np.repeat([0, 1], 50), np.ones(100)))
    start = losses.at(np.array([[1.0, 1.0], [0.0, 0.0]]))
    reached = descend(losses, start, np.array([[0.1, -1e30], [0.0, 0.0]]), np.zeros(2))
    assert reached.place[:, 1].tolist() == [1.0, 0.0]
    assert reached.loss[1] == start.loss[1]
    assert reached.loss == pytest.approx(losses.at(reached.place).loss)


def test_no_other_optimiser_finds_a_better_map():
    scores, y = sample(300, 2, 1, seed=5)
    fit = one_leaf(scores, y)
    other = minimize(loss, [1, 0], args=(scores, y, 1.0), method="BFGS", options={"gtol": 1e-9})
    assert loss((fit.slope[0], fit.intercept[0]), scores, y, 1) <= other.fun + 1e-12


def test_a_leaf_without_rows_has_no_map():
    scores, y = sample(100, 1, 0)
    fit = fit_platt(scores, y, np.ones(100, dtype=int), [1, 2])
    assert fit.one_class.tolist() == [False, True]
    assert np.isnan(fit.slope[1])


def test_the_estimator_predicts_the_probability_of_its_map():
    scores, y = sample(1_000, 1, -1)
    fitted = PlattCalibrator().fit(scores, y)
    assert fitted.predict([0.0, 2.0]) == pytest.approx(
        [
            1 / (1 + np.exp(-fitted.intercept_)),
            1 / (1 + np.exp(-2 * fitted.slope_ - fitted.intercept_)),
        ]
    )
    assert fitted.predict([-1e308, 1e308]).tolist() == [0, 1]


def test_the_estimator_takes_a_single_column_and_any_two_labels():
    scores, y = sample(200, 1, 0)
    plain = PlattCalibrator().fit(scores, y)
    named = PlattCalibrator().fit(scores[:, None], np.array(["no", "yes"])[y])
    assert named.slope_ == plain.slope_


@pytest.mark.parametrize(
    "calibrator",
    [
        BiasCalibrator(),
        TemperatureCalibrator(),
        BetaCalibrator(),
        IsotonicCalibrator(),
        HistogramCalibrator(5),
        BayesianBinningCalibrator(),
        ScalingBinningCalibrator(5),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_calibrator_brings_wrong_scores_closer_to_the_truth(calibrator):
    scores, y = sample(4_000, 0.6, -2, scale=3)
    truth = expit(0.6 * scores - 2)
    weight = np.random.default_rng(1).exponential(size=4_000)
    plain = calibrator.fit(scores, y).predict(scores)
    weighted = calibrator.fit(scores, y, weight).predict(scores)
    before = np.mean((expit(scores) - truth) ** 2)
    for found in (plain, weighted):
        assert found.min() > 0
        assert found.max() < 1
        assert np.mean((found - truth) ** 2) < 0.8 * before
    assert not np.array_equal(plain, weighted)


@pytest.mark.parametrize("calibrator", [HistogramCalibrator(0), ScalingBinningCalibrator(-1)])
def test_there_is_at_least_one_bin(calibrator):
    with pytest.raises(CalibrationError, match="number of bins is"):
        calibrator.fit(*sample(100, 1, 0))


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        ([0, 1, 2], [1, 1, 1], "one class"),
        ([1, 1, 1], [0, 1, 1], "the same score for every row"),
        ([0, 1, 2], [0, 0, 1], "separate the two classes"),
        ([0, 1, 2], [0, 1, 2], "3 classes"),
    ],
)
def test_scores_without_a_best_map_are_refused(scores, y, message):
    with pytest.raises(CalibrationError, match=message):
        PlattCalibrator().fit(scores, y)
