"""Calibrators of a single score: one-dimensional `fit` and `predict`."""

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, assert_all_finite, check_array, column_or_1d
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from hetcal.arrays import Floats, Ints
from hetcal.errors import CalibrationError
from hetcal.platt import PlattFit, fit_platt

__all__ = ["PlattCalibrator", "PlattFit", "check_labels", "fit_platt", "require_fit"]


class PlattCalibrator(BaseEstimator):
    """Map a logit to sigmoid(slope * logit + intercept) by maximum likelihood.

    There is no penalty and no label smoothing.

    Attributes
    ----------
    slope_, intercept_ : float
        The map.
    slope_se_, intercept_se_ : float
        Standard errors, see `hetcal.platt.fit_platt`.
    """

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on logits and labels of two classes; the larger label is the positive one."""
        values = _one_dimension(scores)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(values, labels)
        labels = _codes(labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, values, ensure_non_negative=True)
        fit = fit_platt(values, labels, np.zeros(len(values), dtype=np.int64), [0], weight)
        require_fit(fit)
        self.slope_, self.intercept_ = float(fit.slope[0]), float(fit.intercept[0])
        self.slope_se_, self.intercept_se_ = float(fit.slope_se[0]), float(fit.intercept_se[0])
        return self

    def predict(self, scores: Any) -> Floats:
        """Return the calibrated probability of each logit."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            return expit(self.slope_ * _one_dimension(scores) + self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def check_labels(y: Any) -> Ints:
    """Return labels as integers; anything but 0 and 1 is a `CalibrationError`."""
    labels = column_or_1d(y, warn=True)
    if not np.isin(labels, (0, 1)).all():
        raise CalibrationError(
            "The labels hold values other than 0 and 1.",
            "Calibration needs 1 for the positive class and 0 for the other.",
            "Recode the labels.",
        )
    return labels.astype(np.int64)


def _codes(labels: Any) -> Ints:
    assert_all_finite(labels, input_name="y")
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size != 2:
        raise CalibrationError(
            f"The labels have {'one class' if classes.size == 1 else f'{classes.size} classes'}.",
            "Platt scaling needs rows of exactly two classes.",
            "Choose other calibration rows, or another label.",
        )
    return codes.astype(np.int64)


def require_fit(fit: PlattFit) -> None:
    """Raise `CalibrationError` if the first map of a fit does not exist."""
    problems = [
        (fit.one_class, "no rows, or rows of one class only", "rows of both classes"),
        (fit.constant, "the same score for every row", "scores that differ"),
        (
            fit.separated,
            "scores that part the two classes completely, so that no best slope exists",
            "classes whose scores overlap",
        ),
        (~fit.converged, "scores whose best map was not found", "scores of moderate size"),
    ]
    for found, wrong, needed in problems:
        if found[0]:
            raise CalibrationError(
                f"The calibration rows have {wrong}.",
                f"Platt scaling needs {needed}.",
                "Choose other calibration rows, or other scores.",
            )


def _one_dimension(scores: Any) -> Floats:
    values = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return column_or_1d(values)
