"""The score test of one Platt map against two: one for each side of a cut.

With the map `p = sigmoid(slope * s + intercept)` of all rows of a node, the gradient of a
row is `(y - p) (1, s)`, its information `p (1 - p) (1, s)(1, s)'`. Gradients add up to 0
over the node. If the map holds everywhere, their sum `g` over one side is random, with
covariance `V = J - A J - (A J)' + A J₀ A'`, where `A = H H₀⁻¹`; `H` and `J` are sums of
information with weights and with squared weights over the side, `H₀` and `J₀` over the node.
Without weights `V⁻¹` is `H⁻¹ + (H₀ - H)⁻¹`. Then `g' V⁻¹ g / 2` is, to second order, what
the log-likelihood gains if both sides get their own map, and `g' V⁻¹ g` is chi-square with
two degrees of freedom if they need none.

Where the common map of all rows is no Platt map, residuals scatter more or less than
`p (1 - p)`. So gradients are scaled to the covariance that they have in the node.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.calibrators.platt import fit_platt
from hetcal.compiled import use_compiled
from hetcal.data.columns import feature_kind
from hetcal.errors import PartitionError
from hetcal.partitions.encoding import EncodedColumn, encode_column, encode_columns, to_partition
from hetcal.partitions.tree import PartitionEstimator, default_min_leaf
from hetcal.trees.score_sums import BinnedColumns, Rows, ScoreCodes, ValueTables
from hetcal.trees.score_tree import Chooser, ScoreTreeGrower

FEWEST = 5.0  # least sum of p (1 - p) of a side, for sums that are near to normal
SINGULAR = 1e-9  # a determinant below this share of its diagonal is 0
SPREAD_IS_INFORMATION = (0, 1, 2, 3, 4, 5, 6, 2)  # of the constant, but for its unit
Symmetric = tuple[Floats, Floats, Floats]  # entries (0, 0), (1, 1) and (0, 1)


@dataclass(frozen=True, eq=False)
class NodeMap:
    """The Platt map of a node."""

    codes: ScoreCodes  # all rows
    mass: Floats  # one per code: sum of the weights of the node
    squares: Floats  # one per code: sum of squared weights
    probability: Floats  # one per code: what the map makes of the score

    @classmethod
    def of_rows(cls, codes: ScoreCodes, rows: Rows) -> Self | None:
        """Fit the map; None if the rows are of one class, or their scores separate the classes."""
        mass = codes.masses(rows)
        squares = mass if codes.weight is None else codes.masses(rows, 2)
        inside = np.ones(mass.size, dtype=np.int64)
        fit = fit_platt(codes.score, codes.label.astype(np.int64), inside, [1], mass)
        if fit.constant[0]:
            share = float(mass @ codes.label / mass.sum())
            return cls(codes, mass, squares, expit(np.full(mass.size, logit(share))))
        if not fit.converged[0]:
            return None
        return cls(codes, mass, squares, expit(fit.slope[0] * codes.score + fit.intercept[0]))

    @property
    def spread(self) -> Floats:
        """Variance `p (1 - p)` of a label, per code."""
        return self.probability * (1 - self.probability)

    def basis(self, mass: Floats) -> Floats:
        """Return constant and score, made orthogonal and of unit information for some mass."""
        weight = mass * self.spread
        distance = self.codes.score - weight @ self.codes.score / weight.sum()
        wide = float(weight @ distance**2)
        if wide <= SINGULAR * weight @ self.codes.score**2:
            distance, wide = np.zeros(distance.size), 1.0
        return np.stack([np.full(distance.size, weight.sum() ** -0.5), distance * wide**-0.5])

    @property
    def gradient(self) -> Floats:
        """Gradients in the basis for squared weights, with the unit matrix as covariance.

        Their scatter is compared with the information for weights, since the few rows with
        the largest ones would decide what it is for squared weights.
        """
        basis = self.basis(self.mass)
        raw = basis * (self.codes.label - self.probability)
        scatter = (self.mass * raw) @ raw.T
        scale, axes = np.linalg.eigh(np.where(scatter == 0, np.eye(2), scatter))
        turn = (self.mass * self.spread * self.basis(self.squares)) @ basis.T
        return turn @ axes @ (axes.T / np.sqrt(scale)[:, None]) @ raw

    def tables(self) -> ValueTables:
        """Return what rows add up: counts by label, gradient, information, spread."""
        basis, spread, label = self.basis(self.squares), self.spread, self.codes.label
        squares = spread * basis**2
        mixed = np.stack([spread * basis.prod(axis=0), spread])
        channels = np.stack([[1 - label, label], self.gradient, squares, mixed])
        tables = [channels]
        if self.codes.weight is not None:
            tables.append(channels * np.array([0, 0, 1, 1])[:, None, None])
        by_code = (each.transpose(2, 1, 0).reshape(label.size, -1) for each in tables)
        return ValueTables(
            self.codes, tuple(map(np.ascontiguousarray, by_code)), SPREAD_IS_INFORMATION
        )


class MapDifference:
    """The score test as a criterion of cuts, for sums of `NodeMap.tables`."""

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return the statistic of each cut; minus infinity if a side has too little spread."""
        total = total.reshape(*total.shape, *[1] * (left.ndim - 2))
        statistic, sound = _statistic(left, total)
        spread = left[3, 1]
        sound &= (spread >= FEWEST) & (total[3, 1] - spread >= FEWEST)
        return np.where(sound, statistic, -np.inf)

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return the better end: a bin is looked into if it is next to the best cut."""
        return np.maximum(self.score(start, total), self.score(end, total))


def parts_statistic(sums: Floats) -> float:
    """Return the score test of one map for each of many parts against a single map.

    It is the least squared distance `Σ (g - H t)' J⁻¹ (g - H t)` over all steps `t` of the
    single map: chi-square with two degrees of freedom for each part but the first.
    """
    gradient = sums[1].T
    information, squares = (_matrices(_information(each)) for each in (sums, sums[-4:]))
    inverse = np.linalg.pinv(squares, rcond=SINGULAR, hermitian=True)
    through = information @ inverse
    step = np.linalg.pinv((through @ information).sum(axis=0), rcond=SINGULAR, hermitian=True)
    pull = np.einsum("kij,kj->i", through, gradient)
    distance = np.einsum("ki,kij,kj->", gradient, inverse, gradient)
    return max(0.0, float(distance - pull @ step @ pull))


def _matrices(entries: Symmetric) -> Floats:
    first, second, mixed = entries
    return np.stack([np.stack([first, mixed], -1), np.stack([mixed, second], -1)], -1)


def _information(sums: Floats) -> Symmetric:
    return sums[2, 0], sums[2, 1], sums[3, 0]


def _statistic(left: Floats, total: Floats) -> tuple[Floats, Bools]:
    """Return `g' V⁻¹ g`, and where it exists."""
    part, whole = _information(left), _information(total)
    squares, all_squares = _information(left[-4:]), _information(total[-4:])
    (a, b), (c, d) = _times_inverse(part, whole)
    x, z, y = squares
    moved = (a * x + b * y, c * y + d * z, a * y + b * z, c * x + d * y)  # A J
    around = _around(((a, b), (c, d)), all_squares)
    v00 = x - 2 * moved[0] + around[0]
    v11 = z - 2 * moved[1] + around[1]
    v01 = y - moved[2] - moved[3] + around[2]
    g0 = left[1, 0] - a * total[1, 0] - b * total[1, 1]
    g1 = left[1, 1] - c * total[1, 0] - d * total[1, 1]
    determinant = v00 * v11 - v01 * v01
    flat = determinant <= SINGULAR * v00 * v11  # equal scores on a side: one direction is left
    sound = v00 > 0
    one = np.divide(g0 * g0, v00, out=np.zeros_like(g0), where=sound)
    two = (g0 * g0 * v11 - 2 * g0 * g1 * v01 + g1 * g1 * v00) / np.where(flat, 1.0, determinant)
    return np.where(flat, one, two), sound


def _times_inverse(part: Symmetric, whole: Symmetric) -> tuple[tuple[Floats, Floats], ...]:
    """Return the rows of `H H₀⁻¹`; a direction without information is left out."""
    (x, z, y), (p, q, r) = part, whole
    determinant = p * q - r * r
    if (determinant <= SINGULAR * p * q).any():
        return (x / p, np.zeros_like(x)), (np.zeros_like(x), np.zeros_like(x))
    return (
        ((x * q - y * r) / determinant, (y * p - x * r) / determinant),
        ((y * q - z * r) / determinant, (z * p - y * r) / determinant),
    )


def _around(rows: tuple[tuple[Floats, Floats], ...], middle: Symmetric) -> Symmetric:
    """Return `A J₀ A'`."""
    (a, b), (c, d) = rows
    p, q, r = middle
    return (
        a * a * p + 2 * a * b * r + b * b * q,
        c * c * p + 2 * c * d * r + d * d * q,
        a * c * p + (a * d + b * c) * r + b * d * q,
    )


class ScorePartition(PartitionEstimator):
    """A tree on scores: what its two kinds share, see `AucGainPartition`."""

    def __init__(
        self, max_depth: int = 3, *, min_samples_leaf: int | None = None, alpha: float = 0.05
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.alpha = alpha

    def fit(self, X: Any, y: Any, scores: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : DataFrame or array, rows x columns
            Features.
        y : array
            Labels of two classes.
        scores : array of float
            Logits of the model, which was not trained on these rows.
        sample_weight : array of float, optional
            Importance weights.
        """
        self._check_parameters()
        rows, scores = self._training_rows(X, y, sample_weight), _checked_scores(scores)
        check_consistent_length(rows.used, scores)
        weight = None if rows.weight is None else rows.weight / rows.weight.mean()
        codes = ScoreCodes.of_rows(scores[rows.used], rows.y, weight)
        matrix, columns, source = _encode(rows.frame, codes)
        levels = np.array([column.ranks.size for column in columns])
        binned = BinnedColumns.of_matrix(matrix, source, levels, compiled=use_compiled())
        chooser, fewest = self._chooser(codes), self.min_samples_leaf
        fewest = default_min_leaf(len(matrix)) if fewest is None else fewest
        tree = ScoreTreeGrower(binned, chooser, self.max_depth, fewest).grow(codes)
        self.partition_ = to_partition(tree, columns)
        names = [column.feature.name for column in columns]
        fields = ["node", "feature", "statistic", "p", "chosen"]
        judged = pd.DataFrame(chooser.judged, columns=fields)
        self._judged = judged.assign(feature=[names[each.feature] for each in chooser.judged])
        return self

    def _chooser(self, codes: ScoreCodes) -> Chooser:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        self._require_counts("tree", "max_depth", "min_samples_leaf")
        if not (isinstance(self.alpha, Real) and 0 < self.alpha < 1):
            raise PartitionError(
                f"The parameter 'alpha' of the tree is {self.alpha!r}.",
                "It is the significance level of a split, between 0 and 1.",
                "Choose for example 0.05.",
            )


