"""How often intervals cover the truth: ``python -m tests.results.certainty.bootstrap_coverage``.

Two thousand data sets are drawn from each of six populations, whose measures are known from four
million rows. Printed is, for every measure, the share of 95 % intervals that cover the truth. An
error that is 0 can be missed on one side only, so it is covered more often. A number after the
command draws that many data sets; `--replicates N` draws so many replicates of each.
"""

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hetcal.cells.cells import Cells
from hetcal.metrics.metrics import equal_mass_bins, measure
from hetcal.results.measures import measure_change

MEASURED = ("auc", "average_precision", "log_loss", "brier", "calibration_error_debiased")
MANY = 4_000_000


@dataclass(frozen=True)
class Population:
    """Rows of four leaves whose score is `scale` times too large and misses the leaf."""

    name: str
    rows: int
    base: float  # of the logits
    scale: float
    missed: float  # what lies between two leaves and is not in the score
    group: int = 1  # rows that share their leaf, and a part of their logit

    def draw(self, rows, rng):
        groups = -(-rows // self.group)
        leaf = np.repeat(rng.integers(0, 4, groups), self.group)[:rows]
        shared = np.repeat(rng.standard_normal(groups), self.group)[:rows]
        own = rng.standard_normal(rows)
        score = own if self.group == 1 else (own + shared) / math.sqrt(2)
        truth = self.base + score + self.missed * (leaf - 1.5)
        y = (rng.random(rows) < expit(truth)).astype(np.int8)
        before = self.scale * (self.base + score)
        group = np.arange(rows) // self.group if self.group > 1 else None
        return y, before, truth, leaf, group


POPULATIONS = (
    Population("over-confident", 2_000, -1.0, 2.0, 0.6),
    Population("calibrated, nothing to gain", 2_000, 0.0, 1.0, 0.0),
    Population("rare positives", 4_000, -3.5, 1.5, 0.5),
    Population("few rows", 400, -0.5, 1.5, 0.5),
    Population("many rows, in places", 20_000, -1.0, 1.5, 0.3),
    Population("200 groups of 10", 2_000, -1.0, 1.5, 0.5, group=10),
)


def truths(population, rows, seed=1):
    """Measure many rows; the calibration error comes from the true probabilities of bins."""
    rng = np.random.default_rng(seed)
    y, before, after, *_ = population.draw(rows, rng)
    found = {}
    probability = expit(after)
    for name, scores in (("before", before), ("after", after)):
        own = measure(y, scores)
        bins = equal_mass_bins(scores, 15)
        share = np.bincount(bins)
        gap = np.bincount(bins, expit(scores) - probability) / share
        error = math.sqrt(float(share @ gap**2) / y.size)
        found |= {(each, name): getattr(own, each) for each in MEASURED[:4]}
        found[MEASURED[4], name] = error
    return found | {
        (each, "change"): found[each, "after"] - found[each, "before"] for each in MEASURED[:4]
    }


def covered(population, data_sets, replicates, rows=MANY, seed=2):
    """Return the share of intervals that cover the truth, by measure and by what is measured."""
    truth, rng = truths(population, rows), np.random.default_rng(seed)
    hits = dict.fromkeys(truth, 0)
    for number in range(data_sets):
        y, before, after, leaf, group = population.draw(population.rows, rng)
        cells = (Cells.of_rows(each, y, leaf) for each in (before, after))
        found = measure_change(*cells, group=group, replicates=replicates, seed=number)
        for measured, what in hits:
            low, high = (found.at[measured, f"{what}_{end}"] for end in ("low", "high"))
            hits[measured, what] += low <= truth[measured, what] <= high
    return {key: each / data_sets for key, each in hits.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_sets", nargs="?", type=int, default=2_000)
    parser.add_argument("--replicates", type=int, default=2_000)
    given = parser.parse_args()
    for population in POPULATIONS:
        shares = covered(population, given.data_sets, given.replicates)
        sys.stdout.write(f"{population.name}, {population.rows:,} rows\n")
        for measured in MEASURED:
            own = (f"{key[1]} {each:.3f}" for key, each in shares.items() if key[0] == measured)
            sys.stdout.write(f"  {measured:28} {', '.join(own)}\n")
        sys.stdout.flush()
