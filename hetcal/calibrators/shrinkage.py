"""The strength of the shrinkage towards the pooled map, chosen by cross-validation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Groups, Ints
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import grid_for_most, sketch_rows
from hetcal.data.splits import draw_group_folds
from hetcal.errors import CalibrationError

STRENGTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, float("inf"))
FOLDS = 5
MEASURES = "log_loss", "difference", "difference_se"
MOST_CELLS = 50_000  # more of them are sketched first: the choice needs no more detail

HeldOut = Callable[[Cells, Cells, Sequence[int], Sequence[float]], list[Floats]]
"""From train cells, test cells, leaves and strengths to the logits of the test cells for each."""


def strength_table(
    held_out: HeldOut,
    cells: Cells,
    leaves: Sequence[int],
    seed: int = 0,
    given: Sequence[Cells] | None = None,
) -> pd.DataFrame:
    """Compare strengths by the log-loss of rows that their maps were not fitted on.

    The table has one row per strength: `strength`, `log_loss`, `difference` from the least
    log-loss and its standard error `difference_se`. Log-loss is NaN if no fold could be fitted.
    The folds are drawn at random, or given as the cells of each, see `group_folds`.
    """
    losses: list[list[Floats]] = [[] for _ in STRENGTHS]
    weights, squares = [], []
    parts = folds(_sketched(cells, leaves), seed)
    if given is not None:
        parts = _in_turn([_sketched(each, leaves) for each in given])
    for train, test in parts:
        try:
            found = held_out(train, test, leaves, STRENGTHS)
        except CalibrationError:  # there is no map for a fold of one class only
            continue
        for kept, logits in zip(losses, found, strict=True):
            kept.append(np.logaddexp(0, np.where(test.y == 1, -logits, logits)))
        weights.append(test.weight)
        squares.append(test.squares)
    if not weights:
        return pd.DataFrame({"strength": STRENGTHS} | dict.fromkeys(MEASURES, np.nan))
    loss, weight = np.array([np.concatenate(each) for each in losses]), np.concatenate(weights)
    mean = loss @ weight / weight.sum()
    apart = loss - loss[np.argmin(mean)]
    difference = apart @ weight / weight.sum()
    spread = (apart - difference[:, None]) ** 2 @ np.concatenate(squares)
    measured = mean, difference, np.sqrt(spread / weight.sum() ** 2)
    return pd.DataFrame({"strength": STRENGTHS} | dict(zip(MEASURES, measured, strict=True)))


def best_strength(table: pd.DataFrame) -> float:
    """Return the strength of the least log-loss, the greatest of equals."""
    losses = table["log_loss"].to_numpy()
    if np.isnan(losses).all():
        return float("inf")
    return float(table["strength"].to_numpy()[losses == np.nanmin(losses)].max())


def folds(cells: Cells, seed: int, count: int = FOLDS) -> Iterator[tuple[Cells, Cells]]:
    """Divide the rows of cells at random, and yield the train and the test cells of each fold."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(cells.rows, np.full(count, 1 / count))
    for inside in drawn.T[drawn.any(axis=0)]:
        yield _part(cells, cells.rows - inside), _part(cells, inside)


def group_folds(rows: Cells, group: Groups, seed: int, count: int = FOLDS) -> tuple[Cells, ...]:
    """Divide rows at random so that each group is in one fold; none if there are too few."""
    fold = draw_group_folds(rows.y, group, count, seed)
    if fold is None:
        return ()
    return tuple(rows.chosen(fold == number) for number in range(int(fold.max()) + 1))


def _in_turn(divided: Sequence[Cells]) -> Iterator[tuple[Cells, Cells]]:
    """Yield the cells of all folds but one, and those of that one."""
    for number, test in enumerate(divided):
        yield Cells.joined([*divided[:number], *divided[number + 1 :]]), test


def _part(cells: Cells, rows: Ints) -> Cells:
    there = np.flatnonzero(rows)
    chosen, kept = cells.chosen(there), rows[there]
    return replace(
        chosen,
        rows=kept,
        weight=chosen.weight * kept / chosen.rows,
        squares=chosen.squares * kept / chosen.rows,
    )


def _sketched(cells: Cells, leaves: Sequence[int]) -> Cells:
    if cells.score.size <= MOST_CELLS or not bool(np.all(cells.rows == 1)):
        return cells
    grid = grid_for_most(cells.score)
    return sketch_rows(cells.score, cells.y, cells.leaf, leaves, grid, cells.given_weight).cells()
