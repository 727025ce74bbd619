"""Algorithm 1 of the paper as a scikit-learn classifier."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, assert_all_finite, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from hetcal.arrays import Bools, Floats, Ints
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.platt import fit_platt
from hetcal.data.columns import column_kind, row_weights
from hetcal.data.scores import to_logits
from hetcal.errors import CalibrationError
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition, require_table


@dataclass(frozen=True)
class _Rows:
    X: Any
    y: Any
    weight: Floats | None

    def take(self, rows: Ints) -> "_Rows":
        weight = None if self.weight is None else self.weight[rows]
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return _Rows(X, self.y[rows], weight)


class HeterogeneousCalibrator(ClassifierMixin, BaseEstimator):
    """Calibrate a classifier separately in the leaves of a partition.

    The estimator and the partition are fitted on training rows, the maps of the
    leaves on calibration rows that neither has seen.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What gives the scores: its `decision_function`, or the logit of its
        `predict_proba`. None means `LogisticRegression()`, with one-hot encoded categories
        where the rows are a pandas frame with columns of text. An estimator inside
        `FrozenEstimator` is not fitted again. A given estimator gets a frame as it is.
    partition : estimator, Partition or None, default=None
        What gives the leaves. None means `TreePartition()`; a `Partition` is used as given.
    calibrator : LeafCalibrator or None, default=None
        What maps score and leaf to a probability. None means `LeafCalibrator()`.
    calibration_fraction : float, default=0.5
        Share of the rows that are calibration rows if `fit` gets none.
    random_state : int, default=0
        Seed of that division, and of the default partition.

    Attributes
    ----------
    estimator_, partition_, calibrator_ : fitted parts
        `calibrator_` is None if the scores of the calibration rows separate the classes
        completely: then there is nothing to calibrate, and scores are not changed.
    classes_ : array
        The two labels; the second one is the positive class.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        partition: Any = None,
        calibrator: LeafCalibrator | None = None,
        calibration_fraction: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.partition = partition
        self.calibrator = calibrator
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_calibration: Any = None,
        y_calibration: Any = None,
        sample_weight_calibration: Any = None,
    ) -> Self:
        """Fit estimator and partition on training rows and the maps on calibration rows.

        Without `X_calibration` a share of the rows is set aside for calibration.
        """
        rows = self._rows(X, y, sample_weight, reset=True)
        self.classes_ = _two_classes(rows.y)
        if X_calibration is None:
            _refuse_without_rows(y_calibration, sample_weight_calibration)
            train, held_out = self._set_aside(rows)
        else:
            held_out = self._rows(
                X_calibration, y_calibration, sample_weight_calibration, reset=False
            )
            _require_known(held_out.y, self.classes_)
            train = rows
        self.estimator_ = self._fit_estimator(train)
        self.partition_ = self._fit_partition(train)
        self.calibrator_ = self._fit_calibrator(held_out)
        return self

    def _set_aside(self, rows: _Rows) -> tuple[_Rows, _Rows]:
        train, held_out = train_test_split(
            np.arange(len(rows.y)),
            test_size=self.calibration_fraction,
            stratify=rows.y,
            random_state=self.random_state,
        )
        return rows.take(train), rows.take(held_out)

    def _fit_estimator(self, train: _Rows) -> Any:
        text = _text_columns(train.X)
        estimator = _default(text) if self.estimator is None else clone(self.estimator)
        try:
            _fit(estimator, train)
        except (TypeError, ValueError) as error:
            if not text:
                raise
            raise CalibrationError(
                f"The estimator {estimator} cannot be fitted on a frame with columns of text "
                f"({', '.join(text[:5])}): {error}",
                "It gets the frame as it is.",
                "Encode text in front of it, such as make_pipeline(make_column_transformer("
                "(OneHotEncoder(handle_unknown='ignore'), columns), remainder='passthrough'), "
                "estimator).",
            ) from error
        if not hasattr(estimator, "classes_"):
            raise CalibrationError(
                f"The estimator {estimator} has no classes.",
                "Calibration needs the scores of a classifier of two classes.",
                "Give a classifier, such as LogisticRegression().",
            )
        if not np.array_equal(estimator.classes_, self.classes_):
            raise CalibrationError(
                f"The estimator was trained on the classes {list(estimator.classes_)}.",
                f"The labels have the classes {self.classes_.tolist()}.",
                "Give the labels that the estimator was trained on.",
            )
        return estimator

    def _fit_partition(self, train: _Rows) -> Any:
        if isinstance(self.partition, Partition):
            return self.partition
        return _fit(TreePartition() if self.partition is None else clone(self.partition), train)

    def _fit_calibrator(self, rows: _Rows) -> LeafCalibrator | None:
        scores, leaf = self._scores(rows.X), self.partition_.apply(rows.X)
        positive = (rows.y == self.classes_[1]).astype(np.int64)
        together = fit_platt(scores, positive, np.zeros_like(positive), [0], rows.weight)
        if together.separated[0]:
            return None
        calibrator = LeafCalibrator() if self.calibrator is None else clone(self.calibrator)
        return calibrator.fit(scores, positive, leaf, rows.weight)

    def _rows(self, X: Any, y: Any, weight: Any, *, reset: bool) -> _Rows:
        X = self._checked(X, reset=reset)
        if y is None:
            message = "requires y to be passed, but the target y is None"
            raise ValueError(message)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if weight is not None:
            weight = row_weights(weight, X)
        return _Rows(X, y, weight)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        require_table(X)
        if isinstance(X, pd.DataFrame):  # the estimator itself checks text columns
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, ensure_all_finite=False)

    def _scores(self, X: Any) -> Floats:
        if hasattr(self.estimator_, "decision_function"):
            return np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
        return to_logits(self.estimator_.predict_proba(X)[:, 1])

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of each row."""
        check_is_fitted(self)
        return self.partition_.apply(self._checked(X, reset=False))

    def decision_function(self, X: Any) -> Floats:
        """Return the calibrated logit of the positive class."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        scores = self._scores(X)
        if self.calibrator_ is None:
            return scores
        return self.calibrator_.predict_logit(scores, self.partition_.apply(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated probability of either class."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])

    def predict(self, X: Any) -> Any:
        """Return the more probable class."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.int64)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _text_columns(X: Any) -> list[str]:
    """Return the names of columns of text or categories; only frames have such."""
    if not isinstance(X, pd.DataFrame):
        return []
    columns = {name: X[name] for name in X.columns}
    return [
        name
        for name, column in columns.items()
        if column_kind(column) == "category" and not pd.api.types.is_bool_dtype(column)
    ]


def _default(text: list[str]) -> Any:
    """Return a logistic regression, behind an encoder if there are columns of text."""
    if not text:
        return LogisticRegression()
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore")  # what is new at prediction has no weight
    encoded = make_column_transformer((encoder, text), remainder="passthrough")
    return make_pipeline(encoded, LogisticRegression())


def _fit(estimator: Any, rows: _Rows) -> Any:
    if rows.weight is None:
        return estimator.fit(rows.X, rows.y)
    weight = {_weight_name(estimator): rows.weight}
    return estimator.fit(rows.X, rows.y, **weight)


def _weight_name(estimator: Any) -> str:
    """Return under which name `fit` takes weights; a pipeline passes them to its last step."""
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"


def _two_classes(y: Any) -> Any:
    classes = np.unique(y)
    if classes.size != 2:
        target = f"The type of the target is {type_of_target(y)}"
        raise CalibrationError(
            f"Only binary classification is supported. {target}."
            if classes.size > 2
            else "All labels are of one class.",
            "Heterogeneous calibration needs exactly two classes.",
            "Choose another label, or give rows of both classes.",
        )
    return classes


def _require_known(y: Any, classes: Any) -> None:
    known = classes.tolist()
    unknown = [label for label in np.unique(y).tolist() if label not in known]
    if unknown:
        raise CalibrationError(
            f"The labels of the calibration rows have a value {unknown[0]!r}.",
            f"They have to be of the classes of the training rows, {known}.",
            "Recode the labels of the calibration rows, or leave such rows out.",
        )


def _refuse_without_rows(*given: Any) -> None:
    if any(each is not None for each in given):
        raise CalibrationError(
            "Labels or weights of calibration rows are given without the rows.",
            "Calibration rows need `X_calibration`.",
            "Give it, too, or neither, to have a share of the rows set aside.",
        )


class ScoredClassifier(ClassifierMixin, BaseEstimator):
    """A trained classifier, whose logit is the only feature."""

    def __init__(self) -> None:
        self.classes_ = np.array([0, 1])

    def fit(self, X: Floats, y: Any) -> Self:
        """Do nothing: it is trained."""
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the logit."""
        return X[:, 0]

    def predict(self, X: Floats) -> Bools:
        """Return where the logit is positive."""
        return X[:, 0] > 0
