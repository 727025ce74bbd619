import numpy as np
import pytest
from scipy.special import expit, softmax

from hetcal.errors import ModelError
from hetcal.models.outputs import ModelOutput, to_class_logits, to_logit

LOGIT = np.array([-30.0, -2.0, 0.0, 0.5, 3.0, 40.0])


def column(values):
    return np.asarray(values, np.float32)[:, None]


def test_a_removed_sigmoid_gives_the_logit_beyond_what_float32_probabilities_hold():
    found = to_logit(column(expit(LOGIT)), column(LOGIT), "sigmoid")
    assert found.logit.tolist() == LOGIT.tolist()
    assert found.clipped == 0
    assert found.largest_difference < 1e-7
    assert "removed exactly" in found.how


@pytest.mark.parametrize(("unit", "sign"), [(1, 1), (0, -1)])
def test_two_softmax_units_become_a_difference(unit, sign):
    stripped = np.stack([LOGIT, 3 * LOGIT], axis=1).astype(np.float32)
    own = np.stack([expit(-2 * LOGIT), expit(2 * LOGIT)], axis=1).astype(np.float32)
    found = to_logit(own, stripped, "softmax", unit)
    assert found.logit == pytest.approx(sign * 2 * LOGIT)
    assert found.largest_difference < 1e-7


def test_a_linear_output_is_the_logit():
    found = to_logit(column(LOGIT), None, "linear")
    assert found.logit.tolist() == LOGIT.tolist()
    assert found.largest_difference is None


def test_two_linear_units_become_a_difference():
    own = np.stack([LOGIT, 3 * LOGIT], axis=1).astype(np.float32)
    assert to_logit(own, None, "linear", 1).logit == pytest.approx(2 * LOGIT)


@pytest.mark.parametrize("activation", ["linear", None, "relu"])
def test_two_numbers_without_a_softmax_are_asked_about(activation):
    own = np.array([[210_000.0, 3.0], [180_000.0, 2.0]], np.float32)
    with pytest.raises(ModelError, match="two numbers without a softmax, such as 210000 and 3"):
        to_logit(own, None, activation)


@pytest.mark.parametrize(("unit", "sign"), [(None, 1), (1, 1), (0, -1)])
def test_two_log_probabilities_become_a_difference(unit, sign):
    own = -np.logaddexp(0, np.column_stack([LOGIT, -LOGIT])).astype(np.float32)
    found = to_logit(own, None, "log_softmax", unit)
    assert found.logit == pytest.approx(sign * LOGIT, rel=1e-5, abs=1e-5)


def test_a_log_softmax_over_one_unit_is_refused():
    with pytest.raises(ModelError, match="single unit"):
        to_logit(column(LOGIT * 0), None, "log_softmax")


def test_log_probabilities_of_all_classes_are_their_logits():
    found = to_class_logits(ModelOutput(THREE, None, "log_softmax"))
    assert found.logit == pytest.approx(THREE)


def test_another_probability_is_inverted_and_clips_are_counted():
    found = to_logit(column([0.0, 0.25, 0.5, 1.0]), None, "hard_sigmoid")
    edge = np.log(1e7 - 1)
    assert found.logit == pytest.approx([-edge, -np.log(3), 0, edge])
    assert found.clipped == 2
    assert found.largest_difference == pytest.approx(1e-7)


def test_a_stripped_part_that_was_not_the_last_step_is_not_believed():
    found = to_logit(column([0.2, 0.8]), column([5.0, 6.0]), "sigmoid")
    assert "turned into a logit" in found.how
    assert found.logit == pytest.approx([-np.log(4), np.log(4)])


def test_a_last_layer_without_activation_is_judged_by_its_range():
    assert "outside 0 to 1" in to_logit(column(LOGIT), None, None).how
    assert "turned into" in to_logit(column([0.2, 0.8]), None, None).how


def test_values_outside_0_to_1_of_another_activation_are_refused():
    with pytest.raises(ModelError, match=r"'tanh' and gives values outside 0 to 1, such as -0\.5"):
        to_logit(column([-0.5, 0.5]), None, "tanh")


def test_a_softmax_over_one_unit_is_refused():
    with pytest.raises(ModelError, match="single unit"):
        to_logit(column([1, 1]), column([2, 3]), "softmax")


@pytest.mark.parametrize("activation", ["sigmoid", "linear", "hard_sigmoid"])
def test_rows_without_a_finite_output_have_no_logit(activation):
    own = column([0.5, np.nan, 0.9])
    stripped = column([0, np.nan, np.log(9)]) if activation == "sigmoid" else None
    found = to_logit(own, stripped, activation)
    assert np.isfinite(found.logit).tolist() == [True, False, True]


THREE = np.array([[1.0, 0.0, -1.0], [0.0, 30.0, -40.0]], np.float32)


def shares(logits):
    return softmax(logits.astype(np.float64), axis=1).astype(np.float32)


def test_a_removed_softmax_gives_the_logits_of_all_classes():
    found = to_class_logits(ModelOutput(shares(THREE), THREE, "softmax"))
    logits, how = found.logit, found.how
    assert logits.tolist() == THREE.tolist()
    assert "removed exactly" in how


def test_linear_outputs_are_the_logits_of_all_classes():
    found = to_class_logits(ModelOutput(THREE, None, "linear"))
    logits, how = found.logit, found.how
    assert logits.tolist() == THREE.tolist()
    assert "linear" in how


def test_probabilities_of_all_classes_become_logarithms():
    logits = to_class_logits(ModelOutput(shares(THREE), None, "custom")).logit
    assert logits[0] == pytest.approx(np.log(softmax(THREE[0].astype(float))), abs=1e-6)
    assert logits[1, 2] == np.log(1e-7)


def test_outputs_that_are_neither_probabilities_nor_logits_are_refused():
    with pytest.raises(ModelError, match="do not add up to 1"):
        to_class_logits(ModelOutput(np.ones((2, 3), np.float32), None, "sigmoid"))


def test_a_stripped_output_that_is_not_what_the_softmax_saw_is_not_believed():
    found = to_class_logits(ModelOutput(shares(THREE), 2 * THREE, "softmax"))
    logits, how = found.logit, found.how
    assert logits[0] == pytest.approx(np.log(shares(THREE)[0]), abs=1e-6)
    assert "probabilities" in how
