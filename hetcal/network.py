"""The paper's network: three ReLU layers on standardised columns and categories.

Trained in the child process only, so Keras is imported inside functions. The saved
model takes one input per column and carries its own preprocessing.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hetcal.network_rows import Preparation

Regularisation = Literal["none", "batch norm", "dropout"]

LAYERS = (64, 32, 16)
DROPOUT = 0.25
EMBEDDING = 8


@dataclass(frozen=True)
class NetworkSettings:
    """The choices of one training; the defaults are the paper's.

    Parameters
    ----------
    size : int
        The paper's i: layers of 64i, 32i and 16i units; 1, 2 or 4.
    regularisation : {"none", "batch norm", "dropout"}
        What follows each layer; dropout is 0.25.
    learning_rate : float
        Of Adam.
    batch_size : int
        Rows per step.
    epochs : int
        Passes over the training rows.
    embed : tuple of str
        Categories that get an embedding of dimension 8 in place of one-hot columns.
    seed : int
        Equal seeds give equal networks.
    standardise : bool
        Whether number columns are standardised, or taken as they are.
    keep_last : bool
        Whether to keep also the network of the last epoch, which may be over-trained.
    """

    size: int = 1
    regularisation: Regularisation = "none"
    learning_rate: float = 1e-3
    batch_size: int = 128
    epochs: int = 20
    embed: tuple[str, ...] = ()
    seed: int = 0
    standardise: bool = True
    keep_last: bool = False


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
    inputs = {
        name: Input(
            (1,), name=f"column_{j}", dtype="string" if name in preparation.texts else "float32"
        )
        for j, name in enumerate(columns)
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
