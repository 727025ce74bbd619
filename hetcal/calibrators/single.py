"""Calibrators of a single score: one-dimensional `fit` and `predict`."""

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, assert_all_finite, check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.binned import BINS, FEWER_BINS
from hetcal.calibrators.methods import fit_leaves
from hetcal.calibrators.shapes import Affine, Shape
from hetcal.cells.cells import Cells
from hetcal.data.columns import row_weights
from hetcal.errors import CalibrationError


class _Calibrator(BaseEstimator):
    """What all calibrators of a single score share: input, output and `shape_`, the map."""

    shape_: Shape
    _method: str
    bins: int | None = None

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on logits and labels of two classes; the larger label is the positive one."""
        values = _one_dimension(scores)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(values, labels)
        labels = _codes(labels)
        weight = None if sample_weight is None else row_weights(sample_weight, values)
        cells = Cells.of_rows(values, labels, np.zeros(len(values), dtype=np.int64), weight)
        self.shape_ = fit_leaves(self._method, cells, [0], bins=_checked(self.bins)).first_map()
        return self

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

    shape_: Affine
    _method = "platt"

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on logits and labels of two classes; the larger label is the positive one."""
        super().fit(scores, y, sample_weight)
        self.slope_, self.intercept_ = self.shape_.slope, self.shape_.intercept
        self.slope_se_, self.intercept_se_ = self.shape_.slope_se, self.shape_.intercept_se
        return self


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

    _method = "histogram"

    def __init__(self, bins: int = BINS) -> None:
        self.bins = bins


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

    _method = "scaling-binning"

    def __init__(self, bins: int = FEWER_BINS) -> None:
        self.bins = bins


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


def _one_dimension(scores: Any) -> Floats:
    values = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return column_or_1d(values)


def _checked(bins: int | None) -> int | None:
    if bins is not None and bins < 1:
        raise CalibrationError(
            f"The number of bins is {bins}.",
            "There is at least one bin.",
            "Choose a whole number from 1 on.",
        )
    return bins
