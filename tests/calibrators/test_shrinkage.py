import numpy as np
import pytest
from scipy.special import expit

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shrinkage import (
    STRENGTHS,
    best_strength,
    folds,
    group_folds,
    strength_table,
)
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.data.splits import draw_group_folds
from hetcal.metrics.metrics import log_loss


def sample(rows, leaves, spread, seed=0):
    """Leaves of equal size whose maps differ by some amount."""
    rng = np.random.default_rng(seed)
    leaf = np.arange(rows) % leaves + 1
    slope, shift = 1 + spread * rng.normal(size=leaves + 1), spread * rng.normal(size=leaves + 1)
    scores = rng.normal(scale=2, size=rows)
    return scores, rng.binomial(1, expit(slope[leaf] * scores + shift[leaf])), leaf


def test_leaves_that_are_alike_share_one_map():
    fitted = LeafCalibrator(shrinkage="cv").fit(*sample(1_500, 30, spread=0))
    assert fitted.shrinkage_ >= 300


def test_large_leaves_that_differ_keep_maps_of_their_own():
    fitted = LeafCalibrator(shrinkage="cv").fit(*sample(20_000, 4, spread=0.6))
    assert fitted.shrinkage_ <= 10


def test_shrunken_maps_beat_both_plain_maps_and_one_map_where_leaves_are_small():
    scores, y, leaf = sample(60_000, 40, spread=0.4)
    few = slice(0, 2_400)
    losses = {}
    for shrinkage in (0.0, "cv", np.inf):
        fitted = LeafCalibrator(shrinkage=shrinkage).fit(scores[few], y[few], leaf[few])
        losses[shrinkage] = log_loss(y, fitted.predict_logit(scores, leaf))
    assert losses["cv"] < min(losses[0.0], losses[np.inf]) - 1e-3


def test_the_table_is_the_loss_of_rows_that_the_maps_were_not_fitted_on():
    scores, y, leaf = sample(600, 3, spread=0.5)
    fitted = LeafCalibrator(shrinkage="cv", random_state=5).fit(scores, y, leaf)
    table = fitted.shrinkage_table_
    assert tuple(table["strength"]) == STRENGTHS
    parts = list(folds(Cells.of_rows(scores, y, leaf), 5))
    for position in (0, 3, 8):
        loss = 0.0
        for train, test in parts:
            each = LeafCalibrator(shrinkage=STRENGTHS[position])
            each.fit(train.score, train.y, train.leaf, leaves=[1, 2, 3])
            loss += test.y.size * log_loss(test.y, each.predict_logit(test.score, test.leaf))
        assert table["log_loss"][position] == pytest.approx(loss / 600)
    assert fitted.shrinkage_ == table["strength"][table["log_loss"].argmin()]
    assert table["difference"].min() == 0
    assert (table["difference_se"] >= 0).all()


def test_every_row_is_in_one_test_fold_and_all_other_train_folds():
    scores, y, leaf = sample(500, 2, spread=0)
    parts = list(folds(Cells.of_rows(scores, y, leaf), 0))
    assert len(parts) == 5
    assert sorted(np.concatenate([test.score for _, test in parts])) == sorted(scores)
    for train, test in parts:
        assert sorted(np.append(train.score, test.score)) == sorted(scores)
        assert 60 < test.score.size < 140


def test_the_rows_of_a_cell_are_divided():
    cells = sketch_rows(*sample(5_000, 2, spread=0), [1, 2], Grid(16.0, 32)).cells()
    for train, test in folds(cells, 0):
        assert train.rows.sum() + test.rows.sum() == 5_000
        assert np.array_equal(test.rows, test.weight)
        assert 800 < test.rows.sum() < 1_200


