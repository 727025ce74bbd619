"""A choice among schemes without the time that it takes: the tests say what is chosen."""

import numpy as np

from hetcal.partitions.tree import TreePartition
from hetcal.progress import silent
from hetcal.runs.fitting import score_trees
from hetcal.schemes.candidates import IDENTITY, POOLED, Candidate, GrowthSettings, named_candidate
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
        scheme, without = (
            found.scheme(start, held, tried[at].strength)
            for start, tried in (
                (held.known_scores, trial.tried),
                (held.constant_scores, trial.without),
            )
        )
        table = candidate_table(trial, at, [True] * len(candidates))
        return Choice(scheme, name, f"Told to take {name}.", table, 0, without=without)

    return fit


def _candidate(name, training, held):
    tree = TreePartition(2, min_samples_leaf=100).fit(training.X, training.y).partition_
    parts = tree, tree.apply(held.X)
    shrunken = PooledPart(), ShrunkenLeavesPart(*parts)
    known = (
        IDENTITY,
        POOLED,
        Candidate("tree", "", "calibration", (PlainLeavesPart(*parts),)),
        Candidate("shrunken tree", "", "calibration", shrunken, (5.0,)),
        *score_trees(),
    )
    found = (each for each in known if each.name == name)
    return next(found, None) or named_candidate(name, training, held, GrowthSettings())
