import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from hetcal.calibrators.methods import FAMILIES, fit_family
from hetcal.calibrators.platt import fit_platt
from hetcal.cells.cells import Cells

LEAVES = [1, 2, 3]
POOLED = {
    "platt": [0.8, -0.3],
    "bias": [0.4],
    "temperature": [0.7],
    "beta": [0.6, 1.2, -0.3],
}


def sample(rows=900, seed=0):
    """Leaf 1 rises slowly, leaf 2 steeply; leaf 3 has no rows."""
    rng = np.random.default_rng(seed)
    leaf = rng.choice([1, 2], rows)
    scores = rng.normal(1, 2, rows)
    y = rng.binomial(1, expit(np.where(leaf == 1, 0.4, 1.5) * scores - 1))
    return scores, y, leaf, rng.exponential(size=rows)


def map_of(name, parameters, scores):
    """Calibrated logit, written out anew for every family."""
    p = parameters
    if name == "bias":
        return scores + p[0]
    if name == "temperature":
        return p[0] * scores
    if name == "platt":
        return p[0] * scores + p[1]
    return p[0] * log_expit(scores) - p[1] * log_expit(-scores) + p[2]


def standard_units(name, parameters, scores, weight):
    """Slope and height in units of features with mean 0 and deviation 1."""
    features = {
        "platt": [scores],
        "bias": [],
        "temperature": [scores],
        "beta": [log_expit(scores), -log_expit(-scores)],
    }[name]
    means = [np.average(each, weights=weight) for each in features]
    scales = [
        np.sqrt(np.average((each - mean) ** 2, weights=weight))
        for each, mean in zip(features, means, strict=True)
    ]
    slopes = [p * scale for p, scale in zip(parameters, scales, strict=False)]
    if name == "temperature":
        return np.array(slopes)
    height = parameters[-1] + sum(p * m for p, m in zip(parameters, means, strict=False))
    return np.array([*slopes, height])


def best(name, inside, rows, strength):
    """Maximise the stated objective with an optimiser for any function."""
    scores, y, weight = rows
    unit = weight.sum() / np.sum(weight**2)
    target = standard_units(name, POOLED[name], scores, weight)

    def loss(parameters):
        logit = map_of(name, parameters, scores[inside])
        softplus = np.logaddexp(0, logit) - y[inside] * logit
        apart = standard_units(name, parameters, scores, weight) - target
        return unit * np.sum(weight[inside] * softplus) + strength / 2 * np.sum(apart**2)

    bounds = [(0, None), (0, None), (None, None)] if name == "beta" else None
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000}
    return minimize(loss, POOLED[name], method="L-BFGS-B", bounds=bounds, options=options).x


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.0, 3.0, 300.0])
def test_every_map_maximises_the_penalised_likelihood(name, weighted, strength):
    scores, y, leaf, weight = sample()
    weight = weight if weighted else np.ones(y.size)
    cells = Cells.of_rows(scores, y, leaf, weight)
    fit = fit_family(name, cells, LEAVES, np.array(POOLED[name]), strength)
    for position, each in enumerate([1, 2]):
        expected = best(name, leaf == each, (scores, y, weight), strength)
        assert fit.converged[position]
        assert fit.parameters[position] == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_strength_runs_from_the_plain_to_the_pooled_map(name):
    scores, y, leaf, _ = sample()
    cells, pooled = Cells.of_rows(scores, y, leaf), np.array(POOLED[name])
    plain = fit_family(name, cells, LEAVES)
    weak = fit_family(name, cells, LEAVES, pooled, 1e-8)
    strong = fit_family(name, cells, LEAVES, pooled, 1e12)
    endless = fit_family(name, cells, LEAVES, pooled, np.inf)
    assert weak.parameters[:2] == pytest.approx(plain.parameters[:2], abs=1e-6)
    assert weak.errors[:2] == pytest.approx(plain.errors[:2], rel=1e-6)
    assert strong.parameters[:2] == pytest.approx(endless.parameters[:2], abs=1e-6)
    assert strong.errors[:2] == pytest.approx(endless.errors[:2], rel=1e-4)
    assert endless.parameters == pytest.approx(np.tile(pooled, (3, 1)))


