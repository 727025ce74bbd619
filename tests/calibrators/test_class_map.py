import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from hetcal.calibrators.class_map import ClassMap, fit_class_map, identity_map
from hetcal.choices import CLASS_CALIBRATORS


@pytest.fixture(scope="module")
def drawn():
    """Logits of a three-class model that is twice as sure as it should be, and labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal([0.5, 0.0, -0.5], 2, (4000, 3))
    chance = softmax(0.5 * logits + [0.0, 0.4, -0.2], axis=1)
    y = (rng.random((4000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    return logits, y


def loss(found, logits, y, weight=None):
    return np.average(-found.logits(logits)[np.arange(len(y)), y], weights=weight)


def test_temperature_is_the_scale_of_least_loss(drawn):
    logits, y = drawn
    z = log_softmax(logits, axis=1)
    best = minimize_scalar(
        lambda a: -log_softmax(a * z, axis=1)[np.arange(len(y)), y].mean(), bounds=(0, 3)
    )
    found = fit_class_map("temperature", logits, y)
    assert found.weights == pytest.approx(best.x * np.eye(3), abs=1e-4)
    assert found.bias.tolist() == [0, 0, 0]


def test_dirichlet_scaling_is_multinomial_logistic_regression_on_log_probabilities(drawn):
    logits, y = drawn
    z = log_softmax(logits, axis=1)
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(z, y)
    found = fit_class_map("dirichlet", logits, y)
    assert np.exp(found.logits(logits)) == pytest.approx(other.predict_proba(z), abs=1e-4)


def test_vector_scaling_finds_the_map_that_made_the_labels(drawn):
    logits, y = drawn
    found = fit_class_map("vector", logits, y)
    assert np.diag(found.weights) == pytest.approx(np.full(3, 0.5), abs=0.06)
    assert found.bias - found.bias[0] == pytest.approx(np.array([0, 0.4, -0.2]), abs=0.15)
    assert np.count_nonzero(found.weights) == 3


def test_freer_methods_fit_better(drawn):
    losses = [loss(fit_class_map(each, *drawn), *drawn) for each in CLASS_CALIBRATORS]
    assert losses[0] > losses[1] > losses[2]
    assert losses[0] < loss(identity_map(3), *drawn)


def test_the_identity_gives_log_probabilities_back_bit_for_bit_and_scales_logits(drawn):
    logits, _ = drawn
    logs = log_softmax(logits, axis=1)
    assert np.array_equal(identity_map(3).logits(logs), logs)
    assert np.array_equal(identity_map(3).logits(logits + 5), log_softmax(logits + 5, axis=1))
    assert identity_map(3).is_identity
    assert not ClassMap(np.eye(3), np.array([0, 0, 1e-9])).is_identity


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_no_small_step_from_the_fit_lowers_the_penalised_loss(drawn, method):
    logits, y = drawn
    towards = ClassMap(0.8 * np.eye(3), np.array([0.1, 0.0, -0.1]))
    found = fit_class_map(method, logits, y, towards=towards, strength=40.0)

    def penalised(weights, bias):
        away = np.sum((weights - towards.weights) ** 2) + np.sum((bias - towards.bias) ** 2)
        if method == "temperature":  # one free parameter, not three
            away = (weights - towards.weights)[0, 0] ** 2
        return len(y) * loss(ClassMap(weights, bias), logits, y) + 20.0 * away

    best = penalised(found.weights, found.bias)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step, shift = 0.01 * rng.normal(size=(3, 3)), 0.01 * rng.normal(size=3)
        if method == "temperature":
            step, shift = step[0, 0] * np.eye(3), 0 * shift
        if method == "vector":
            step = np.diag(np.diag(step))
        assert penalised(found.weights + step, found.bias + shift) > best


def test_classes_that_go_together_have_the_map_at_which_the_gradient_ends():
    rng = np.random.default_rng(6)
    logits = 2 * rng.normal(size=(3_000, 4)) @ rng.normal(size=(4, 12))
    chance = softmax(0.6 * logits, axis=1)
    y = (rng.random((3_000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1).clip(0, 11)
    found = fit_class_map("dirichlet", logits, y, strength=3.0)
    away = np.exp(found.logits(logits)) - np.eye(12)[y]
    gradient = away.T @ log_softmax(logits, axis=1) + 3.0 * (found.weights - np.eye(12))
    assert np.abs(gradient / 3_000).max() < 1e-5
    assert np.abs((away.sum(axis=0) + 3.0 * found.bias) / 3_000).max() < 1e-5


def test_of_all_equivalent_maps_the_closest_is_returned(drawn):
    found = fit_class_map("dirichlet", *drawn)
    assert (found.weights - np.eye(3)).mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert found.bias.mean() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_an_endless_penalty_gives_back_what_it_draws_towards(drawn, method):
    towards = ClassMap(0.7 * np.eye(3), np.arange(3.0))
    assert fit_class_map(method, *drawn, towards=towards, strength=np.inf) is towards


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_a_weight_of_two_is_a_row_twice(drawn, method):
    logits, y = drawn[0][:300], drawn[1][:300]
    weight = np.where(np.arange(300) < 100, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weight.astype(int))
    one = fit_class_map(method, logits, y, weight, strength=1.0)
    other = fit_class_map(method, logits[twice], y[twice], strength=1.0)
    assert one.difference(other) < 1e-4


def test_the_identity_gives_back_the_models_own_log_probabilities(drawn):
    logits, _ = drawn
    assert identity_map(3).logits(logits) == pytest.approx(log_softmax(logits, axis=1))


def test_a_row_is_mapped_alike_alone_and_among_others():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(1_000, 7)) * 5
    own = ClassMap(rng.normal(size=(7, 7)), rng.normal(size=7))
    whole = own.logits(logits)
    for rows in ([3], [8, 1], list(range(0, 1_000, 7))):
        assert np.array_equal(own.logits(logits[rows]), whole[rows])
    expected = log_softmax(log_softmax(logits, axis=1) @ own.weights.T + own.bias, axis=1)
    assert whole == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_a_class_that_is_ruled_out_leaves_a_map_that_is_no_worse_than_none(drawn, method):
    logits, y = drawn[0][:600].copy(), drawn[1][:600]
    logits[(np.arange(600) % 20 == 0) & (y != 1), 1] = -1.5e308
    found = fit_class_map(method, logits, y, strength=1.0)
    assert np.isfinite([*found.weights.ravel(), *found.bias]).all()
    assert loss(found, logits, y) <= loss(identity_map(3), logits, y)


@pytest.fixture(scope="module")
def masked():
    """Logits of a three-class model that rules out the second class in a tenth of the rows."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, (4000, 3))
    mixed = np.array([[0.6, 0.2, -0.2], [-0.1, 0.5, 0.1], [0.0, 0.3, 0.7]])
    chance = np.exp(log_softmax(logits, axis=1) @ mixed.T + [0.2, 0.0, -0.3])
    out = rng.random(4000) < 0.1
    chance[out, 1] = 0
    edges = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    y = (rng.random((4000, 1)) > edges).sum(axis=1)
    return np.where(out[:, None] & (np.arange(3) == 1), -np.inf, logits), y, out


