"""Curves and pairs: boosted trees of one or two columns each, added up to tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from hetcal.arrays import Bools, Floats, Ints, Labels
from hetcal.data.columns import feature_kind, fewest_category_rows
from hetcal.errors import PartitionError
from hetcal.partitions.boosting import (
    FIXED,
    BoostingRows,
    Part,
    boost_members,
    divided_rows,
    require_members,
    stopping_rows,
)
from hetcal.partitions.encoding import TrainingRows, completed, encode_column, encode_names
from hetcal.partitions.terms import Axis, Curve, Pair, Term, Terms
from hetcal.partitions.tree import FrameEstimator
from hetcal.progress import Progress, between, silent

if TYPE_CHECKING:
    from lightgbm import Booster

STEPS, PAIR_STEPS = 48, 16  # most entries of known values of a curve, and of a side of a pair
SEARCHED = 200  # trees of two columns that look for pairs
MOST_JUDGED = 20_000  # rows on which terms are judged
CURVES, FOUND, PAIRS = 0.55, 0.6, 0.95  # shares of the time until each is done


class AdditiveTerms(FrameEstimator):
    """Fit terms of one and of two columns that add up to a logit.

    Trees that read one column each are boosted first, then trees of the pairs of columns that
    explain most of what is left. As in `BoostedPartition` each member leaves some rows out, so
    that every row has a sum of terms from a member that has not seen it. Terms that do not help
    on rows that were left out are dropped.

    Parameters
    ----------
    members : int, default=4
        Fits, each of which leaves some rows out; at least 2.
    pairs : int, default=15
        Most pairs of columns; 0 means curves alone.
    increasing, decreasing : sequence of str, default=()
        Columns of numbers whose terms may only rise, or only fall.
    max_iter : int, default=400
        Most trees of a member, of curves and of pairs.
    random_state : int, default=0
        Decides which rows are left out together.

    Attributes
    ----------
    terms_ : Terms
        Means over the members, the most important first.
    baseline_ : float
        The logit without any term.
    held_out_ : array of float
        Baseline and terms of each row of `fit`, added up, by the member that has not seen it; NaN
        if all have seen it.
    """

    def __init__(
        self,
        members: int = 4,
        *,
        pairs: int = 15,
        increasing: Sequence[str] = (),
        decreasing: Sequence[str] = (),
        max_iter: int = 400,
        random_state: int = 0,
    ) -> None:
        self.members = members
        self.pairs = pairs
        self.increasing = increasing
        self.decreasing = decreasing
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ranked: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
        progress: Progress = silent,
    ) -> Self:
        """Fit the terms on rows with labels of two classes; parameters as in `BoostedPartition`.

        Labels of `ranked` rows also find the pairs, and drop terms that do not help.
        """
        counts = ("pairs",) if self.pairs != 0 else ()
        self._require_counts("curves", "members", "max_iter", *counts)
        rows = self._training_rows(X, y, sample_weight)
        require_members("Curves", self.members, rows.y)
        divided = self.members, self.random_state, ranked, groups, times
        chosen, parts = divided_rows(rows, *divided)
        columns = [_Column.of(column, rows, chosen) for _, column in rows.frame.items()]
        fits = self._fits(columns, rows, parts, chosen, progress)
        progress(PAIRS, "Choosing the terms")
        self._keep(columns, fits, rows, parts, chosen)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the logit of the terms alone."""
        check_is_fitted(self)
        return self.baseline_ + self.terms_.total(self._frame(X, reset=False))

    def _fits(
        self,
        columns: Sequence["_Column"],
        rows: TrainingRows,
        parts: list[Part],
        read: Bools,
        done: Progress,
    ) -> list["_Fit"]:
        """Fit curves, then pairs to what they leave, for each member."""
        sides = _sides(columns, self.increasing, self.decreasing)
        stops = stopping_rows(parts, read, rows.y)
        fine = np.column_stack([each.codes[each.entry] for each in columns])
        options = _options(len(rows.y), [[i] for i in range(len(columns))], sides)
        grown = self._boost(fine, rows, None, (parts, stops), options, between(done, 0.0, CURVES))
        fits = [_curve_fit(each, columns) for each in grown]
        if not self.pairs or len(columns) < 2:
            return fits
        sums = [each.total(columns) for each in fits]
        done(CURVES, "Looking for pairs of columns")
        coarse = np.column_stack([each.coarse_codes[each.coarse_entry] for each in columns])
        left_out = np.mean(sums, axis=0)  # of rows that all members have seen
        for known, (_, out) in zip(sums, parts, strict=True):
            left_out[out] = known[out]
        start = np.where(read, left_out, np.nan)
        pairs = _find_pairs(coarse, rows, start, self.pairs, self.random_state)
        if not pairs:
            return fits
        used = sorted({i for pair in pairs for i in pair})
        places = [[used.index(i) for i in pair] for pair in pairs]
        options = _options(len(rows.y), places, [sides[i] for i in used])
        parted = between(done, FOUND, PAIRS)
        grown = self._boost(coarse[:, used], rows, sums, (parts, stops), options, parted)
        both = zip(fits, grown, strict=True)
        return [_with_pairs(fit, each, columns, used, pairs) for fit, each in both]

    def _boost(
        self,
        codes: Floats,
        rows: TrainingRows,
        starts: Sequence[Floats] | None,
        members: tuple[list[Part], list[Ints]],
        options: dict[str, Any],
        done: Progress,
    ) -> list["Booster"]:
        given = BoostingRows(codes, rows.y, rows.weight, starts)
        doing = "Fitting curves" if starts is None else "Fitting pairs of columns"
        own = [{**options, "seed": self.random_state} for _ in members[0]]
        return boost_members(
            given, *members, own, self.max_iter, lambda member, _: member, doing, done
        )

    def _keep(
        self,
        columns: Sequence["_Column"],
        fits: Sequence["_Fit"],
        rows: TrainingRows,
        parts: list[Part],
        read: Bools,
    ) -> None:
        """Average the members, and keep the terms that help on rows that were left out.

        Where none of the rows whose labels are `read` was left out, all terms are kept; and so are
        those of columns with which the logit may only rise, or fall: it does so for their sum.
        """
        places = [(i,) for i in range(len(columns))] + list(fits[0].pairs)
        fold = np.full(len(rows.y), -1)
        for number, (_, out) in enumerate(parts):
            fold[out] = number
        judged = np.flatnonzero(read & (fold >= 0))
        if judged.size > MOST_JUDGED:
            rng = np.random.default_rng(self.random_state)
            judged = np.sort(rng.choice(judged, MOST_JUDGED, replace=False))
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        helps = _helping(columns, fits, places, fold, judged, rows.y, weight)
        one_way = (*self.increasing, *self.decreasing)
        bound = {i for i, each in enumerate(columns) if each.axis.feature.name in one_way}
        both = zip(places, helps, strict=True)
        kept = [place for place, good in both if good or bound & {*place}]
        terms = [_term(place, columns, fits) for place in kept]
        order = np.argsort([-each for each in Terms(tuple(terms)).importance], kind="stable")
        self.terms_ = Terms(tuple(terms[i] for i in order))
        self.baseline_ = float(np.mean([each.baseline for each in fits]))
        self.held_out_ = np.full(rows.used.size, np.nan)
        inside = np.flatnonzero(rows.used)
        for fit, (_, out) in zip(fits, parts, strict=True):
            self.held_out_[inside[out]] = fit.baseline + sum(
                (fit.add(place, columns, out) for place in kept), np.zeros(out.size)
            )


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the rows in entries, those of curves and the fewer ones of pairs."""

    axis: Axis
    entry: Ints  # of each row
    codes: Floats  # number of each entry for trees; NaN for missing values
    coarse: Axis
    coarsened: Ints  # entry of pairs that each entry of curves is in
    coarse_codes: Floats

    @classmethod
    def of(cls, column: pd.Series, rows: TrainingRows, ranked: Bools) -> "_Column":
        """Divide the values by quantiles, or by category; labels of `ranked` rows order these."""
        if feature_kind(column) == "number":
            return cls._number(column, rows)
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        _, feature = encode_names(column[ranked], fewest_category_rows(int(ranked.sum())))
        many = len(feature.categories)
        axis = Axis(feature, np.empty(0), np.arange(many))
        entry = axis.place(column.to_frame())
        total: Floats = np.bincount(entry[ranked], weight[ranked], many + 2).astype(np.float64)
        hits = np.bincount(entry[ranked], (weight * rows.y)[ranked], many + 2)
        mean = hits.sum() / total.sum()
        rate = np.divide(hits, total, out=np.full(many + 2, mean), where=total > 0)[:-1]
        order = np.argsort(rate, kind="stable")
        codes = np.append(np.argsort(order), np.nan).astype(np.float64)
        groups = _grouped(codes[:many], total[:many])
        coarse = Axis(feature, np.empty(0), groups)
        coarsened = np.append(groups, [coarse.known, coarse.known + 1])
        coarse_codes = _means(codes[:-1], coarsened[:-1], total[:-1], coarse.known + 1)
        return cls(axis, entry, codes, coarse, coarsened, np.append(coarse_codes, np.nan))

    @classmethod
    def _number(cls, column: pd.Series, rows: TrainingRows) -> "_Column":
        encoded = completed(encode_column(column, rows.y, np.ones(len(rows.y)), complete=False))
        known = np.sort(encoded.values[~np.isnan(encoded.values)].astype(np.float64))
        cuts = _quantile_cuts(known, STEPS)
        few = _quantile_cuts(known, PAIR_STEPS)
        few = np.unique(cuts[np.searchsorted(cuts, few).clip(max=max(cuts.size - 1, 0))])
        axis = Axis(encoded.feature, cuts, np.empty(0, np.int64))
        coarse = Axis(encoded.feature, few, np.empty(0, np.int64))
        coarsened = np.append(np.searchsorted(few, cuts), [few.size, few.size + 1])
        codes = np.append(np.arange(axis.known, dtype=np.float64), np.nan)
        coarse_codes = np.append(np.arange(coarse.known, dtype=np.float64), np.nan)
        entry = axis.place(column.to_frame())
        return cls(axis, entry, codes, coarse, coarsened, coarse_codes)

    @property
    def coarse_entry(self) -> Ints:
        """Entry of each row in pairs."""
        return self.coarsened[self.entry]


def _quantile_cuts(known: Floats, most: int) -> Floats:
    """Cut sorted values at values, into at most so many parts.

    A value with more rows than a part should have is a part of its own, and the others are divided
    into parts of about equal size: where most rows are 0, the rest is still divided finely.
    """
    distinct, rows = np.unique(known, return_counts=True)
    if distinct.size <= most:
        return distinct[:-1]
    heavy = rows * most > known.size
    light = np.where(heavy, 0, rows)
    parts = max(most - 2 * int(heavy.sum()), 1)
    part = (light.cumsum() - light) * parts // light.sum()
    apart = (np.diff(part) > 0) | heavy[1:] | heavy[:-1]
    return distinct[:-1][apart]


def _grouped(codes: Floats, rows: Floats) -> Ints:
    """Join categories of similar rates until there are few enough for a pair."""
    if codes.size <= PAIR_STEPS:
        return np.arange(codes.size)
    order = np.argsort(codes)
    before = rows[order].cumsum() - rows[order] / 2
    group = np.empty(codes.size, dtype=np.int64)
    group[order] = (PAIR_STEPS * before / rows.sum()).astype(np.int64).clip(0, PAIR_STEPS - 1)
    return np.unique(group, return_inverse=True)[1]


def _means(values: Floats, group: Ints, weight: Floats, groups: int) -> Floats:
    """Return the weighted mean of each group; a group without weight has the plain one."""
    weight = weight + 1e-9
    return np.bincount(group, weight * values, groups) / np.bincount(group, weight, groups)


def _sides(
    columns: Sequence[_Column], increasing: Sequence[str], decreasing: Sequence[str]
) -> list[int]:
    """Return 1 for columns whose terms may only rise, -1 where they may only fall, else 0."""
    kinds = {each.axis.feature.name: each.axis.feature.kind for each in columns}
    for name in (*increasing, *decreasing):
        if kinds.get(name) != "number" or (name in increasing and name in decreasing):
            found = (
                "is asked to rise and to fall"
                if kinds.get(name) == "number"
                else ("is not among the columns" if name not in kinds else "holds categories")
            )
            raise PartitionError(
                f"The column '{name}' {found}.",
                "Terms can be made to rise, or to fall, with a column of numbers.",
                "Name columns of numbers, each once.",
            )
    names = [each.axis.feature.name for each in columns]
    return [(name in increasing) - (name in decreasing) for name in names]


def _options(rows: int, together: list[list[int]], sides: list[int]) -> dict[str, Any]:
    """Return LightGBM's options for trees of the columns that may meet."""
    pairs = len(together[0]) > 1
    options: dict[str, Any] = {
        "learning_rate": 0.25 if pairs else 0.3,
        "num_leaves": 8 if pairs else 4,
        "min_data_in_leaf": min(50, max(5, rows // 100)),
        "lambda_l2": 2.0,
        "interaction_constraints": together,
        "feature_fraction": max(0.2, min(1.0, 40 / len(sides))),
    }
    return options | ({"monotone_constraints": sides} if any(sides) else {})


Place = tuple[int, ...]
"""The columns of a term."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """The terms of one member; entries without rows, and the mean over the rows, are 0."""

    baseline: float
    curves: list[Floats]
    pairs: dict[tuple[int, int], Floats]

    def table(self, place: Place) -> Floats:
        return self.curves[place[0]] if len(place) == 1 else self.pairs[place[0], place[1]]

    def add(self, place: Place, columns: Sequence[_Column], rows: Ints) -> Floats:
        """Return what a term adds to the logit of some rows."""
        if len(place) == 1:
            return self.curves[place[0]][columns[place[0]].entry[rows]]
        first, second = (columns[i] for i in place)
        return self.table(place)[
            first.coarsened[first.entry[rows]], second.coarsened[second.entry[rows]]
        ]

    def total(self, columns: Sequence[_Column]) -> Floats:
        """Return baseline and curves of all rows, added up."""
        total = np.full(columns[0].entry.size, self.baseline)
        for i, column in enumerate(columns):
            total += self.curves[i][column.entry]
        return total


def _curve_fit(member: "Booster", columns: Sequence[_Column]) -> _Fit:
    """Read the curves of trees that have one column each off what they predict."""
    sizes = [each.codes.size for each in columns]
    grid = np.zeros((1 + sum(sizes), len(columns)))
    ends = np.cumsum([1, *sizes])
    for i, column in enumerate(columns):
        grid[ends[i] : ends[i + 1], i] = column.codes
    values = _predicted(member, grid)
    curves = [values[ends[i] : ends[i + 1]] - values[0] for i in range(len(columns))]
    return _centred(float(values[0]), curves, {}, columns)


def _predicted(member: "Booster", grid: Floats) -> Floats:
    return np.asarray(member.predict(grid, raw_score=True, num_threads=1), dtype=np.float64)


def _with_pairs(
    fit: _Fit,
    member: "Booster",
    columns: Sequence[_Column],
    used: Sequence[int],
    pairs: Sequence[tuple[int, int]],
) -> _Fit:
    """Read the pairs off what trees of two columns predict, and leave the rest to the curves."""
    codes = [columns[i].coarse_codes for i in used]
    blocks = [np.zeros((1, len(used)))]
    for place, each in enumerate(codes):
        blocks.append(np.zeros((each.size, len(used))))
        blocks[-1][:, place] = each
    sizes = [(columns[i].coarse_codes.size, columns[j].coarse_codes.size) for i, j in pairs]
    for (i, j), (rows, across) in zip(pairs, sizes, strict=True):
        blocks.append(np.zeros((rows * across, len(used))))
        blocks[-1][:, used.index(i)] = np.repeat(columns[i].coarse_codes, across)
        blocks[-1][:, used.index(j)] = np.tile(columns[j].coarse_codes, rows)
    ends = np.cumsum([len(each) for each in blocks])[:-1]
    base, *found = np.split(_predicted(member, np.concatenate(blocks)), ends)
    alone = {i: values - base[0] for i, values in zip(used, found, strict=False)}
    tables = {}
    for (i, j), size, values in zip(pairs, sizes, found[len(used) :], strict=True):
        together = values.reshape(size) - base[0]
        tables[i, j] = together - alone[i][:, None] - alone[j][None, :]
    curves = [each.copy() for each in fit.curves]
    for (i, j), table in tables.items():
        for place, rest in zip((i, j), _purify(table, _joint_rows(columns, i, j)), strict=True):
            alone[place] = alone[place] + rest
    for i, rest in alone.items():
        curves[i] += rest[columns[i].coarsened]
    return _centred(fit.baseline + float(base[0]), curves, tables, columns)


def _joint_rows(columns: Sequence[_Column], i: int, j: int) -> Ints:
    first, second = columns[i], columns[j]
    size = first.coarse.entries, second.coarse.entries
    cell = first.coarse_entry * size[1] + second.coarse_entry
    return np.bincount(cell, minlength=size[0] * size[1]).reshape(size)


def _purify(table: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Take out of a table, in place, what depends on one column alone, and return that."""
    across, down = np.maximum(rows.sum(axis=1), 1), np.maximum(rows.sum(axis=0), 1)
    first, second = np.zeros(len(across)), np.zeros(len(down))
    for _ in range(200):
        row = (table * rows).sum(axis=1) / across
        table -= row[:, None]
        column = (table * rows).sum(axis=0) / down
        table -= column[None, :]
        first, second = first + row, second + column
        if max(np.abs(row).max(), np.abs(column).max()) < 1e-12:
            break
    table[rows.sum(axis=1) == 0] = 0.0
    table[:, rows.sum(axis=0) == 0] = 0.0
    return first, second


def _centred(
    baseline: float,
    curves: list[Floats],
    pairs: dict[tuple[int, int], Floats],
    columns: Sequence[_Column],
) -> _Fit:
    """Move the means of the curves to the baseline; entries without rows get the mean."""
    centred = []
    for values, column in zip(curves, columns, strict=True):
        rows = np.bincount(column.entry, minlength=values.size)
        mean = float(rows @ values / rows.sum())
        baseline += mean
        centred.append(np.where(rows > 0, values - mean, 0.0))
    return _Fit(baseline, centred, pairs)


def _find_pairs(
    codes: Floats, rows: TrainingRows, start: Floats, most: int, seed: int
) -> list[tuple[int, int]]:
    """Return the pairs of columns by which small trees explain most of what curves leave."""
    import lightgbm

    known = np.flatnonzero(np.isfinite(start))
    weight = None if rows.weight is None else rows.weight[known]
    data = BoostingRows(codes[known], rows.y[known], weight).dataset()
    data.set_init_score(start[known])
    options = {
        "learning_rate": 0.1,
        "num_leaves": 4,
        "max_depth": 2,
        "min_data_in_leaf": min(50, max(5, known.size // 100)),
        "feature_fraction": max(0.2, min(1.0, 40 / codes.shape[1])),
        "seed": seed,
    }
    grown = lightgbm.train({**FIXED, **options}, data, SEARCHED)
    gains: dict[tuple[int, int], float] = {}
    for tree in grown.dump_model()["tree_info"]:
        root = tree["tree_structure"]
        for child in (root.get("left_child", {}), root.get("right_child", {})):
            if "split_feature" in child and child["split_feature"] != root["split_feature"]:
                low, high = sorted((int(child["split_feature"]), int(root["split_feature"])))
                gains[low, high] = gains.get((low, high), 0.0) + child["split_gain"]
    return sorted(gains, key=lambda pair: (-gains[pair], pair))[:most]


def _helping(
    columns: Sequence[_Column],
    fits: Sequence[_Fit],
    places: Sequence[Place],
    fold: Ints,
    judged: Ints,
    y: Labels,
    weight: Floats,
) -> list[bool]:
    """Return which terms lower the log-loss of rows that were left out."""
    inside = [np.flatnonzero(fold[judged] == number) for number in range(len(fits))]

    def added(place: Place) -> Floats:
        values = np.empty(judged.size)
        for fit, here in zip(fits, inside, strict=True):
            values[here] = fit.add(place, columns, judged[here])
        return values

    total, each_adds = np.array([each.baseline for each in fits])[fold[judged]], []
    for place in places:
        each_adds.append(added(place))
        total = total + each_adds[-1]
    side, w = 1.0 - 2.0 * y[judged], weight[judged] / weight[judged].sum()
    losses, helps = np.logaddexp(0.0, side * total), []
    for adds in each_adds:
        fall = np.logaddexp(0.0, side * (total - adds)) - losses
        helps.append(bool(w @ fall > 0) or not judged.size)
    return helps


def _term(place: Place, columns: Sequence[_Column], fits: Sequence[_Fit]) -> Term:
    """Average a term over the members, with the standard error by the jackknife."""
    tables = np.array([each.table(place) for each in fits])
    mean = tables.mean(axis=0)
    error = np.sqrt((len(fits) - 1) / len(fits) * ((tables - mean) ** 2).sum(axis=0))
    first = columns[place[0]]
    if len(place) == 1:
        rows = np.bincount(first.entry, minlength=mean.size)
        return Curve(first.axis, mean, error, rows)
    second = columns[place[1]]
    return Pair(first.coarse, second.coarse, mean, error, _joint_rows(columns, *place))
