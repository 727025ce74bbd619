"""How far numbers from a sketch are off: ``python -m tests.sketch_error [rows, by default 2e5]``.

Printed are the largest error of each number with Platt maps, with any maps, and the latter in
standard errors (from 20 parts of the rows). Where bins are too coarse, pages compute on all rows.
"""

import sys
from dataclasses import asdict

import numpy as np
from scipy.special import expit

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import grid_for_most, sketch_rows
from hetcal.choices import CALIBRATORS
from hetcal.results.evaluation import evaluate, score_four_schemes
from hetcal.runs.role_cells import COARSE, lost_pairs

LEAVES, PARTS = range(1, 5), 20
SLOPES, RATES = np.array([[0, 0.9, 2.1, 0.8, 1.6], [0, -2.6, -1.7, -3.1, -0.4]])
KINDS = {
    "continuous": lambda z: 1.5 * z,
    "tied": lambda z: np.round(1.5 * z, 1),
    "saturated": lambda z: np.clip(12 * z, -16.1, 16.1),
    "peaked": lambda z: np.where(np.arange(z.size) % 10, 0.01, 4.0) * z,
    "shifted": lambda z: 6 + 0.02 * z,
}


def numbers(cells, rows, method, polish=None):
    maps = LeafCalibrator(method=method).fit_cells(rows, LEAVES, polish)
    found = evaluate(score_four_schemes(cells, rows, maps), LEAVES)
    before, after = asdict(found.before), asdict(found.after)
    named = {name: np.array([before[name], after[name]]) for name in before}
    return named | {"lift": found.lift.auc}


def tell(kind, count):
    rng, off = np.random.default_rng(0), {}
    leaf, z = rng.integers(1, 5, count), rng.standard_normal(count)
    y = (rng.random(count) < expit(SLOPES[leaf] * z + RATES[leaf])).astype(np.int8)
    rows, grid = Cells.of_rows(KINDS[kind](z), y, leaf), grid_for_most(KINDS[kind](z))
    cells = sketch_rows(rows.score, y, leaf, LEAVES, grid).cells()
    sys.stdout.write(f"{kind}{', not sketched' * (lost_pairs(rows.score, grid) > COARSE)}\n")
    for method in CALIBRATORS:
        exact, found = numbers(rows, rows, method), numbers(cells, cells, method, rows)
        off[method] = {name: np.max(np.abs(found[name] - exact[name])) for name in exact}
    parts = [numbers(rows.chosen(np.arange(i, count, PARTS)), rows, "platt") for i in range(PARTS)]
    for name in off["platt"]:
        se = np.min(np.std([each[name] for each in parts], axis=0, ddof=1)) / np.sqrt(PARTS)
        platt, worst = off["platt"][name], max(each[name] for each in off.values())
        sys.stdout.write(f"  {name:27} {platt:.0e}, {worst:.0e}, {worst / se:.2f} s.e.\n")


if __name__ == "__main__":
    for name in KINDS:
        tell(name, int(float((*sys.argv[1:], 2e5)[0])))
