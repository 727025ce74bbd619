"""Names and numbers that settings and options offer; importing them loads no library."""

from typing import Literal, get_args

PAPER_FRACTIONS = (0.65, 0.119, 0.1155, 0.1155)
"""65 % train; of the rest 33 % calibration and 33 % test, the remainder validation."""

CALIBRATORS = (
    "platt",
    "bias",
    "temperature",
    "beta",
    "isotonic",
    "histogram",
    "bbq",
    "scaling-binning",
)
"""Kinds of maps for two classes."""

ClassMethod = Literal["temperature", "vector", "dirichlet"]
CLASS_CALIBRATORS: tuple[ClassMethod, ...] = get_args(ClassMethod)
"""Kinds of maps for more than two classes."""

Kind = Literal["none", "calibration", "correction", "second model"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What a scheme does to the score.

Calibration: within a leaf only an increasing map of the score decides. Correction: the score plus
terms of the columns that one can read. Second model: the score beside boosted trees.
"""

RUNGS = (
    *("identity", "pooled", "tree", "shrunken tree", "auc-gain", "instability", "forest"),
    *("boosted", "additive", "stacked"),
)
"""The schemes that are compared for two classes, the simplest first."""

RUNG_NAMES = {
    "identity": "leave it",
    "pooled": "one map",
    "auc-gain": "AUC-gain tree",
    "instability": "instability tree",
    "boosted": "nested trees",
    "additive": "curves",
    "stacked": "boosted trees beside it",
}
"""Plain names of schemes, where their own is another."""
