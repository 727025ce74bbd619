import numpy as np
import pytest
from scipy.linalg import block_diag, sqrtm
from scipy.special import expit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from hetcal.partitions.scored import MapDifference, NodeMap, parts_statistic
from hetcal.trees.score_sums import ScoreCodes


def rows_of(seed, rows=900, difference=0.5):
    """Scores, labels, three parts of rows, weights that depend on the part."""
    rng = np.random.default_rng(seed)
    s = np.round(15 * rng.normal(size=rows)) / 10
    part = rng.integers(0, 3, rows)
    y = (rng.random(rows) < expit((1 + difference * (part == 0)) * s - 0.5)).astype(int)
    return s, y, part, rng.exponential(size=rows) * (1 + part)


class ByHand:
    """Gradients and information of a map, row by row, in a basis of unit information."""

    def __init__(self, s, y, weight):
        x = np.column_stack([np.ones(len(s)), s])
        fit = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000, solver="newton-cholesky")
        p = fit.fit(s[:, None], y, sample_weight=weight).predict_proba(s[:, None])[:, 1]
        spread = p * (1 - p)
        root, inner = (sqrtm((w * spread * x.T) @ x) for w in (weight**2, weight))
        z = x @ np.linalg.inv(root)
        raw = x @ np.linalg.inv(inner) * (y - p)[:, None]
        scatter = sqrtm((weight * raw.T) @ raw)
        scaled = raw @ np.linalg.inv(scatter) @ inner @ np.linalg.inv(root)
        self.gradient = weight[:, None] * scaled
        outer = spread[:, None, None] * z[:, :, None] * z[:, None, :]
        self.h = weight[:, None, None] * outer
        self.j = weight[:, None, None] ** 2 * outer

    def statistic(self, parts):
        """Quadratic form of all parts' gradients in their covariance, by a pseudo-inverse."""
        inverse = np.linalg.inv(self.h.sum(axis=0))
        through = np.vstack([self.h[part].sum(axis=0) @ inverse for part in parts])
        covariance = block_diag(*(self.j[part].sum(axis=0) for part in parts))
        moved = through @ np.hstack([self.j[part].sum(axis=0) for part in parts])
        covariance += through @ self.j.sum(axis=0) @ through.T - moved - moved.T
        gradient = np.concatenate([self.gradient[part].sum(axis=0) for part in parts])
        return gradient @ np.linalg.pinv(covariance, rcond=1e-9) @ gradient


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_those_of_rows_added_up_by_hand(seed, weighted):
    s, y, part, weight = rows_of(seed)
    codes = ScoreCodes.of_rows(s, y, weight if weighted else None)
    every = np.arange(len(s))
    values = NodeMap.of_rows(codes, every).tables().per_row(every)
    tick = 1e-6 if weighted else 3e-4  # rounding of values that have no weights
    hand = ByHand(s, y, weight if weighted else np.ones(len(s)))
    left = part == 0
    found = MapDifference().score(values[..., left].sum(axis=-1), values.sum(axis=-1))
    assert found == pytest.approx(hand.statistic([left, ~left]), rel=tick)
    parts = [part == k for k in range(3)]
    sums = np.stack([values[..., each].sum(axis=-1) for each in parts], axis=-1)
    assert parts_statistic(sums) == pytest.approx(hand.statistic(parts), rel=tick)


def log_likelihood(s, y):
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(s[:, None], y)
    p = fit.predict_proba(s[:, None])[:, 1]
    return np.log(np.where(y == 1, p, 1 - p)).sum()


def test_half_the_statistic_is_what_two_maps_add_to_the_log_likelihood():
    s, y, part, _ = rows_of(7, 40_000, 0.15)
    codes = ScoreCodes.of_rows(s, y)
    every = np.arange(len(s))
    values = NodeMap.of_rows(codes, every).tables().per_row(every)
    left = part == 0
    found = MapDifference().score(values[..., left].sum(axis=-1), values.sum(axis=-1)) / 2
    gain = sum(log_likelihood(s[side], y[side]) for side in (left, ~left)) - log_likelihood(s, y)
    assert gain > 10
    assert found == pytest.approx(gain, rel=0.03)


@pytest.mark.parametrize("truth", ["a Platt map", "another map", "weights"])
def test_statistic_of_a_fixed_cut_is_chi_square_where_maps_are_equal(truth):
    """Also where the score differs between the sides, if the Platt map is right."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        left = rng.random(1_000) < 0.3
        s = rng.normal(size=1_000) + (0 if truth == "another map" else left)
        p = np.where(abs(s) > 1, 0.1, 0.7) if truth == "another map" else expit(s - 0.5)
        y = (rng.random(1_000) < p).astype(int)
        weight = (1 + 3 * left) * rng.exponential(size=1_000) if truth == "weights" else None
        codes = ScoreCodes.of_rows(s, y, weight)
        values = NodeMap.of_rows(codes, np.arange(1_000)).tables().per_row(np.arange(1_000))
        sides = values[..., left].sum(axis=-1), values.sum(axis=-1)
        found.append(float(MapDifference().score(*sides)))
    share = np.mean(np.array(found) > chi2.isf(0.1, 2))
    assert 0.055 < share < 0.145  # three standard errors
    assert np.mean(found) == pytest.approx(2, abs=0.35)


def test_constant_scores_leave_the_test_of_two_rates():
    y = np.repeat([0, 1, 0, 1], [30, 70, 60, 40])
    left = np.arange(200) < 100
    codes = ScoreCodes.of_rows(np.full(200, 3.0), y)
    values = NodeMap.of_rows(codes, np.arange(200)).tables().per_row(np.arange(200))
    found = MapDifference().score(values[..., left].sum(axis=-1), values.sum(axis=-1))
    pearson = (70 - 55) ** 2 / (0.55 * 0.45) * (1 / 100 + 1 / 100)  # of a 2 x 2 table
    assert found == pytest.approx(pearson, rel=1e-5)


@pytest.mark.parametrize("y", [np.zeros(50, dtype=int), (np.arange(50) > 20).astype(int)])
def test_there_is_no_map_where_the_score_leaves_nothing_to_learn(y):
    codes = ScoreCodes.of_rows(np.arange(50.0), y)
    assert NodeMap.of_rows(codes, np.arange(50)) is None


def test_sides_with_hardly_any_spread_are_not_compared():
    s, y, part, _ = rows_of(2)
    codes = ScoreCodes.of_rows(s, y)
    values = NodeMap.of_rows(codes, np.arange(900)).tables().per_row(np.arange(900))
    few = np.cumsum(part == 0) <= 15
    found = MapDifference().score(values[..., few & (part == 0)].sum(axis=-1), values.sum(axis=-1))
    assert found == -np.inf
