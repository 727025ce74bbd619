import numpy as np
import pytest

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.single import HistogramCalibrator, IsotonicCalibrator, PlattCalibrator
from hetcal.data.columns import row_weights
from hetcal.errors import CalibrationError
from hetcal.partitions.tree import TreePartition


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=600)
    return scores, rng.binomial(1, 1 / (1 + np.exp(-scores))), 1 + rng.random(600)


def test_ordinary_weights_stay_as_they_are(rows):
    assert row_weights(rows[2], rows[0]) is rows[2]
    single = np.array([0.1, 0.0], dtype=np.float32)
    assert row_weights(single, np.zeros(2)).tolist() == single.astype(np.float64).tolist()


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("kind", [PlattCalibrator, IsotonicCalibrator, HistogramCalibrator])
def test_maps_do_not_depend_on_the_unit_of_weights(rows, kind, unit):
    scores, y, weight = rows
    expected = kind().fit(scores, y, weight).predict(scores)
    assert kind().fit(scores, y, unit * weight).predict(scores) == pytest.approx(expected)


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_trees_and_maps_of_leaves_do_not_depend_on_the_unit_of_weights(rows, unit):
    scores, y, weight = rows
    tree, other = (TreePartition(2).fit(scores[:, None], y, w) for w in (weight, unit * weight))
    leaf = tree.apply(scores[:, None])
    assert np.array_equal(other.apply(scores[:, None]), leaf)
    one, two = (LeafCalibrator().fit(scores, y, leaf, w) for w in (weight, unit * weight))
    assert two.predict(scores, leaf) == pytest.approx(one.predict(scores, leaf))


@pytest.mark.parametrize(("bad", "message"), [(-1.0, "Negative"), (np.nan, "NaN")])
def test_weights_that_are_none_are_not_left_out_in_silence(rows, bad, message):
    scores, y, weight = rows
    weight, leaf = np.append(bad, weight[1:]), np.ones(600, int)
    with pytest.raises(ValueError, match=message):
        LeafCalibrator().fit(scores, y, leaf, weight)
    with pytest.raises(ValueError, match=message):
        ClassCalibrator().fit(np.column_stack([-scores, scores]), y, leaf, weight)


def test_rows_without_any_weight_are_refused_in_words(rows):
    with pytest.raises(CalibrationError, match="no rows"):
        LeafCalibrator().fit(rows[0], rows[1], np.ones(600, int), np.zeros(600))
