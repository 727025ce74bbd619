"""What the partitions on scores gain, and what they leave alone."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.tree import TreePartition
from tests.partitions.heterogeneity import LOGITS, share_of_gain, simulate

BOTH = pytest.mark.parametrize("kind", [AucGainPartition, InstabilityPartition])


@pytest.fixture(scope="module", params=LOGITS)
def simulation(request):
    """Rows to grow on, to calibrate on and to test on, with the name of what differs."""
    sizes = 40_000, 40_000, 120_000
    parts = [simulate(request.param, rows, [1, i]) for i, rows in enumerate(sizes)]
    return request.param, *parts


@BOTH
def test_gains_nearly_all_that_the_true_cells_gain(kind, simulation, record_property):
    _, grown, calibration, test = simulation
    fitted = kind(3).fit(grown.X, grown.y, grown.scores)
    share = share_of_gain(fitted, calibration, test)
    record_property("share of gain", share)
    assert share >= 0.95


def test_the_tree_on_labels_gains_only_where_label_balance_differs(simulation):
    name, grown, calibration, test = simulation
    share = share_of_gain(TreePartition(3).fit(grown.X, grown.y), calibration, test)
    assert share >= 0.95 if name == "label balance" else share < 0.1


MAPS = {
    "a Platt map": lambda s: expit(0.8 * s - 0.5),
    "rare labels": lambda s: expit(0.8 * s - 2.5),
    "another map": lambda s: np.where(np.abs(s) > 1.5, 0.05, 0.6),
}


def noise(rng, rows, s):
    """Columns of many kinds that say nothing about the map; the last ones know the score."""
    names = [f"level {i}" for i in range(14)]
    columns = {
        "normal": rng.normal(size=rows),
        "count": rng.integers(0, 9, rows),
        "binary": rng.integers(0, 2, rows),
        "mostly 0": np.where(rng.random(rows) < 0.6, 0, rng.normal(size=rows)),
        "gaps": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows)),
        "many": rng.choice(names, rows),
        "few": rng.choice(names[:4], rows),
    }
    if s is not None:
        near = s + rng.normal(size=rows)
        columns |= {"near": near, "level": pd.Series(np.round(near)).astype(str)}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("name", MAPS)
def test_noise_is_left_in_one_leaf(name):
    """At most half of alpha is the root's, so of 200 trials 5 are expected to be cut."""
    cut = 0
    for trial in range(200):
        rng = np.random.default_rng([trial, 17])
        s = 1.5 * rng.normal(size=600)
        y = (rng.random(600) < MAPS[name](s)).astype(int)
        # A Platt map that is wrong differs along the score, and so along what knows the score.
        X = noise(rng, 600, None if name == "another map" else s)
        cut += len(InstabilityPartition(2).fit(X, y, s).leaves_) > 1
    assert cut <= 10


def test_noise_is_not_cut_for_its_seeming_gain():
    cut = 0
    for trial in range(60):
        rng = np.random.default_rng([trial, 19])
        s = 1.5 * rng.normal(size=600)
        y = (rng.random(600) < expit(0.8 * s - 0.5)).astype(int)
        cut += len(AucGainPartition(2).fit(noise(rng, 600, s), y, s).leaves_) > 1
    assert cut <= 3


@pytest.fixture(scope="module")
def tested():
    rows = simulate("P(y given s)", 20_000, 3)
    return InstabilityPartition(2).fit(rows.X, rows.y, rows.scores), rows


def test_tests_tell_every_feature_of_every_node_that_could_be_cut(tested):
    fitted, rows = tested
    tests = fitted.tests_
    nodes = fitted.partition_.nodes
    inner = [i for i, depth in enumerate(fitted.partition_.depths) if depth < 2]
    assert list(tests.columns) == ["node", "feature", "statistic", "p", "chosen"]
    assert tests["node"].unique().tolist() == inner
    assert (tests.groupby("node")["feature"].nunique() == rows.X.shape[1]).all()
    for node, found in tests.groupby("node"):
        chosen = found[found["chosen"]]
        assert chosen["feature"].tolist() == ([nodes[node].feature] if nodes[node].feature else [])
        assert (chosen["p"] == found["p"].min()).all()
        assert (chosen["p"] < 0.05).all()


def test_chances_are_corrected_for_features_and_nodes(tested):
    fitted, rows = tested
    alone = InstabilityPartition(1, alpha=0.999).fit(rows.X[:, :1], rows.y, rows.scores)
    both = InstabilityPartition(1, alpha=0.999).fit(rows.X[:, [0, 3]], rows.y, rows.scores)
    p = alone.tests_["p"][0]
    assert both.tests_["p"][0] == pytest.approx(2 * p, rel=1e-12)
    cut = fitted.partition_.nodes[0]
    left = rows.X[:, int(cut.feature[1:])] <= cut.threshold
    again = InstabilityPartition(1, min_samples_leaf=1000).fit(
        rows.X[left], rows.y[left], rows.scores[left]
    )
    deeper = fitted.tests_[fitted.tests_["node"] == 1].sort_values("feature")["p"].to_numpy()
    root = again.tests_.sort_values("feature")["p"].to_numpy()
    small = root < 0.2
    assert small.any()
    # Other rows have other groups, so cuts and statistics differ a little.
    assert np.log2(deeper[small] / root[small]) == pytest.approx(2, abs=0.7)


def test_gains_tell_why_a_node_was_cut():
    rows = simulate("P(y given s)", 20_000, 3)
    fitted = AucGainPartition(2).fit(rows.X, rows.y, rows.scores)
    gains = fitted.gains_
    assert list(gains.columns) == ["node", "feature", "gain", "p", "chosen"]
    chosen = gains[gains["chosen"]]
    cut = {i: node.feature for i, node in enumerate(fitted.partition_.nodes) if node.feature}
    assert dict(zip(chosen["node"], chosen["feature"], strict=True)) == cut
    assert (chosen["gain"] > 0).all()
    assert (chosen["p"] < 0.05).all()
