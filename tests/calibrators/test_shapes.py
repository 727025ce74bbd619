import json

import numpy as np
import pytest
from scipy.special import expit

from hetcal.calibrators.shapes import Affine, Beta, Knots, Steps, Tamed, read_shape, shape_document
from hetcal.strict_json import Fields, JsonError

SHAPES = [
    Affine(0.53, -0.21, 0.1, 0.2),
    Affine(-2.0, 0.5),
    Beta(0.4, 1.3, -0.2, 0.1, 0.1, 0.1),
    Steps((-1.0, 0.0, 2.5), (-2.0, 0.3, -0.4, 1.5)),
    Steps((), (0.25,)),
    Knots((-1.0, 0.5, 3.0), (0.1, 0.4, 0.9)),
    Tamed(-0.5, 0.25, -1.5, 2.0),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: type(each).__name__)
def test_a_shape_is_read_back_bit_for_bit(shape):
    text = json.dumps(shape_document(shape))
    assert read_shape(Fields(json.loads(text), "it")) == shape
    assert hash(read_shape(Fields(json.loads(text), "it"))) == hash(shape)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "spline"},
        {"kind": "affine", "slope": 1, "intercept": 0, "slope_se": -1, "intercept_se": 0},
        {"kind": "affine", "slope": 1, "intercept": 0, "slope_se": 0},
        {"kind": "tamed", "slope": 1, "intercept": 0, "low": 2, "high": 1},
        {"kind": "tamed", "slope": 1, "intercept": 0, "low": None, "high": 1},
        {"kind": "beta", "a": -1, "b": 1, "c": 0, "a_se": 0, "b_se": 0, "c_se": 0},
        {"kind": "steps", "edges": [0, 1], "logits": [0, 1]},
        {"kind": "steps", "edges": [1, 1], "logits": [0, 1, 2]},
        {"kind": "steps", "edges": [1], "logits": [0, True]},
        {"kind": "knots", "scores": [], "probabilities": []},
        {"kind": "knots", "scores": [0, 1], "probabilities": [0.2, 1.0]},
        {"kind": "knots", "scores": [0, 1, 2], "probabilities": [0.2, 0.1, 0.3]},
        {"kind": "knots", "scores": [0, 1], "probabilities": [0.2, 0.3], "extra": 1},
    ],
)
def test_anything_else_is_refused(document):
    with pytest.raises(JsonError):
        read_shape(Fields(document, "it"))


def test_beta_is_the_formula_of_the_paper():
    p = np.array([0.01, 0.3, 0.5, 0.99])
    found = Beta(0.4, 1.3, -0.2).logit(np.log(p / (1 - p)))
    assert found == pytest.approx(np.log(p**0.4 / (1 - p) ** 1.3) - 0.2)
    assert np.isfinite(Beta(0.4, 1.3, -0.2).logit(np.array([-1e300, 1e300]))).all()


def test_equal_beta_parameters_are_a_linear_map():
    scores = np.linspace(-9, 9, 7)
    assert Beta(0.7, 0.7, 0.1).logit(scores) == pytest.approx(0.7 * scores + 0.1)


def test_a_tamed_map_is_linear_between_its_limits_and_slow_beyond():
    logits = Tamed(2.0, 1.0, -1.0, 3.0).logit(np.array([-1.0, 0.5, 3.0, 3.0 + np.e - 1]))
    assert np.allclose(logits, [-1.0, 2.0, 7.0, 9.0], rtol=1e-15)


def test_a_standard_error_that_is_not_known_is_null():
    document = shape_document(Affine(1.5, 0.5, np.nan, np.nan))
    assert document["slope_se"] is None
    assert repr(read_shape(Fields(document, "it"))) == repr(Affine(1.5, 0.5, np.nan, np.nan))


def test_a_score_at_an_edge_lies_above_it():
    assert SHAPES[3].logit(np.array([-1.0, -1.1, 9.0])).tolist() == [0.3, -2.0, 1.5]


def test_knots_are_joined_by_linear_interpolation_of_probabilities():
    p = expit(SHAPES[5].logit(np.array([-9.0, -0.25, 3.0, 9.0])))
    assert p == pytest.approx([0.1, 0.25, 0.9, 0.9])


def test_words_say_the_map():
    assert [each.words for each in SHAPES] == [
        "0.53 · s − 0.21",
        "−2.00 · s + 0.50",
        "0.40 · log p − 1.30 · log(1 − p) − 0.20",
        "4 steps from 0.12 to 0.82",
        "0.56 for every score",
        "3 points from 0.1 to 0.9",
        "−0.50 · s + 0.25, linear from −1.50 to 2.00",
    ]


def test_maps_that_do_not_rise_say_so():
    assert [each.rises for each in SHAPES] == [True, False, True, True, True, True, False]
    assert not Steps((0.0,), (1.0, -1.0)).rises
    assert not Beta(0.0, 0.0, 1.0).rises
