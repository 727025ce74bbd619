"""Calibrators of a single score: one-dimensional `fit` and `predict`."""

from typing import Any, Self, cast

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, assert_all_finite, check_array, column_or_1d
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.binned import BINS, FEWER_BINS, fit_histogram, level
from hetcal.calibrators.methods import LeafFits, fit_leaves, levelled
from hetcal.calibrators.shapes import Affine, Shape, Steps
from hetcal.cells.cells import Cells
from hetcal.data.columns import row_weights
from hetcal.errors import CalibrationError


class _Calibrator(BaseEstimator):
    """What all calibrators of a single score share: input, output and `shape_`, the map."""

    shape_: Shape
    _method = ""

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on logits and labels of two classes; the larger label is the positive one."""
        values = _one_dimension(scores)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(values, labels)
        labels = _codes(labels)
        weight = None
        if sample_weight is not None:
            weight = row_weights(sample_weight, values)
        cells = Cells.of_rows(values, labels, np.zeros(len(values), dtype=np.int64), weight)
        self.shape_ = self._fit_shape(cells)
        return self

    def _fit_shape(self, cells: Cells) -> Shape:
        return first_map(fit_leaves(self._method, cells, [0]))

    def predict(self, scores: Any) -> Floats:
        """Return the calibrated probability of each logit."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            return expit(self.shape_.logit(_one_dimension(scores)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class PlattCalibrator(_Calibrator):
    """Map a logit to sigmoid(slope * logit + intercept) by maximum likelihood.

    There is no penalty and no label smoothing.

    Attributes
    ----------
    shape_ : Affine
        The map.
    slope_, intercept_ : float
        Its numbers.
    slope_se_, intercept_se_ : float
        Standard errors, see `hetcal.calibrators.platt.fit_platt`.
    """

    def _fit_shape(self, cells: Cells) -> Affine:
        shape = _platt(cells)
        self.slope_, self.intercept_ = shape.slope, shape.intercept
        self.slope_se_, self.intercept_se_ = shape.slope_se, shape.intercept_se
        return shape


class BiasCalibrator(_Calibrator):
    """Shift the logit, so that the mean probability becomes the rate of positives.

    Attributes
    ----------
    shape_ : Affine
        The map, of slope 1.
    """

    _method = "bias"


class TemperatureCalibrator(_Calibrator):
    """Divide the logit by a temperature, found by maximum likelihood.

    Attributes
    ----------
    shape_ : Affine
        The map, of intercept 0; the temperature is 1 / slope.
    """

    _method = "temperature"


class BetaCalibrator(_Calibrator):
    """Map the probability p of the logit to sigmoid(a log p - b log(1 - p) + c).

    Neither `a` nor `b` is below 0, so that the map rises.

    Attributes
    ----------
    shape_ : Beta
        The map.
    """

    _method = "beta"


class IsotonicCalibrator(_Calibrator):
    """Map logits by the rising function with the least squared error.

    Probabilities come no closer to 0 and 1 than half a row.

    Attributes
    ----------
    shape_ : Knots
        The map.
    """

    _method = "isotonic"


class HistogramCalibrator(_Calibrator):
    """Give every logit the rate of positives in its bin.

    Parameters
    ----------
    bins : int, default=15
        Number of bins, all of about equal weight.

    Attributes
    ----------
    shape_ : Steps
        The map.
    """

    def __init__(self, bins: int = BINS) -> None:
        self.bins = bins

    def _fit_shape(self, cells: Cells) -> Shape:
        steps = fit_histogram(cells, [0], _checked_bins(self.bins))
        return first_map(levelled(steps, cells, [0]))


class BayesianBinningCalibrator(_Calibrator):
    """Average histograms of all sensible numbers of bins by their posterior.

    Attributes
    ----------
    shape_ : Steps
        The map.
    """

    _method = "bbq"


class ScalingBinningCalibrator(_Calibrator):
    """Fit Platt scaling, and give every logit the mean of that in its bin.

    Parameters
    ----------
    bins : int, default=10
        Number of bins, all of about equal weight.

    Attributes
    ----------
    shape_ : Steps
        The map.
    """

    def __init__(self, bins: int = FEWER_BINS) -> None:
        self.bins = bins

    def _fit_shape(self, cells: Cells) -> Shape:
        (steps,) = level([_platt(cells)], cells, [0], _checked_bins(self.bins))
        return cast(Steps, steps)


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
            "A calibration map needs rows of exactly two classes.",
            "Choose other calibration rows, or another label.",
        )
    return codes.astype(np.int64)


def first_map(fit: LeafFits) -> Shape:
    """Return the map of the first leaf; it is a `CalibrationError` if it does not exist."""
    problems = [
        (fit.one_class, "no rows, or rows of one class only", "rows of both classes"),
        (fit.constant, "the same score for every row", "scores that differ"),
        (
            fit.separated,
            "scores that separate the two classes completely, so that no best slope exists",
            "classes whose scores overlap",
        ),
        (~fit.converged, "scores whose best map was not found", "scores of moderate size"),
    ]
    for found, wrong, needed in problems:
        if found[0]:
            raise CalibrationError(
                f"The calibration rows have {wrong}.",
                f"A calibration map needs {needed}.",
                "Choose other calibration rows, or other scores.",
            )
    return cast(Shape, fit.shapes[0])  # what has none of these problems has a map


def _one_dimension(scores: Any) -> Floats:
    values = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return column_or_1d(values)


def _platt(cells: Cells) -> Affine:
    return cast(Affine, first_map(fit_leaves("platt", cells, [0])))


def _checked_bins(bins: int) -> int:
    if bins < 1:
        raise CalibrationError(
            f"The number of bins is {bins}.",
            "There is at least one bin.",
            "Choose a whole number from 1 on.",
        )
    return bins