def test_endless_strength_gives_the_pooled_map_with_its_errors():
    scores, y, leaf, _ = sample()
    everywhere = fit_platt(scores, y, np.zeros_like(leaf), [0])
    pooled = np.array([everywhere.slope[0], everywhere.intercept[0]])
    errors = [everywhere.slope_se[0], everywhere.intercept_se[0]]
    endless = fit_family("platt", Cells.of_rows(scores, y, leaf), [1, 2], pooled, np.inf)
    for position in range(2):
        assert endless.parameters[position] == pytest.approx(pooled)
        assert endless.errors[position] == pytest.approx(errors)


@pytest.mark.parametrize("weighted", [False, True])
def test_plain_errors_are_those_of_platt_scaling(weighted):
    scores, y, leaf, weight = sample()
    weight = weight if weighted else None
    known = fit_platt(scores, y, leaf, [1, 2], weight)
    fit = fit_family("platt", Cells.of_rows(scores, y, leaf, weight), [1, 2])
    assert fit.errors[:, 0] == pytest.approx(known.slope_se, rel=1e-5)
    assert fit.errors[:, 1] == pytest.approx(known.intercept_se, rel=1e-5)


def test_shrunken_errors_hold_the_doubt_about_the_pooled_map():
    """With a normal prior of this precision the variances of leaf and pooled map add up."""
    scores, y, leaf, _ = sample()
    z = (scores - scores.mean()) / scores.std()
    pooled, strength = POOLED["platt"], 20.0
    fit = fit_family("platt", Cells.of_rows(scores, y, leaf), [1, 2], np.array(pooled), strength)

    def information(slope, intercept, inside):
        p, x = expit(slope * scores + intercept), np.column_stack([z, np.ones_like(z)])
        return (x[inside] * (p * (1 - p))[inside, None]).T @ x[inside]

    own = np.linalg.inv(information(*fit.parameters[0], leaf == 1) + strength * np.eye(2))
    shared = np.linalg.inv(information(*pooled, leaf > 0))
    variance = own + strength**2 * own @ shared @ own
    assert fit.errors[0, 0] == pytest.approx(np.sqrt(variance[0, 0]) / scores.std(), rel=1e-6)


def test_leaves_that_have_no_plain_map_borrow():
    scores, y, leaf, _ = sample()
    rng = np.random.default_rng(1)
    extra = rng.normal(size=(3, 20))
    scores = np.concatenate([scores, *extra[:2], np.full(20, 0.5)])
    y = np.concatenate([y, np.ones(20, int), extra[1] > 0, rng.integers(0, 2, 20)]).astype(int)
    leaf = np.append(leaf, np.repeat([4, 5, 6], 20))
    pooled = np.array(POOLED["platt"])
    fit = fit_family("platt", Cells.of_rows(scores, y, leaf), range(1, 7), pooled, 5.0)
    slope, intercept = fit.parameters.T
    assert fit.converged.all()
    assert fit.parameters[2] == pytest.approx(pooled)
    assert intercept[3] > 0
    assert 0.8 < slope[4] < 10
    assert np.isfinite(fit.errors).all()
    for position in (3, 4, 5):
        inside = leaf == position + 1
        z = (scores[inside] - scores.mean()) / scores.std()
        p = expit(slope[position] * scores[inside] + intercept[position])
        apart = standard_units("platt", fit.parameters[position], scores, None)
        apart -= standard_units("platt", pooled, scores, None)
        gradient = [np.sum((y[inside] - p) * z), np.sum(y[inside] - p)]
        assert gradient == pytest.approx(5 * apart, abs=1e-6)


