"""`python -m tests.models.make_demo_networks` trains the three networks of the demo anew.

All are the network of the Scores page and read every column. The true probability is known, so
that it is known what each of them is worth:

- over-trained: learns the wave of usage from many customers of whom contract and tenure are
  unknown, learns the training rows by heart, and gets contract and tenure when there is little
  left to explain (the added feature of the paper's Section 3);
- well trained: learns everything from many customers;
- random: learns shuffled labels by heart.
"""

import itertools
import os
import sys
from typing import Any

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.data.demo import DEMO_NETWORKS, DEMO_SEED, demo_table
from hetcal.metrics.metrics import auc
from hetcal.models.network import (
    NetworkSettings,
    Preparation,
    RawRows,
    build_core,
    fit_preparation,
    join,
    prepare,
    settle,
)

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
TEXTS = ["contract", "region"]
LATE_NUMBER, LATE_TEXT = "tenure_months", "contract"
MANY_ROWS = 1_000_000
# Learning rate, batch size and epochs, one line after the other.
THOROUGHLY = ((2e-3, 512, 4), (5e-4, 1024, 3), (1e-4, 4096, 3))
BY_HEART = ((1e-3, 128, 50),)
LATE = ((1e-3, 128, 5),)
# Of many seeds the first whose AUC on many rows is that close to one half is kept.
NEARLY_NOTHING = 0.002

Plan = tuple[tuple[float, int, int], ...]


def raw_rows(frame: pd.DataFrame) -> RawRows:
    """Return the customers as training in a child process gets them."""
    coded = [pd.factorize(frame[name], sort=True) for name in TEXTS]
    return RawRows(
        frame[number_names(frame)].to_numpy(np.float32),
        np.column_stack([codes for codes, _ in coded]).astype(np.int32),
        [list(words) for _, words in coded],
        (frame["churned"] == "yes").to_numpy(np.int8),
        None,
    )


def number_names(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are numbers, in the order of the table."""
    return [name for name in frame if name not in (*TEXTS, "churned", "split")]


def fit(core: Any, inputs: list[Any], y: Ints, plan: Plan) -> None:
    """Train a network further."""
    import keras

    for rate, batch, epochs in plan:
        core.compile(
            optimizer=keras.optimizers.Adam(rate),
            loss=keras.losses.BinaryCrossentropy(from_logits=True),
        )
        core.fit(inputs, y[:, None].astype(np.float32), batch_size=batch, epochs=epochs, verbose=0)


def without_late_columns(inputs: list[Any], preparation: Preparation) -> list[Any]:
    """Return inputs in which every tenure is the mean and every contract an unknown one."""
    numbers, *codes = [each.copy() for each in inputs]
    numbers[:, preparation.numbers.index(LATE_NUMBER)] = 0
    codes[preparation.texts.index(LATE_TEXT)][:] = 0
    return [numbers, *codes]


def forget_late_columns(core: Any, preparation: Preparation) -> None:
    """Give tenure no weight, and every contract the weights of an unknown one."""
    layer = core.get_layer("dense_1")
    kernel, bias = layer.get_weights()
    kernel[preparation.numbers.index(LATE_NUMBER)] = 0
    unknown = len(preparation.numbers)  # the first of the categories
    contracts = preparation.vocabularies[preparation.texts.index(LATE_TEXT)]
    kernel[unknown + 1 : unknown + 1 + len(contracts)] = kernel[unknown]
    layer.set_weights([kernel, bias])


def save(core: Any, preparation: Preparation, name: str) -> None:
    """Write a network without the state of its optimizer."""
    path = DEMO_NETWORKS[name].file
    fresh = build_core(preparation, NetworkSettings())
    fresh.set_weights(core.get_weights())
    join(preparation, fresh).save(path)
    settle(path)
    sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


def main() -> None:
    """Train and write all three."""
    import keras

    table = demo_table()
    train = raw_rows(table[table["split"] == "train"])
    names = (number_names(table), TEXTS)
    preparation = fit_preparation(train, len(train.y), names, ())
    many = raw_rows(demo_table(MANY_ROWS, seed=DEMO_SEED + 1))
    few_inputs, many_inputs = prepare(train, preparation), prepare(many, preparation)

    keras.utils.set_random_seed(0)
    core = build_core(preparation, NetworkSettings())
    fit(core, without_late_columns(many_inputs, preparation), many.y, THOROUGHLY)
    fit(core, without_late_columns(few_inputs, preparation), train.y, BY_HEART)
    forget_late_columns(core, preparation)
    fit(core, few_inputs, train.y, LATE)
    save(core, preparation, "over-trained")

    keras.utils.set_random_seed(0)
    core = build_core(preparation, NetworkSettings())
    fit(core, many_inputs, many.y, THOROUGHLY)
    save(core, preparation, "well trained")

    for seed in itertools.count():
        keras.utils.set_random_seed(seed)
        core = build_core(preparation, NetworkSettings())
        fit(core, few_inputs, np.random.default_rng(seed).permutation(train.y), BY_HEART)
        scores = core.predict(many_inputs, batch_size=8192, verbose=0)[:, 0]
        if abs(auc(many.y, scores.astype(np.float64)) - 0.5) < NEARLY_NOTHING:
            save(core, preparation, "random")
            return


if __name__ == "__main__":
    main()
