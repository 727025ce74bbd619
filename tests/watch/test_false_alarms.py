"""The short form of ``python -m tests.watch.false_alarms``."""

import numpy as np
from scipy.stats import binom

from tests.watch.false_alarms import watch_streams

STREAMS = 40


def test_streams_without_change_raise_few_alarms_and_changed_leaves_are_found():
    found = watch_streams(STREAMS, artifacts=5)
    # Not more than one in twenty streams of such a size can have by chance.
    assert binom.sf(sum(each.alarm for each in found) - 1, STREAMS, 0.05) > 0.05
    assert binom.sf(sum(each.alarm_without_labels for each in found) - 1, STREAMS, 0.05) > 0.05
    assert np.mean([each.in_leaf for each in found]) >= 0.9
