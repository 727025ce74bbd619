"""The paper's network: three ReLU layers on standardised columns and categories.

It is trained in the child process only, so Keras is imported inside functions. The saved
model takes one input per column and includes its own preprocessing.
"""

import json
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Singles

Regularisation = Literal["none", "batch norm", "dropout"]

LAYERS = (64, 32, 16)
DROPOUT = 0.25
EMBEDDING = 8
MAX_ONE_HOT = 1_000
MAX_EMBEDDED = 100_000
_RESERVED = "[UNK]"  # Keras keeps this word for texts that it has not seen
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class NetworkSettings:
    """The choices of one training; the defaults are the paper's."""

    size: int = 1  # the paper's i: layers of 64i, 32i and 16i units; 1, 2 or 4
    regularisation: Regularisation = "none"  # what follows each layer; dropout is 0.25
    learning_rate: float = 1e-3  # of Adam
    batch_size: int = 128
    epochs: int = 20
    embed: tuple[str, ...] = ()  # categories with an embedding in place of one-hot columns
    seed: int = 0
    standardise: bool = True  # of number columns
    keep_last: bool = False  # also keep the network of the last epoch, which may be over-trained


@dataclass(frozen=True)
class RawRows:
    """Rows as the parent process wrote them: first the training rows, then validation."""

    numbers: Singles  # rows x number columns, NaN where missing
    codes: NDArray[np.int32]  # rows x text columns: places in `words`
    words: list[list[str]]  # the distinct texts of each text column
    y: NDArray[np.int8]
    weight: Floats | None


@dataclass(frozen=True)
class Preparation:
    """The preprocessing of columns, fitted on training rows.

    Number columns have a mean and a deviation: 1 for a constant column, mean 0 and deviation 1
    for columns that are used unchanged. Text columns have a vocabulary, the most frequent
    texts first; all other texts share code 0.
    """

    numbers: list[str]
    texts: list[str]
    mean: Floats
    deviation: Floats
    vocabularies: list[list[str]]


def build_core(preparation: Preparation, settings: NetworkSettings) -> Any:
    """Build the part that learns: from prepared numbers and category codes to the logit."""
    from keras import Input, Model, layers

    inputs, parts = [], []
    if preparation.numbers:
        inputs.append(Input((len(preparation.numbers),), name="numbers"))
        parts.append(inputs[-1])
    for j, name in enumerate(preparation.texts):
        tokens = len(preparation.vocabularies[j]) + 1
        inputs.append(Input((1,), dtype="int64", name=f"codes_{j}"))
        if name in settings.embed:
            embedded = layers.Embedding(tokens, EMBEDDING, name=f"embedding_{j}")(inputs[-1])
            parts.append(layers.Flatten(name=f"flat_{j}")(embedded))
        else:
            one_hot = layers.CategoryEncoding(tokens, "one_hot", name=f"one_hot_{j}")
            parts.append(one_hot(inputs[-1]))
    hidden = parts[0] if len(parts) == 1 else layers.Concatenate(name="columns")(parts)
    for number, units in enumerate(LAYERS, start=1):
        hidden = layers.Dense(units * settings.size, "relu", name=f"dense_{number}")(hidden)
        if settings.regularisation == "batch norm":
            hidden = layers.BatchNormalization(name=f"norm_{number}")(hidden)
        elif settings.regularisation == "dropout":
            hidden = layers.Dropout(DROPOUT, name=f"dropout_{number}")(hidden)
    return Model(inputs, layers.Dense(1, name="dense_logit")(hidden), name="logit")


def join(preparation: Preparation, core: Any) -> Any:
    """Put the preprocessing before the trained core: one input per column of the table.

    The inputs are keyed by the exact names of the columns, which a layer's name,
    where "/" is forbidden, could not always carry.
    """
    from keras import Input, Model, layers

    columns = [*preparation.numbers, *preparation.texts]
    dtypes = ["float32"] * len(preparation.numbers) + ["string"] * len(preparation.texts)
    inputs = {
        name: Input((1,), name=f"column_{j}", dtype=dtypes[j]) for j, name in enumerate(columns)
    }
    prepared = []
    if preparation.numbers:
        numbers = [inputs[name] for name in preparation.numbers]
        joined = numbers[0] if len(numbers) == 1 else layers.Concatenate(name="numbers")(numbers)
        prepared.append(_standardise(preparation, joined))
    for j, name in enumerate(preparation.texts):
        lookup = layers.StringLookup(vocabulary=preparation.vocabularies[j], name=f"lookup_{j}")
        prepared.append(lookup(inputs[name]))
    return Model(inputs, core(prepared), name="network")


def _standardise(preparation: Preparation, numbers: Any) -> Any:
    """Subtract the mean and divide by the deviation; missing numbers become the mean."""
    from keras import layers, ops

    scale = layers.Normalization(
        mean=preparation.mean.tolist(),
        variance=np.square(preparation.deviation).tolist(),
        name="standardise",
    )
    standard = scale(numbers)
    return ops.where(ops.isfinite(standard), standard, ops.zeros_like(standard))


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
    """Compute the inputs of the network's core for every row."""
    inputs: list[NDArray[Any]] = []
    if preparation.numbers:
        standard = np.empty(raw.numbers.shape, np.float32)
        mean = preparation.mean.astype(np.float32)
        deviation = preparation.deviation.astype(np.float32)
        for j in range(len(mean)):
            column = (raw.numbers[:, j] - mean[j]) / deviation[j]
            standard[:, j] = np.where(np.isfinite(column), column, 0)
        inputs.append(standard)
    for j, vocabulary in enumerate(preparation.vocabularies):
        index = {word: number for number, word in enumerate(vocabulary, start=1)}
        table = np.array([index.get(word, 0) for word in raw.words[j]], dtype=np.int64)
        inputs.append(table[raw.codes[:, j]][:, None])
    return inputs


def _moments(column: Singles) -> tuple[float, float]:
    values = column[np.isfinite(column)].astype(np.float64)
    if values.size == 0:
        return 0.0, 1.0
    deviation = float(values.std())
    # Rounding leaves a constant column a tiny deviation; dividing by it would give huge values.
    tiny = 1e-6 * max(1e-30, float(np.abs(values).max()))
    return float(values.mean()), deviation if deviation > tiny else 1.0


def _vocabulary(codes: NDArray[np.int32], words: list[str], most: int) -> list[str]:
    counts: Counter[str] = Counter()
    for word, count in zip(words, np.bincount(codes, minlength=len(words)), strict=True):
        counts[word] += int(count)
    seen = [word for word, count in counts.items() if count and word != _RESERVED]
    return sorted(seen, key=lambda word: (-counts[word], word))[:most]


def settle(path: Path) -> None:
    """Rewrite a `.keras` file so that equal networks are equal bytes.

    The date of saving is removed, and the memory addresses that identify shared objects
    become 1, 2, 3 in order of appearance.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members["metadata.json"])
    metadata.pop("date_saved", None)
    members["metadata.json"] = json.dumps(metadata).encode()
    config = json.loads(members["config.json"])
    _number_shared_objects(config, {})
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), members[name], zipfile.ZIP_DEFLATED)


def _number_shared_objects(value: Any, known: dict[int, int]) -> None:
    if isinstance(value, dict):
        if "shared_object_id" in value:
            old = value["shared_object_id"]
            value["shared_object_id"] = known.setdefault(old, len(known) + 1)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _number_shared_objects(each, known)
