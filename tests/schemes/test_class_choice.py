import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.errors import CalibrationError, HetcalError
from hetcal.metrics.classes import macro_lift
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition
from hetcal.schemes import choice as choosing
from hetcal.schemes.candidates import IDENTITY, Candidate, GrowthSettings, class_candidates
from hetcal.schemes.choice import choose_scheme
from hetcal.schemes.cross_fitting import Folds, cross_fit, divide_rows, gain_between
from hetcal.schemes.parts import ClassLeavesPart, PooledClassPart
from hetcal.schemes.rows import SchemeRows
from hetcal.schemes.scheme import Scheme, class_calibrator

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
    return SchemeRows(pd.DataFrame({"leaf": leaf}), y, log_softmax(sure * logits, axis=1))


def tree_of(leaves):
    """The tree whose leaf ids are the numbers of the column `leaf`."""
    nodes = []
    for number in range(1, leaves):
        at = len(nodes)
        nodes += [Node(2, 0.5, "leaf", number + 0.5, left=at + 1, right=at + 2), Node(1, 0.5)]
    return Partition((Feature("leaf", "number"),), (*nodes, Node(1, 0.5)))


def choose(rows, leaves=3, **others):
    """Choose with the leaves of a tree that has not seen the rows."""
    unread = replace(part(rows, np.arange(0)), scores=None)
    return choose_scheme(unread, rows, tree=tree_of(leaves), **others)


def part(rows, at):
    """Some of the rows."""
    weight = None if rows.weight is None else rows.weight[at]
    return SchemeRows(rows.X.iloc[at], rows.y[at], rows.scores[at], weight)


@pytest.fixture(scope="module")
def choice():
    return choose(drawn(2_000, 0, blind=1.0))


@pytest.mark.parametrize("seed", range(4))
def test_a_perfect_model_is_left_as_it_is(seed):
    rows = drawn(1_500, seed)
    choice = choose(rows, settings=GrowthSettings(seed))
    assert choice.chosen == "identity"
    assert "No candidate" in choice.why
    assert np.array_equal(choice.scheme.logit(rows.scores, rows.X), rows.scores)
    same = class_calibrator(choice.scheme, 3, [1, 2, 3])
    assert np.array_equal(same.predict_logit(rows.scores, rows.X["leaf"]), rows.scores)


def test_leaves_that_differ_get_maps_of_their_own(choice):
    assert choice.chosen == "tree vector"
    assert choice.divided
    new = drawn(6_000, 1, blind=1.0)
    lift = macro_lift(new.y, new.scores, choice.scheme.logit(new.scores, new.X))
    table = choice.candidates.set_index("name")
    assert lift.z > 5
    assert lift.auc == pytest.approx(table.lift["tree vector"], abs=4 * table.se["tree vector"])
    assert f"{table.lift['tree vector']:+.4f} macro AUC" in choice.why


def test_a_model_that_is_only_over_confident_gets_one_temperature():
    rows = drawn(3_000, 2, sure=2.5)
    choice = choose(rows)
    assert choice.chosen == "pooled temperature"
    assert not choice.divided
    calibrator = class_calibrator(choice.scheme, 3, [1, 2, 3])
    for leaf in (1, 2, 3):
        assert calibrator.maps_[leaf].weights == pytest.approx(np.eye(3) / 2.5, abs=0.03)


@pytest.mark.parametrize(("lift", "chosen"), [(0.0, "pooled temperature"), (-0.01, "identity")])
def test_one_map_is_kept_for_the_probabilities_unless_it_harms_the_order(monkeypatch, lift, chosen):
    _with_gains(monkeypatch, lift, 0.001)
    choice = choose(drawn(3_000, 3, sure=2.5))
    assert choice.chosen == chosen
    losses = choice.candidates.set_index("name").log_loss
    assert losses["pooled temperature"] < losses["identity"] - 0.02
    told = f"log-loss {losses['identity']:.4f} before and {losses[chosen]:.4f} after"
    assert (told in choice.why) == (chosen != "identity")


def test_a_better_order_alone_is_not_trusted(monkeypatch):
    _with_gains(monkeypatch, 0.05, 0.001)
    choice = choose(drawn(1_500, 0))
    assert choice.chosen == "identity"
    assert "significantly better in both macro AUC and log-loss" in choice.why


def _with_gains(monkeypatch, lift, se):
    """Let every candidate but the first have this lift."""

    def gain(before, after, folds):
        found = gain_between(before, after, folds)
        return replace(found, auc=lift if after.candidate.parts else 0.0, se=se)

    monkeypatch.setattr(choosing, "gain_between", gain)


def test_the_table_lists_lift_interval_and_choice(choice):
    table = choice.candidates
    assert table.name.tolist() == NAMES
    assert table.name[table.chosen].tolist() == [choice.chosen]
    assert table.lift[0] == table.se[0] == 0
    assert np.allclose(table.high - table.low, 2 * 1.959964 * table.se, rtol=1e-5)
    assert table.strength.isna().tolist() == [True] * 4 + [False] * 3
    assert (table.rows == 2_000).all()


