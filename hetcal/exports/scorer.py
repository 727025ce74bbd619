"""Calibrate the scores of rows. This file needs Python 3.10 or later, and nothing else.

from calibrated import score_row, score_rows
score_row({"score": 0.3, …})["after"]  # one row: a dictionary by the names of the columns
score_rows({"score": [0.3, …], …})["after"]  # many rows: arrays by name, or a data frame; numpy

A row that gives no finite score has the probability NaN. A missing value is None or NaN. Run the
file itself, and it compares its examples with the probabilities that they should have.
"""

import json
import math
import sys
from bisect import bisect_left, bisect_right

try:
    import numpy as np
except ImportError:  # score_row does without it
    np = None  # type: ignore[assignment]

# What this is made of, what it takes and gives, examples, and what it cannot do.
ABOUT = json.loads("{}")
# What is done to a row, first to last, in plain numbers.
RECIPE = json.loads("{}")

BLOCK = 1 << 15  # rows at a time, so that they stay in the cache


def score_row(row):
    """Return leaf, logit, and probability before and after, of one row."""
    values = [_value(column, row[column["name"]]) for column in RECIPE["columns"]]
    score = _logit(row[RECIPE["score"]["column"]])
    logit = score
    for step in RECIPE["steps"]:
        logit = _STEPS[step["step"]](step, logit, values)
    leaf = _leaf(RECIPE["leaf"], values)
    return {"leaf": leaf, "score": score, "before": _sigmoid(score), "after": _sigmoid(logit)}


def _is_missing(value):
    return value is None or value != value


def _value(column, value):
    """Return a number, None if it is missing; or the code of a category."""
    if column["kind"] == "number":
        if isinstance(value, str):
            raise TypeError(f"column {column['name']!r} holds numbers, not {value!r}")
        return None if _is_missing(value) else float(value)
    known = column["codes"]
    return len(known) + 1 if _is_missing(value) else known.get(_text(value), len(known))


def _text(value):
    """Write a category that is no text as a person would: True, 3 (also for 3.0), 2.5."""
    if isinstance(value, str):
        return value
    whole = isinstance(value, float) and math.isfinite(value) and value == int(value)
    return str(int(value) if whole else value)


def _logit(score):
    if _is_missing(score) or not math.isfinite(score):
        return math.nan
    given = RECIPE["score"]
    if given["kind"] == "logit":
        return float(score)
    if not 0 <= score <= 1:
        raise ValueError(f"column {given['column']!r} holds probabilities, not {score!r}")
    p = min(max(score, given["clip"]), 1 - given["clip"])
    return math.log(p / (1 - p))


def _sigmoid(logit):
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    return math.exp(logit) / (1 + math.exp(logit)) if logit < 0 else math.nan


def _leaf(tree, values):
    nodes = RECIPE["trees"][tree]
    node = nodes[0]
    while len(node) > 1:
        column, rule, missing_left, left, right = node
        value = values[column]
        if value is None:
            goes_left = missing_left
        elif isinstance(rule, frozenset):
            goes_left = value in rule
        else:
            goes_left = rule is None or value <= rule
        node = nodes[left if goes_left else right]
    return node[0]


def _tame(step, logit, values):
    return step["slope"] * _tamed(logit, step["low"], step["high"]) + step["intercept"]


def _tamed(logit, low, high):
    """Let logits beyond the limits grow by their logarithm only."""
    if logit > high:
        return high + math.log1p(logit - high)
    return low - math.log1p(low - logit) if logit < low else logit


def _leaves(step, logit, values):
    shape = step["maps"][_leaf(step["trees"][0], values) - 1]
    return _MAPS[shape["kind"]](shape, logit) if math.isfinite(logit) else math.nan


def _affine(shape, logit):
    return shape["slope"] * logit + shape["intercept"]


def _tamed_line(shape, logit):
    return shape["slope"] * _tamed(logit, shape["low"], shape["high"]) + shape["intercept"]


def _beta(shape, logit):
    rest = math.log1p(math.exp(-abs(logit)))
    low, high = min(logit, 0.0) - rest, max(logit, 0.0) + rest
    return shape["a"] * low + shape["b"] * high + shape["c"]


def _steps(shape, logit):
    return shape["logits"][bisect_right(shape["edges"], logit)]


def _knots(shape, logit):
    scores, levels = shape["scores"], shape["probabilities"]
    above = bisect_right(scores, logit)
    if above == 0 or above == len(scores):
        p = levels[min(above, len(levels) - 1)]
    else:
        here, there = scores[above - 1], scores[above]
        slope = (levels[above] - levels[above - 1]) / (there - here)
        p = min(max(slope * (logit - here) + levels[above - 1], levels[0]), levels[-1])
    return math.log(p / (1 - p))


