"""Maps of the logit vector of a model with more than two classes.

A map turns z, the logarithms of the model's probabilities, into W z + b. Temperature
scaling has W = a I and b = 0, vector scaling a diagonal W, Dirichlet scaling any W.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from hetcal.arrays import Bools, Floats, Groups, Ints
from hetcal.cells.cells import leaf_positions
from hetcal.choices import ClassMethod
from hetcal.errors import CalibrationError

TOLERANCE = 1e-7  # of the gradient per row, far below its standard error
FLATTEST = 1e-12  # least spread along an axis, as a share of the largest
LOWEST = -1e4  # lower log-probabilities mark classes as impossible and are no measurements
ROUNDING = 1e-12  # sums of probabilities this close to one are one


@dataclass(frozen=True, eq=False)
class ClassMap:
    """One map: calibrated log-probabilities are those of `weights` z + `bias`.

    What a model writes for an impossible class, such as -1e9, is a mark and no measurement: it
    counts as a log-probability of -10,000.
    """

    weights: Floats  # classes x classes
    bias: Floats  # added to each class

    @property
    def is_identity(self) -> bool:
        """True for the map that changes no probability."""
        classes = self.bias.size
        return bool(np.array_equal(self.weights, np.eye(classes)) and not self.bias.any())

    def logits(self, logits: Floats) -> Floats:
        """Return calibrated log-probabilities; NaN in rows that have a NaN.

        The identity gives log-probabilities back bit for bit, so that rounding changes no order.
        """
        if self.is_identity:
            scaled = np.abs(logsumexp(logits, axis=1, keepdims=True)) < ROUNDING
            return np.where(scaled, logits, log_softmax(logits, axis=1))
        z = _possible(logits)
        out = np.tile(self.bias, (len(z), 1))
        # The rounding of a matrix product depends on the number of rows.
        for each, taken in zip(z.T, self.weights.T, strict=True):
            out += each[:, None] * taken
        return log_softmax(out, axis=1)

    def difference(self, other: "ClassMap") -> float:
        """Return the largest difference of two maps in a parameter."""
        apart = np.abs(self.weights - other.weights).max(), np.abs(self.bias - other.bias).max()
        return float(max(apart))


def count_numbers(method: ClassMethod, classes: int) -> int:
    """Return how many numbers decide in a map of this kind."""
    numbers = {"temperature": 1, "vector": 2 * classes, "dirichlet": classes * (classes + 1)}
    return numbers[method]


def identity_map(classes: int) -> ClassMap:
    """Return the map that changes no probability."""
    return ClassMap(np.eye(classes), np.zeros(classes))


def _possible(logits: Floats) -> Floats:
    """Return log-probabilities of classes none of which is impossible."""
    return np.maximum(log_softmax(logits, axis=1), LOWEST)


def fit_class_map(
    method: ClassMethod,
    logits: Floats,
    y: Ints,
    weight: Floats | None = None,
    *,
    towards: ClassMap | None = None,
    strength: float = 0.0,
) -> ClassMap:
    """Fit a map by maximum likelihood, or by penalised likelihood.

    The penalty is `strength / 2` times the squared distance of the free parameters from those of
    `towards`, by default the identity; infinity gives `towards` itself. Adding the same number to
    all classes changes no probability: of all equivalent maps the one closest to `towards` is
    returned.
    """
    classes = logits.shape[1]
    towards = identity_map(classes) if towards is None else towards
    if np.isinf(strength):
        return towards
    problem = _Problem(method, _possible(logits), y, weight, towards, strength)
    found = minimize(
        problem.loss,
        np.zeros(problem.free),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 1000, "gtol": TOLERANCE, "ftol": 1e-13, "maxcor": 30},
    )
    return problem.map_of(found.x)


class _Problem:
    """The penalised likelihood as a function of how far the free parameters have moved.

    Dirichlet scaling has a row of weights and a bias for each class. They move along the
    principal axes of the log-probabilities, scaled to equal curvature: correlated classes would
    need hundreds of steps otherwise.
    """

    def __init__(
        self,
        method: ClassMethod,
        z: Floats,
        y: Ints,
        weight: Floats | None,
        towards: ClassMap,
        strength: float,
    ) -> None:
        self.method, self.z, self.y, self.towards = method, z, y, towards
        mass = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        self.mass = mass / mass.sum()
        self.strength = strength / mass.sum()
        classes = z.shape[1]
        self.free = {
            "temperature": 1,
            "vector": 2 * classes,
            "dirichlet": classes * (classes + 1),
        }[method]
        if method == "dirichlet":
            self.axes = self._axes()

    def _axes(self) -> Floats:
        rows, classes = self.z.shape
        design = np.column_stack([self.z, np.ones(rows)])
        spread, axes = np.linalg.eigh((design * self.mass[:, None]).T @ design)
        spread = np.maximum(spread, spread.max() * FLATTEST)
        # The curvature of the likelihood if all classes had the same probability.
        return np.asarray(axes / np.sqrt(spread * (1 - 1 / classes) / classes + self.strength))

    def map_of(self, steps: Floats) -> ClassMap:
        """Return the map that these steps from `towards` lead to."""
        classes, moved = self.z.shape[1], self._moved(steps)
        weights, bias = self.towards.weights.copy(), self.towards.bias.copy()
        if self.method == "temperature":
            weights += moved[0] * np.eye(classes)
        elif self.method == "vector":
            weights += np.diag(moved[:classes])
            bias += moved[classes:]
        else:
            weights += moved.reshape(classes, -1)[:, :classes]
            bias += moved.reshape(classes, -1)[:, classes]
        return ClassMap(weights, bias)

    def loss(self, steps: Floats) -> tuple[float, Floats]:
        """Mean negative log-likelihood with the penalty, and its gradient."""
        found, moved = self.map_of(steps), self._moved(steps)
        own = np.arange(self.y.size), self.y
        out = self.z @ found.weights.T + found.bias
        out -= out.max(axis=1, keepdims=True)
        odds = np.exp(out)
        total = odds.sum(axis=1)
        value = self.mass @ (np.log(total) - out[own]) + self.strength / 2 * moved @ moved
        by_output = odds * (self.mass / total)[:, None]
        by_output[own] -= self.mass
        gradient = self._by_parameters(by_output) + self.strength * moved
        if self.method == "dirichlet":
            gradient = (gradient.reshape(self.z.shape[1], -1) @ self.axes).ravel()
        return float(value), gradient

    def _moved(self, steps: Floats) -> Floats:
        """Turn steps into changes of the free parameters."""
        if self.method != "dirichlet":
            return steps
        return (steps.reshape(self.z.shape[1], -1) @ self.axes.T).ravel()

    def _by_parameters(self, by_output: Floats) -> Floats:
        """Turn the gradient by the outputs into that by the free parameters."""
        if self.method == "temperature":
            return np.array([np.vdot(by_output, self.z)])
        if self.method == "vector":
            return np.append(np.einsum("ij,ij->j", by_output, self.z), by_output.sum(axis=0))
        return np.column_stack([by_output.T @ self.z, by_output.sum(axis=0)]).ravel()


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows with finite logits."""

    logits: Floats  # rows x classes
    y: Ints  # class numbers, from 0
    leaf: Ints
    weight: Floats | None
    group: Groups | None = None

    def of(self, chosen: Bools | Ints) -> "ClassRows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        group = None if self.group is None else self.group[chosen]
        return ClassRows(self.logits[chosen], self.y[chosen], self.leaf[chosen], weight, group)

    def in_rows(self) -> "ClassRows":
        """Scale the weights to the effective number of rows, which a penalty then counts."""
        if self.weight is None or not self.weight.any():
            return self
        unit = self.weight.sum() / (self.weight**2).sum()
        return replace(self, weight=self.weight * unit)


