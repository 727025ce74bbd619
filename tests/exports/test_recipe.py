"""What is compared in double precision gives what the artifact compares in single precision."""

import numpy as np
import pytest

from hetcal.exports.recipe import double_limits, recipe
from tests.exports.artifacts import CITY, artifact

LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("threshold", [0.1, -0.1, 1 / 3, 16_777_217.0, 1e-46, LARGEST, -LARGEST])
def test_a_double_is_up_to_the_limit_where_the_single_is_up_to_the_threshold(threshold):
    limit = double_limits(np.array([threshold]))[0]
    for value in (limit, np.nextafter(limit, np.inf), threshold):
        with np.errstate(over="ignore"):
            assert (value <= limit) == (float(np.float32(value)) <= threshold)


def test_random_doubles_take_the_same_side_as_their_singles():
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=200) * 10.0 ** rng.integers(-30, 30, 200)
    steps = rng.integers(-3, 4, (1_000, 200)) * 2.0**-26
    values = thresholds * (1 + steps)
    expected = values.astype(np.float32).astype(np.float64) <= thresholds
    assert np.array_equal(values <= double_limits(thresholds), expected)


def test_categories_that_a_tree_does_not_know_go_where_missing_values_go():
    document = recipe(artifact(partition="tree"))
    (city,) = (i for i, each in enumerate(document["columns"]) if each["name"] == CITY)
    many = len(document["columns"][city]["categories"])
    splits = [node for nodes in document["trees"] for node in nodes if node[0] == city]
    found = [node for node in splits if len(node) > 1]
    assert found
    for _, codes, missing_left, *_ in found:
        assert ({many, many + 1} <= set(codes)) == missing_left
