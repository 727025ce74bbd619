"""Boosted trees by LightGBM: members that each leave some rows out, and their trees as data.

LightGBM takes a start for every row, limits which columns may meet in a tree, keeps columns
increasing, reports after every tree and gives its trees by a public call; scikit-learn's boosting
has the second and the third only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Bools, Floats, Groups, Ints, Labels, Singles
from hetcal.data.splits import draw_group_folds
from hetcal.errors import PartitionError
from hetcal.parallel import Report, side_by_side
from hetcal.partitions.encoding import TrainingRows
from hetcal.progress import Progress, silent
from hetcal.trees.label_tree import GrownTree, RankSets

if TYPE_CHECKING:
    from lightgbm import Booster

Read = TypeVar("Read")
Part = tuple[Ints, Ints]
"""Rows that a member is grown on, and rows that it leaves out."""

MOST_BINS = 255  # of a column
PATIENCE = 20  # trees without an improvement on rows left out, after which a member stops
FIXED = {
    "objective": "binary",
    "num_threads": 1,  # a member per core: its trees are too small to be divided among cores
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """Rows as numbers, missing ones NaN, with labels of two classes."""

    matrix: Singles | Floats
    y: Labels
    weight: Floats | None = None
    starts: Sequence[Floats] | None = None  # for each member, logits before the first tree
    categories: Sequence[int] = ()  # columns whose ranks are cut by sets, not by thresholds

    def dataset(self) -> Any:
        """Bin the columns once for all members."""
        import lightgbm

        # The columns are binned before it is known how small a leaf may be.
        options = {
            "max_bin": MOST_BINS,
            "feature_pre_filter": False,
            "num_threads": 1,
            "verbosity": -1,
        }
        weight = None if self.weight is None else self.weight / self.weight.mean()
        data = lightgbm.Dataset(
            self.matrix,
            self.y,
            weight=weight,
            categorical_feature=list(self.categories),
            params=options,
        )
        return data.construct()


def member_parts(
    y: Labels,
    members: int,
    seed: int,
    group: Groups | None = None,
    time: Floats | None = None,
    earlier: Bools | None = None,
) -> list[Part]:
    """Return the rows that each member is grown on, and those that it leaves out.

    Rows of one group stay together. With times, a member leaves out one stretch of the rows that
    are not `earlier` and is grown on those before it and on the earlier ones: what is left out by
    some member is judged by trees of the past.
    """
    if time is not None and earlier is not None and not earlier.all():
        later = np.flatnonzero(~earlier)
        stretches = np.array_split(later[np.argsort(time[later], kind="stable")], members)
        before = [np.concatenate([np.flatnonzero(earlier), *stretches[:k]]) for k in range(members)]
        return [
            (np.sort(grown), np.sort(out)) for grown, out in zip(before, stretches, strict=True)
        ]
    if group is None:
        folds = StratifiedKFold(members, shuffle=True, random_state=seed)
        return list(folds.split(y, y))
    fold = draw_group_folds(y, group, members, seed)
    if fold is None:
        raise PartitionError(
            "The groups of the rows cannot be divided in two so that both parts have rows of "
            "both classes.",
            "Each sequence of boosted trees is grown without some of the groups.",
            "Choose rows of more groups, or name no group column.",
        )
    inside = [fold == number for number in range(int(fold.max()) + 1)]
    return [(np.flatnonzero(~here), np.flatnonzero(here)) for here in inside]


def divided_rows(
    rows: TrainingRows, members: int, seed: int, ranked: Any, groups: Any, times: Any
) -> tuple[Bools, list[Part]]:
    """Return which of the rows are ranked, by default all, and the parts of the members.

    `ranked`, `groups` and `times` have an entry for each row that `fit` was given.
    """
    check_consistent_length(rows.used, groups, times)
    chosen = rows.used if ranked is None else np.asarray(ranked, dtype=np.bool_)
    chosen = chosen[rows.used]
    group, time = (
        None if each is None else np.asarray(each)[rows.used] for each in (groups, times)
    )
    return chosen, member_parts(rows.y, members, seed, group, time, chosen)


def require_members(what: str, members: int, positive: Labels) -> None:
    """Refuse fewer than two members, and fewer rows of a class than members."""
    fewest = int(min(positive.sum(), (1 - positive).sum()))
    if members < 2 or fewest < members:
        raise PartitionError(
            f"There are {fewest:,} rows of the rarer class for {members} members.",
            f"{what} need at least two members, and a row of each class for each.",
            "Choose another number of members, or training rows with more of both classes.",
        )


def stopping_rows(parts: Sequence[Part], read: Bools, y: Labels) -> list[Ints]:
    """Return the rows on which each member sees when to stop.

    They are those left out whose labels may be `read`, so that what a member says of the others
    does not depend on their labels; all that are left out where these are of one class.
    """
    chosen = [left_out[read[left_out]] for _, left_out in parts]
    both = zip(chosen, parts, strict=True)
    return [own if np.unique(y[own]).size == 2 else left_out for own, (_, left_out) in both]


def boost_members(
    rows: BoostingRows,
    parts: Sequence[Part],
    stops: Sequence[Ints],
    options: Sequence[Mapping[str, Any]],
    trees: int,
    read: Callable[["Booster", Ints], Read],
    doing: str,
    progress: Progress = silent,
) -> list[Read]:
    """Grow a sequence of trees for each part; it stops when its rows of `stops` gain no more.

    `options` are LightGBM's for each part, to whose seed the number of the part is added. Returned
    is what `read` makes of each member and the rows that it leaves out. What `progress` raises
    ends the growth.
    """
    data = rows.dataset()
    starts = [None] * len(parts) if rows.starts is None else rows.starts
    seeded = [{**own, "seed": own["seed"] + number} for number, own in enumerate(options)]

    def grow(
        part: Part, stop: Ints, start: Floats | None, own: Mapping[str, Any], report: Report
    ) -> Read:
        return read(_grow_member(data, part[0], stop, start, own, trees, report), part[1])

    works = [partial(grow, *each) for each in zip(parts, stops, starts, seeded, strict=True)]
    return side_by_side(works, doing, progress)


def _grow_member(
    data: Any,
    rows: Ints,
    stop: Ints,
    start: Floats | None,
    options: Mapping[str, Any],
    trees: int,
    report: Report,
) -> "Booster":
    import lightgbm

    rows, stop = np.sort(rows), np.sort(stop)
    grown, judged = (data.subset(each).construct() for each in (rows, stop))
    if start is not None:
        grown.set_init_score(start[rows])
        judged.set_init_score(start[stop])
    callbacks = [
        lightgbm.early_stopping(PATIENCE, verbose=False),
        lambda done: report((done.iteration + 1) / trees),
    ]
    return lightgbm.train(
        {**FIXED, **options}, grown, trees, valid_sets=[judged], callbacks=callbacks
    )


class ResidualTrees:
    """Small trees grown one after the other, each on what given logits leave of the labels.

    Parameters
    ----------
    matrix : array
        The rows as numbers.
    y : array of int
        Their labels.
    weight : array or None
        Their weights.
    penalty : float
        Shrinks what a leaf would gain, in rows.
    """

    def __init__(self, matrix: Singles, y: Ints, weight: Floats | None, penalty: float) -> None:
        import lightgbm

        self._y = y
        self._weight = np.ones(len(y)) if weight is None else weight / weight.mean()
        options = {
            **FIXED,
            "objective": "none",
            "num_leaves": 8,
            "max_depth": 4,
            "min_data_in_leaf": min(100, max(10, len(y) // 20)),
            "lambda_l2": penalty,
            "max_bin": 63,
        }
        labels = np.asarray(y, dtype=np.float64)
        data = lightgbm.Dataset(matrix, labels, params=options, free_raw_data=False)
        self._booster = lightgbm.Booster(options, data)

    def grow(self, logits: Floats) -> GrownTree:
        """Grow the next tree on what the logits leave."""
        probability = expit(logits)
        gradient = self._weight * (probability - self._y)
        curvature = np.maximum(self._weight * probability * (1 - probability), 1e-9)
        self._booster.update(fobj=lambda _, __: (gradient, curvature))
        number = self._booster.current_iteration() - 1
        found = self._booster.dump_model(start_iteration=number, num_iteration=1)["tree_info"]
        return _flat_tree(found[0]["tree_structure"])[0]


def margin_of(member: "Booster", matrix: Singles) -> Floats:
    """Return the sum of the trees' values for each row, without its start."""
    return np.asarray(member.predict(matrix, raw_score=True, num_threads=1), dtype=np.float64)