def _trees(step):
    return zip(step["trees"], step["slope"], step["intercept"], strict=True)


def _nest(step, logit, values):
    logit = logit if math.isfinite(logit) else math.nan
    for tree, slope, intercept in _trees(step):
        place = _leaf(tree, values) - 1
        logit = slope[place] * logit + intercept[place]
    return logit


def _mean(step, logit, values):
    slopes = intercepts = 0.0
    for tree, slope, intercept in _trees(step):
        place = _leaf(tree, values) - 1
        slopes, intercepts = slopes + slope[place], intercepts + intercept[place]
    many = len(step["trees"])
    return slopes / many * logit + intercepts / many if math.isfinite(logit) else math.nan


def _add(step, logit, values):
    total = 0.0
    for term in step["terms"]:
        place = 0
        for axis in term["axes"]:
            place = place * axis["entries"] + _entry(axis, values[axis["column"]])
        total += term["values"][place]
    return step["slope"] * logit + step["intercept"] + total if math.isfinite(logit) else math.nan


def _entry(axis, value):
    if "places" in axis:
        return axis["places"][value]
    return axis["entries"] - 1 if value is None else bisect_left(axis["limits"], value)


_MAPS = {"affine": _affine, "tamed": _tamed_line, "beta": _beta, "steps": _steps, "knots": _knots}
_STEPS = {"tame": _tame, "leaves": _leaves, "nest": _nest, "mean": _mean, "add": _add}


def score_rows(columns):
    """Return leaf, logit, and probability before and after, of many rows as arrays."""
    score = _logits(columns[RECIPE["score"]["column"]])
    values = [_array(column, columns[column["name"]]) for column in RECIPE["columns"]]
    leaf, logit = np.empty(len(score), dtype=np.int32), score.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(score), BLOCK):
            part = slice(start, start + BLOCK)
            _score_block([each[part] for each in values], logit[part], leaf[part])
        before, after = (1 / (1 + np.exp(-each)) for each in (score, logit))
    return {"leaf": leaf, "score": score, "before": before, "after": after}


def _score_block(values, logit, leaf):
    """Change logits in place, and write the leaves."""
    leaf[:] = _leaf_of_rows(RECIPE["leaf"], values)
    for step in RECIPE["steps"]:
        known = leaf if step.get("trees") == [RECIPE["leaf"]] else None
        logit[:] = _STEPS_OF_ROWS[step["step"]](step, logit, values, known)


def _logits(column):
    score, given = np.array(column, dtype=np.float64), RECIPE["score"]
    score[~np.isfinite(score)] = np.nan
    if given["kind"] == "logit":
        return score
    if ((score < 0) | (score > 1)).any():
        raise ValueError(f"column {given['column']!r} holds probabilities")
    p = np.clip(score, given["clip"], 1 - given["clip"])
    return np.log(p / (1 - p))


def _array(column, values):
    """Return numbers, NaN if they are missing; or the codes of categories."""
    if column["kind"] == "number":
        if np.asarray(values).dtype.kind in "US":
            raise TypeError(f"column {column['name']!r} holds numbers, not text")
        return np.asarray(values, dtype=np.float64)
    if hasattr(values, "cat"):  # a categorical column of pandas
        places, names = values.cat.codes, values.cat.categories
    elif str(getattr(values, "dtype", "")).startswith("str"):  # one of text
        places, names = values.factorize()
    else:
        return np.fromiter(map(_Codes(column).__getitem__, values), np.int64, len(values))
    codes = [_value(column, each) for each in names]
    return np.array([*codes, len(column["codes"]) + 1])[np.asarray(places)]


class _Codes(dict[object, int]):
    """The code of each value; it remembers text and missing values, but True is also 1."""

    def __init__(self, column):
        super().__init__(column["codes"])
        self.column = column

    def __missing__(self, value):
        code = _value(self.column, value)
        if isinstance(value, str) or _is_missing(value):
            self[value] = code
        return code


def _leaf_of_rows(tree, values):
    nodes, rows = RECIPE["trees"][tree], len(values[0]) if values else None
    if rows is None or len(nodes) == 1:
        return nodes[0][0]
    leaf = np.zeros(rows, dtype=np.int16 if len(nodes) < 1 << 15 else np.int64)
    waiting = [(0, np.ones(rows, dtype=bool))]
    while waiting:
        at, inside = waiting.pop()
        node = nodes[at]
        if len(node) == 1:  # arithmetic is faster than writing by a mask
            leaf += inside.view(np.int8) * leaf.dtype.type(node[0])
            continue
        column, rule, missing_left, left, right = node
        goes_left = _goes_left(RECIPE["columns"][column], values[column], rule, missing_left)
        goes_left &= inside
        waiting += [(left, goes_left), (right, inside ^ goes_left)]
    return leaf


