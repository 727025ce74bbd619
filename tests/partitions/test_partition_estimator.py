"""What every estimator of partitions says to tables that cannot be divided."""

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.columns import ColumnsPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.layer import LayerPartition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition

ROWS = 60
Y = np.arange(ROWS) % 2
ESTIMATORS = [
    AdditiveTerms(2, max_iter=3),
    AucGainPartition(),
    BoostedPartition(2, max_iter=3),
    ColumnsPartition("a"),
    ForestPartition(2),
    InstabilityPartition(),
    LayerPartition(),
    SelectedTreePartition(),
    SelectedTreePartition(select="pruned"),
    TreePartition(),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


def fit(estimator, X, y):
    scores = [np.zeros(len(y))] if hasattr(estimator, "alpha") else []
    return estimator.fit(X, y, *scores)


def numbers(*names):
    values = np.random.default_rng(0).normal(size=(ROWS, len(names)))
    return pd.DataFrame(values, columns=list(names))


@each_estimator
@pytest.mark.parametrize("X", [pd.DataFrame(index=range(ROWS)), np.empty((ROWS, 0))])
def test_a_table_without_columns_is_refused(estimator, X):
    with pytest.raises(PartitionError, match=r"^The table has no columns"):
        fit(estimator, X, Y)


@each_estimator
@pytest.mark.parametrize("X", [numbers("a", "b")[:0], np.empty((0, 2))])
def test_a_table_without_rows_is_refused(estimator, X):
    with pytest.raises(PartitionError, match=r"^The table has no rows"):
        fit(estimator, X, Y[:0])


@each_estimator
def test_names_that_repeat_are_refused(estimator):
    with pytest.raises(PartitionError, match=r"several columns with one name \('a', 'c'\)"):
        fit(estimator, numbers("a", "a", "b", "c", "c"), Y)


@each_estimator
def test_numbers_and_texts_that_read_alike_are_one_name(estimator):
    with pytest.raises(PartitionError, match=r"several columns with one name \('1'\)"):
        fit(estimator, numbers(1, "a", "1"), Y)


@each_estimator
def test_one_row_is_refused_for_its_one_class(estimator):
    with pytest.raises(PartitionError, match="one class"):
        fit(estimator, numbers("a", "b")[:1], Y[:1])


@each_estimator
def test_missing_labels_are_refused(estimator):
    y = np.where(Y, "yes", None)
    with pytest.raises(PartitionError, match="30 gaps"):
        fit(estimator, numbers("a", "b"), y)


@each_estimator
@pytest.mark.parametrize(
    "column", [np.full(ROWS, np.nan), np.ones(ROWS), np.full(ROWS, np.inf), ["x"] * ROWS]
)
def test_columns_that_tell_nothing_leave_all_rows_together(estimator, column):
    X = pd.DataFrame({"a": column, "b": column})
    fitted = fit(estimator, X, Y)
    told = fitted.apply(X) if hasattr(fitted, "apply") else fitted.decision_function(X)
    assert np.unique(told, axis=0).shape[0] == 1


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "3", None])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (AdditiveTerms, "max_iter"),
        (AdditiveTerms, "members"),
        (AucGainPartition, "max_depth"),
        (BoostedPartition, "max_iter"),
        (BoostedPartition, "members"),
        (ForestPartition, "max_rows"),
        (ForestPartition, "trees"),
        (TreePartition, "max_depth"),
    ],
)
def test_a_number_of_things_that_is_none_is_refused(kind, name, wrong):
    with pytest.raises(PartitionError, match=f"The parameter '{name}' of the .* is {wrong!r}"):
        fit(kind(**{name: wrong}), numbers("a", "b"), Y)


@pytest.mark.parametrize("wrong", [-1, 2.5, True, "3"])
@pytest.mark.parametrize(
    ("kind", "name"), [(AdditiveTerms, "pairs"), (BoostedPartition, "max_leaf_nodes")]
)
def test_a_number_that_may_be_left_open_is_refused_where_it_is_none(kind, name, wrong):
    with pytest.raises(PartitionError, match=f"The parameter '{name}' of the .* is {wrong!r}"):
        fit(kind(**{name: wrong}), numbers("a", "b"), Y)
