"""Draw parts of given shares at random, alike in every stratum."""

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.ranking import Labels


def draw(size: Floats, stratum: Labels, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each unit, so that each stratum is divided by the shares.

    Units of a stratum are put in random order along a line, each as long as its
    size; the role is the part of the line in which the unit's middle lies.
    """
    # Bytes are sorted many times faster than whole numbers of eight bytes.
    stratum = np.asarray(stratum)
    stratum = stratum.astype(np.min_scalar_type(int(stratum.max(initial=0))))
    order = rng.permutation(size.size)
    order = order[np.argsort(stratum[order], kind="stable")]
    stratum, length = stratum[order], size[order]
    ends = np.cumsum(length)
    first = np.flatnonzero(np.append(True, stratum[1:] != stratum[:-1])[: order.size])
    start = ends[first] - length[first]
    total = np.diff(np.append(start, ends[-1:]))
    units = np.diff(np.append(first, order.size))
    # In place, since a large table has little room for arrays of its length.
    middle = np.subtract(ends, np.divide(length, 2, out=length), out=length)
    middle -= np.repeat(start, units)
    middle /= np.repeat(total, units)
    role = np.empty(size.size, dtype=np.int64)
    role[order] = np.searchsorted(np.cumsum(shares)[:-1], middle, side="right")
    return role


def draw_groups(labels: Ints, group: pd.Series, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each group; groups of one class and mixed groups are strata."""
    codes, _ = pd.factorize(group, sort=False, use_na_sentinel=False)
    size = np.bincount(codes).astype(np.float64)
    positives = np.bincount(codes, weights=labels)
    stratum = (positives > 0).astype(np.int64) + (positives == size)
    return draw(size, stratum, shares, rng)[codes]
