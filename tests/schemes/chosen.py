"""A choice among schemes without the time that it takes: the tests say what is chosen."""

import numpy as np

from hetcal.partitions.tree import TreePartition
from hetcal.progress import silent
from hetcal.runs.fitting import SCORE_TREES
from hetcal.schemes.candidates import IDENTITY, POOLED, Candidate, named_candidate
from hetcal.schemes.choice import Choice, candidate_table, try_candidates
from hetcal.schemes.cross_fitting import divide_rows
from hetcal.schemes.parts import PlainLeavesPart, PooledPart, ShrunkenLeavesPart
from hetcal.schemes.rows import SchemeRows

OF_ONE_PARTITION = ("tree", "shrunken tree", "auc-gain", "instability")


def chosen(name):
    """Return what takes the place of `fit_ensemble`, and chooses the scheme of this name."""

    def fit(table, scores, split, settings, progress=silent, *_, **__):
        def rows(*roles):
            at = np.concatenate([getattr(split, role) for role in roles])
            return SchemeRows(table.X.iloc[at], table.y[at], scores.logit[at])

        training, held = rows("train"), rows("calibration", "validation")
        found = _candidate(name, training, held)
        candidates = [IDENTITY, POOLED] + [found] * (found not in (IDENTITY, POOLED))
        trial, at = try_candidates(candidates, divide_rows(held, 2, 0)), candidates.index(found)
        scheme = found.scheme(held, trial.tried[at].strength)
        return Choice(scheme, name, f"Told to take {name}.", candidate_table(trial, at), 0)

    return fit


def _candidate(name, training, held):
    tree = TreePartition(2, min_samples_leaf=100).fit(training.X, training.y).partition_
    parts = tree, tree.apply(held.X)
    known = (
        IDENTITY,
        POOLED,
        Candidate("tree", "", (PlainLeavesPart(*parts),)),
        Candidate("shrunken tree", "", (PooledPart(), ShrunkenLeavesPart(*parts)), (5.0,)),
        *SCORE_TREES,
    )
    found = (each for each in known if each.name == name)
    return next(found, None) or named_candidate(name, training, held, 0)
