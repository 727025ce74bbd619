import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from hetcal.cells.cells import Cells
from hetcal.metrics.delong import paired_delong
from hetcal.results import contributions
from hetcal.results.contributions import lift_contributions

LEAVES = [1, 2, 3, 4]


def divided(y, before, after, leaf, leaves, weight=None, group=None):
    cells = (Cells.of_rows(scores, y, leaf, weight) for scores in (before, after))
    return lift_contributions(*cells, leaves, group)


def sample(rows, seed=0):
    """Leaf 1 needs half the slope, leaf 2 is right, leaf 3 is shifted, leaf 4 is empty; ties."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(1, 4, rows)
    after = np.round(rng.normal(size=rows), 1) + np.array([0, 1.0, -1.0, 0.0])[leaf]
    before = after * np.array([0, 2.0, 1.0, 1.0])[leaf] + (leaf == 3)
    return rng.binomial(1, expit(after)), before, after, leaf


def pair_gains(y, before, after):
    """What each pair of a positive (row) and a negative (column) has gained."""
    order = [scores[y == 1][:, None] - scores[y == 0][None, :] for scores in (before, after)]
    return (np.sign(order[1]) - np.sign(order[0])) / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_a_contribution_is_a_mean_over_pairs_with_the_variance_of_delong(weighted):
    y, before, after, leaf = sample(300)
    weight = np.random.default_rng(1).exponential(size=300) if weighted else None
    found = divided(y, before, after, leaf, LEAVES, weight)
    w = np.ones(300) if weight is None else weight
    w1, w0 = w[y == 1] / w[y == 1].sum(), w[y == 0] / w[y == 0].sum()
    for i, each in enumerate(LEAVES):
        halves = (leaf[y == 1] == each)[:, None] / 2 + (leaf[y == 0] == each)[None, :] / 2
        pairs = halves * pair_gains(y, before, after)
        mean = w1 @ pairs @ w0
        variance = sum(
            w.size / (w.size - 1) * np.sum((w * (each - mean)) ** 2)
            for each, w in ((pairs @ w0, w1), (w1 @ pairs, w0))
        )
        assert found.at[i, "contribution"] == pytest.approx(mean, abs=1e-12)
        assert found.at[i, "contribution_se"] == pytest.approx(np.sqrt(variance), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_single_leaf_contributes_the_lift(weighted):
    y, before, after, leaf = sample(500)
    weight = np.random.default_rng(1).exponential(size=500) if weighted else None
    lift = paired_delong(y, before, after, weight)
    found = divided(y, before, after, np.ones_like(leaf), [1], weight)
    ends = norm.interval(0.95, lift.auc, lift.se)
    assert found.loc[0].tolist() == pytest.approx([lift.auc, lift.se, *ends])


def test_the_error_of_a_contribution_is_that_of_the_bootstrap():
    rows = sample(600)
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(400):
        chosen = rng.integers(0, 600, 600)
        again = divided(*(each[chosen] for each in rows), LEAVES)
        drawn.append(again["contribution"].to_numpy())
    spread = np.std(drawn, axis=0)
    found = divided(*rows, LEAVES)
    assert found["contribution_se"].to_numpy() == pytest.approx(spread, rel=0.15)


def test_scores_that_rank_alike_contribute_exactly_nothing():
    y, before, _, leaf = sample(500)
    weight = np.random.default_rng(1).exponential(size=500)
    for w in (None, weight):
        found = divided(y, before, 3 * before - 1, leaf, LEAVES, w)
        assert (found == 0).all().all()


def test_rows_without_weight_do_not_count():
    y, before, after, leaf = sample(400)
    weight = (np.arange(400) < 300).astype(float)
    kept = (each[:300] for each in (y, before, after, leaf))
    found = divided(y, before, after, leaf, LEAVES, weight)
    assert found.to_numpy() == pytest.approx(divided(*kept, LEAVES).to_numpy())


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_lift_to_divide(label):
    y, before, after, leaf = sample(50)
    found = divided(np.full_like(y, label), before, after, leaf, LEAVES)
    assert found.isna().all().all()


def test_a_single_positive_row_has_a_contribution_without_an_error():
    y, before, after, leaf = sample(50)
    y = (np.arange(50) == 7).astype(int)
    found = divided(y, before, after, leaf, LEAVES)
    assert found["contribution"].notna().all()
    assert found[["contribution_se", "contribution_low", "contribution_high"]].isna().all().all()


def test_compiled_contributions_are_those_of_numpy(monkeypatch):
    pytest.importorskip("numba")
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("HETCAL_COMPILED", switch)
        found.append(divided(*sample(3_000), LEAVES))
    assert found[0].equals(found[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_single_leaf_contributes_the_lift_of_groups(weighted):
    y, before, after, leaf = sample(500)
    rng = np.random.default_rng(1)
    weight, group = rng.exponential(size=500) if weighted else None, rng.integers(0, 40, 500)
    lift = paired_delong(y, before, after, weight, group=group)
    found = divided(y, before, after, np.ones_like(leaf), [1], weight, group)
    ends = norm.interval(0.95, lift.auc, lift.se)
    assert found.loc[0].tolist() == pytest.approx([lift.auc, lift.se, *ends])


def test_rows_that_repeat_in_their_groups_make_no_contribution_surer():
    y, before, after, leaf = sample(400)
    rows = np.repeat(np.arange(400), 3)
    once = divided(y, before, after, leaf, LEAVES)
    parts = (each[rows] for each in (y, before, after, leaf))
    thrice = divided(*parts, LEAVES, group=rows.astype(str))
    assert thrice.to_numpy() == pytest.approx(once.to_numpy(), rel=0.01, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_of_pairs_of_leaves_are_means_over_pairs_of_rows_and_add_up_to_the_lift(weighted):
    y, before, after, leaf = sample(300)
    weight = np.random.default_rng(1).exponential(size=300) if weighted else None
    cells = (Cells.of_rows(scores, y, leaf, weight) for scores in (before, after))
    found = contributions.pair_gains(*cells, LEAVES)
    w = np.ones(300) if weight is None else weight
    w1, w0 = w[y == 1] / w[y == 1].sum(), w[y == 0] / w[y == 0].sum()
    rows = pair_gains(y, before, after)
    for one, zero, share, gain in found[["positive", "negative", "share", "gain"]].to_numpy():
        inside = np.outer(w1 * (leaf[y == 1] == one), w0 * (leaf[y == 0] == zero))
        assert share == pytest.approx(inside.sum(), abs=1e-12)
        assert gain == pytest.approx((inside * rows).sum(), abs=1e-12)
    lift = paired_delong(y, before, after, weight)
    assert found["share"].sum() == pytest.approx(1, abs=1e-12)
    assert found["after"].sum() == pytest.approx(lift.after, abs=1e-12)
    assert found["gain"].sum() == pytest.approx(lift.auc, abs=1e-12)
    own = found[found["positive"] == found["negative"]]
    assert own["gain"].to_numpy() == pytest.approx(0, abs=1e-15)


def test_pairs_of_leaves_have_no_gain_with_one_class():
    y, before, after, leaf = sample(50)
    cells = (Cells.of_rows(scores, np.ones_like(y), leaf) for scores in (before, after))
    assert contributions.pair_gains(*cells, LEAVES)["gain"].isna().all()