def grown_trees(member: "Booster") -> list[tuple[GrownTree, Floats]]:
    """Return each tree of a member, and the values of its leaves.

    Where a column had no missing values in training, they go to the side with more rows; at a
    set of categories all that is not in the set goes right, as LightGBM sends it.
    """
    found = member.dump_model(num_iteration=member.best_iteration)["tree_info"]
    return [_flat_tree(each["tree_structure"]) for each in found]


def _flat_tree(root: Mapping[str, Any]) -> tuple[GrownTree, Floats]:
    """List the nodes so that each comes first, then its left part, then its right part."""
    feature: list[int] = []
    right: list[int] = []
    threshold, missing_left, rows, values = [], [], [], []
    sets: dict[int, list[int]] = {}
    waiting: list[tuple[Mapping[str, Any], int]] = [(root, -1)]
    while waiting:
        node, parent = waiting.pop()
        if parent >= 0:
            right[parent] = len(feature)
        splits = "split_feature" in node
        if splits:
            waiting += [(node["right_child"], len(feature)), (node["left_child"], -1)]
        else:
            values.append(node["leaf_value"])
        by_set = splits and node["decision_type"] == "=="
        if by_set:
            sets[len(feature)] = [int(rank) for rank in node["threshold"].split("||")]
        feature.append(node["split_feature"] if splits else -1)
        threshold.append(node["threshold"] if splits and not by_set else np.nan)
        missing_left.append(splits and not by_set and _missing_left(node))
        rows.append(_rows(node))
        right.append(0)
    inner = np.array(feature, dtype=np.int64) >= 0
    tree = GrownTree(
        np.array(feature, dtype=np.int64),
        np.array(threshold, dtype=np.float64),
        np.array(missing_left, dtype=np.bool_),
        np.where(inner, np.arange(inner.size) + 1, 0),
        np.array(right, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        np.zeros(inner.size),
        sets=RankSets.of(sets),
    )
    return tree, np.array(values, dtype=np.float64)


def _missing_left(node: Mapping[str, Any]) -> bool:
    if node["missing_type"] == "NaN":
        return bool(node["default_left"])
    return _rows(node["left_child"]) >= _rows(node["right_child"])


def _rows(node: Mapping[str, Any]) -> int:
    return int(node.get("internal_count", node.get("leaf_count", 0)))
