import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm
from sklearn.metrics import roc_auc_score

from hetcal.data.demo import (
    CELL_LOG_ODDS,
    USAGE,
    demo_probability,
    demo_table,
    toy_table,
    usage_balance,
    write_demo,
)


def test_the_demo_is_the_same_each_time():
    pd.testing.assert_frame_equal(demo_table(500), demo_table(500))
    assert not demo_table(500, seed=8).equals(demo_table(500))


def test_the_demos_true_probability_is_calibrated_in_every_cell():
    frame = demo_table(60_000)
    probability = demo_probability(frame.fillna({"support_calls": 1.2}))
    y = frame["churned"] == "yes"
    new = frame["tenure_months"] <= 12
    for contract, is_new in CELL_LOG_ODDS:
        cell = (frame["contract"] == contract) & (new == is_new)
        assert y[cell].mean() == pytest.approx(probability[cell].mean(), abs=0.02)


def test_a_single_column_says_next_to_nothing_about_the_wave_of_usage():
    frame = demo_table(60_000)
    balance = usage_balance(frame)
    assert kstest(balance, "norm").pvalue > 0.01
    wave = np.sin(2.5 * balance)
    # Given one of eight columns the rest of the balance is normal with variance 7/8, and by hand
    # the mean of sin(a + 2.5 r) over it is sin(a) exp(-2.5² · 7/8 / 2), at most 0.065.
    for name, sign in zip(USAGE, itertools.cycle([1, -1]), strict=False):
        expected = sign * np.exp(-(2.5**2) * 7 / 16) * np.sin(2.5 * frame[name] / np.sqrt(8))
        deciles = (wave - expected).groupby(pd.qcut(frame[name], 10, labels=False))
        assert deciles.mean().abs().max() < 4 * 0.71 / np.sqrt(6_000)
    rates = (frame["churned"] == "yes").groupby(np.sign(wave)).mean()
    assert rates[1] > rates[-1] + 0.2


def test_the_toys_fresh_scores_have_the_papers_densities():
    toy = toy_table(400_000)
    f = toy["score"] - 1.8 * toy["x"] + 0.9
    fresh = toy["split"] != "train"
    for label, mean in ((0, -1), (1, 1)):
        values = f[fresh & (toy["y"] == label)]
        assert (values.mean(), values.std()) == pytest.approx((mean, 2), abs=0.02)
    # P(positive above negative) for two normals, by hand: Phi(2 / sqrt(8)).
    assert roc_auc_score(toy["y"][fresh], f[fresh]) == pytest.approx(
        norm.cdf(2 / np.sqrt(8)), abs=0.002
    )


def test_the_toys_training_scores_are_sharper_on_the_hard_side():
    toy = toy_table(400_000)
    f = toy["score"] - 1.8 * toy["x"] + 0.9
    positive = f[(toy["split"] == "train") & (toy["y"] == 1)]
    assert (positive >= 1).mean() == pytest.approx(2 / 3, abs=0.005)
    assert (positive < 0).mean() == pytest.approx(2 / 3 * norm.cdf(-1), abs=0.005)


def test_the_added_feature_predicts_three_quarters_of_the_labels():
    toy = toy_table(400_000)
    assert toy["y"][toy["x"] == 1].mean() == pytest.approx(0.75, abs=0.005)
    assert toy["y"][toy["x"] == 0].mean() == pytest.approx(0.25, abs=0.005)


def test_the_demo_is_written_as_files_to_upload(tmp_path):
    customers, *networks, toy = write_demo(tmp_path / "demo")
    assert pd.read_csv(customers)["churned"].isin(["yes", "no"]).all()
    assert [path.name for path in networks] == [
        "customers.keras",
        "customers_well_trained.keras",
        "customers_noise.keras",
    ]
    assert all(path.read_bytes()[:2] == b"PK" for path in networks)
    assert list(pd.read_csv(toy).columns) == ["x", "score", "y", "split"]
