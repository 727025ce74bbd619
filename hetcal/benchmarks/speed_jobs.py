"""The jobs whose speed is measured, as hetcal does them."""

from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.speed_data import DEPTH, Outcome, Rows, make_rows
from hetcal.calibrators.bootstrap import BootstrapLift, bootstrap_lift
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, map_leaves
from hetcal.calibrators.platt import PlattFit, fit_platt_cells, polish
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.cells.sketch import Grid, Sketch, grid_for, sketch_rows
from hetcal.compiled import sigmoid
from hetcal.metrics.delong import Lift
from hetcal.metrics.metrics import brier, calibration_errors, log_loss, measure_cells
from hetcal.metrics.ranking import RankStatistics, rank_statistics
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.scored import ScorePartition
from hetcal.partitions.tree import TreePartition
from hetcal.results.evaluation import lift_of_cells

HISTOGRAM_BINS = 64
SCORE_TREES = {"auc-gain": AucGainPartition, "instability": InstabilityPartition}
BOOTSTRAP_BINS = 1024
FEW_ROWS = 4000


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Rows in leaves with a map each."""

    partition: Partition
    leaf: Ints
    sketch: Sketch
    cells: Cells
    fit: PlattFit
    logits: Floats


def grow(rows: Rows) -> Partition:
    """Grow the tree."""
    tree = TreePartition(DEPTH, min_samples_leaf=rows.min_leaf)
    return tree.fit(rows.frame, rows.y).partition_


def grow_on_scores(rows: Rows, kind: type[ScorePartition]) -> Partition:
    """Grow a tree that reads scores."""
    tree = kind(DEPTH, min_samples_leaf=rows.min_leaf)
    return tree.fit(rows.frame, rows.y, rows.scores).partition_


def calibrate(rows: Rows) -> Calibrated:
    """Grow the tree, send the rows to its leaves, fit the maps exactly and map the scores."""
    partition = grow(rows)
    leaf = partition.apply(rows.frame)
    leaves = range(1, len(partition.leaves) + 1)
    sketch = sketch_rows(rows.scores, rows.y, leaf, leaves, grid_for(rows.scores))
    cells = sketch.cells()
    fit = polish(_fit(cells, sketch), rows.scores, rows.y, leaf, leaves)
    return Calibrated(partition, leaf, sketch, cells, fit, _map(fit, rows.scores, leaf))


def probabilities(rows: Rows) -> Floats:
    """Do all that gives calibrated probabilities; they take the place of the logits."""
    logits = calibrate(rows).logits
    return sigmoid(logits, out=logits)


def whole_job(rows: Rows) -> Outcome:
    """Calibrate and measure before and after: ranks exactly from rows, the rest from cells."""
    done = calibrate(rows)
    cells = done.cells
    before = _measures(rank_statistics(rows.y, rows.scores), cells)
    after = _measures(rank_statistics(rows.y, done.logits), _mapped(cells, done.fit))
    sigmoid(done.logits, out=done.logits)  # the probabilities, once the logits are ranked
    return _outcome(done.fit, before + after, cells, done.sketch)


def slide(cells: Cells, sketch: Sketch) -> tuple[Outcome, Lift]:
    """Do all that a moved control asks for: maps, measures, lift, histograms.

    As on a page, the cells of the sketch are at hand, and what their raw scores say is
    worked out once and not for every move.
    """
    fit = _fit(cells, sketch)
    mapped = _mapped(cells, fit)
    measures: list[float] = []
    for each in (cells, mapped):
        found = each.once(measure_cells)
        measures += [found.auc, found.average_precision, found.log_loss]
    return _outcome(fit, measures, cells, sketch), lift_of_cells(cells, mapped)


def interval(sketch: Sketch, replicates: int) -> BootstrapLift:
    """Find the interval of the lift, every map refitted in every replicate."""
    cells = sketch.coarser(BOOTSTRAP_BINS).cells()
    calibrator = LeafCalibrator()
    calibrator.fit(cells.score, cells.y, cells.leaf, cells.weight, sketch.leaves)
    return bootstrap_lift(cells, cells, calibrator, replicates=replicates)


def apply(rows: Rows, done: Calibrated) -> Floats:
    """Send rows to their leaves and return calibrated probabilities."""
    logits = _map(done.fit, rows.scores, done.partition.apply(rows.frame))
    return sigmoid(logits, out=logits)


def warm_up() -> None:
    """Do all jobs once on few rows.

    Where kernels are compiled, they are machine code from then on, and are kept on disk for
    other processes. Data of another type (such as rows with weights) may need more of them.
    """
    rows = make_rows(FEW_ROWS)
    done = calibrate(rows)
    whole_job(rows)
    slide(done.sketch.cells(), done.sketch)
    interval(done.sketch, replicates=2)
    apply(rows, done)


def _fit(cells: Cells, sketch: Sketch) -> PlattFit:
    return fit_platt_cells(cells, sketch.leaves)


def _map(fit: PlattFit, scores: Floats, leaf: Ints) -> Floats:
    # Leaf 1 is at position 1, too, so that no row has to be touched to renumber it.
    slope, intercept = (np.append(np.nan, each) for each in (fit.slope, fit.intercept))
    return map_leaves(scores, leaf, slope, intercept)


def _mapped(cells: Cells, fit: PlattFit) -> Cells:
    return cells.mapped(lambda scores, leaf: _map(fit, scores, leaf))


def _measures(ranked: RankStatistics, cells: Cells) -> list[float]:
    parts = cells.y, cells.score, cells.given_weight
    brier(*parts)  # part of the job, but the rival has no equal number to compare with
    calibration_errors(cells)  # and so is this
    return [ranked.auc, ranked.average_precision, log_loss(*parts)]


def _outcome(fit: PlattFit, measures: list[float], cells: Cells, sketch: Sketch) -> Outcome:
    maps = np.array([fit.slope, fit.intercept])
    return Outcome(maps, np.array(measures), _histograms(cells, sketch))


def _histograms(cells: Cells, sketch: Sketch) -> Ints:
    """Count rows by leaf, bin of the histogram and label; cells do not straddle these bins."""
    bins = Grid(sketch.grid.reach, HISTOGRAM_BINS)
    shape = len(sketch.leaves), bins.bins, 2
    position = leaf_positions(cells.leaf, sketch.leaves)
    key = (position * bins.bins + bins.bin_of(cells.score)) * 2 + cells.y
    return np.bincount(key, cells.rows, np.prod(shape)).astype(np.int64).reshape(shape)