def class_matrix(logits: ArrayLike, classes: int | None = None) -> Floats:
    """Return the logits as rows by classes."""
    found = np.asarray(logits, dtype=np.float64)
    if found.ndim != 2 or classes not in (None, found.shape[1]):
        raise CalibrationError(
            f"The logits are an array of shape {found.shape}.",
            f"An array of rows by {'' if classes is None else f'{classes} '}classes is needed.",
            "Pass such an array.",
        )
    return found


def class_numbers(y: ArrayLike, classes: int) -> Ints:
    """Return the class numbers; anything else is a `CalibrationError`."""
    found = np.asarray(y)
    whole = found.dtype.kind in "iuf" and bool((found % 1 == 0).all())
    if not whole or found.min(initial=0) < 0 or found.max(initial=0) >= classes:
        raise CalibrationError(
            f"The labels are not all whole numbers from 0 to {classes - 1}.",
            "Calibration needs the number of each row's class, in the order of the logits.",
            "Number the classes from 0 on.",
        )
    return found.astype(np.int64)


def fit_pooled_class_map(method: ClassMethod, rows: ClassRows) -> ClassMap:
    """Fit one map for all rows.

    A class without rows would get a bias of minus infinity: a penalty towards the identity that
    counts as one row keeps every class possible.
    """
    rows = rows.in_rows()
    return fit_class_map(method, rows.logits, rows.y, rows.weight, strength=1.0)


def fit_leaf_class_maps(
    method: ClassMethod, rows: ClassRows, leaves: Sequence[int], pooled: ClassMap, strength: float
) -> dict[int, ClassMap]:
    """Fit a map in each leaf, shrunk towards the pooled one, which leaves without rows have."""
    maps, rows = dict.fromkeys(leaves, pooled), rows.in_rows()
    for each in leaves:
        inside = rows.of(rows.leaf == each)
        if inside.y.size:
            parts = inside.logits, inside.y, inside.weight
            maps[each] = fit_class_map(method, *parts, towards=pooled, strength=strength)
    return maps


def mapped_logits(
    pooled: ClassMap, maps: Mapping[int, ClassMap], logits: Floats, leaf: Ints
) -> Floats:
    """Return the log-probabilities that the map of each row's leaf gives; NaN without logits.

    A leaf without a map of its own has the pooled one.
    """
    ids = list(maps)
    position = leaf_positions(np.asarray(leaf), ids)
    out = np.full(logits.shape, np.nan)
    usable = np.isfinite(logits).all(axis=1)
    for place in np.unique(position):
        inside = usable & (position == place)
        own = pooled if place < 0 else maps[ids[place]]
        out[inside] = own.logits(logits[inside])
    return out
