"""How often a check raises a false alarm, and how often it finds a leaf that has changed.

``python -m tests.watch.false_alarms [STREAMS] [--partition NAME] [--rows N] [--first N]`` makes an
artifact for every stream from rows of its own. It checks a stream without change, with and without
labels, and one in which the true logits of one leaf are 0.5 higher: until that leaf has 2,000 rows,
and until there are 2,000 rows in all.
"""

import argparse
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

from hetcal.artifacts.artifact import open_artifact
from hetcal.results.measures import measure_change
from hetcal.watch.check import check_rows
from tests.watch.streams import artifact_of, draw_labels, draw_logits, draw_rows

OF_RUN, IN_LEAF, IN_ALL, BY = 10_000, 2_000, 2_000, 0.5


@dataclass(frozen=True)
class Found:
    """What the checks of one artifact found, each true or false."""

    alarm: bool  # on a stream without change
    alarm_without_labels: bool
    in_leaf: bool  # that the changed leaf was found, with 2,000 rows in it
    in_all: bool  # the same with 2,000 rows in all leaves together


def watch_streams(
    streams: int, partition: str = "tree", rows: int = 4_000, artifacts: int = 0, first: int = 0
):
    """Check so many streams; `artifacts` are used again where there are fewer of them."""
    found, opened = [], []
    # Intervals of the measures of the run are not looked at, and take most of the time.
    quick = mock.patch("hetcal.runs.run.measure_change", partial(measure_change, replicates=8))
    with tempfile.TemporaryDirectory() as directory, quick:
        for number in range(streams):
            rng = np.random.default_rng([16, first + number])
            if number < (artifacts or streams):
                data = artifact_of(draw_rows(OF_RUN, rng), partition)
                opened.append(open_artifact(data, Path(directory)))
            found.append(watch_stream(opened[number % len(opened)], rows, rng))
    return found


def watch_stream(artifact, rows, rng):
    """Check a stream without change, and streams in which one leaf has changed."""
    same = draw_rows(rows, rng)
    leaf = int(rng.integers(len(artifact.partition.leaves))) + 1
    frame, logit = draw_logits(100_000, rng)
    inside = artifact.partition.apply(frame) == leaf
    frame["label"] = draw_labels(logit + BY * inside, rng)
    enough = int(np.flatnonzero(np.cumsum(inside) == IN_LEAF)[0]) + 1
    return Found(
        not check_rows(artifact, same).passed,
        not check_rows(artifact, same.drop(columns="label")).passed,
        *(leaf in changed(artifact, frame.head(many)) for many in (enough, IN_ALL)),
    )


def changed(artifact, frame):
    return check_rows(artifact, frame).labelled.changed


def main() -> None:
    """Print the shares of streams."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", nargs="?", type=int, default=500)
    parser.add_argument("--partition", default="tree")
    parser.add_argument("--rows", type=int, default=4_000, help="of a stream without change")
    parser.add_argument("--first", type=int, default=0, help="number of the first stream")
    options = parser.parse_args()
    given = options.partition, options.rows
    found = watch_streams(options.streams, *given, first=options.first)
    for name, words in (
        ("alarm", f"false alarms on {options.rows:,} labelled rows without change"),
        ("alarm_without_labels", "the same without labels"),
        ("in_leaf", f"leaf found that moved by {BY} logit, with {IN_LEAF:,} rows in it"),
        ("in_all", f"the same with {IN_ALL:,} rows in all leaves together"),
    ):
        share = np.mean([getattr(each, name) for each in found])
        print(f"{share:7.1%}  {words}")  # noqa: T201


if __name__ == "__main__":
    main()
