"""The paper's t(score, leaf): one map of the logit in every leaf."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hetcal.arrays import Floats, Ints
from hetcal.calibrators import check_labels, require_fit
from hetcal.cells import Cells
from hetcal.leaf_ids import leaf_positions
from hetcal.leaf_map import FALLBACKS, LeafMap, map_leaves, read_maps, write_maps
from hetcal.partition import Partition
from hetcal.platt import PlattFit, fit_platt_cells
from hetcal.platt_polish import polish
from hetcal.ranking import Labels
from hetcal.rules import ALL_ROWS
from hetcal.sigmoid import sigmoid


class LeafCalibrator(BaseEstimator):
    """Calibrate the scores of each leaf on its own by Platt scaling.

    A leaf whose own map cannot be trusted, and a leaf first met in `predict`, has
    the map fitted on all calibration rows, so that all rows stay on one scale.

    Parameters
    ----------
    min_rows : int, default=50
        Fewest calibration rows for a leaf to have a map of its own.

    Attributes
    ----------
    pooled_ : LeafMap
        The map of all rows together.
    maps_ : tuple of LeafMap
        The map of each leaf, in the order of the ids.
    own_, fit_ : tuple of LeafMap, PlattFit
        What was fitted in each leaf, whether or not it can be trusted; a calibrator that was
        read back has neither.
    notes_ : tuple of str
        What a person should know about the fit.
    """

    def __init__(self, *, min_rows: int = 50) -> None:
        self.min_rows = min_rows

    def fit(
        self,
        scores: Floats,
        y: Labels,
        leaf: Ints,
        weight: Floats | None = None,
        leaves: Sequence[int] | None = None,
    ) -> Self:
        """Fit on logits, labels in {0, 1} and leaf ids of calibration rows.

        Rows whose score is not finite or whose weight is 0 are left out. `leaves`
        lists the ids that get a map even if no row is in them.
        """
        check_consistent_length(scores, y, leaf, weight)
        weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        cells = Cells.of_rows(
            np.asarray(scores, dtype=np.float64), check_labels(y), np.asarray(leaf), weight
        )
        ids = np.unique(cells.leaf).tolist() if leaves is None else leaves
        return self.fit_cells(cells, ids)

    def fit_cells(
        self, cells: Cells, leaves: Sequence[int], polish_with: Cells | None = None
    ) -> Self:
        """Fit on cells of calibration rows.

        Parameters
        ----------
        cells : Cells
            Raw scores.
        leaves : sequence of int
            Ids that get a map even if no row is in them.
        polish_with : Cells, optional
            The rows that the cells were made of. One pass over them gives the maps that a
            fit on the rows gives.
        """
        ids = sorted(set(map(int, leaves)))
        everywhere = _fit(_in_one_leaf(cells), [0], polish_with and _in_one_leaf(polish_with))
        require_fit(everywhere)
        group, one = leaf_positions(cells.leaf, ids), cells.y == 1
        rows, positives = (
            np.bincount(group[side], cells.rows[side], len(ids)).astype(np.int64)
            for side in (group >= 0, (group >= 0) & one)
        )
        counts = int(cells.rows.sum()), int(cells.rows[one].sum())
        self.pooled_ = _leaf_map(everywhere, 0, 0, counts)
        self.fit_ = _fit(cells, ids, polish_with)
        self.own_ = tuple(
            _leaf_map(self.fit_, position, number, numbers)
            for position, (number, *numbers) in enumerate(zip(ids, rows, positives, strict=True))
        )
        self._choose()
        return self

    def with_min_rows(self, min_rows: int) -> Self:
        """Return the calibrator that `fit` would give with another `min_rows`.

        The maps are not fitted again: only whether a leaf uses its own may change.
        """
        check_is_fitted(self, "own_")
        other = copy(self)
        other.min_rows = min_rows
        other._choose()
        return other

    def _choose(self) -> None:
        """Give every leaf its own map or that of all rows."""
        self.maps_ = tuple(
            self._own_or_pooled(each, self.fit_, position)
            for position, each in enumerate(self.own_)
        )

    def _own_or_pooled(self, own: LeafMap, fit: PlattFit, position: int) -> LeafMap:
        reasons = (
            own.rows < self.min_rows,
            fit.one_class[position],
            fit.constant[position],
            fit.separated[position],
            not fit.converged[position],
            own.slope <= 0,
        )
        for reason, applies in zip(FALLBACKS, reasons, strict=True):
            if applies:
                return replace(
                    self.pooled_,
                    leaf=own.leaf,
                    rows=own.rows,
                    positives=own.positives,
                    fallback=reason,
                )
        return own

    @property
    def notes_(self) -> tuple[str, ...]:
        """What a person should know about the fit."""
        if self.pooled_.slope > 0:
            return ()
        return (
            f"The slope of all calibration rows together is {self.pooled_.slope:.3g}: higher "
            "scores go with fewer positive labels. Check that the score is that of the positive "
            "class.",
        )

    def predict_logit(self, scores: Floats, leaf: Ints) -> Floats:
        """Return calibrated logits; NaN where a score is not finite."""
        check_is_fitted(self, "maps_")
        check_consistent_length(scores, leaf)
        maps = (*self.maps_, self.pooled_)  # position -1 is that of an unknown leaf
        position = leaf_positions(np.asarray(leaf), [each.leaf for each in self.maps_])
        slope = np.array([each.slope for each in maps])
        intercept = np.array([each.intercept for each in maps])
        return map_leaves(scores, position, slope, intercept)

    def predict(self, scores: Floats, leaf: Ints) -> Floats:
        """Return calibrated probabilities; NaN where a score is not finite."""
        return sigmoid(self.predict_logit(scores, leaf))

    def to_json(self) -> str:
        """Return the maps as JSON text."""
        check_is_fitted(self, "maps_")
        return write_maps(self.min_rows, self.pooled_, self.maps_)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a fitted calibrator back; its predictions are the same bit for bit."""
        min_rows, pooled, maps = read_maps(text)
        calibrator = cls(min_rows=min_rows)
        calibrator.pooled_, calibrator.maps_ = pooled, maps
        return calibrator


