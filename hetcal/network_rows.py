"""The rows a network is trained on, prepared once: standardised numbers, category codes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats

MAX_ONE_HOT = 1_000
MAX_EMBEDDED = 100_000
# Keras keeps this word for what it has not seen.
_RESERVED = "[UNK]"


@dataclass(frozen=True)
class RawRows:
    """Rows as the parent process wrote them: first the training rows, then validation.

    Parameters
    ----------
    numbers : array of float32, shape (rows, number columns)
        NaN where missing.
    codes : array of int32, shape (rows, text columns)
        Indices into `words`.
    words : list of list of str
        The distinct texts of each text column.
    y : array of 0 and 1
        The labels.
    weight : array of float or None
        Row weights.
    """

    numbers: NDArray[np.float32]
    codes: NDArray[np.int32]
    words: list[list[str]]
    y: NDArray[np.int8]
    weight: Floats | None


@dataclass(frozen=True)
class Preparation:
    """How columns become what the network learns from, fitted on training rows.

    Parameters
    ----------
    numbers, texts : list of str
        Names of the number and of the text columns.
    mean, deviation : array of float
        Of each number column; a constant column has deviation 1. Columns that are taken as
        they are have mean 0 and deviation 1.
    vocabularies : list of list of str
        Of each text column, the most frequent first; all other texts share code 0.
    """

    numbers: list[str]
    texts: list[str]
    mean: Floats
    deviation: Floats
    vocabularies: list[list[str]]


def read_rows(directory: Path) -> RawRows:
    """Read the arrays of a training request, mapped into memory."""

    def array(name: str) -> Any:
        return np.load(directory / name, mmap_mode="r", allow_pickle=False)

    words = json.loads((directory / "texts_1.json").read_text(encoding="utf-8"))
    weight = array("weight.npy") if (directory / "weight.npy").exists() else None
    return RawRows(array("input_0.npy"), array("input_1.npy"), words, array("y.npy"), weight)


def fit_preparation(
    raw: RawRows,
    train: int,
    names: tuple[list[str], list[str]],
    embed: tuple[str, ...],
    standardise: bool = True,
) -> Preparation:
    """Learn means, deviations and vocabularies from the first `train` rows."""
    numbers, texts = names
    moments = [
        _moments(raw.numbers[:train, j]) if standardise else (0.0, 1.0) for j in range(len(numbers))
    ]
    vocabularies = [
        _vocabulary(
            raw.codes[:train, j], raw.words[j], MAX_EMBEDDED if name in embed else MAX_ONE_HOT
        )
        for j, name in enumerate(texts)
    ]
    mean, deviation = (np.array([each[k] for each in moments]) for k in (0, 1))
    return Preparation(numbers, texts, mean, deviation, vocabularies)


def prepare(raw: RawRows, preparation: Preparation) -> list[NDArray[Any]]:
    """Give the inputs of the network's core for every row."""
    inputs: list[NDArray[Any]] = []
    if preparation.numbers:
        standard = np.empty(raw.numbers.shape, np.float32)
        for j, (mean, deviation) in enumerate(
            zip(preparation.mean, preparation.deviation, strict=True)
        ):
            column = (raw.numbers[:, j] - np.float32(mean)) / np.float32(deviation)
            standard[:, j] = np.where(np.isfinite(column), column, 0)
        inputs.append(standard)
    for j, vocabulary in enumerate(preparation.vocabularies):
        index = {word: number for number, word in enumerate(vocabulary, start=1)}
        table = np.array([index.get(word, 0) for word in raw.words[j]], dtype=np.int64)
        inputs.append(table[raw.codes[:, j]][:, None])
    return inputs


def _moments(column: NDArray[np.float32]) -> tuple[float, float]:
    values = column[np.isfinite(column)].astype(np.float64)
    if values.size == 0:
        return 0.0, 1.0
    deviation = float(values.std())
    # Rounding leaves a constant column with a tiny deviation that would blow up any other value.
    tiny = 1e-6 * max(1e-30, float(np.abs(values).max()))
    return float(values.mean()), deviation if deviation > tiny else 1.0


def _vocabulary(codes: NDArray[np.int32], words: list[str], most: int) -> list[str]:
    counts: dict[str, int] = {}
    for word, count in zip(words, np.bincount(codes, minlength=len(words)), strict=True):
        counts[word] = counts.get(word, 0) + int(count)
    seen = [word for word, count in counts.items() if count and word != _RESERVED]
    return sorted(seen, key=lambda word: (-counts[word], word))[:most]
