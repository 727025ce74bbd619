import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.cells.cells import Cells
from hetcal.cells.joint import joint_sketch, joint_sketch_bytes, read_joint_sketch
from hetcal.errors import ArtifactError
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import measure_cells
from hetcal.results.evaluation import lift_of_cells

LEAVES = (3, 1, 7)


class Drawn:
    """Rows whose logit after depends on more than their leaf and the logit before."""

    def __init__(self, weighted, rows=20_000):
        rng = np.random.default_rng(5)
        x, z = rng.normal(size=(2, rows))
        self.leaf = rng.choice(LEAVES, rows)
        self.before, self.after = 3 * z, 1.5 * z + 1.5 * np.sign(x) + 0.2 * x
        self.y = (rng.random(rows) < expit(self.after)).astype(np.int64)
        self.weight = rng.exponential(size=rows) if weighted else None

    @property
    def cells(self):
        same = self.y, self.leaf, self.weight
        return Cells.of_rows(self.before, *same), Cells.of_rows(self.after, *same)


@pytest.fixture(params=[False, True], ids=["counted", "weighted"])
def drawn(request):
    return Drawn(request.param)


@pytest.fixture
def coarse(drawn):
    return joint_sketch(*drawn.cells, LEAVES, most=4_000)


def test_cells_have_nearly_the_measures_of_the_rows_before_and_after(drawn, coarse):
    assert coarse.key.size <= 4_000
    for cells, scores in zip(coarse.cells, (drawn.before, drawn.after), strict=True):
        found, given = measure_cells(cells), {"sample_weight": drawn.weight}
        area = roc_auc_score(drawn.y, scores, **given)
        assert found.auc == pytest.approx(area, abs=1e-3)
        loss = log_loss(drawn.y, expit(scores), **given)
        assert found.log_loss == pytest.approx(loss, abs=1e-3)


def test_the_lift_and_its_standard_error_are_those_of_the_rows(drawn, coarse):
    exact = paired_delong(drawn.y, drawn.before, drawn.after, drawn.weight)
    found = lift_of_cells(*coarse.cells)
    assert found.auc == pytest.approx(exact.auc, abs=1e-3)
    assert found.se == pytest.approx(exact.se, rel=0.02)


def test_every_row_is_in_the_cell_of_its_leaf_its_label_and_both_logits(drawn, coarse):
    before, after = coarse.cells
    weight = np.ones(drawn.y.size) if drawn.weight is None else drawn.weight
    for i in np.random.default_rng(0).choice(before.rows.size, 30):
        inside = (drawn.leaf == before.leaf[i]) & (drawn.y == before.y[i])
        for cells, scores in ((before, drawn.before), (after, drawn.after)):
            edges = _bin_of(coarse, cells is after, i)
            inside &= (edges[0] <= scores) & (scores <= edges[1])
        assert before.rows[i] == after.rows[i] == inside.sum()
        assert before.weight[i] == pytest.approx(weight[inside].sum())
        assert before.squares[i] == pytest.approx((weight[inside] ** 2).sum())
        for cells, scores in ((before, drawn.before), (after, drawn.after)):
            mean = np.average(scores[inside], weights=weight[inside])
            assert cells.score[i] == pytest.approx(mean, abs=1e-12)


def _bin_of(sketch, after, i):
    """The ends of a bin of a cell, also where its only row is known exactly."""
    side = sketch.after if after else sketch.before
    score = sketch.cells[int(after)].score[i : i + 1]
    number = side.grid.bin_of(score)
    return side.grid.low(number)[0], side.grid.high(number)[0]


def test_few_rows_that_count_once_come_back_exactly():
    drawn = Drawn(weighted=False, rows=300)
    before, after = joint_sketch(*drawn.cells, LEAVES).cells
    found = sorted(zip(before.leaf, before.y, before.score, after.score, strict=True))
    rows = sorted(zip(drawn.leaf, drawn.y, drawn.before, drawn.after, strict=True))
    assert np.array_equal(found, rows)
    assert np.array_equal(before.low, before.high)


