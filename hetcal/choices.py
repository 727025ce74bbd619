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

PLAIN_NAMES = {
    "identity": "leave it",
    "pooled": "one map",
    "tree": "one tree",
    "auc-gain": "AUC-gain tree",
    "instability": "instability tree",
    "boosted": "nested trees",
    "additive": "curves",
    "stacked": "boosted trees beside the score",
    "auto": "recommended scheme",
    "best": "best scheme",
    "layer": "tree on a layer",
    "columns": "own columns",
}
"""Plain names of schemes, where the value of an option is another."""


def plain_name(name: str) -> str:
    """Return the name of a scheme that texts, figures and pages use.

    >>> plain_name("additive"), plain_name("forest")
    ('curves', 'forest')
    """
    return PLAIN_NAMES.get(name, name)


def optional_name(name: str) -> str:
    """Return the plain name of a scheme with the value of the option that asks for it.

    >>> optional_name("additive"), optional_name("forest")
    ('curves (additive)', 'forest')
    """
    plain = plain_name(name)
    return plain if plain == name else f"{plain} ({name})"


RUNG_OPTIONS = ", ".join(map(optional_name, RUNGS))
"""All schemes that are compared for two classes, as help and errors list them."""

MANY_TREES = ("forest", "boosted", "stacked")
"""Schemes of hundreds of trees, which not every export can hold."""

EXPORTS = (
    *("python", "sql", "keras", "savedmodel", "onnx", "tflite"),
    *("scorecard", "sklearn", "mlflow", "report", "table"),
)
"""Formats of exports."""

OF_FEW_TREES = ("sql", "tflite")
"""Formats that hold no scheme of `MANY_TREES`."""

OF_ANY_RUN = ("report", "table")
"""Formats that take runs of any number of classes."""

DIALECTS = ("ansi", "postgresql", "duckdb", "sqlite", "bigquery", "spark")
"""Dialects of SQL that exports are written in."""

Scale = Literal["standardise", "min-max"]
SCALES: tuple[Scale, ...] = ("standardise", "min-max")
"""What is done to columns of numbers before a model reads them, by the training rows."""
