import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hetcal.partitions.auc_gain import AucGain, mixture_auc, platt_line, score_moments
from hetcal.trees.score_sums import ScoreCodes


@pytest.mark.parametrize("seed", range(10))
def test_auc_of_mixtures_is_the_area_under_their_curve(seed):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet([1, 1], size=2)
    mean, variance = rng.normal(size=(2, 2)), rng.uniform(0.1, 3, size=(2, 2))

    def density(label, s):
        return share[label] @ norm.pdf(s, mean[label], np.sqrt(variance[label]))

    def below(label, s):
        return share[label] @ norm.cdf(s, mean[label], np.sqrt(variance[label]))

    area = quad(lambda s: density(1, s) * below(0, s), -15, 15, epsabs=1e-12, limit=400)[0]
    assert mixture_auc(share, mean, variance) == pytest.approx(area, abs=1e-9)


def test_auc_of_mixtures_is_that_of_drawn_rows():
    rng = np.random.default_rng(0)
    share = np.array([[0.3, 0.7], [0.8, 0.2]])
    mean, variance = np.array([[-1, 0.5], [0, 2]]), np.array([[1, 0.2], [0.5, 3]])
    part = [rng.random(200_000) < share[label, 1] for label in (0, 1)]
    drawn = [
        rng.normal(mean[label][1 * part[label]], np.sqrt(variance[label])[1 * part[label]])
        for label in (0, 1)
    ]
    auc = roc_auc_score(np.repeat([0, 1], 200_000), np.concatenate(drawn))
    assert mixture_auc(share, mean, variance) == pytest.approx(auc, abs=0.003)


def test_line_meets_the_logit_of_two_normals_at_their_means():
    mass, mean, variance = np.array([700.0, 300.0]), np.array([-0.4, 1.1]), np.array([1.3, 0.6])
    slope, intercept = platt_line(mass, mean, variance)
    deviation = np.sqrt(variance)
    for s in mean:
        likelihood = norm.pdf(s, mean[1], deviation[1]) / norm.pdf(s, mean[0], deviation[0])
        logit = np.log(300.5 / 700.5 * likelihood)  # half a row steadies each class
        assert slope * s + intercept == pytest.approx(logit, abs=1e-12)


def test_line_is_the_logistic_regression_of_normals_that_spread_alike():
    rng = np.random.default_rng(1)
    y = (rng.random(400_000) < 0.2).astype(int)
    s = rng.normal(np.array([-0.5, 0.9])[y], 0.8)
    regression = LogisticRegression(C=np.inf).fit(s[:, None], y)
    slope, intercept = platt_line(np.bincount(y), np.array([-0.5, 0.9]), np.array([0.64, 0.64]))
    assert slope == pytest.approx(regression.coef_[0, 0], rel=0.02)
    assert intercept == pytest.approx(regression.intercept_[0], rel=0.02)


def by_hand(s, y, left):
    """The gain of one cut in plain numpy."""
    node = [s[y == label] for label in (0, 1)]
    mass, mapped = np.zeros((2, 2)), np.zeros((2, 2, 2))
    for i, side in enumerate((left, ~left)):
        mean, variance = np.zeros(2), np.zeros(2)
        for label in (0, 1):
            inside, whole = s[side & (y == label)], node[label]
            mass[label, i] = inside.size
            mean[label] = (inside.sum() + whole.mean()) / (inside.size + 1)
            square = (np.square(inside).sum() + np.square(whole).mean()) / (inside.size + 1)
            variance[label] = square - mean[label] ** 2
        heights = [
            np.log((mass[1, i] + 0.5) / (mass[0, i] + 0.5))
            + norm.logpdf(s, mean[1], variance[1] ** 0.5)
            - norm.logpdf(s, mean[0], variance[0] ** 0.5)
            for s in mean
        ]
        slope = (heights[1] - heights[0]) / (mean[1] - mean[0])
        mapped[0, :, i] = slope * mean + heights[0] - slope * mean[0]
        mapped[1, :, i] = slope**2 * variance
    auc = sum(
        mass[1, i]
        / mass[1].sum()
        * mass[0, j]
        / mass[0].sum()
        * norm.cdf((mapped[0, 1, i] - mapped[0, 0, j]) / (mapped[1, 1, i] + mapped[1, 0, j]) ** 0.5)
        for i in (0, 1)
        for j in (0, 1)
    )
    apart = abs(node[1].mean() - node[0].mean())
    return auc - norm.cdf(apart / (node[1].var() + node[0].var()) ** 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_gain_of_a_cut_is_that_by_hand(seed):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=500)
    left = rng.random(500) < 0.4
    y = (rng.random(500) < expit(np.where(left, 2, 0.3) * s - left)).astype(int)
    codes = ScoreCodes.of_rows(s, y)
    values = score_moments(codes).per_row(np.arange(500))
    gain = AucGain().score(values[..., left].sum(axis=-1), values.sum(axis=-1))
    unit = (s - s.mean()) / s.std()
    assert gain == pytest.approx(by_hand(unit, y, left), abs=1e-6)


def test_mass_of_the_sides_counts():
    """The paper's weights p / (p + p') would make both cuts equal."""
    rng = np.random.default_rng(3)
    gains = []
    for small in (0.5, 0.05):
        left = rng.random(100_000) < small
        s = rng.normal(size=100_000)
        y = (rng.random(100_000) < expit(s - 1.5 * left)).astype(int)
        values = score_moments(ScoreCodes.of_rows(s, y)).per_row(np.arange(100_000))
        gains.append(AucGain().score(values[..., left].sum(axis=-1), values.sum(axis=-1)))
    assert gains[0] > 3 * gains[1] > 0


def test_a_side_of_one_class_has_a_gain():
    s = np.tile(np.linspace(-1, 1, 50), 4)
    y = np.repeat([0, 0, 0, 1], 50)
    y[np.arange(100, 150, 3)] = 1
    values = score_moments(ScoreCodes.of_rows(s, y)).per_row(np.arange(200))
    gain = AucGain().score(values[..., :100].sum(axis=-1), values.sum(axis=-1))
    assert 0.2 < gain < 0.5