def _goes_left(column, values, rule, missing_left):
    if isinstance(rule, frozenset):
        return np.array([code in rule for code in range(len(column["codes"]) + 2)])[values]
    limit = math.inf if rule is None else rule
    return ~(values > limit) if missing_left else values <= limit


def _tame_rows(step, logit, values, known):
    return step["slope"] * _tamed_rows(logit, step["low"], step["high"]) + step["intercept"]


def _tamed_rows(logit, low, high):
    beyond = np.log1p(np.maximum(logit - high, 0)) - np.log1p(np.maximum(low - logit, 0))
    return np.clip(logit, low, high) + beyond


def _leaves_of_rows(step, logit, values, known):
    leaf = _leaf_of_rows(step["trees"][0], values) if known is None else known
    leaf, maps = np.broadcast_to(leaf, logit.shape), step["maps"]
    if all(each["kind"] == "affine" for each in maps):
        slope, intercept = (np.array([0.0, *(m[k] for m in maps)]) for k in ("slope", "intercept"))
        return np.where(np.isfinite(logit), slope[leaf] * logit + intercept[leaf], np.nan)
    found = np.empty(len(logit))
    for number, shape in enumerate(maps, 1):
        inside = leaf == number
        here = logit[inside]
        mapped = _MAPS_OF_ROWS[shape["kind"]](shape, here)
        found[inside] = np.where(np.isfinite(here), mapped, np.nan)
    return found


def _tamed_line_rows(shape, logit):
    return shape["slope"] * _tamed_rows(logit, shape["low"], shape["high"]) + shape["intercept"]


def _beta_rows(shape, logit):
    low, high = -np.logaddexp(0, -logit), np.logaddexp(0, logit)
    return shape["a"] * low + shape["b"] * high + shape["c"]


def _steps_rows(shape, logit):
    return np.array(shape["logits"])[np.searchsorted(shape["edges"], logit, "right")]


def _knots_rows(shape, logit):
    levels = np.array(shape["probabilities"])
    p = np.interp(logit, shape["scores"], levels).clip(levels[0], levels[-1])
    return np.log(p / (1 - p))


def _nest_rows(step, logit, values, known):
    logit = np.where(np.isfinite(logit), logit, np.nan)
    for tree, slope, intercept in _trees(step):
        place = _leaf_of_rows(tree, values) - 1
        logit = np.array(slope)[place] * logit + np.array(intercept)[place]
    return logit


def _mean_rows(step, logit, values, known):
    slopes, intercepts = np.zeros(len(logit)), np.zeros(len(logit))
    for tree, slope, intercept in _trees(step):
        place = _leaf_of_rows(tree, values) - 1
        slopes += np.array(slope)[place]
        intercepts += np.array(intercept)[place]
    many = len(step["trees"])
    return np.where(np.isfinite(logit), slopes / many * logit + intercepts / many, np.nan)


def _add_rows(step, logit, values, known):
    total = np.zeros(len(logit))
    for term in step["terms"]:
        place = 0
        for axis in term["axes"]:
            place = place * axis["entries"] + _entries(axis, values[axis["column"]])
        total += np.array(term["values"])[place]
    mapped = step["slope"] * logit + step["intercept"]
    return np.where(np.isfinite(logit), mapped, np.nan) + total


def _entries(axis, values):
    if "places" in axis:
        return np.array(axis["places"])[values]
    entry = np.searchsorted(axis["limits"], values, "left")
    entry[np.isnan(values)] = axis["entries"] - 1
    return entry


_MAPS_OF_ROWS = {
    "affine": _affine,
    "tamed": _tamed_line_rows,
    "beta": _beta_rows,
    "steps": _steps_rows,
    "knots": _knots_rows,
}
_STEPS_OF_ROWS = {
    "tame": _tame_rows,
    "leaves": _leaves_of_rows,
    "nest": _nest_rows,
    "mean": _mean_rows,
    "add": _add_rows,
}


def _prepare():
    """Turn lists of codes into what is looked up fast."""
    for column in RECIPE.get("columns", ()):
        column["codes"] = {name: code for code, name in enumerate(column["categories"])}
    for nodes in RECIPE.get("trees", ()):
        for node in nodes:
            if len(node) > 1 and isinstance(node[1], list):
                node[1] = frozenset(node[1])


_prepare()

if __name__ == "__main__":
    gaps = [abs(score_row(each["row"])["after"] - each["after"]) for each in ABOUT["examples"]]
    sys.stdout.write(f"{len(gaps)} examples, largest difference {max(gaps):.2g}\n")
