"""How far numbers from a sketch are off: ``python -m tests.sketch_error [rows, by default 1e6]``.

The same test rows are evaluated one by one and from their sketch. Printed are the largest error
of each number, and how many standard errors that is (from 20 parts of the rows). Where too many
pairs of rows share a bin (`hetcal.role_cells.lost_pairs`), pages compute on all rows instead.
"""

import sys
import time
from dataclasses import asdict

import numpy as np
from scipy.special import expit

from hetcal.cells import Cells
from hetcal.evaluation import evaluate
from hetcal.grid import grid_for_most
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.role_cells import COARSE, lost_pairs
from hetcal.sketch import sketch_rows
from hetcal.ways import score_in_four_ways

LEAVES, PARTS = range(1, 5), 20
SLOPES, RATES = np.array([0, 0.9, 2.1, 0.8, 1.6]), np.array([0, -2.6, -1.7, -3.1, -0.4])
KINDS = {
    "continuous": lambda z: 1.5 * z,
    "tied": lambda z: np.round(1.5 * z, 1),
    "saturated": lambda z: np.clip(12 * z, -16.1, 16.1),
    "peaked": lambda z: np.where(np.arange(z.size) % 10, 0.01, 4.0) * z,
    "shifted": lambda z: 6 + 0.02 * z,
}


def numbers(cells, test, maps):
    found = evaluate(score_in_four_ways(cells, test, maps), LEAVES)
    schemes = [asdict(each) for each in (found.before, found.pooled, found.after)]
    named = {name: np.array([each[name] for each in schemes]) for name in schemes[0]}
    shares = found.leaves["contribution"].to_numpy()
    return named | {"lift": found.lift.auc, "error of lift": found.lift.se, "shares": shares}


for kind, scores_of in KINDS.items():
    rng, rows = np.random.default_rng(0), int(float((*sys.argv[1:], 1e6)[0]))
    leaf, z = rng.integers(1, 5, rows), rng.standard_normal(rows)
    y = (rng.random(rows) < expit(SLOPES[leaf] * z + RATES[leaf])).astype(np.int8)
    test = Cells.of_rows(scores_of(z), y, leaf)
    scores, grid = test.score, grid_for_most(test.score)
    maps, lost = LeafCalibrator().fit_cells(test, LEAVES), lost_pairs(scores, grid)
    cells = sketch_rows(scores, y, leaf, LEAVES, grid).cells()
    started, exact = time.perf_counter(), numbers(test, test, maps)
    middle, sketched = time.perf_counter(), numbers(cells, test, maps)
    print(f"{kind}: {'not sketched, for' if lost > COARSE else ''} {lost:.1%} of pairs lost;")  # noqa: T201
    print(f"  rows {middle - started:.2f} s, sketch {time.perf_counter() - middle:.2f} s")  # noqa: T201
    parts = [numbers(test.chosen(np.arange(i, rows, PARTS)), test, maps) for i in range(PARTS)]
    for name in exact:
        se = np.std([each[name] for each in parts], axis=0, ddof=1) / np.sqrt(PARTS)
        off = np.abs(sketched[name] - exact[name])
        print(f"  {name:27} {np.max(off):.1e}, {np.max(off / se):.2f} standard errors")  # noqa: T201
