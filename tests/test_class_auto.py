from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax

from hetcal import class_auto
from hetcal.class_auto import choose_class_maps
from hetcal.class_metrics import macro_lift
from hetcal.class_rows import ClassRows
from hetcal.errors import CalibrationError

LEAVES = (1, 2, 3)
NAMES = [
    "identity",
    *("pooled temperature", "pooled vector", "pooled Dirichlet"),
    *("tree temperature", "tree vector", "tree Dirichlet"),
]
SHIFTS = np.array([[1.5, 0, 0], [0, 0, 0], [0, 0, 1.5]])


def drawn(size, seed, *, blind=0.0, sure=1.0, classes=3):
    """Rows with true probabilities; scores that are too sure, and blind to what leaves shift."""
    rng = np.random.default_rng(seed)
    logits, leaf = rng.normal(0, 1.5, (size, classes)), rng.integers(1, 4, size)
    chance = softmax(logits + blind * SHIFTS[leaf - 1, :classes], axis=1)
    y = (rng.random((size, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    return ClassRows(log_softmax(sure * logits, axis=1), y, leaf, None)


@pytest.fixture(scope="module")
def choice():
    return choose_class_maps(drawn(2_000, 0, blind=1.0), LEAVES)


@pytest.mark.parametrize("seed", range(4))
def test_a_perfect_model_is_left_as_it_is(seed):
    rows = drawn(1_500, seed)
    choice = choose_class_maps(rows, LEAVES, seed=seed)
    assert choice.chosen == "identity"
    assert "Leave the model as it is" in choice.why
    assert np.array_equal(choice.calibrator.predict_logits(rows.logits, rows.leaf), rows.logits)


def test_leaves_that_differ_get_maps_of_their_own(choice):
    assert choice.chosen == "tree vector"
    assert choice.divided
    new = drawn(6_000, 1, blind=1.0)
    after = choice.calibrator.predict_logits(new.logits, new.leaf)
    lift = macro_lift(new.y, new.logits, after)
    table = choice.candidates.set_index("name")
    assert lift.z > 5
    assert lift.auc == pytest.approx(table.lift["tree vector"], abs=4 * table.se["tree vector"])
    assert f"{table.lift['tree vector']:+.4f} macro AUC" in choice.why


def test_a_model_that_is_only_too_sure_gets_one_temperature():
    rows = drawn(3_000, 2, sure=2.5)
    choice = choose_class_maps(rows, LEAVES)
    assert choice.chosen == "pooled temperature"
    assert not choice.divided
    for leaf in LEAVES:
        weights = choice.calibrator.maps_[leaf].weights
        assert weights == pytest.approx(np.eye(3) / 2.5, abs=0.03)


def test_a_temperature_that_cannot_change_the_order_is_kept_for_the_probabilities():
    rows = drawn(3_000, 3, sure=2.5, classes=2)
    choice = choose_class_maps(rows, LEAVES)
    table = choice.candidates.set_index("name")
    assert choice.chosen == "pooled temperature"
    assert (table.lift["pooled temperature"], table.se["pooled temperature"]) == (0.0, 0.0)
    assert table.log_loss["pooled temperature"] < table.log_loss["identity"] - 0.02
    assert f"log-loss {table.log_loss['identity']:.4f} before" in choice.why


def test_a_map_that_mends_the_probabilities_and_harms_the_order_is_not_kept(monkeypatch):
    rows = drawn(3_000, 3, sure=2.5, classes=2)
    gain = class_auto.ClassFolds.gain

    def harmed(folds, before, after):
        found = gain(folds, before, after)
        return replace(found, auc=-0.01 if after.candidate.method else 0.0)

    monkeypatch.setattr(class_auto.ClassFolds, "gain", harmed)
    assert choose_class_maps(rows, LEAVES).chosen == "identity"


def test_a_better_order_alone_is_not_trusted(monkeypatch):
    rows = drawn(1_500, 0)
    gain = class_auto.ClassFolds.gain

    def lifted(folds, before, after):
        found = gain(folds, before, after)
        return replace(found, auc=0.05 if after.candidate.method else 0.0, se=0.001)

    monkeypatch.setattr(class_auto.ClassFolds, "gain", lifted)
    choice = choose_class_maps(rows, LEAVES)
    assert choice.chosen == "identity"
    assert "both in its order and in its log-loss" in choice.why


def test_the_table_tells_lift_interval_and_choice(choice):
    table = choice.candidates
    assert table.name.tolist() == NAMES
    assert table.name[table.chosen].tolist() == [choice.chosen]
    assert table.lift[0] == table.se[0] == 0
    assert np.allclose(table.high - table.low, 2 * 1.959964 * table.se, rtol=1e-5)
    assert table.strength.isna().tolist() == [True] * 4 + [False] * 3
    assert (table.rows == 2_000).all()


def test_equal_inputs_give_equal_choices(choice):
    again = choose_class_maps(drawn(2_000, 0, blind=1.0), LEAVES)
    assert again.digest == choice.digest
    pd.testing.assert_frame_equal(again.candidates, choice.candidates)


def test_rows_without_weight_or_scores_do_not_count():
    rows = drawn(1_200, 4, blind=1.0)
    logits, weight = rows.logits.copy(), np.r_[np.ones(900), np.zeros(300)]
    logits[:10, 1] = np.nan
    part = replace(rows.of(np.arange(10, 900)), weight=np.ones(890))
    found = choose_class_maps(replace(rows, logits=logits, weight=weight), LEAVES)
    assert found.digest == choose_class_maps(part, LEAVES).digest


def test_a_rare_class_does_not_count_and_stays_possible():
    rows = drawn(1_500, 5, blind=1.0)
    rare = np.flatnonzero(rows.y == 1)[12:]
    rows = rows.of(np.setdiff1d(np.arange(rows.y.size), rare))
    choice = choose_class_maps(rows, LEAVES)
    assert choice.uncounted == (1,)
    after = choice.calibrator.predict(rows.logits, rows.leaf)
    assert ((after > 0) & (after < 1)).all()


def test_too_few_rows_of_every_class_are_refused():
    rows = drawn(400, 6)
    few = np.concatenate([np.flatnonzero(rows.y == 0), np.flatnonzero(rows.y > 0)[:9]])
    with pytest.raises(CalibrationError, match="no class has 20 rows or more"):
        choose_class_maps(rows.of(few), LEAVES)


def test_rows_of_a_large_table_are_sampled_and_the_maps_fitted_on_all(monkeypatch, choice):
    rows = drawn(2_000, 0, blind=1.0)
    monkeypatch.setattr(class_auto, "MAX_HELD", 1_200)
    found = choose_class_maps(rows, LEAVES)
    assert (found.candidates.rows == 1_200).all()
    assert sum(found.calibrator.rows_.values()) == 2_000


def test_progress_is_told_and_can_end_the_choice():
    told = []

    def tell(done, doing):
        told.append((done, doing))
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_class_maps(drawn(600, 0), LEAVES, progress=tell)
    assert told == [(i / 8, f"Trying: {NAMES[i]}") for i in range(3)]


def test_leaves_that_are_groups_have_no_maps_that_new_groups_could_use():
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 21, 4_000)
    logits, shift = rng.normal(0, 1.5, (4_000, 3)), rng.normal(0, 1, (20, 3))
    chance = softmax(logits + shift[leaf - 1], axis=1)
    y = (rng.random((4_000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    rows, leaves = ClassRows(log_softmax(logits, axis=1), y, leaf, None), tuple(range(1, 21))
    assert choose_class_maps(rows, leaves).divided
    apart = choose_class_maps(replace(rows, group=leaf), leaves)
    assert not apart.divided
    assert apart.candidates["lift"].max() < 0.01


def test_a_class_of_a_few_groups_does_not_count():
    rows = drawn(1_500, 5, blind=1.0)
    group = np.where(rows.y == 1, np.arange(1_500) % 3, np.arange(1_500) % 40 + 3)
    assert choose_class_maps(replace(rows, group=group), LEAVES).uncounted == (1,)


def test_many_classes_of_a_row_each_are_no_others_to_tell_a_class_from():
    rng = np.random.default_rng(0)
    y = np.append(np.zeros(200, dtype=np.int64), np.arange(1, 31))
    logits = log_softmax(rng.normal(size=(230, 31)), axis=1)
    with pytest.raises(CalibrationError, match="no class has 20 rows or more"):
        choose_class_maps(ClassRows(logits, y, np.ones(230, dtype=np.int64), None), (1,))
