import numpy as np
from scipy.special import expit

from hetcal.compiled import BLOCK, sigmoid


def test_equals_expit_to_the_last_bits():
    logits = np.random.default_rng(0).normal(scale=30, size=BLOCK + 5)
    np.testing.assert_allclose(sigmoid(logits), expit(logits), rtol=1e-15)


def test_the_logits_may_be_replaced():
    logits = np.array([-2.0, 0.0, 3.0])
    expected = sigmoid(logits)
    assert sigmoid(logits, out=logits) is logits
    assert np.array_equal(logits, expected)


def test_extreme_and_missing_logits():
    found = sigmoid(np.array([-np.inf, -1e300, 40.0, np.inf, np.nan]))
    assert found[:4].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.isnan(found[4])