def test_equal_inputs_give_equal_choices(choice):
    again = choose(drawn(2_000, 0, blind=1.0))
    assert again.digest == choice.digest
    tables = [each.candidates.drop(columns="seconds") for each in (again, choice)]
    pd.testing.assert_frame_equal(*tables)


def test_rows_without_weight_or_scores_do_not_count():
    rows = drawn(1_200, 4, blind=1.0)
    scores, weight = rows.scores.copy(), np.r_[np.ones(900), np.zeros(300)]
    scores[:10, 1] = np.nan
    few = replace(part(rows, np.arange(10, 900)), weight=np.ones(890))
    assert choose(replace(rows, scores=scores, weight=weight)).digest == choose(few).digest


def test_a_rare_class_does_not_count_and_stays_possible():
    rows = drawn(1_500, 5, blind=1.0)
    rare = np.flatnonzero(rows.y == 1)[12:]
    rows = part(rows, np.setdiff1d(np.arange(rows.y.size), rare))
    choice = choose(rows)
    assert choice.uncounted == (1,)
    after = np.exp(choice.scheme.logit(rows.scores, rows.X))
    assert ((after > 0) & (after < 1)).all()


def test_too_few_rows_of_every_class_are_refused():
    rows = drawn(400, 6)
    few = np.concatenate([np.flatnonzero(rows.y == 0), np.flatnonzero(rows.y > 0)[:9]])
    with pytest.raises(CalibrationError, match="No class has at least 20 rows inside"):
        choose(part(rows, few))


def test_rows_of_a_large_table_are_sampled_and_the_maps_fitted_on_all(monkeypatch, choice):
    rows = drawn(2_000, 0, blind=1.0)
    monkeypatch.setattr(choosing, "MAX_HELD", 1_200)
    found = choose(rows)
    assert (found.candidates.rows == 1_200).all()
    assert found.chosen == choice.chosen
    assert found.scheme.stages[0].pooled.difference(choice.scheme.stages[0].pooled) == 0


def test_progress_is_reported_and_can_end_the_choice():
    told = []

    def tell(done, doing):
        told.append((done, doing))
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose(drawn(600, 0), progress=tell)
    assert [doing for _, doing in told] == ["Trying: leave it"] * 3
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_leaves_that_are_groups_have_no_maps_that_new_groups_could_use():
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 21, 4_000)
    logits, shift = rng.normal(0, 1.5, (4_000, 3)), rng.normal(0, 1, (20, 3))
    chance = softmax(logits + shift[leaf - 1], axis=1)
    y = (rng.random((4_000, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    rows = SchemeRows(pd.DataFrame({"leaf": leaf}), y, log_softmax(logits, axis=1))
    assert choose(rows, 20).divided
    apart = choose(replace(rows, group=leaf), 20)
    assert not apart.divided
    assert apart.candidates["lift"].max() < 0.01


def test_a_class_of_a_few_groups_does_not_count():
    rows = drawn(1_500, 5, blind=1.0)
    group = np.where(rows.y == 1, np.arange(1_500) % 3, np.arange(1_500) % 40 + 3)
    assert choose(replace(rows, group=group)).uncounted == (1,)


def test_many_classes_of_one_row_each_are_too_few_rows():
    rng = np.random.default_rng(0)
    y = np.append(np.zeros(200, dtype=np.int64), np.arange(1, 31))
    logits = log_softmax(rng.normal(size=(230, 31)), axis=1)
    with pytest.raises(CalibrationError, match="No class has at least 20 rows inside"):
        choose(SchemeRows(pd.DataFrame({"leaf": np.ones(230)}), y, logits), 1)


def test_the_tree_is_grown_on_training_rows_where_none_is_given():
    training = replace(drawn(3_000, 7, blind=1.0), scores=None)
    choice = choose_scheme(training, drawn(2_000, 0, blind=1.0))
    assert choice.divided
    assert choice.scheme.column_names == {"leaf"}


def test_a_scheme_of_class_maps_is_read_back_bit_for_bit(choice):
    new = drawn(500, 8)
    again = Scheme.from_json(choice.scheme.to_json())
    assert again.digest == choice.scheme.digest
    assert again.partition == tree_of(3)
    expected = choice.scheme.logit(new.scores, new.X)
    assert np.array_equal(again.logit(new.scores, new.X), expected)
    one = Scheme.from_json(choice.one_map.to_json())
    assert (one.partition, one.divided) == (None, False)
    assert np.array_equal(one.logit(new.scores, new.X), choice.one_map.logit(new.scores, new.X))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("method", "linear"),
        ("maps", []),
        ("shrinkage", -1.0),
        ("maps", [{"leaf": 0, "weights": [1, 0, 0, 1], "bias": [0, 0]}]),
        ("partition", None),
    ],
)
def test_a_broken_scheme_of_class_maps_is_refused(choice, key, value):
    content = json.loads(choice.scheme.to_json())
    content["stages"][0][key] = value
    with pytest.raises(HetcalError, match="cannot be used"):
        Scheme.from_json(json.dumps(content))


@pytest.mark.parametrize("scores", [np.zeros(5), np.zeros((5, 4)), np.zeros((5, 3, 1))])
def test_scores_of_other_classes_are_refused(choice, scores):
    with pytest.raises(CalibrationError, match="array of shape"):
        choice.scheme.logit(scores, pd.DataFrame({"leaf": np.ones(5)}))


@pytest.mark.parametrize("shape", [(5, 2), (5, 1), (5, 3, 1), ()])
def test_two_classes_have_one_logit_per_row(shape):
    with pytest.raises(CalibrationError, match="Two classes have one logit per row"):
        SchemeRows(pd.DataFrame({"leaf": np.ones(5)}), np.ones(5, dtype=np.int64), np.zeros(shape))


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def folds(request):
    rows, rng = drawn(1_200, 9, blind=1.0), np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, 1_200) if request.param else None
    return divide_rows(replace(rows, weight=weight), 4, 0)


