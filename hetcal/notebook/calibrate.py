"""From arrays or a frame to a finished run in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hetcal.choices import RUNGS
from hetcal.data.columns import column_kind, value_text
from hetcal.data.scores import MOST_AWAY_FROM_ONE, ScoreKind, unit_name
from hetcal.data.table import Roles, encode_label, has_many_classes, label_values, make_table
from hetcal.errors import HetcalError, ScoreError, TableError, did_you_mean
from hetcal.models.scoring import (
    ColumnScoring,
    guess_kind_of,
    require_column_per_class,
    score_rows,
)
from hetcal.notebook.finished import FinishedRun
from hetcal.notebook.frames import SCORE, free_name, one_of, to_frame, to_scores, with_column
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.runs.run import run
from hetcal.runs.settings import CHOOSING, ENSEMBLES, PARTITIONS, READ_SCORES, Settings

LISTS = ("segments", "increasing", "decreasing")  # settings of several columns
GIVEN = "a partition that is given"
ONE_TREE = ("tree", "auc-gain", "instability", "layer")
OWN_MAPS = (*(name for name in PARTITIONS if name not in ENSEMBLES), GIVEN)
WITH_TERMS = (*CHOOSING, "additive")
READ_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("max_depth", "min_leaf"), ONE_TREE),
    "tree_size": ("tree", "layer"),
    **dict.fromkeys(("segments", "bins"), ("columns",)),
    **dict.fromkeys(("calibrator", "shrinkage", "min_rows"), OWN_MAPS),
    **dict.fromkeys(("only", "take"), CHOOSING),
    **dict.fromkeys(("pairs", "increasing", "decreasing"), WITH_TERMS),
    "use_validation": (*ENSEMBLES, *READ_SCORES),
}
"""Settings, and the partitions that read them."""


def calibrate(
    X: Any,
    y: Any = None,
    score: Any = None,
    *,
    split: Any = None,
    group: Any = None,
    weight: Any = None,
    time: Any = None,
    positive: Any = None,
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    score_kind: ScoreKind | None = None,
    drop_unlabelled: bool = False,
    partition: str | Partition = "auto",
    seed: int = 0,
    progress: Progress = silent,
    **settings: Any,
) -> FinishedRun:
    """Calibrate the scores of a model and measure on test rows whether that helps.

    What has one value per row (`y`, `score`, `group`, …) is an array, or the name of a column of
    `X`. Rows are in the same order everywhere; the index of pandas is not looked at.

    Parameters
    ----------
    X : frame or array
        The rows: a frame of pandas, polars, Arrow or any library that speaks Arrow, or an array of
        rows by columns. Text and missing values are fine.
    y : array or str
        The label, of two values or more.
    score : array, str or list of str
        What the model says: probabilities or logits, one per row, or rows by classes in ascending
        order of the classes, as `predict_proba` returns them.
    split : None, str, array or tuple, optional
        Which rows the model was trained on, and what the others are for: a column or an array of
        the names train, validation, calibration and test; or four fractions. None takes those of
        the paper, at random.
    group : array, str or False, optional
        Rows of one group stay together. None looks for a column that repeats like an id, False
        does not.
    weight, time : array or str, optional
        Importance of the rows; when they were (without a `split` the latest rows test).
    positive : optional
        The positive value of the label. With more than two values it is set against all others.
    classes : sequence, optional
        The values of the label in the order of the columns of `score`; ascending by default.
    names : sequence of str, optional
        Names for the columns of `X`.
    features, ignore : str or sequence of str, optional
        The columns that may describe a row (by default all that have no other role), and those
        that may not.
    score_kind : {"probability", "logit"}, optional
        What the scores are; guessed by default: probabilities, if all lie between 0 and 1.
    drop_unlabelled : bool, default=False
        Leave out rows whose label is missing in place of refusing them.
    partition : str or Partition, default="auto"
        How the rows are divided, one of `hetcal.runs.settings.PARTITIONS`; "auto" chooses.
    seed : int, default=0
        Seed of the split, of the trees and of cross-validation.
    progress : callable, optional
        Called with the share that is done and a text; what it raises ends the run.
    **settings
        Other fields of `Settings`, such as `max_depth`, `calibrator` or `only`.

    Returns
    -------
    FinishedRun
        With `verdict`, `summary()`, `figure(name)`, `predict(rows, score)` and `save(path)`.

    Raises
    ------
    HetcalError
        When something is missing, of another length or type, or cannot be calibrated; it says
        what is wrong, what is needed and what to do next.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, score = rng.normal(size=(2000, 2)), rng.normal(size=2000)
    >>> y = rng.uniform(size=2000) < 1 / (1 + np.exp(-score - np.sign(X[:, 0])))
    >>> calibrate(X, y, 2 * score, partition="tree")
    <hetcal run: Heterogeneous calibration helps. AUC 0.7229 before, 0.7936 after>
    """
    if y is None:
        raise TableError(
            "No label is given.",
            "Calibration compares the scores with what was true.",
            "Give y: one value per row, or the name of a column of X.",
        )
    more = _settings(settings, seed, partition)
    frame, label = with_column(to_frame(X, names), y, "label")
    roles = Roles(
        label,
        positive=None if positive is None else value_text(positive),
        features=None if features is None else _names(features),
        ignore=_names(ignore),
        drop_unlabelled=drop_unlabelled,
        assume_group=group is not False,
    )
    named = {"group": None if group is False else group, "weight": weight, "time": time}
    if split is not None and not _are_fractions(split, len(frame)):
        named["split"] = split
    elif split is not None:
        more = replace(more, fractions=tuple(float(each) for each in split))
    columns: dict[str, Any] = {}
    for role, given in named.items():
        if given is not None:
            frame, columns[role] = with_column(frame, given, role)
    order = None if classes is None else tuple(value_text(each) for each in classes)
    known = _Given(frame, replace(roles, **columns), order)
    known, scoring = _score_columns(known, score, score_kind)
    table = make_table(known.frame, known.roles, classes=known.classes)
    if not table.classes:
        _require_rung(more.take)
    scores = score_rows(table.frame, scoring, table.classes, table.digest)
    grown = partition if isinstance(partition, Partition) else None
    return FinishedRun.of(run(table, scores, more, grown, progress), scoring)


def _settings(given: dict[str, Any], seed: int, partition: str | Partition) -> Settings:
    """Return the settings of a run; names that are no settings are refused."""
    for name in given:
        if name not in READ_BY:
            raise HetcalError(
                f"There is no parameter or setting called '{name}'.",
                f"The settings are {', '.join(READ_BY)}.",
                did_you_mean(name, [*READ_BY, *PARAMETERS]),
            )
    lists = {name: _names(given[name]) for name in LISTS if name in given}
    named = partition if isinstance(partition, str) else "tree"
    settings = Settings(seed=seed, partition=named, **{**given, **lists})
    kind = partition if isinstance(partition, str) else GIVEN
    for name in given:
        if kind not in READ_BY[name]:
            raise HetcalError(
                f"The setting '{name}' has no effect here: the partition is {kind}.",
                f"It is read by {', '.join(READ_BY[name])}.",
                "Leave it out, or choose one of these as partition.",
            )
    return settings


def _require_rung(name: str | None) -> None:
    """Refuse a rung that the ladder of two classes does not have, before any work is done."""
    if name not in (None, *RUNGS):
        raise HetcalError(
            f"There is no rung called '{name}' to take.",
            f"The ladder has: {', '.join(RUNGS)}.",
            did_you_mean(str(name), RUNGS),
        )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(str(each) for each in given)


def _are_fractions(split: Any, rows: int) -> bool:
    """Whether a split is a few numbers, and not the role of each row."""
    if not isinstance(split, Sequence | np.ndarray) or isinstance(split, str):
        return False
    return len(split) != rows and not any(isinstance(each, str) for each in split)


@dataclass(frozen=True)
class _Given:
    """The columns and their roles, and the classes in the order of the scores if it is known."""

    frame: pd.DataFrame
    roles: Roles
    classes: tuple[str, ...] | None


_Scored = tuple[_Given, ColumnScoring]


def _score_columns(given: _Given, score: Any, kind: ScoreKind | None) -> _Scored:
    """Add the scores: one column, or one for each of more than two classes."""
    frame, roles, found = given.frame, given.roles, to_scores(given.frame, score)
    columns = tuple(str(name) for name in found.columns)
    if has_many_classes(frame, roles):
        frame = frame.assign(**{name: found[name] for name in columns})
        values = set(label_values(frame[roles.label]))
        classes = columns if given.classes is None and set(columns) == values else given.classes
        roles = replace(roles, class_scores=columns)
        scoring = ColumnScoring(columns, kind or guess_kind_of(frame, columns))
        return _Given(frame, roles, classes), scoring
    if len(columns) > 1:
        return _positive_score(given, found, kind)
    (name,) = columns
    if kind is None:
        _refuse_classes(found[name])
    frame = frame.assign(**{name: found[name]})
    scoring = ColumnScoring(columns, kind or guess_kind_of(frame, columns))
    return _Given(frame, replace(roles, score=name), None), scoring


def _positive_score(given: _Given, found: pd.DataFrame, kind: ScoreKind | None) -> _Scored:
    """Take the score of the positive class of one for each class."""
    frame, roles = given.frame, given.roles
    column = frame[roles.label]
    positive = encode_label(column, roles.positive, roles.drop_unlabelled).positive
    values = given.classes or label_values(column)
    require_column_per_class(tuple(found.columns), values)
    if positive not in values:
        raise TableError(
            f"The positive value '{positive}' is not among the classes.",
            f"The classes are {', '.join(values)}.",
            "Name the values of the label in the order of the columns of the score.",
        )
    number = list(values).index(str(positive))
    kind = kind or _kind_of_all(found)
    name = free_name(frame, unit_name(SCORE, number))
    frame = frame.assign(**{name: one_of(found, number, kind)})
    others = tuple(each for each in found.columns if each in given.frame)
    roles = replace(roles, score=name, ignore=(*roles.ignore, *others))
    return _Given(frame, roles, None), ColumnScoring((name,), kind)


def _kind_of_all(found: pd.DataFrame) -> ScoreKind:
    """Guess that numbers between 0 and 1 which add up to 1 in every row are probabilities."""
    if guess_kind_of(found, list(found.columns)) == "logit":
        return "logit"
    sums = found.sum(axis=1, skipna=False).dropna()
    return "probability" if ((sums - 1).abs() <= MOST_AWAY_FROM_ONE).all() else "logit"


def _refuse_classes(score: pd.Series) -> None:
    """Refuse predicted classes, which do not say how sure the model is of them."""
    known = score.dropna()
    text = column_kind(score) == "category"
    if text or (len(known) and known.isin([0, 1]).all()):
        examples = " and ".join(f"'{value_text(each)}'" for each in known.unique()[:2])
        raise ScoreError(
            f"The score '{score.name}' holds nothing but {examples or 'missing values'}: classes.",
            "Calibration needs how sure the model is: a probability or a logit for each row.",
            "Give model.predict_proba(X) or model.decision_function(X), or the output of a "
            + ("network." if text else "network; score_kind='probability' takes 0 and 1, too."),
        )


PARAMETERS = tuple(calibrate.__kwdefaults__ or ())
