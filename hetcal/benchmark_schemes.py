"""Schemes of many trees as ways of the benchmark, and the choice among all of them."""

from hetcal.arrays import Floats
from hetcal.benchmark_rows import BenchmarkRows, Part
from hetcal.ensembles import fit_roles
from hetcal.scheme_rows import SchemeRows


def forest(rows: BenchmarkRows) -> Floats:
    """Fit shrunken maps in the leaves of many trees, and take their mean."""
    return _fitted("forest", rows)


def boosted(rows: BenchmarkRows) -> Floats:
    """Fit nested maps along boosted trees: weights of the logit and of the trees' margin."""
    return _fitted("boosted", rows)


def auto(rows: BenchmarkRows) -> Floats:
    """Let cross-fitting choose the scheme."""
    return _fitted("auto", rows)


def _fitted(name: str, rows: BenchmarkRows) -> Floats:
    training = SchemeRows(rows.train.X, rows.train.y, None)
    held = _scored(rows.calibration), _scored(rows.validation)
    scheme = fit_roles(name, training, *held, rows.seed).scheme
    return scheme.logit(rows.test.scores, rows.test.X)


def _scored(part: Part) -> SchemeRows:
    return SchemeRows(part.X, part.y, part.scores)
