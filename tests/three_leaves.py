"""Rows of three leaves, one of them tiny, and maps that differ between them."""

import numpy as np
from scipy.special import expit

LEAVES = [1, 2, 3]


def mapped(scores, leaf):
    return np.array([0, 0.4, 1.0, 1.7])[leaf] * scores + np.array([0, -1.0, 0.0, 0.5])[leaf]


def sample(seed, rows=3_000):
    """Scores, labels and leaves; seeds differ in the size of the scores and in their ties."""
    rng = np.random.default_rng(seed)
    leaf = rng.choice([1, 2, 3], rows, p=[0.6, 0.39, 0.01])
    scores = rng.normal(scale=[0.01, 1.5, 30][seed % 3], size=rows)
    if seed % 2:
        scores = np.round(scores, 1)
    return scores, rng.binomial(1, expit(mapped(scores, leaf))), leaf
