"""The terms of a correction as a table, and each of them in words."""

import numpy as np
import pandas as pd

from hetcal.data.columns import counted
from hetcal.partitions.nodes import short_number
from hetcal.partitions.terms import Pair, Term, Terms
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import AdditiveStage, PooledStage


def correction_words(scheme: Scheme) -> str | None:
    """Say what a correction adds up and how many of its terms matter; None for other schemes."""
    correction = next((each for each in scheme.stages if isinstance(each, AdditiveStage)), None)
    if correction is None:
        return None
    pooled = [each.slope for each in scheme.stages if isinstance(each, PooledStage)]
    weight, terms = float(np.prod([correction.weight, *pooled])), correction.terms
    words = (
        f"The logit after is {weight:.2f} times the score plus "
        f"{counted(len(terms.curves), 'curve')} of one column and "
        f"{counted(len(terms.pairs), 'pair')} of columns."
    )
    if len(terms.terms) < 2:
        return words
    return f"{words} {terms.carrying} of these {len(terms.terms)} terms carry 95 % of what they do."


def term_table(terms: Terms) -> pd.DataFrame:
    """List the terms, the most important first.

    Returns
    -------
    DataFrame
        `term`, `columns` (1 or 2), `share` (of the variance of all terms), `together` (share of
        this term and those above it), `low` and `high` (least and most that it adds to the logit
        of rows that were there), and `words`.
    """
    variance = terms.importance**2
    order = np.argsort(-variance, kind="stable")
    shares = variance[order] / (variance.sum() or 1.0)
    found = [
        (terms.names[i], len(terms.terms[i].axes), share, *_ends(terms.terms[i]))
        for i, share in zip(order, shares.tolist(), strict=True)
    ]
    table = pd.DataFrame(found, columns=["term", "columns", "share", "low", "high"])
    table.insert(3, "together", shares.cumsum())
    return table.assign(words=[term_words(terms.terms[i]) for i in order])


def term_words(term: Term) -> str:
    """Say between which odds a term moves a row, and for which values."""
    rows, values = term.rows.ravel(), term.values.ravel()
    if not rows.any():
        return "no rows"
    known = np.flatnonzero(rows > 0)
    low, high = known[values[known].argmin()], known[values[known].argmax()]
    return (
        f"{_times(values[low])} the odds ({_entry(term, int(low))}) to "
        f"{_times(values[high])} the odds ({_entry(term, int(high))})"
    )


def _times(logit: float) -> str:
    return f"{short_number(float(np.exp(np.clip(logit, -700, 700))), 2)} times"


def _entry(term: Term, place: int) -> str:
    if isinstance(term, Pair):
        first, second = divmod(place, term.second.entries)
        return f"{term.first.labels[first]} × {term.second.labels[second]}"
    return term.axis.labels[place]


def _ends(term: Term) -> tuple[float, float]:
    values = term.values[term.rows > 0]
    return (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)
