"""The paper's t(score, leaf): one map of the logit in every leaf."""

import json
import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.calibrators.methods import (
    LEVEL_STRENGTH,
    fit_leaves,
    fit_level,
    given_strength,
    level_leaves,
    require_method,
    shrink_leaves,
)
from hetcal.calibrators.shapes import Affine, Line, Shape, read_affine, read_shape, shape_document
from hetcal.calibrators.shrinkage import best_strength, group_folds, strength_table
from hetcal.cells.cells import MAX_LEAVES, Cells, leaf_positions, whole_ids
from hetcal.choices import CALIBRATORS
from hetcal.compiled import sigmoid, use_compiled
from hetcal.data.columns import row_weights
from hetcal.errors import CalibrationError
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal calibrators"
FORMAT = 4  # format 1 had linear maps only, format 2 no levels, format 3 only what is applied
BLOCK = 1 << 14  # rows at a time, so that they stay in the cache
FEW = "few of the rarer class"
FALLBACKS = ("one class", "constant scores", "separated", "not converged", "slope not positive")
KNOWN = (FEW, *FALLBACKS, "few rows")  # the last was written until format 2
SIGNIFICANT = 2.0  # standard errors
Shrinkage = float | Literal["cv"]


@dataclass(frozen=True)
class LeafMap:
    """The map of one leaf."""

    leaf: int  # id of the leaf; 0 for all rows together
    shape: Shape  # from logit to calibrated logit
    rows: int  # calibration rows of the leaf
    positives: int  # how many of them have label 1
    fallback: str | None = None  # why the leaf has no slope of its own, one of `KNOWN`
    level: Shape | None = None  # the pooled map at the height of the leaf, used if it is a fallback

    @property
    def enough(self) -> int:
        """The largest `min_rows` with which the leaf has a slope of its own.

        That is the number of rows of the rarer class; formats without levels counted all rows.
        """
        return self.rows if self.level is None else min(self.positives, self.rows - self.positives)

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits; NaN where a score is not finite."""
        scores = np.asarray(scores, dtype=np.float64)
        finite = np.isfinite(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(finite, self.shape.logit(np.where(finite, scores, 0.0)), np.nan)

    @property
    def slope(self) -> float:
        """Slope of a linear map, or of the linear part of a tamed one; NaN for another."""
        return self.shape.slope if isinstance(self.shape, Line) else math.nan

    @property
    def intercept(self) -> float:
        """Intercept of the same; NaN for another map."""
        return self.shape.intercept if isinstance(self.shape, Line) else math.nan

    @property
    def slope_se(self) -> float:
        """Standard error of the slope; NaN if there is none."""
        return self.shape.slope_se if isinstance(self.shape, Affine) else math.nan

    @property
    def intercept_se(self) -> float:
        """Standard error of the intercept; NaN if there is none."""
        return self.shape.intercept_se if isinstance(self.shape, Affine) else math.nan


def map_logits(scores: Floats, slope: Floats | float, intercept: Floats | float) -> Floats:
    """Return slope * score + intercept; NaN where a score is not finite."""
    scores = np.asarray(scores, dtype=np.float64)
    finite = np.isfinite(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = slope * scores + intercept
    return mapped if finite.all() else np.where(finite, mapped, np.nan)


def map_leaves(scores: Floats, position: Ints, slope: Floats, intercept: Floats) -> Floats:
    """Map each score by the slope and the intercept at its position, as `map_logits` does."""
    scores, logits = np.asarray(scores), np.empty(len(scores))
    if use_compiled():
        from hetcal.cells.kernels import map_rows

        map_rows(scores, position, slope, intercept, logits)
        return logits
    for start in range(0, len(scores), BLOCK):
        block = slice(start, start + BLOCK)
        at = position[block]
        logits[block] = map_logits(scores[block], slope.take(at), intercept.take(at))
    return logits


def map_scores(maps: Sequence[LeafMap], pooled: LeafMap, scores: Floats, leaf: Ints) -> Floats:
    """Return calibrated logits; NaN where a score is not finite.

    A leaf that is not known has the pooled map.
    """
    every = (*maps, pooled)  # position -1 is that of an unknown leaf
    position = leaf_positions(np.asarray(leaf), [each.leaf for each in maps])
    if all(isinstance(each.shape, Affine) for each in every):
        slope, intercept = (
            np.array([getattr(each, name) for each in every]) for name in ("slope", "intercept")
        )
        return map_leaves(scores, position, slope, intercept)
    scores, found = np.asarray(scores, dtype=np.float64), np.empty(len(position))
    for each, rows in _rows_of_maps(position, every):
        found[rows] = each.logit(scores[rows])
    return found


def _rows_of_maps(position: Ints, maps: Sequence[LeafMap]) -> Iterator[tuple[LeafMap, Ints]]:
    """Yield every map that is used, with the numbers of its rows; the last has position -1."""
    position = position % len(maps)
    order = np.argsort(position, kind="stable")
    bounds = np.searchsorted(position[order], np.arange(len(maps) + 1))
    for each, start, end in zip(maps, bounds[:-1], bounds[1:], strict=True):
        if start < end:
            yield each, order[start:end]


def _read_strength(fields: Fields, key: str) -> float:
    return math.inf if fields.is_null(key) else fields.number(key, 0.0, math.inf)


def _read_map(fields: Fields, form: int) -> tuple[LeafMap, LeafMap]:
    """Read the map that is applied, and that of the leaf whatever its number of rows."""
    numbers = ("slope", "intercept", "slope_se", "intercept_se")
    shapes = {1: numbers, 2: ("shape",), 3: ("shape", "level")}.get(form, ("shape", "level", "own"))
    fields.only("leaf", "rows", "positives", "fallback", *shapes)
    fallback = None if fields.is_null("fallback") else fields.text("fallback")
    if fallback is not None and fallback not in KNOWN:
        raise JsonError("a reason for a fallback is not known")
    leaf, rows = fields.integer("leaf", 0, 2**31), fields.integer("rows", 0, 2**53)
    shape = read_affine(fields) if form == 1 else read_shape(fields.fields("shape"))
    known = "level" in shapes and not fields.is_null("level")
    level = read_shape(fields.fields("level")) if known else None
    used = LeafMap(leaf, shape, rows, fields.integer("positives", 0, rows), fallback, level)
    if "own" not in shapes or fields.is_null("own"):
        return used, used
    return used, replace(used, shape=read_shape(fields.fields("own")), fallback=None)


def broken_maps(problem: str) -> CalibrationError:
    """Build the error for saved maps that cannot be used."""
    return CalibrationError(
        f"The calibration maps cannot be used: {problem}.",
        "Calibration maps are JSON text as hetcal saves it.",
        "Save them again from hetcal, or calibrate again.",
    )


class LeafCalibrator(BaseEstimator):
    """Calibrate the scores of each leaf on its own, by Platt scaling or another method.

    A leaf whose own slope cannot be trusted has that of all calibration rows with an intercept of
    its own, weakly shrunk towards theirs (`hetcal.calibrators.methods.LEVEL_STRENGTH`). A leaf
    without rows, and one first met in `predict`, has the map of all rows. Where all scores are
    equal, every map is an intercept.

    Parameters
    ----------
    min_rows : int, default=100
        Fewest calibration rows of the rarer class for a leaf to have a slope of its own, if there
        is no shrinkage.
    method : str, default="platt"
        One of `hetcal.choices.CALIBRATORS`.
    shrinkage : float or "cv", default=0.0
        How strongly the map of a leaf is shrunk towards that of all rows, see
        `hetcal.calibrators.methods.fit_family`. 0 is the plain fit of every leaf, infinity one
        map for all; "cv" chooses by cross-validation on the calibration rows.
    random_state : int, default=0
        Seed of the folds of the cross-validation.

    Attributes
    ----------
    pooled_ : LeafMap
        The map of all rows together.
    maps_ : tuple of LeafMap
        The map of each leaf, in the order of the ids.
    shrinkage_ : float
        The strength that was used.
    shrinkage_table_ : DataFrame or None
        What cross-validation found, see `hetcal.calibrators.shrinkage.strength_table`.
    fit_ : LeafFits
        What was fitted in each leaf, whether or not it can be trusted; a calibrator that was
        read back has neither this nor the table.
    trusted_ : tuple of LeafMap
        The map of each leaf whatever its number of rows; that with the slope of all rows where the
        leaf's own cannot be trusted for another reason.
    notes_ : tuple of str
        Warnings about the fit, as sentences.
    """

    def __init__(
        self,
        *,
        min_rows: int = 100,
        method: str = "platt",
        shrinkage: Shrinkage = 0.0,
        random_state: int = 0,
    ) -> None:
        self.min_rows = min_rows
        self.method = method
        self.shrinkage = shrinkage
        self.random_state = random_state

    def fit(
        self,
        scores: Floats,
        y: Labels,
        leaf: Ints,
        weight: Floats | None = None,
        leaves: Sequence[int] | None = None,
        *,
        groups: Groups | None = None,
    ) -> Self:
        """Fit on logits, labels in {0, 1} and leaf ids of calibration rows.

        Rows whose score is not finite or whose weight is 0 are left out. `leaves`
        lists the ids that get a map even if no row is in them. Rows of one of the
        `groups` are left out together by cross-validation.
        """
        check_consistent_length(scores, y, leaf, weight, groups)
        scores = column_or_1d(scores, dtype=np.float64)
        weight = None if weight is None else row_weights(weight, scores, may_vanish=True)
        cells = Cells.of_rows(scores, _binary(y), whole_ids(leaf), weight)
        ids = np.unique(cells.leaf).tolist() if leaves is None else leaves
        if groups is None:
            return self.fit_cells(cells, ids)
        used = np.isfinite(scores) if weight is None else np.isfinite(scores) & (weight > 0)
        folds = group_folds(cells, np.asarray(groups)[used], self.random_state)
        return self.fit_cells(cells, ids, folds=folds)

    def fit_cells(
        self,
        cells: Cells,
        leaves: Sequence[int],
        polish_with: Cells | None = None,
        folds: Sequence[Cells] | None = None,
    ) -> Self:
        """Fit on cells of the raw scores of calibration rows.

        Parameters
        ----------
        cells : Cells
            The rows, or a sketch of them.
        leaves : sequence of int
            Ids that get a map even if no row is in them.
        polish_with : Cells, optional
            The rows that the cells were made of. One pass over them gives the Platt maps
            that a fit on the rows gives; other maps, and intercepts of leaves without a slope,
            are those of the cells.
        folds : sequence of Cells, optional
            The same rows in the folds of cross-validation; drawn at random if there are none.
        """
        given = given_strength(self.shrinkage)
        require_method(self.method, np.inf if given is None else given)
        ids = sorted(set(map(int, leaves)))
        self._fit_pooled(cells, polish_with)
        self.shrinkage_table_ = None
        if given is None:
            parts = self._held_out, cells, ids, self.random_state, folds
            self.shrinkage_table_ = strength_table(*parts)
            given = best_strength(self.shrinkage_table_)
        return self._fit_leaves(cells, ids, given, polish_with)

    def _fit_pooled(self, cells: Cells, polish_with: Cells | None = None) -> None:
        together = _in_one_leaf(cells), [0], polish_with and _in_one_leaf(polish_with)
        fit = fit_leaves(self.method, *together)
        shape = fit_level(together[0]) if fit.constant[0] else fit.first_map()
        rows, positives = int(cells.rows.sum()), int(cells.rows[cells.y == 1].sum())
        self.pooled_ = LeafMap(0, shape, rows, positives)

    def _fit_leaves(
        self, cells: Cells, ids: Sequence[int], strength: float, polish_with: Cells | None = None
    ) -> Self:
        """Fit the map of every leaf, after that of all rows."""
        pooled = self.pooled_.shape
        constant = isinstance(pooled, Affine) and pooled.slope == 0
        if strength and not constant:
            self.fit_ = shrink_leaves(self.method, cells, ids, pooled, strength)
        else:
            self.fit_ = fit_leaves(self.method, cells, ids, polish_with)
        self.shrinkage_ = strength
        group, one = leaf_positions(cells.leaf, ids), cells.y == 1
        rows, positives = (
            np.bincount(group[side], cells.rows[side], len(ids)).astype(np.int64)
            for side in (group >= 0, (group >= 0) & one)
        )
        levels = level_leaves(cells, ids, pooled, (constant and strength) or LEVEL_STRENGTH)
        each_leaf = zip(ids, rows.tolist(), positives.tolist(), levels, strict=True)
        self.trusted_ = tuple(self._trusted(i, *each) for i, each in enumerate(each_leaf))
        self._choose()
        return self

    def _held_out(
        self, train: Cells, test: Cells, leaves: Sequence[int], strengths: Sequence[float]
    ) -> list[Floats]:
        """Return the logits of test cells for maps of every strength."""
        trial = LeafCalibrator(min_rows=self.min_rows, method=self.method)
        trial._fit_pooled(train)
        return [
            trial._fit_leaves(train, leaves, each).predict_logit(test.score, test.leaf)
            for each in strengths
        ]

    def with_min_rows(self, min_rows: int) -> Self:
        """Return the calibrator that `fit` would give with another `min_rows`.

        The maps are not fitted again: only whether a leaf uses its own may change. A
        calibrator that was read back from a format before 4 has only the maps that it used.
        """
        check_is_fitted(self, "trusted_")
        other = copy(self)
        other.min_rows = min_rows
        other._choose()
        return other

    def with_shapes(self, shapes: Sequence[Shape]) -> Self:
        """Return a calibrator with these maps in the leaves, whatever their rows."""
        check_is_fitted(self, "maps_")
        other, given = copy(self), zip(self.maps_, shapes, strict=True)
        other.maps_ = tuple(replace(own, shape=shape, fallback=None) for own, shape in given)
        other.trusted_ = other.maps_
        return other

    def _choose(self) -> None:
        """Give leaves with few of the rarer class the slope of all, if nothing shrinks theirs."""
        self.maps_ = tuple(
            own
            if own.fallback or own.enough >= self.min_rows or self.shrinkage_
            else replace(own, shape=own.level or self.pooled_.shape, fallback=FEW)
            for own in self.trusted_
        )

    def _trusted(
        self, position: int, leaf: int, rows: int, positives: int, level: Shape
    ) -> LeafMap:
        own, fit = self.fit_.shapes[position], self.fit_
        may_be_flat = self.shrinkage_ > 0 and self.pooled_.shape.rises  # the best that is allowed
        reasons = (
            fit.one_class[position],
            fit.constant[position],
            fit.separated[position],
            own is None,
            own is not None and not own.rises and not may_be_flat,
        )
        applying = (name for name, applies in zip(FALLBACKS, reasons, strict=True) if applies)
        reason = next(applying, None) if rows else FEW
        shape = level if reason is not None or own is None else own
        return LeafMap(leaf, shape, rows, positives, reason, level)

    @property
    def notes_(self) -> tuple[str, ...]:
        """Warnings about the fit."""
        shape = self.pooled_.shape
        if shape.rises:
            return ()
        if isinstance(shape, Affine) and shape.slope == 0:
            return ("All calibration rows have the same score: maps have an intercept only.",)
        if isinstance(shape, Affine) and not shape.slope < -SIGNIFICANT * shape.slope_se:
            return ()  # a score that is noise may have either sign
        of = f"slope of all calibration rows together is {self.pooled_.slope:.3g}"
        if not isinstance(shape, Affine):
            of = "map of all calibration rows together does not rise"
        return (
            f"The {of}: higher scores go with fewer positive labels. Check that the score is "
            "that of the positive class.",
        )

    @property
    def straight(self) -> bool:
        """Whether every map is linear in the logit."""
        return all(isinstance(each.shape, Affine) for each in (self.pooled_, *self.maps_))

    def predict_logit(self, scores: Floats, leaf: Ints) -> Floats:
        """Return calibrated logits; NaN where a score is not finite."""
        check_is_fitted(self, "maps_")
        check_consistent_length(scores, leaf)
        return map_scores(self.maps_, self.pooled_, scores, whole_ids(leaf))

    def predict(self, scores: Floats, leaf: Ints) -> Floats:
        """Return calibrated probabilities; NaN where a score is not finite."""
        logits = self.predict_logit(scores, leaf)
        return sigmoid(logits, out=logits)

    def to_json(self) -> str:
        """Return the maps as JSON text; null is infinite strength."""
        check_is_fitted(self, "maps_")
        pairs = zip((self.pooled_, *self.maps_), (self.pooled_, *self.trusted_), strict=True)
        content = {
            "kind": KIND,
            "format": FORMAT,
            "method": self.method,
            "shrinkage": None if self.shrinkage == math.inf else self.shrinkage,
            "strength": None if self.shrinkage_ == math.inf else self.shrinkage_,
            "min_rows": self.min_rows,
            "maps": [
                {
                    "leaf": each.leaf,
                    "rows": each.rows,
                    "positives": each.positives,
                    "fallback": each.fallback,
                    "shape": shape_document(each.shape),
                    "level": None if each.level is None else shape_document(each.level),
                    "own": None if own.shape == each.shape else shape_document(own.shape),
                }
                for each, own in pairs
            ],
        }
        return json.dumps(content, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a fitted calibrator back; its predictions are the same bit for bit.

        Text that `to_json` did not write, in this format or before, is a `CalibrationError`.
        """
        try:
            fields = parse_object(text)
            if fields.text("kind") != KIND:
                raise broken_maps(f"it is not of the kind {KIND!r}")
            form = fields.integer("format", 1, FORMAT)
            calibrator = cls._read_settings(fields, old=form == 1)
            pairs = [_read_map(each, form) for each in fields.objects("maps")]
        except JsonError as problem:
            raise broken_maps(str(problem)) from problem
        ids = [each.leaf for each, _ in pairs]
        if ids[:1] != [0] or len({*ids[1:]}) < len(ids) - 1 or len(ids) > MAX_LEAVES + 1:
            raise broken_maps("its leaves are not numbered as they should be")
        calibrator.pooled_, calibrator.maps_ = pairs[0][0], tuple(used for used, _ in pairs[1:])
        calibrator.trusted_ = tuple(own for _, own in pairs[1:])
        return calibrator

    @classmethod
    def _read_settings(cls, fields: Fields, *, old: bool) -> Self:
        names = ("kind", "format", "min_rows", "maps")
        fields.only(*names, *(() if old else ("method", "shrinkage", "strength")))
        calibrator = cls(min_rows=fields.integer("min_rows", 0, 2**53))
        calibrator.shrinkage_, calibrator.shrinkage_table_ = 0.0, None
        if not old:
            calibrator.method = fields.text("method")
            if calibrator.method not in CALIBRATORS:
                raise JsonError("the method is not known")
            calibrator.shrinkage_ = _read_strength(fields, "strength")
            chosen = fields.is_text("shrinkage") and fields.text("shrinkage") == "cv"
            calibrator.shrinkage = "cv" if chosen else _read_strength(fields, "shrinkage")
        return calibrator


def _in_one_leaf(cells: Cells) -> Cells:
    return replace(cells, leaf=np.zeros_like(cells.leaf))


def _binary(y: Labels) -> Ints:
    labels = column_or_1d(y, warn=True)
    if not np.isin(labels, (0, 1)).all():
        raise CalibrationError(
            "The labels hold values other than 0 and 1.",
            "Calibration needs 1 for the positive class and 0 for the other.",
            "Recode the labels.",
        )
    return labels.astype(np.int64)