def test_the_unit_of_weights_does_not_matter():
    scores, y, leaf, weight = sample()
    one, other = (
        fit_family("platt", Cells.of_rows(scores, y, leaf, w), LEAVES, np.array([0.8, -0.3]), 10.0)
        for w in (weight, 1e3 * weight)
    )
    assert other.parameters == pytest.approx(one.parameters, rel=1e-9)
    assert other.errors == pytest.approx(one.errors, rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_plain_map_of_a_leaf_is_that_of_its_rows_alone_however_light_they_are(name):
    scores, y, leaf, weight = sample()
    weight = np.where(leaf == 2, 1e-14 * weight, weight)
    together = fit_family(name, Cells.of_rows(scores, y, leaf, weight), [1, 2])
    own = leaf == 2
    alone = fit_family(name, Cells.of_rows(scores[own], y[own], leaf[own], weight[own]), [2])
    assert together.parameters[1] == pytest.approx(alone.parameters[0], rel=1e-6, abs=1e-6)


def test_equal_weights_are_the_same_as_none():
    scores, y, leaf, _ = sample()
    one, other = (
        fit_family("platt", Cells.of_rows(scores, y, leaf, w), LEAVES, np.array([0.8, -0.3]), 10.0)
        for w in (None, np.full(y.size, 7.0))
    )
    assert other.parameters == pytest.approx(one.parameters, rel=1e-9)


def test_a_beta_map_never_falls():
    """The lowest scores are positive, so the best map without bounds would turn there."""
    scores = np.linspace(-4, 4, 400)
    y = np.random.default_rng(0).binomial(1, expit(np.where(scores < -2, 2, scores)))
    leaf = np.ones(400, int)
    fit = fit_family("beta", Cells.of_rows(scores, y, leaf), [1])
    expected = best("beta", leaf > 0, (scores, y, np.ones(400)), 0.0)
    assert fit.converged[0]
    assert fit.parameters[0, 0] == 0
    assert fit.parameters[0] == pytest.approx(expected, abs=1e-3)
    turned = fit_family("beta", Cells.of_rows(-scores, np.sort(y), leaf), [1])
    assert turned.parameters[0, :2].tolist() == [0, 0]


@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_beta_maps_at_their_bounds_fulfil_the_conditions_of_a_maximum(strength):
    """Along a free parameter the objective is level; along one that is 0 it does not rise."""
    rng = np.random.default_rng(3)
    leaf, scores = np.repeat(np.arange(100), 60), rng.normal(scale=2, size=6_000)
    y = rng.binomial(1, expit(0.2 * scores))
    fit = fit_family("beta", Cells.of_rows(scores, y, leaf), range(100), np.ones(3), strength)
    features = np.stack([log_expit(scores), -log_expit(-scores), np.ones(6_000)])
    centre, scale = features.mean(axis=1), features.std(axis=1)
    centre[2], scale[2] = 0.0, 1.0
    z = (features - centre[:, None]) / scale[:, None]
    apart = (fit.parameters - 1) * scale
    apart[:, 2] = (fit.parameters - 1) @ np.append(centre[:2], 1)
    residual = y - expit(np.sum(fit.parameters[leaf].T * features, axis=0))
    gradient = np.stack([np.bincount(leaf, residual * each) for each in z], axis=1)
    gradient -= strength * apart
    free = np.column_stack([fit.parameters[:, :2] > 0, np.ones(100, bool)])
    assert fit.converged.all()
    assert 10 < np.sum(~free) < 190
    assert np.abs(gradient[free]).max() < 1e-4
    assert gradient[~free].max() <= 1e-9


@pytest.mark.parametrize("scale", [1, 30, 500])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bias_makes_the_mean_probability_the_rate(weighted, scale):
    scores, y, leaf, weight = sample(4_000)
    scores, weight = scale * scores, weight if weighted else np.ones(y.size)
    fit = fit_family("bias", Cells.of_rows(scores, y, leaf, weight), LEAVES)
    for position, each in enumerate([1, 2]):
        s, labels, w = scores[leaf == each], y[leaf == each], weight[leaf == each]
        mean = np.average(expit(s + fit.parameters[position, 0]), weights=w)
        assert mean == pytest.approx(np.average(labels, weights=w), abs=1e-8)


@pytest.mark.parametrize("strength", [0.0, 10.0])
def test_wide_scores_have_maps_in_every_family(strength):
    rng = np.random.default_rng(2)
    scores = rng.normal(scale=1e4, size=2_000)
    y = rng.binomial(1, expit(scores / 1e4))
    cells = Cells.of_rows(scores, y, rng.choice([1, 2], 2_000))
    for name in FAMILIES:
        pooled = fit_family(name, Cells.of_rows(scores, y, np.zeros(2_000, int)), [0])
        fit = fit_family(name, cells, [1, 2], pooled.parameters[0], strength)
        assert pooled.converged.all()
        assert fit.converged.all()


@pytest.mark.parametrize("strength", [0.0, 10.0])
def test_scores_whose_squares_are_no_numbers_have_no_maps(strength):
    scores, y, leaf, _ = sample(400)
    cells = Cells.of_rows(1e200 * scores, y, leaf)
    for name in FAMILIES:
        size = {"platt": 2, "bias": 1, "temperature": 1, "beta": 3}[name]
        fit = fit_family(name, cells, [1, 2], np.zeros(size), strength)
        numbers = np.column_stack([fit.parameters, fit.errors])[fit.converged]
        assert np.isfinite(numbers).all()