@pytest.mark.parametrize("mark", [-1e4, -1e9, -1e300])
def test_a_dirichlet_map_of_all_rows_serves_those_where_no_class_is_ruled_out(masked, mark):
    logits, y, out = masked
    logits = np.maximum(logits, mark)
    fitted, tried = np.arange(4000) < 2000, np.arange(4000) >= 2000
    found = fit_class_map("dirichlet", logits[fitted], y[fitted], strength=1.0)
    # What scikit-learn makes of the rows in which nothing is marked.
    plain = LogisticRegression(C=np.inf, max_iter=5000)
    plain.fit(log_softmax(logits[fitted & ~out], axis=1), y[fitted & ~out])
    rows = tried & ~out
    expected = plain.predict_proba(log_softmax(logits[rows], axis=1))
    losses = -np.log(expected[np.arange(rows.sum()), y[rows]])
    assert loss(found, logits[rows], y[rows]) == pytest.approx(losses.mean(), abs=0.01)
    assert np.exp(found.logits(logits[out]))[:, 1].max() < 1e-6


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_it_does_not_matter_by_which_number_a_class_is_ruled_out(masked, method):
    logits, y, _ = masked
    marks = [np.maximum(logits, mark) for mark in (-2e4, -1e9)]
    first, second = (fit_class_map(method, each, y, strength=1.0) for each in marks)
    assert first.difference(second) == 0
    assert np.array_equal(first.logits(marks[0]), first.logits(marks[1]))


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_rows_in_which_every_class_is_possible_are_mapped_as_they_are(drawn, method, monkeypatch):
    logits, y = drawn[0] * 800, drawn[1]
    assert -1e4 < log_softmax(logits, axis=1).min() < -9_000
    found = fit_class_map(method, logits, y, strength=1.0)
    monkeypatch.setattr("hetcal.calibrators.class_map.LOWEST", -np.inf)
    other = fit_class_map(method, logits, y, strength=1.0)
    assert found.difference(other) == 0
    assert np.array_equal(found.logits(logits), other.logits(logits))
