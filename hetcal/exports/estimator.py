"""The calibration as a scikit-learn classifier: an export of JSON, and what it becomes again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hetcal.arrays import Floats
from hetcal.artifacts.artifact import Artifact
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.data.scores import ScoreKind, scores_from_column
from hetcal.errors import ArtifactError
from hetcal.exports.about import FORMAT
from hetcal.exports.proof import Parity, compare, in_fresh_process
from hetcal.exports.recipe import Document
from hetcal.partitions.partition import Partition
from hetcal.runs.heterogeneous import HeterogeneousCalibrator
from hetcal.schemes.scheme import Scheme
from hetcal.strict_json import JsonError, parse_object

NAME = "calibrated_estimator.json"
PACKAGE = Path(__file__).parents[2]
USE = (
    f'model = hetcal.open("{NAME}")  # a fitted classifier of scikit-learn',
    "model.predict_proba(frame[model.feature_names_in_])[:, 1]",
    "sklearn.base.clone(model).fit(frame, y)  # the same settings, fitted to other rows",
)
CANNOT = (
    "It does not run the network: it takes the network's score as a column.",
    "It needs hetcal; its classes are 0 and 1, the positive value.",
)


class ScoreCalibrator(HeterogeneousCalibrator):
    """Calibrate a score that is a column of the rows, separately in the leaves of a partition.

    Parameters
    ----------
    column : str or int, default=0
        The column with the score of each row: its name in a frame, or its position.
    kind : {"logit", "probability"}, default="logit"
        What the scores are.
    partition, calibrator, calibration_fraction, random_state
        As in `HeterogeneousCalibrator`.

    Attributes
    ----------
    scheme_ : Scheme or None
        What calibrates in place of the maps of the leaves; `fit` fits maps, and has none.
    estimator_, partition_, calibrator_, classes_ : fitted parts
        As in `HeterogeneousCalibrator`.
    """

    def __init__(
        self,
        column: str | int = 0,
        kind: ScoreKind = "logit",
        *,
        partition: Any = None,
        calibrator: LeafCalibrator | None = None,
        calibration_fraction: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.column = column
        self.kind = kind
        self.partition = partition
        self.calibrator = calibrator
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    @property
    def estimator(self) -> "ScoreColumn":
        """What gives the scores: it reads them from their column."""
        return ScoreColumn(self.column, self.kind)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **calibration: Any) -> Self:
        """Fit partition and maps, see `HeterogeneousCalibrator.fit`."""
        self.scheme_: Scheme | None = None
        return super().fit(X, y, sample_weight, **calibration)

    def _fit_calibrator(self, rows: Any) -> LeafCalibrator | None:
        """Fit maps on the rows that have a score."""
        scored = np.flatnonzero(np.isfinite(self._scores(rows.X)))
        return super()._fit_calibrator(rows.take(scored))

    def decision_function(self, X: Any) -> Floats:
        """Return the calibrated logit of the positive class; NaN where there is no score."""
        check_is_fitted(self)
        if self.scheme_ is None:
            return super().decision_function(X)
        X = self._checked(X, reset=False)
        return self.scheme_.logit(self._scores(X), X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a row without a score has no probability
        return tags


class ScoreColumn(ClassifierMixin, BaseEstimator):
    """A classifier whose logits are a column of the rows."""

    def __init__(self, column: str | int = 0, kind: ScoreKind = "logit") -> None:
        self.column = column
        self.kind = kind

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the names of the classes: the scores are there."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the logits."""
        named = isinstance(X, pd.DataFrame)
        by_name = named and self.column in X.columns
        given = X[self.column] if by_name else (X.iloc if named else X)[:, self.column]
        column = pd.Series(given, name=str(self.column))
        return scores_from_column(column, self.kind, "").logit

    def predict(self, X: Any) -> Any:
        """Return the more probable class."""
        return self.classes_[(self.decision_function(X) > 0).astype(np.int64)]


def estimator_file(artifact: Artifact, document: Document, about: Document) -> bytes:
    """Write the parts of the estimator as JSON."""
    scheme = artifact.scheme
    parts = {
        "hetcal_estimator": FORMAT,
        "about": about,
        "score": {key: document["score"][key] for key in ("column", "kind")},
        "columns": [each["name"] for each in document["columns"]],
        "partition": json.loads(artifact.partition.to_json()),
        "calibrator": json.loads(artifact.calibrator.to_json()),
        "scheme": None if scheme is None else json.loads(scheme.to_json()),
    }
    return json.dumps(parts).encode()


def open_estimator(content: bytes) -> ScoreCalibrator:
    """Rebuild the estimator of a file."""
    try:
        fields = parse_object(content)
        if fields.integer("hetcal_estimator", 0, 2**31) > FORMAT:
            raise JsonError("it is of a newer format: a newer hetcal is needed")
        score = fields.fields("score")
        kind = score.text("kind")
        if kind not in ("logit", "probability"):
            raise JsonError(f"the kind of its scores is {kind!r}")
        partition, maps = (json.dumps(fields.content(key)) for key in ("partition", "calibrator"))
        calibrator = LeafCalibrator.from_json(maps)
        made = ScoreCalibrator(score.text("column"), kind, calibrator=LeafCalibrator())  # type: ignore[arg-type]
        made.partition_ = Partition.from_json(partition)
        made.calibrator_ = calibrator
        made.scheme_ = None
        if not fields.is_null("scheme"):
            made.scheme_ = Scheme.from_json(json.dumps(fields.content("scheme")))
        columns = [made.column, *fields.texts("columns")]
    except ValueError as error:
        raise ArtifactError(
            f"This is no estimator that can be opened: {error}.",
            "It is a file that `hetcal export --to sklearn` wrote.",
            "Export it again.",
        ) from error
    made.classes_ = np.array([0, 1])
    made.estimator_ = made.estimator.fit(None, made.classes_)
    made.feature_names_in_ = np.array(columns, dtype=object)
    made.n_features_in_ = len(columns)
    return made


OPENED = f"""
import json, sys
sys.path.insert(0, {str(PACKAGE)!r})
import hetcal, pandas
rows = pandas.read_parquet("rows.parquet")
model = hetcal.open("{NAME}")
after = model.predict_proba(rows[model.feature_names_in_])[:, 1]
print(json.dumps([model.apply(rows).tolist(), after.tolist()]))
"""


def check(content: bytes, rows: pd.DataFrame, expected: pd.DataFrame) -> Parity:
    """Open the file in a fresh process, and compare what it predicts with the artifact."""
    files = {NAME: content, "rows.parquet": rows.to_parquet(index=False)}
    found: Sequence[Any] = in_fresh_process(OPENED, files)
    return compare(expected, found, "scikit-learn's predict_proba")
