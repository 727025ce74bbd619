from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from hetcal.metrics.metrics import measure
from hetcal.metrics.ranking import area_of_steps, mean_precision

Y = np.array([0, 0, 0, 0, 1, 1, 1])
SCORES = np.array([-2.0, -1.0, 0.0, 1.0, 0.0, 0.0, 2.0])


def balanced_precision_area(*rows):
    return measure(*rows).balanced_precision_area


@pytest.fixture(params=["numpy", "compiled"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


@pytest.fixture(params=range(6))
def drawn(request):
    """Labels, scores with and without ties, and weights or None."""
    rng = np.random.default_rng(request.param)
    y = rng.integers(0, 2, 60)
    scores = rng.normal(y, 1.5)
    if request.param % 2:
        scores = np.round(scores)
    return y, scores, rng.random(60) if request.param >= 3 else None


@pytest.mark.usefixtures("engine")
def test_the_area_is_the_integral_of_the_balanced_precision(drawn):
    """Numerically: at recall x, the false positive rate by bisection of the definition."""
    y, scores, weight = drawn
    w = np.ones(len(y)) if weight is None else weight
    one, zero = (w * (y == side) / np.sum(w[y == side]) for side in (1, 0))
    levels = np.unique(scores)[::-1]
    true = np.append(0, [one[scores >= s].sum() for s in levels])
    false = np.append(0, [zero[scores >= s].sum() for s in levels])

    def precision(recall):
        step = np.searchsorted(true[1:-1], recall, "left")
        share = (recall - true[step]) / (true[step + 1] - true[step])
        return recall / (recall + false[step] + share * (false[step + 1] - false[step]))

    area = sum(quad(precision, a, b, epsabs=1e-11)[0] for a, b in pairwise(true) if b > a)
    assert balanced_precision_area(y, scores, weight) == pytest.approx(area, abs=1e-8)


@pytest.mark.usefixtures("engine")
def test_scores_that_say_nothing_have_a_balanced_precision_of_one_half():
    assert balanced_precision_area(Y, np.zeros(7)) == pytest.approx(0.5)


@pytest.mark.usefixtures("engine")
def test_a_perfect_order_has_an_area_of_one():
    assert balanced_precision_area(np.array([0, 0, 1]), np.array([0.0, 1.0, 2.0])) == 1


def test_the_area_does_not_depend_on_how_common_positive_rows_are():
    weight = np.where(Y == 1, 7.0, 1.0)
    assert balanced_precision_area(Y, SCORES, weight) == pytest.approx(
        balanced_precision_area(Y, SCORES)
    )


@pytest.mark.usefixtures("engine")
def test_a_positive_row_above_one_of_two_negative_rows_by_hand():
    # The curve goes right to 1/2, then up, then right: the mean of x / (x + 1/2).
    area = balanced_precision_area(np.array([0, 1, 0]), np.array([0.0, 1.0, 2.0]))
    assert area == pytest.approx(1 - 0.5 * np.log(3))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("decimals", [1, 3, 12])
def test_many_rows_have_the_area_of_their_curve(decimals):
    """By the trapezoidal rule on ten points of every step."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3_000)
    scores = np.round(rng.normal(y), decimals)
    levels = np.unique(scores)[::-1]
    true = np.append(0, [(scores[y == 1] >= s).mean() for s in levels])
    false = np.append(0, [(scores[y == 0] >= s).mean() for s in levels])
    share = np.linspace(0, 1, 11)
    x = true[:-1, None] + np.diff(true)[:, None] * share
    both = x + false[:-1, None] + np.diff(false)[:, None] * share
    precision = np.divide(x, both, out=np.ones_like(x), where=both > 0)
    expected = np.trapezoid(precision, x, axis=1).sum()
    assert balanced_precision_area(y, scores) == pytest.approx(expected, abs=1e-4)


def test_parts_of_the_curve_add_up(monkeypatch):
    rng = np.random.default_rng(0)
    rise, run = rng.random((2, 100))
    true, false = np.cumsum(rise) - rise, np.cumsum(run) - run
    steps = true, rise, false, run, 2 * run.sum()
    whole = area_of_steps(*steps)
    monkeypatch.setattr("hetcal.metrics.ranking.AT_ONCE", 7)
    assert area_of_steps(*steps) == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize("length", [1e-12, 1e-6, 1e-2, 1, 100])
def test_the_mean_of_a_step_is_its_integral_over_its_rise(length):
    true, rise, false, run = 0.3, 0.4 * length, 0.2, 0.6 * length
    integral = quad(lambda u: (true + u * rise) / (true + false + u * length), 0, 1)[0]
    found = mean_precision(*(np.array([each]) for each in (true, rise, false, run)))
    assert found[0] == pytest.approx(integral, rel=1e-12)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_area(label):
    assert np.isnan(balanced_precision_area(np.full(3, label), np.arange(3.0)))
