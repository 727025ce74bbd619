"""Schemes of many trees as ways of the benchmark, and the choice among all of them."""

import numpy as np

from hetcal.arrays import Floats
from hetcal.auto import FOLDS, choose_scheme
from hetcal.benchmark_rows import BenchmarkRows, Part
from hetcal.boosted_partition import BoostedPartition
from hetcal.candidates import STRENGTHS, Candidate
from hetcal.cross_fitting import cross_fit, draw_folds
from hetcal.forest_partition import ForestPartition
from hetcal.parts import BoostedPart, ForestPart, PooledPart
from hetcal.scheme_rows import SchemeRows, joined


def forest(rows: BenchmarkRows) -> Floats:
    """Fit shrunken maps in the leaves of many trees, and take their mean."""
    held = _held(rows)
    trees = ForestPartition(random_state=rows.seed).fit(rows.train.X, rows.train.y).ensemble_
    part = ForestPart(trees, trees.apply(held.X))
    return _fitted(Candidate("forest", "", (PooledPart(), part), STRENGTHS), held, rows)


def boosted(rows: BenchmarkRows) -> Floats:
    """Fit nested maps along boosted trees: weights of the logit and of the trees' margin."""
    held, train = _held(rows), _unscored(rows.train)
    both = joined(train, held)
    grown = BoostedPartition(random_state=rows.seed)
    grown.fit(both.X, both.y, ranked=np.arange(len(both.y)) < len(train.y))
    part = BoostedPart(grown, grown.held_out_[len(train.y) :])
    return _fitted(Candidate("boosted", "", (PooledPart(), part)), held, rows)


def auto(rows: BenchmarkRows) -> Floats:
    """Let cross-fitting choose the scheme."""
    roles = (_unscored(rows.train), _scored(rows.calibration), _scored(rows.validation))
    scheme = choose_scheme(*roles, seed=rows.seed).scheme
    return scheme.logit(rows.test.scores, rows.test.X)


def _fitted(candidate: Candidate, held: SchemeRows, rows: BenchmarkRows) -> Floats:
    """Choose the shrinkage by cross-fitting, and fit on all rows."""
    tried = cross_fit(candidate, held, draw_folds(held.y, FOLDS, rows.seed))
    return candidate.scheme(held, tried.strength).logit(rows.test.scores, rows.test.X)


def _held(rows: BenchmarkRows) -> SchemeRows:
    """Return the rows that the network was not trained on."""
    return joined(_scored(rows.calibration), _scored(rows.validation))


def _scored(part: Part) -> SchemeRows:
    return SchemeRows(part.X, part.y, part.scores)


def _unscored(part: Part) -> SchemeRows:
    return SchemeRows(part.X, part.y, None)