def by_hand(folds, method, strength):
    """Log-probabilities of every row by a calibrator of the rows of the other folds."""
    held, logs = folds.held, np.empty(folds.held.scores.shape)
    leaf = held.X["leaf"].to_numpy()
    for here in folds.parts:
        rest = np.setdiff1d(np.arange(leaf.size), here)
        found = ClassCalibrator(method, shrinkage=strength)
        found.fit(held.scores[rest], held.y[rest], leaf[rest], held.weights(rest), [1, 2, 3])
        logs[here] = found.predict_logit(held.scores[here], leaf[here])
    return logs


def macro_auc(folds, logs, classes=(0, 1, 2)):
    """The mean over folds and classes of scikit-learn's AUC."""
    held, areas = folds.held, []
    for here in folds.parts:
        for c in classes:
            weight = held.weights(here)
            areas.append(roc_auc_score(held.y[here] == c, logs[here, c], sample_weight=weight))
    return np.mean(areas)


@pytest.mark.parametrize("place", [2, 5], ids=["pooled vector", "tree vector"])
def test_gain_is_the_mean_of_the_folds_differences_in_macro_auc(folds, place):
    held, candidate = folds.held, class_candidates(folds.held, tree_of(3))[place]
    before, after = (cross_fit(each, folds, held.scores) for each in (IDENTITY, candidate))
    logs = by_hand(folds, "vector", np.inf if candidate.pooled else after.strength)
    expected = macro_auc(folds, logs) - macro_auc(folds, held.scores)
    gain = gain_between(before, after, folds)
    assert gain.auc == pytest.approx(expected, abs=1e-12)
    assert after.log_loss == pytest.approx(
        log_loss(held.y, np.exp(logs), sample_weight=held.weight), abs=1e-9
    )
    assert gain.se == pytest.approx(macro_lift(held.y, held.scores, logs, held.weight).se, rel=0.15)


def test_the_strength_of_the_lowest_log_loss_is_taken(folds):
    held, leaf = folds.held, folds.held.X["leaf"].to_numpy()
    own = ClassLeavesPart(PooledClassPart("vector"), tree_of(3), leaf)
    candidate = Candidate("tree vector", "", "calibration", (own,), (3000.0, 30.0, 1.0))
    losses = {
        strength: np.average(
            -by_hand(folds, "vector", strength)[np.arange(leaf.size), held.y], weights=held.weight
        )
        for strength in candidate.strengths
    }
    assert cross_fit(candidate, folds, held.scores).strength == min(losses, key=losses.get)


def test_logits_need_not_be_logarithms_of_probabilities(choice):
    rows = drawn(2_000, 0, blind=1.0)
    shift = np.linspace(-3, 9, rows.y.size)[:, None]  # of all classes alike: no probability moves
    moved = choose(replace(rows, scores=rows.scores + shift))
    assert moved.candidates["log_loss"].to_numpy() == pytest.approx(
        choice.candidates["log_loss"].to_numpy(), abs=1e-6
    )


def test_only_the_classes_that_count_are_ranked(folds):
    some = Folds(folds.held, folds.number, (2,))
    vector = class_candidates(folds.held, tree_of(3))[2]
    before, after = (cross_fit(each, some, folds.held.scores) for each in (IDENTITY, vector))
    logs = by_hand(folds, "vector", np.inf)
    expected = macro_auc(folds, logs, [2]) - macro_auc(folds, folds.held.scores, [2])
    gain = gain_between(before, after, some)
    assert gain.auc == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("classes", "count"), [(20, 7), (21, 5)])
def test_dirichlet_scaling_is_left_out_where_it_would_have_too_many_weights(classes, count):
    scores = np.zeros((4, classes))
    rows = SchemeRows(pd.DataFrame({"leaf": np.ones(4)}), np.zeros(4, dtype=np.int64), scores)
    names = [each.name for each in class_candidates(rows, tree_of(2))]
    assert len(names) == count
    assert ("tree Dirichlet" in names) == (classes == 20)
