"""What to say of new rows that were scored with an artifact."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import Artifact
from hetcal.data.columns import category_names, row_count
from hetcal.partitions.nodes import Feature

SHOWN = 3


def scored_count(scored: pd.DataFrame) -> int:
    """Count the rows that have a probability, of any number of classes."""
    return int(scored["after" if "after" in scored else "top_after"].notna().sum())


def scored_rows_in_words(scored: pd.DataFrame) -> str:
    """Say how many rows got a probability, and of how many if not all did."""
    done, rows = scored_count(scored), row_count(len(scored))
    return rows if done == len(scored) else f"{done:,} of {rows}"


def new_row_notes(artifact: Artifact, frame: pd.DataFrame, scored: pd.DataFrame) -> list[str]:
    """Tell of rows without a probability, and of categories that training did not know."""
    without, notes = len(scored) - scored_count(scored), []
    if without:
        one = without == 1
        notes.append(
            f"{without:,} of {row_count(len(scored))} {'has' if one else 'have'} no finite score, "
            "and so no probability: the score, or a value that the model reads, is missing or "
            "infinite."
        )
    for feature in _features(artifact):
        if feature.kind == "category" and feature.name in frame:
            notes += _unknown(feature, frame[feature.name])
    return notes


def _features(artifact: Artifact) -> tuple[Feature, ...]:
    """Return the columns that decide how a row is calibrated, each once."""
    scheme = artifact.scheme
    features = artifact.partition.features if scheme is None else scheme.features
    return tuple({each.name: each for each in features}.values())


def _unknown(feature: Feature, column: pd.Series) -> Iterator[str]:
    codes, names = category_names(column)
    known = set(feature.categories)
    rows = np.bincount(codes[codes >= 0], minlength=len(names))
    strange = {name: int(n) for name, n in zip(names, rows, strict=True) if name not in known and n}
    if strange:
        often = sorted(strange, key=lambda name: -strange[name])
        listed = ", ".join(f"'{name}'" for name in often[:SHOWN])
        total = sum(strange.values())
        yield (
            f"{row_count(total)} {'has' if total == 1 else 'have'} a category in column "
            f"'{feature.name}' that was rare or unseen in training ({listed}"
            f"{', …' if len(often) > SHOWN else ''}): such categories count as missing."
        )
