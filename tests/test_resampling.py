import numpy as np
import pytest
from scipy.stats import poisson

from hetcal.resampling import Amounts


@pytest.mark.parametrize("rows", [0.5, 3, 24, 25, 1_000])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_drawn_weights_have_the_mean_and_variance_of_poisson_rows(rows, weight):
    amounts = Amounts(np.full(40, rows * weight), np.full(40, rows * weight**2))
    drawn = amounts.draw(5_000, np.random.default_rng(0))
    assert drawn.shape == (5_000, 40)
    assert drawn.min() >= 0
    # 200,000 draws: five standard errors of the mean and of the variance.
    assert drawn.mean() == pytest.approx(rows * weight, abs=5 * weight * (rows / 2e5) ** 0.5)
    assert drawn.var() == pytest.approx(rows * weight**2, rel=5 * ((2 + 1 / rows) / 2e5) ** 0.5)


def test_rows_of_unequal_weight_are_drawn_with_their_own_variance():
    weights = np.array([1.0, 2.0, 10.0])
    amounts = Amounts(np.array([weights.sum()]), np.array([np.sum(weights**2)]))
    drawn = amounts.draw(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(weights.sum(), rel=0.01)
    assert drawn.var() == pytest.approx(np.sum(weights**2), rel=0.02)


def test_cells_without_rows_stay_empty():
    amounts = Amounts(np.array([0.0, 400.0, 0.0]), np.array([0.0, 400.0, 0.0]))
    drawn = amounts.draw(10, np.random.default_rng(0))
    assert np.all(drawn[:, [0, 2]] == 0)
    assert np.all(drawn[:, 1] > 0)


def test_rows_whose_squared_weights_vanish_are_drawn_as_none():
    amounts = Amounts(np.array([1e-200, 400.0]), np.array([1e-200**2, 400.0]))
    drawn = amounts.draw(10, np.random.default_rng(0))
    assert np.all(drawn[:, 0] == 0)
    assert np.all(drawn[:, 1] > 0)


def test_equal_seeds_draw_equal_rows():
    amounts = Amounts(np.array([3.0, 50.0]), np.array([3.0, 50.0]))
    one, other = (amounts.draw(5, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("rows", [1, 7, 24])
def test_few_rows_are_drawn_as_often_as_poisson_says(rows):
    amounts = Amounts(np.full(40, float(rows)), np.full(40, float(rows)))
    drawn = amounts.draw(5_000, np.random.default_rng(3))
    numbers = np.arange(60)
    share = np.bincount(drawn.astype(int).ravel(), minlength=60) / drawn.size
    expected = poisson.pmf(numbers, rows)
    # 200,000 draws, and a step of the table of 65,536 quantiles.
    assert np.all(np.abs(share - expected) <= 5 * np.sqrt(expected / drawn.size) + 2 / 2**16)