def test_folds_depend_on_the_seed_alone():
    cells = Cells.of_rows(*sample(300, 2, spread=0))
    one, same, other = (next(folds(cells, seed))[1].score for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_many_rows_are_sketched_for_the_choice(monkeypatch):
    rows = sample(4_000, 4, spread=0.5)
    exact = LeafCalibrator(shrinkage="cv").fit(*rows).shrinkage_table_["log_loss"]
    monkeypatch.setattr("hetcal.calibrators.shrinkage.MOST_CELLS", 1_000)
    rough = LeafCalibrator(shrinkage="cv").fit(*rows).shrinkage_table_["log_loss"]
    assert not np.array_equal(rough, exact)
    assert rough.to_numpy() == pytest.approx(exact.to_numpy(), abs=0.01)


def test_without_a_fold_that_can_be_fitted_there_is_one_map():
    scores, y, leaf = np.array([0.0, 1.0, 2.0]), np.array([0, 1, 0]), np.ones(3, int)
    fitted = LeafCalibrator(shrinkage="cv").fit(scores, y, leaf)
    assert fitted.shrinkage_ == np.inf
    assert fitted.shrinkage_table_["log_loss"].isna().all()


def test_of_equal_strengths_the_greatest_is_chosen():
    cells = Cells.of_rows(*sample(100, 2, spread=0))
    table = strength_table(lambda _, test, *__: [test.score] * len(STRENGTHS), cells, [1, 2])
    assert best_strength(table) == np.inf


def test_leaves_that_are_groups_share_one_map():
    scores, y, leaf = sample(4_000, 10, spread=0.6)
    mixed = LeafCalibrator(shrinkage="cv").fit(scores, y, leaf)
    apart = LeafCalibrator(shrinkage="cv").fit(scores, y, leaf, groups=leaf)
    assert mixed.shrinkage_ <= 30
    assert apart.shrinkage_ == np.inf  # a leaf left out has the map of all rows at any strength


def test_the_table_is_the_loss_of_groups_that_the_maps_were_not_fitted_on():
    scores, y, leaf = sample(700, 3, spread=0.5)
    weight, group = np.where(np.arange(700) < 100, 0.0, 2.0), np.arange(700) // 10
    scores[650] = np.nan
    fitted = LeafCalibrator(shrinkage="cv", random_state=5)
    table = fitted.fit(scores, y, leaf, weight, groups=group).shrinkage_table_
    used = (weight > 0) & np.isfinite(scores)
    scores, y, leaf, group = scores[used], y[used], leaf[used], group[used]
    fold = draw_group_folds(y, group, 5, 5)
    for position in (0, 3, 8):
        logits = np.empty(y.size)
        for number in range(5):
            here = fold == number
            each = LeafCalibrator(shrinkage=STRENGTHS[position])
            each.fit(scores[~here], y[~here], leaf[~here], np.full((~here).sum(), 2.0), [1, 2, 3])
            logits[here] = each.predict_logit(scores[here], leaf[here])
        assert table["log_loss"][position] == pytest.approx(log_loss(y, logits))


def test_many_rows_of_groups_are_sketched_with_nearly_equal_losses(monkeypatch):
    scores, y, leaf = sample(4_000, 4, spread=0.5)
    rows, group = Cells.of_rows(scores, y, leaf), np.arange(4_000) % 50
    held_out = LeafCalibrator()._held_out
    exact = strength_table(held_out, rows, [1, 2, 3, 4], given=group_folds(rows, group, 0))
    monkeypatch.setattr("hetcal.calibrators.shrinkage.MOST_CELLS", 500)
    sketched = strength_table(held_out, rows, [1, 2, 3, 4], given=group_folds(rows, group, 0))
    assert sketched["log_loss"].to_numpy() == pytest.approx(exact["log_loss"].to_numpy(), abs=1e-5)
    assert not np.array_equal(sketched["log_loss"], exact["log_loss"])


def test_too_few_groups_leave_one_map_for_all():
    scores, y, leaf = sample(2_000, 4, spread=0.6)
    fitted = LeafCalibrator(shrinkage="cv").fit(scores, y, leaf, groups=np.zeros(2_000))
    assert fitted.shrinkage_ == np.inf
    assert fitted.shrinkage_table_["log_loss"].isna().all()