def _fit(cells: Cells, leaves: Sequence[int], rows: Cells | None) -> PlattFit:
    fit = fit_platt_cells(cells, leaves)
    if rows is None:
        return fit
    return polish(fit, rows.score, rows.y, rows.leaf, leaves, rows.given_weight)


def _in_one_leaf(cells: Cells) -> Cells:
    return replace(cells, leaf=np.zeros_like(cells.leaf))


def _leaf_map(fit: PlattFit, position: int, leaf: int, counts: Sequence[int]) -> LeafMap:
    return LeafMap(
        leaf,
        slope=float(fit.slope[position]),
        intercept=float(fit.intercept[position]),
        slope_se=float(fit.slope_se[position]),
        intercept_se=float(fit.intercept_se[position]),
        rows=int(counts[0]),
        positives=int(counts[1]),
    )


def maps_table(calibrator: LeafCalibrator, partition: Partition) -> pd.DataFrame:
    """List the maps.

    Returns
    -------
    DataFrame
        The map of all rows (leaf 0), then one row per leaf: `leaf`, `rule`, `rows`,
        `positives`, `slope`, `slope_se`, `intercept`, `intercept_se`, `fallback`
        (text, empty for a leaf with a map of its own).
    """
    rules = {0: ALL_ROWS} | {leaf.id: leaf.rule for leaf in partition.leaves}
    maps = (calibrator.pooled_, *calibrator.maps_)
    names = ("rows", "positives", "slope", "slope_se", "intercept", "intercept_se")
    columns = {name: [getattr(each, name) for each in maps] for name in names}
    return pd.DataFrame(
        {
            "leaf": [each.leaf for each in maps],
            "rule": [rules.get(each.leaf, "") for each in maps],
            **columns,
            "fallback": [each.fallback or "" for each in maps],
        }
    )
