"""One map of the logit vector in every leaf, shrunk towards the map of all rows."""

import json
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hetcal.arrays import Bools, Floats, Groups, Ints
from hetcal.calibrators.class_map import (
    ClassMap,
    ClassRows,
    class_matrix,
    class_numbers,
    fit_leaf_class_maps,
    fit_pooled_class_map,
    identity_map,
    mapped_logits,
)
from hetcal.calibrators.leaf_calibrator import broken_maps
from hetcal.calibrators.methods import given_strength
from hetcal.calibrators.shrinkage import best_strength
from hetcal.cells.cells import whole_ids
from hetcal.choices import CLASS_CALIBRATORS, ClassMethod
from hetcal.data.columns import row_weights
from hetcal.data.splits import draw_folds
from hetcal.errors import CalibrationError, did_you_mean
from hetcal.strict_json import Fields, JsonError, parse_object

KIND, FORMAT = "hetcal class calibrators", 1
STRENGTHS = (1.0, 10.0, 100.0, 1000.0, float("inf"))
FOLDS = 5
MAX_CLASSES = 100


class ClassCalibrator(BaseEstimator):
    """Calibrate the probabilities of more than two classes leaf by leaf.

    A leaf without calibration rows, and a leaf first met in `predict`, has the map of all
    rows.

    Parameters
    ----------
    method : {"temperature", "vector", "dirichlet"}, default="vector"
        Which maps are fitted.
    shrinkage : float or "cv", default="cv"
        How strongly the map of a leaf is shrunk towards that of all rows: 0 fits every leaf
        on its own, infinity gives all leaves the same map. "cv" chooses by the log-loss of
        rows left out.
    random_state : int, default=0
        Decides which rows are left out together.

    Attributes
    ----------
    pooled_ : ClassMap
        The map of all rows together.
    maps_ : dict
        The map of each leaf by its id.
    rows_ : dict
        Calibration rows of each leaf.
    shrinkage_ : float
        The strength that was used.
    shrinkage_table_ : DataFrame
        `strength` and `log_loss` of the rows left out; empty unless "cv".
    """

    def __init__(
        self,
        method: ClassMethod = "vector",
        *,
        shrinkage: float | Literal["cv"] = "cv",
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.shrinkage = shrinkage
        self.random_state = random_state

    def fit(
        self,
        logits: Floats,
        y: Ints,
        leaf: Ints,
        weight: Floats | None = None,
        leaves: Sequence[int] | None = None,
        *,
        groups: Groups | None = None,
    ) -> Self:
        """Fit on logits, class numbers and leaf ids of calibration rows.

        Rows with a logit that is not finite, or without weight, are left out. Rows of one group
        are left out together by the cross-validation.
        """
        check_consistent_length(logits, y, leaf, weight, groups)
        logits = class_matrix(logits)
        usable: Bools = np.asarray(np.isfinite(logits).all(axis=1))
        if weight is not None:
            weight = row_weights(weight, logits, may_vanish=True)
            usable &= weight > 0
        group = None if groups is None else np.asarray(groups)
        y, leaf = class_numbers(y, logits.shape[1]), whole_ids(leaf)
        rows = ClassRows(logits, y, leaf, weight, group).of(usable)
        self._check(rows)
        ids = np.unique(rows.leaf).tolist() if leaves is None else list(leaves)
        self.shrinkage_table_, given = self._compare(rows, ids), given_strength(self.shrinkage)
        self.shrinkage_ = best_strength(self.shrinkage_table_) if given is None else given
        self.pooled_ = fit_pooled_class_map(self.method, rows)
        self.maps_ = fit_leaf_class_maps(self.method, rows, ids, self.pooled_, self.shrinkage_)
        self.rows_ = {each: int(np.sum(rows.leaf == each)) for each in ids}
        return self

    def predict_logit(self, logits: Floats, leaf: Ints) -> Floats:
        """Return calibrated log-probabilities; NaN in rows whose logits are not finite."""
        check_is_fitted(self, "maps_")
        logits = class_matrix(logits, self.pooled_.bias.size)
        return mapped_logits(self.pooled_, self.maps_, logits, whole_ids(leaf))

    def predict(self, logits: Floats, leaf: Ints) -> Floats:
        """Return calibrated probabilities, rows x classes."""
        return np.exp(self.predict_logit(logits, leaf))

    def to_json(self) -> str:
        """Return the maps as JSON text."""
        check_is_fitted(self, "maps_")
        content = {
            "kind": KIND,
            "format": FORMAT,
            "method": self.method,
            "maps": [map_fields(0, self.pooled_)]
            + [map_fields(leaf, each) for leaf, each in self.maps_.items()],
        }
        return json.dumps(content, indent=1, allow_nan=False)

    @classmethod
    def identity(cls, classes: int, leaves: Sequence[int]) -> Self:
        """Return the calibrator that changes no probability: temperature 1."""
        same = identity_map(classes)
        calibrator = cls("temperature", shrinkage=float("inf"))
        calibrator.pooled_, calibrator.maps_ = same, dict.fromkeys(leaves, same)
        calibrator.shrinkage_ = float("inf")
        return calibrator

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a fitted calibrator back; its predictions are the same bit for bit."""
        try:
            fields = parse_object(text)
            fields.only("kind", "format", "method", "maps")
            if fields.text("kind") != KIND or fields.integer("format", 0, 2**31) != FORMAT:
                raise JsonError(f"it is not of the kind {KIND!r}, format {FORMAT}")
            maps = [read_map(each) for each in fields.objects("maps")]
            method = fields.text("method")
            ids = [leaf for leaf, _ in maps]
            if method not in CLASS_CALIBRATORS or ids[:1] != [0] or len({*ids[1:]}) < len(ids) - 1:
                raise JsonError("its maps are not named as they should be")
        except JsonError as problem:
            raise broken_maps(str(problem)) from problem
        calibrator = cls(method)
        calibrator.pooled_, calibrator.maps_ = maps[0][1], dict(maps[1:])
        return calibrator

    def _compare(self, rows: ClassRows, ids: Sequence[int]) -> pd.DataFrame:
        """Measure each strength on rows that its maps were not fitted on."""
        if self.shrinkage != "cv":
            return pd.DataFrame({"strength": [], "log_loss": []})
        fold = draw_folds(rows.y, FOLDS, self.random_state, rows.group)
        if fold is None or fold.min() == fold.max():  # too few groups or rows to leave some out
            return pd.DataFrame({"strength": STRENGTHS[-1:], "log_loss": [np.nan]})
        losses = np.zeros((len(STRENGTHS), rows.y.size))
        for number in range(int(fold.max()) + 1):
            left_out, kept = rows.of(fold == number), rows.of(fold != number)
            pooled = fit_pooled_class_map(self.method, kept)
            for i, strength in enumerate(STRENGTHS):
                maps = fit_leaf_class_maps(self.method, kept, ids, pooled, strength)
                found = mapped_logits(pooled, maps, left_out.logits, left_out.leaf)
                losses[i, fold == number] = -found[np.arange(left_out.y.size), left_out.y]
        means = np.average(losses, axis=1, weights=rows.weight)
        return pd.DataFrame({"strength": STRENGTHS, "log_loss": means})

    def _check(self, rows: ClassRows) -> None:
        given_strength(self.shrinkage)
        if self.method not in CLASS_CALIBRATORS:
            raise CalibrationError(
                f"There is no calibrator '{self.method}' for more than two classes.",
                f"It has to be one of {', '.join(CLASS_CALIBRATORS)}.",
                did_you_mean(self.method, CLASS_CALIBRATORS),
            )
        if np.unique(rows.y).size < 2:
            raise CalibrationError(
                f"The {rows.y.size:,} calibration rows are all of one class.",
                "A map is fitted on rows of several classes.",
                "Choose another split, or more calibration rows.",
            )


def map_fields(leaf: int, own: ClassMap) -> dict[str, object]:
    """Return the fields of the map of a leaf; leaf 0 is all rows."""
    return {"leaf": leaf, "weights": own.weights.ravel().tolist(), "bias": own.bias.tolist()}


def read_map(fields: Fields) -> tuple[int, ClassMap]:
    """Read what `map_fields` gave."""
    fields.only("leaf", "weights", "bias")
    bias = np.array(fields.numbers("bias"))
    weights = np.array(fields.numbers("weights"))
    if not 2 <= bias.size <= MAX_CLASSES or weights.size != bias.size**2:
        raise JsonError("a map does not have a weight for each pair of classes")
    return fields.integer("leaf", 0, 2**31), ClassMap(weights.reshape(bias.size, -1), bias)
