"""Draw parts of given shares at random, alike in every stratum."""

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints


def draw(size: Floats, stratum: Ints, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each unit, so that each stratum is divided by the shares.

    Units of a stratum are put in random order along a line, each as long as its
    size; the role is the part of the line in which the unit's middle lies.
    """
    order = rng.permutation(size.size)
    # Bytes are sorted many times faster than whole numbers of eight bytes.
    order = order[np.argsort(stratum.astype(np.int8)[order], kind="stable")]
    ends = np.cumsum(size[order])
    first = np.flatnonzero(np.diff(stratum[order], prepend=stratum[order][:1] - 1))
    start = (ends - size[order])[first]
    lengths = np.diff(np.append(first, order.size))
    total = np.diff(np.append(start, ends[-1:]))
    middle = ends - size[order] / 2 - np.repeat(start, lengths)
    cuts = np.cumsum(shares)[:-1]
    role = np.empty(size.size, dtype=np.int64)
    role[order] = np.searchsorted(cuts, middle / np.repeat(total, lengths), side="right")
    return role


def draw_groups(labels: Ints, group: pd.Series, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each group; groups of one class and mixed groups are strata."""
    codes, _ = pd.factorize(group, sort=False, use_na_sentinel=False)
    size = np.bincount(codes).astype(np.float64)
    positives = np.bincount(codes, weights=labels)
    stratum = (positives > 0).astype(np.int64) + (positives == size)
    return draw(size, stratum, shares, rng)[codes]
