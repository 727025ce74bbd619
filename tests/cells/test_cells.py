import numpy as np

from hetcal.cells.cells import Cells


def test_a_row_is_a_cell_of_its_own_weight():
    scores = np.array([0.5, np.nan, -2.0, np.inf, 1.0])
    y, leaf = np.array([1, 0, 0, 1, 1]), np.array([2, 1, 1, 1, 2])
    cells = Cells.of_rows(scores, y, leaf)
    assert cells.score.tolist() == cells.low.tolist() == cells.high.tolist() == [0.5, -2, 1]
    assert (cells.y.tolist(), cells.leaf.tolist()) == ([1, 0, 1], [2, 1, 2])
    assert cells.rows.tolist() == cells.weight.tolist() == cells.squares.tolist() == [1, 1, 1]
    weighted = Cells.of_rows(scores, y, leaf, np.array([3.0, 1, 0, 1, 0.5]))
    assert (weighted.weight.tolist(), weighted.squares.tolist()) == ([3, 0.5], [9, 0.25])
    assert weighted.rows.tolist() == [1, 1]


def test_a_leaf_can_be_looked_at_alone():
    cells = Cells.of_rows(np.arange(4.0), np.array([0, 1, 0, 1]), np.array([1, 2, 2, 1]))
    assert cells.inside(2).score.tolist() == [1, 2]
    assert cells.chosen(np.array([3, 0])).score.tolist() == [3, 0]


def test_chosen_rows_share_what_all_rows_share():
    y, leaf, weight = np.array([0, 1, 1]), np.array([5, 6, 7]), np.array([2.0, 3.0, 4.0])
    for given in (None, weight):
        cells = Cells.of_rows(np.arange(3.0), y, leaf, given)
        for which in (np.array([2, 0]), np.array([True, False, True]), np.zeros(3, bool)):
            some = cells.chosen(which)
            assert some.low is some.score is some.high
            for name in vars(cells):
                assert np.array_equal(getattr(some, name), getattr(cells, name)[which])
            assert some.rows.strides == (0,)
            assert some.chosen(np.arange(some.y.size)).weight.tolist() == some.weight.tolist()


def test_a_falling_map_turns_the_interval_round():
    one = np.ones(1)
    cells = Cells(one, np.array([1]), np.array([7]), one, one, np.array([3]), 0 * one, 4 * one)
    mapped = cells.mapped(lambda scores, leaf: -0.5 * scores + leaf)
    assert (mapped.low[0], mapped.score[0], mapped.high[0]) == (5, 6.5, 7)
    assert (mapped.centre[0], mapped.weight[0], mapped.rows[0]) == (6, 1, 3)


def test_a_question_is_answered_once():
    cells, calls = Cells.of_rows(np.arange(3.0), np.array([0, 1, 1]), np.ones(3, int)), []

    def highest(given):
        calls.append(given)
        return given.score.max()

    assert [cells.cached(highest), cells.cached(highest)] == [2, 2]
    assert calls == [cells]
    assert cells.chosen(np.array([0])).cached(highest) == 0
