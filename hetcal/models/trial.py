"""What preparing the columns as in training would do to the scores of a model."""

from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.choices import SCALES
from hetcal.data.checks import SATURATED
from hetcal.data.splits import Split
from hetcal.data.table import Table
from hetcal.metrics.classes import measure_classes, top_label
from hetcal.metrics.metrics import auc
from hetcal.models.inputs import float_columns
from hetcal.models.scoring import ModelScoring, score_rows
from hetcal.models.steps import AS_IS, OF_CATEGORIES, InputSteps, scale_all
from hetcal.progress import Progress, silent

MOST_ROWS = 2_000
CHOSEN = "as chosen"


def try_scales(
    table: Table, split: Split, scoring: ModelScoring, progress: Progress = silent
) -> pd.DataFrame:
    """Score some rows that the model was not trained on, once with each scale of their columns.

    Columns: way (`as is`, `standardise`, `min-max`, and `as chosen` where other steps are), auc
    (macro AUC for more than two classes) and saturated, the share of rows with a probability
    within 0.00005 of 0 or 1. One process scores all of them.
    """
    inputs = scoring.inputs
    columns = table.frame[list(inputs.needed)]
    training, numbers = columns.iloc[split.train], float_columns(scoring.model, inputs)
    # Categories stay as they are given: without their codes the model could not read them.
    coded = {each.column: each for each in inputs.steps.steps if each.way in OF_CATEGORIES}
    ways = {AS_IS: InputSteps(tuple(coded.values()))}
    ways |= {way: scale_all(way, numbers, training, coded) for way in SCALES}
    if inputs.steps not in ways.values():
        ways[CHOSEN] = inputs.steps
    rows = np.concatenate([split.validation, split.calibration, split.test])
    if rows.size > MOST_ROWS:
        rows = np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False)
    sample = columns.iloc[rows]
    prepared = pd.concat([steps.apply(sample) for steps in ways.values()], ignore_index=True)
    plain = replace(scoring, inputs=inputs.prepared, layer=None)
    picked = np.tile(table.row_numbers()[rows], len(ways))
    scores = score_rows(prepared, plain, table.classes, "", progress, picked)
    parts = np.split(scores.logit, len(ways))
    found = [(way, *_measured(table.y[rows], part)) for way, part in zip(ways, parts, strict=True)]
    return pd.DataFrame(found, columns=["way", "auc", "saturated"])


def scales_in_words(tried: pd.DataFrame) -> str:
    """Say what each scale did, and which ranks best: a hint at what was done in training."""
    each = [f"{way}: AUC {auc:.4f}, {near:.1%} near 0 or 1" for way, auc, near in tried.to_numpy()]
    best = tried["way"][int(tried["auc"].fillna(-1.0).to_numpy().argmax())]
    return (
        f"On rows that the model was not trained on, its columns rank best '{best}' "
        f"({'; '.join(each)}), which hints at what was done to them in training."
    )


def _measured(y: Ints, logits: Floats) -> tuple[float, float]:
    usable = np.isfinite(logits.reshape(len(logits), -1)).all(axis=1)
    y, logits = y[usable], logits[usable]
    if not y.size:
        return float("nan"), float("nan")
    if logits.ndim == 1:
        return float(auc(y, logits)), float((np.abs(logits) > SATURATED).mean())
    _, sure = top_label(y, logits)
    return measure_classes(y, logits).macro_auc, float((sure > SATURATED).mean())