def _checked_scores(scores: Any) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise PartitionError(
            "The scores are not one finite number per row.",
            "A tree on scores needs the logit of the model for every row.",
            "Leave out rows without a score.",
        )
    return values


def _encode(frame: pd.DataFrame, codes: ScoreCodes) -> tuple[Singles, list[EncodedColumn], Ints]:
    """Encode columns for a tree; also return the feature of each column.

    Label rates say nothing about maps. So each category column is encoded in two orders: by the
    mean residual after a single map for all rows, which separates intercepts, and by that of
    residuals times scores, which separates slopes.
    """
    kinds = [feature_kind(column) for _, column in frame.items()]
    categories = [i for i, kind in enumerate(kinds) if kind == "category"]
    weight = np.broadcast_to(1.0, len(frame)) if codes.weight is None else codes.weight
    height = slope = np.zeros(len(frame))
    pooled = NodeMap.of_rows(codes, np.arange(len(frame))) if categories else None
    if pooled is not None:
        height, slope = pooled.gradient[:, codes.code]
    matrix, columns = encode_columns(frame, height, weight)
    others = [encode_column(frame.iloc[:, i], slope, weight) for i in categories]
    if others:
        matrix = np.column_stack([matrix, *(column.values for column in others)])
    source = np.array([*range(len(columns)), *categories])
    return matrix, [*columns, *others], source
