"""A choice among schemes without the time that it takes: the tests say what is chosen."""

import numpy as np

from hetcal.partitions.tree import TreePartition
from hetcal.runs.fitting import score_trees
from hetcal.schemes.candidates import IDENTITY, POOLED, Candidate, GrowthSettings, named_candidate
from hetcal.schemes.choice import ALLOWED, Choice, candidate_table, try_candidates
from hetcal.schemes.cross_fitting import divide_rows
from hetcal.schemes.parts import PlainLeavesPart, PooledPart, ShrunkenLeavesPart
from hetcal.schemes.rows import SchemeRows

OF_ONE_PARTITION = ("tree", "shrunken tree", "auc-gain", "instability")


def chosen(name):
    """Return what takes the place of `find_scheme`, and chooses the scheme of this name."""

    def find(settings, training, held, tree, *_):
        found = _candidate(name, training, held)
        candidates = [IDENTITY, POOLED] + [found] * (found not in (IDENTITY, POOLED))
        trial, at = try_candidates(candidates, divide_rows(held, 2, 0)), candidates.index(found)
        scheme = found.scheme(held.known_scores, held, trial.tried[at].strength)
        without = found.scheme(held.constant_scores, held, trial.without[at].strength)
        rungs = candidate_table(trial, at, [each.kind in ALLOWED for each in candidates])
        why = f"Told to take {name}."
        return Choice(scheme, name, why, rungs, 0, without=without, trial=trial)

    return find


def chosen_of_table(name):
    """Return what takes the place of `fit_ensemble`, and chooses the scheme of this name."""

    def fit(table, scores, split, settings, *_, **__):
        def rows(*roles):
            at = np.concatenate([getattr(split, role) for role in roles])
            return SchemeRows(table.X.iloc[at], table.y[at], scores.logit[at])

        parts = rows("train"), rows("calibration", "validation")
        return chosen(name)(settings, *parts, None)

    return fit


def _candidate(name, training, held):
    tree = TreePartition(2, min_samples_leaf=100).fit(training.X, training.y).partition_
    parts = tree, tree.apply(held.X)
    shrunken = PooledPart(), ShrunkenLeavesPart(*parts)
    known = (
        IDENTITY,
        POOLED,
        Candidate("tree", "one tree", "calibration", (PlainLeavesPart(*parts),)),
        Candidate("shrunken tree", "a larger tree", "calibration", shrunken, (5.0,)),
        *score_trees(),
    )
    found = (each for each in known if each.name == name)
    return next(found, None) or named_candidate(name, training, held, GrowthSettings())
