import numpy as np
import pytest
from scipy.special import softmax

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.class_map import fit_class_map
from hetcal.choices import CLASS_CALIBRATORS
from hetcal.errors import CalibrationError


@pytest.fixture(scope="module")
def drawn():
    """Two leaves whose scores deserve different temperatures and biases."""
    rng = np.random.default_rng(0)
    logits, leaf = rng.normal(0, 2, (3000, 3)), rng.integers(1, 3, 3000)
    slope = np.where(leaf == 1, 0.4, 1.2)[:, None]
    shift = np.where((leaf == 1)[:, None], [0.8, 0, 0], [0, 0, 0.5])
    chance = softmax(slope * logits + shift, axis=1)
    y = (rng.random((3000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    return logits, y, leaf


def loss(logs, y):
    return -logs[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("method", CLASS_CALIBRATORS)
def test_without_shrinkage_a_leaf_is_fitted_on_its_own(drawn, method):
    logits, y, leaf = drawn
    found = ClassCalibrator(method, shrinkage=0.0).fit(logits, y, leaf)
    inside = leaf == 2
    alone = fit_class_map(method, logits[inside], y[inside])
    assert found.predict(logits[inside], leaf[inside]) == pytest.approx(
        np.exp(alone.logits(logits[inside])), abs=1e-5
    )


def test_endless_shrinkage_gives_one_map_for_all(drawn):
    found = ClassCalibrator(shrinkage=np.inf).fit(*drawn)
    assert all(each is found.pooled_ for each in found.maps_.values())


def test_different_leaves_keep_their_maps_under_cross_validation(drawn):
    logits, y, leaf = drawn
    half = np.arange(3000) < 1500
    found = ClassCalibrator("vector").fit(logits[half], y[half], leaf[half])
    assert found.shrinkage_ < np.inf
    after = found.predict_logit(logits[~half], leaf[~half])
    pooled = found.pooled_.logits(logits[~half])
    assert loss(after, y[~half]) < loss(pooled, y[~half]) - 0.02


def test_equal_leaves_share_the_pooled_map_under_cross_validation(drawn):
    logits, y, _ = drawn
    leaf = np.random.default_rng(5).integers(1, 20, 3000)
    found = ClassCalibrator("vector").fit(logits, y, leaf)
    assert found.shrinkage_ >= 10
    assert found.shrinkage_table_["log_loss"].min() == pytest.approx(
        found.shrinkage_table_.set_index("strength")["log_loss"][found.shrinkage_]
    )


def test_an_unknown_leaf_has_the_pooled_map(drawn):
    logits, y, leaf = drawn
    found = ClassCalibrator(shrinkage=1.0).fit(logits, y, leaf)
    there = np.full(5, 9)
    assert np.array_equal(found.predict_logit(logits[:5], there), found.pooled_.logits(logits[:5]))


def test_rows_that_are_not_finite_stay_out_and_come_back_as_nan(drawn):
    logits, y, leaf = (each.copy() for each in drawn)
    logits[0, 1] = np.nan
    found = ClassCalibrator(shrinkage=1.0).fit(logits, y, leaf)
    clean = ClassCalibrator(shrinkage=1.0).fit(logits[1:], y[1:], leaf[1:])
    after = found.predict(logits, leaf)
    assert np.isnan(after[0]).all()
    assert np.array_equal(after[1:], clean.predict(logits[1:], leaf[1:]))


def test_rows_without_weight_stay_out(drawn):
    logits, y, leaf = drawn
    weight = np.where(leaf == 2, 0.0, 1.0)
    found = ClassCalibrator(shrinkage=1.0).fit(logits, y, leaf, weight, [1, 2])
    assert found.rows_ == {1: int(np.sum(leaf == 1)), 2: 0}
    assert found.maps_[2] is found.pooled_


def test_json_gives_back_the_same_predictions_bit_for_bit(drawn):
    logits, y, leaf = drawn
    found = ClassCalibrator("dirichlet", shrinkage=10.0).fit(logits, y, leaf)
    again = ClassCalibrator.from_json(found.to_json())
    assert np.array_equal(again.predict(logits, leaf), found.predict(logits, leaf))
    assert again.to_json() == found.to_json()


def test_maps_of_leaves_numbered_from_0_are_read_back(drawn):
    logits, y, leaf = drawn
    found = ClassCalibrator(shrinkage=10.0).fit(logits, y, leaf - 1)
    again = ClassCalibrator.from_json(found.to_json())
    assert np.array_equal(again.predict(logits, leaf - 1), found.predict(logits, leaf - 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"format": 1', '"format": 9'), ('"leaf": 2', '"leaf": 1'), ('"vector"', '"magic"')],
)
def test_damaged_json_is_refused(drawn, old, new):
    text = ClassCalibrator(shrinkage=10.0).fit(*drawn).to_json()
    assert old in text
    with pytest.raises(CalibrationError, match="cannot be used"):
        ClassCalibrator.from_json(text.replace(old, new))


def test_one_class_is_refused(drawn):
    with pytest.raises(CalibrationError, match="one class"):
        ClassCalibrator().fit(drawn[0], np.zeros(3000, int), drawn[2])


def test_leaves_that_are_groups_are_shrunk_to_the_pooled_map():
    rng = np.random.default_rng(0)
    leaf, logits = rng.integers(1, 11, 2_000), rng.normal(0, 2, (2_000, 3))
    shift = rng.normal(0, 1, (10, 3))
    chance = softmax(logits + shift[leaf - 1], axis=1)
    y = (rng.random((2_000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    mixed = ClassCalibrator().fit(logits, y, leaf)
    apart = ClassCalibrator().fit(logits, y, leaf, groups=leaf)
    assert mixed.shrinkage_ < np.inf
    losses = apart.shrinkage_table_["log_loss"].to_numpy()
    assert losses == pytest.approx(np.full(5, losses[0]))  # a leaf left out has the pooled map
    assert apart.shrinkage_ == np.inf


@pytest.mark.filterwarnings("error")
def test_a_row_of_each_class_gives_one_map_for_all():
    logits = np.log([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    found = ClassCalibrator().fit(logits, np.arange(3), np.array([1, 2, 2]))
    assert found.shrinkage_ == np.inf
    assert found.shrinkage_table_["log_loss"].isna().all()
    assert np.isfinite(found.predict(logits, np.array([1, 2, 2]))).all()


def test_lists_and_numbers_of_other_kinds_are_taken(drawn):
    logits, y, leaf = drawn
    found = ClassCalibrator(shrinkage=1).fit(logits.tolist(), y.astype(float), leaf.astype("u8"))
    expected = ClassCalibrator(shrinkage=1.0).fit(logits, y, leaf)
    assert np.array_equal(found.predict(logits.tolist(), leaf), expected.predict(logits, leaf))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": -1}, "whole numbers from 0 to 2"),
        ({"y": 3}, "whole numbers from 0 to 2"),
        ({"y": 0.5}, "whole numbers from 0 to 2"),
        ({"y": np.nan}, "whole numbers from 0 to 2"),
        ({"y": "a"}, "whole numbers from 0 to 2"),
        ({"leaf": 1.5}, "leaves of the rows are not whole numbers"),
        ({"leaf": np.nan}, "leaves of the rows are not whole numbers"),
        ({"leaf": "a"}, "leaves of the rows are not whole numbers"),
    ],
)
def test_what_is_no_class_or_no_leaf_is_refused(drawn, change, words):
    given = dict(zip(("logits", "y", "leaf"), drawn, strict=True))
    for name, value in change.items():
        kind = object if isinstance(value, str) else float
        given[name] = given[name].astype(kind)
        given[name][7] = value
    with pytest.raises(CalibrationError, match=words):
        ClassCalibrator().fit(**given)


@pytest.mark.parametrize("shrinkage", [-1, np.nan, "some", None])
def test_a_shrinkage_that_is_none_is_refused(drawn, shrinkage):
    with pytest.raises(CalibrationError, match=f"The shrinkage is {shrinkage!r}"):
        ClassCalibrator(shrinkage=shrinkage).fit(*drawn)


def test_logits_of_other_classes_are_refused(drawn):
    logits, _, leaf = drawn
    fitted = ClassCalibrator(shrinkage=1.0).fit(*drawn)
    with pytest.raises(CalibrationError, match="rows by 3 classes is needed"):
        fitted.predict(logits[:, :2], leaf)
    with pytest.raises(CalibrationError, match="an array of shape"):
        ClassCalibrator().fit(logits[:, 0], *drawn[1:])


@pytest.mark.parametrize("shrinkage", [0.0, 10.0, "cv"])
@pytest.mark.parametrize("unit", [1 / 600, 2.0**20])
def test_the_unit_of_the_weights_does_not_matter(drawn, shrinkage, unit):
    logits, y, leaf = (each[:600] for each in drawn)
    weight = np.random.default_rng(1).uniform(0.5, 2, 600)
    found, other = (
        ClassCalibrator("dirichlet", shrinkage=shrinkage).fit(logits, y, leaf, each)
        for each in (unit * weight, weight)
    )
    assert found.shrinkage_ == other.shrinkage_
    assert found.predict(logits, leaf) == pytest.approx(other.predict(logits, leaf), abs=1e-5)


def test_a_weight_that_all_rows_share_is_none(drawn):
    logits, y, leaf = (each[:600] for each in drawn)
    found, plain = (
        ClassCalibrator("vector", shrinkage=30.0).fit(logits, y, leaf, weight)
        for weight in (np.full(600, 0.25), None)
    )
    assert found.predict(logits, leaf) == pytest.approx(plain.predict(logits, leaf), abs=1e-9)
