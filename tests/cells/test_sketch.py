import json
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hetcal.cells.sketch import CHUNK, Grid, grid_for_most, read_sketch, sketch_bytes, sketch_rows
from hetcal.errors import ArtifactError, CalibrationError

LEAVES = [3, 1, 2]


def sample(rows=3_000, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=3, size=rows)
    scores[::97] = np.nan
    scores[1::97] = np.inf
    scores[2::97] *= 100
    weight = rng.exponential(size=rows)
    weight[5::31] = 0
    return scores, rng.integers(0, 2, rows).astype(np.int8), rng.integers(0, 4, rows), weight


@pytest.fixture(params=["numpy", "compiled"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("weighted", [False, True])
def test_every_cell_is_the_sum_over_its_rows(weighted):
    scores, y, leaf, weight = sample()
    grid = Grid(16.0, 64)
    w = weight if weighted else np.ones(y.size)
    sketch = sketch_rows(scores, y, leaf, LEAVES, grid, weight if weighted else None)
    for position, each in enumerate(LEAVES):
        for label in (0, 1):
            here = (leaf == each) & (y == label) & (w > 0)
            lost = here & ~np.isfinite(scores)
            assert sketch.excluded[position, label] == lost.sum()
            for b in range(grid.bins):
                low = -np.inf if b == 0 else -16 + b / 2
                high = np.inf if b == grid.bins - 1 else -16 + (b + 1) / 2
                inside = here & ~lost & (scores >= low) & (scores < high)
                assert sketch.rows[position, b, label] == inside.sum()
                assert sketch.total[position, b, label] == pytest.approx(
                    np.sum(w[inside] * scores[inside])
                )
                if weighted:
                    assert sketch.weight[position, b, label] == pytest.approx(w[inside].sum())
                    assert sketch.squares[position, b, label] == pytest.approx(
                        np.sum(w[inside] ** 2)
                    )
    used = np.isfinite(scores) & (leaf > 0) & (w > 0)
    assert (sketch.lowest, sketch.highest) == (scores[used].min(), scores[used].max())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("weighted", [False, True])
def test_two_sketches_add_up_to_the_sketch_of_all_rows(weighted):
    *arrays, weight = sample()
    grid = grid_for_most(arrays[0])

    def sketch(rows):
        part = weight[rows] if weighted else None
        return sketch_rows(*(each[rows] for each in arrays), LEAVES, grid, part)

    whole, sum_ = sketch(slice(None)), sketch(slice(1_700)) + sketch(slice(1_700, None))
    assert np.array_equal(whole.rows, sum_.rows)
    assert np.array_equal(whole.excluded, sum_.excluded)
    assert (whole.lowest, whole.highest) == (sum_.lowest, sum_.highest)
    for name in ("total", "weight", "squares") if weighted else ("total",):
        assert getattr(sum_, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-12)


@example([0.0] * 7 + [-0.0])
@example([0.0, -0.0, -0.0, 0.0, -0.0])
@given(st.lists(st.floats(width=32) | st.sampled_from([0.0, 2.0**-7, -16.0, 16.0]), max_size=40))
def test_compiled_and_numpy_counts_are_the_same(scores):
    pytest.importorskip("numba")
    scores = np.array(scores, dtype=np.float64)
    y, leaf = np.arange(scores.size) % 2, np.arange(scores.size) % 3
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for switch in "01":
            patch.setenv("HETCAL_COMPILED", switch)
            found.append(sketch_rows(scores, y, leaf, [1, 2], Grid()))
    assert sketch_bytes(found[0]) == sketch_bytes(found[1])
    assert np.array_equal(found[0].total, found[1].total)


def test_single_precision_scores_are_counted_like_double_ones():
    scores, y, leaf, _ = sample()
    short = scores.astype(np.float32)
    one, other = (sketch_rows(s, y, leaf, LEAVES, Grid()) for s in (short, short.astype(float)))
    assert sketch_bytes(one) == sketch_bytes(other)
    assert np.array_equal(one.total, other.total)


def test_a_pass_in_several_chunks_counts_every_row():
    rows = CHUNK + 10
    scores = np.linspace(-5, 5, rows)
    sketch = sketch_rows(scores, np.zeros(rows, int), np.ones(rows, int), [1], Grid())
    expected = np.bincount(np.floor(scores * 128).astype(int) + 2048, minlength=4096)
    assert np.array_equal(sketch.rows[0, :, 0], expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_hold_the_rows_and_their_mean(weighted):
    scores, y, leaf, weight = sample()
    grid = Grid()
    w = weight if weighted else np.ones(y.size)
    used = np.isfinite(scores) & (w > 0) & (leaf > 0)
    cells = sketch_rows(scores, y, leaf, LEAVES, grid, weight if weighted else None).cells()
    assert cells.rows.min() > 0
    key = [cells.leaf, cells.y, grid.bin_of(cells.centre)]
    number = {each: i for i, each in enumerate(zip(*(k.tolist() for k in key), strict=True))}
    cell_of = np.array(
        [
            number[each]
            for each in zip(
                leaf[used].tolist(),
                y[used].tolist(),
                grid.bin_of(scores[used]).tolist(),
                strict=True,
            )
        ]
    )
    assert np.array_equal(np.bincount(cell_of), cells.rows)
    assert np.bincount(cell_of, w[used]) == pytest.approx(cells.weight)
    assert np.bincount(cell_of, w[used] ** 2) == pytest.approx(cells.squares)
    assert np.bincount(cell_of, w[used] * scores[used]) == pytest.approx(cells.score * cells.weight)
    assert np.all(cells.low[cell_of] <= scores[used])
    assert np.all(scores[used] <= cells.high[cell_of])


def test_coarser_is_the_sketch_on_the_coarser_grid():
    scores, y, leaf, weight = sample()
    fine = sketch_rows(scores, y, leaf, LEAVES, Grid(), weight)
    direct = sketch_rows(scores, y, leaf, LEAVES, Grid(bins=256), weight)
    coarse = fine.coarser(256)
    assert coarse.grid == direct.grid
    assert np.array_equal(coarse.rows, direct.rows)
    assert coarse.total == pytest.approx(direct.total)
    assert coarse.squares == pytest.approx(direct.squares)
    assert fine.coarser(2**15).grid == fine.grid


def test_sketches_of_other_grids_leaves_or_weights_do_not_add_up():
    scores, y, leaf, weight = sample()
    sketch = sketch_rows(scores, y, leaf, LEAVES, Grid())
    others = [
        sketch_rows(scores, y, leaf, LEAVES, Grid(bins=64)),
        sketch_rows(scores, y, leaf, [1, 2, 3], Grid()),
        sketch_rows(scores, y, leaf, LEAVES, Grid(), weight),
    ]
    for other in others:
        with pytest.raises(CalibrationError, match="the same bins, the same leaves"):
            sketch + other


@pytest.mark.parametrize("rows", [0, 3_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_bytes_give_back_the_rows_and_nearly_the_sums_of_scores(rows, weighted):
    scores, y, leaf, weight = (each[:rows] for each in sample())
    sketch = sketch_rows(scores, y, leaf, LEAVES, Grid(), weight if weighted else None)
    again = read_sketch(sketch_bytes(sketch))
    assert sketch_bytes(again) == sketch_bytes(sketch)
    assert (again.grid, again.leaves) == (sketch.grid, sketch.leaves)
    assert (again.lowest, again.highest) == (sketch.lowest, sketch.highest)
    assert np.array_equal(again.rows, sketch.rows)
    assert np.array_equal(again.excluded, sketch.excluded)
    weight = sketch.weight if weighted else sketch.rows
    assert np.array_equal(again.weight if weighted else again.rows, weight)
    risen = again.total - sketch.total  # less than 1/65,536 of a bin of 1/128 for each row
    assert np.all((risen > -1e-9) & (risen <= weight / 2**23 + 1e-9))
    ends = slice(None, None, 4095)
    assert np.array_equal(again.total[:, ends], sketch.total[:, ends])


def test_a_score_does_not_fall_below_itself_when_it_is_read_again():
    tied = np.repeat(np.arange(-80, 80) / 10, [1, 3] * 80)
    same = np.zeros(tied.size, int)
    again = read_sketch(sketch_bytes(sketch_rows(tied, same, same + 1, [1], Grid()))).cells()
    risen = again.score - np.unique(tied)
    assert np.all((risen > -1e-11) & (risen < 2.0**-23))
    assert again.score[80] == 0.0


HEADER = {
    **{"kind": "hetcal sketch", "format": 1, "reach": 16.0, "bins": 4, "leaves": [{"id": 7}]},
    **{"cells": 2, "weighted": False, "lowest": -3.0, "highest": 20.5},
}


def first_format(excluded=(0, 2), cells=(2, 7), rows=(3, 1), total=(-5.1, 20.5)):
    numbers = [np.array([*excluded, *cells, *rows], "<i8"), np.array(total, "<f8")]
    return b"\n".join([json.dumps(HEADER).encode(), b"".join(each.tobytes() for each in numbers)])


def test_a_sketch_of_the_first_format_is_read():
    sketch = read_sketch(first_format())
    assert (sketch.grid, sketch.leaves) == (Grid(16.0, 4), (7,))
    assert sketch.rows.tolist() == [[[0, 0], [3, 0], [0, 0], [0, 1]]]
    assert sketch.total.tolist() == [[[0, 0], [-5.1, 0], [0, 0], [0, 20.5]]]
    assert sketch.excluded.tolist() == [[0, 2]]
    assert (sketch.lowest, sketch.highest) == (-3.0, 20.5)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (first_format()[:-1], "length is not the one"),
        (first_format() + b"0", "length is not the one"),
        (first_format(excluded=(0, -1)), "impossible number of rows"),
        (first_format(rows=(3, 0)), "impossible number of rows"),
        (first_format(cells=(7, 2)), "cells are not in order"),
        (first_format(cells=(-1, 2)), "cells are not in order"),
        (first_format(cells=(2, 8)), "cells are not in order"),
        (first_format(total=(np.inf, 1)), "impossible sum"),
    ],
)
def test_a_damaged_sketch_of_the_first_format_is_refused(broken, words):
    with pytest.raises(ArtifactError, match=words):
        read_sketch(broken)


def test_spoiled_bytes_raise_nothing_but_artifact_errors():
    scores, y, leaf, weight = (each[:200] for each in sample())
    content = sketch_bytes(sketch_rows(scores, y, leaf, LEAVES, Grid(bins=64), weight))
    source, refused = random.Random(0), 0
    for _ in range(400):
        spoiled = bytearray(content)
        for _ in range(source.randint(1, 3)):
            spoiled[source.randrange(len(spoiled))] = source.randrange(256)
        spoiled = spoiled[: source.choice([None, None, source.randrange(len(spoiled))])]
        try:
            cells = read_sketch(bytes(spoiled)).cells()
        except ArtifactError:
            refused += 1
        else:
            assert np.all(cells.low <= cells.high)
    assert refused > 200