def test_rows_of_other_leaves_are_left_out(drawn):
    before, after = joint_sketch(*drawn.cells, [7]).cells
    assert before.rows.sum() == after.rows.sum() == np.sum(drawn.leaf == 7)
    assert set(before.leaf) == {7}


def test_a_joint_sketch_comes_back_from_its_bytes(drawn, coarse):
    data = joint_sketch_bytes(coarse)
    again = read_joint_sketch(data)
    assert joint_sketch_bytes(again) == data
    assert joint_sketch_bytes(joint_sketch(*drawn.cells, LEAVES, most=4_000)) == data
    assert np.array_equal(again.key, coarse.key)
    assert np.array_equal(again.rows, coarse.rows)
    assert (again.weight is None) == (drawn.weight is None)
    for found, expected in zip(again.cells, coarse.cells, strict=True):
        assert np.array_equal(found.weight, expected.weight)
        assert np.array_equal(found.squares, expected.squares)
        step = 32 / coarse.bins / 2**16
        assert np.abs(found.score - expected.score).max() <= step


def test_measures_after_reading_are_those_before_writing(coarse):
    again = read_joint_sketch(joint_sketch_bytes(coarse))
    for found, expected in zip(again.cells, coarse.cells, strict=True):
        assert measure_cells(found).auc == pytest.approx(measure_cells(expected).auc, abs=1e-6)
        loss = measure_cells(expected).log_loss
        assert measure_cells(found).log_loss == pytest.approx(loss, abs=1e-6)


def header_with(data, **changes):
    header, _, body = data.partition(b"\n")
    return json.dumps(json.loads(header) | changes).encode() + b"\n" + body


SIDE = {"reach": 16.0, "lowest": 0.0, "highest": 0.1}


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda data: b"", "not JSON text"),
        (lambda data: b" " * 2**17, "first line is too long"),
        (lambda data: data[:-8], "length is not the one"),
        (lambda data: data + b"\0", "length is not the one"),
        (lambda data: b"\n\x08".join(re.split(rb"\n.", data, maxsplit=1)), "impossible size"),
        (lambda data: header_with(data, kind="hetcal sketch"), "not of the kind"),
        (lambda data: header_with(data, format=3), "not of the kind"),
        (lambda data: header_with(data, bins=3000), "powers of two"),
        (lambda data: header_with(data, bins=2**20), "'bins'"),
        (lambda data: header_with(data, cells=2**40), "'cells'"),
        (lambda data: header_with(data, leaves=[{"id": 1}, {"id": 1}]), "leaf ids are repeated"),
        (lambda data: header_with(data, leaves=[{"id": 1}]), "cells are not in order"),
        (lambda data: header_with(data, after={"reach": 16.0}), "no 'lowest'"),
        (lambda data: header_with(data, after=SIDE), "beyond its extreme scores"),
    ],
)
def test_a_damaged_joint_sketch_is_refused_in_words(coarse, broken, words):
    with pytest.raises(ArtifactError, match=words):
        read_joint_sketch(broken(joint_sketch_bytes(coarse)))


def test_cells_out_of_order_are_refused(coarse):
    key = coarse.key.copy()
    key[1] = key[0]
    with pytest.raises(ArtifactError, match="cells are not in order"):
        read_joint_sketch(joint_sketch_bytes(replace(coarse, key=key)))


@pytest.mark.parametrize("impossible", [0, 2**54])
def test_an_impossible_number_of_rows_is_refused(coarse, impossible):
    rows = coarse.rows.copy()
    rows[0] = impossible
    with np.errstate(divide="ignore"):
        damaged = joint_sketch_bytes(replace(coarse, rows=rows))
    with pytest.raises(ArtifactError, match="impossible number of rows"):
        read_joint_sketch(damaged)


@pytest.mark.parametrize("impossible", [-1.0, np.nan])
def test_a_weight_that_is_not_positive_is_refused(impossible):
    sketch = joint_sketch(*Drawn(weighted=True, rows=50).cells, LEAVES)
    damaged = joint_sketch_bytes(sketch)[:-8] + np.float64(impossible).tobytes()
    with pytest.raises(ArtifactError, match="impossible sum"):
        read_joint_sketch(damaged)
