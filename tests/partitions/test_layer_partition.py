import numpy as np
import pytest
from scipy.special import expit
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.data.scores import Activations
from hetcal.partitions.layer import LayerPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition


@parametrize_with_checks([LayerPartition()])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def hidden():
    rng = np.random.default_rng(0)
    values = np.maximum(rng.normal(size=(2_000, 6)), 0).astype(np.float32)
    y = rng.random(2_000) < expit(3 * (values[:, 4] > 0) - 1.5)
    return Activations("hidden", values), y.astype(int)


def test_leaves_are_those_of_a_tree_on_the_units(hidden):
    activations, y = hidden
    fitted = LayerPartition("hidden", tree=TreePartition(2)).fit(activations, y)
    plain = TreePartition(2).fit(activations.values, y)
    assert np.array_equal(fitted.apply(activations), plain.apply(activations.values))
    assert np.array_equal(fitted.apply(activations.values), plain.apply(activations.values))


def test_rules_name_the_layer_and_the_unit(hidden):
    activations, y = hidden
    chosen = LayerPartition("hidden", tree=SelectedTreePartition()).fit(activations, y)
    assert [each.rule.split(" ")[0] for each in chosen.leaves_] == ["hidden[4]", "hidden[4]"]
    assert chosen.tree_.selection_["chosen"].sum() == 1


def test_a_partition_read_back_splits_the_columns_of_the_activations(hidden):
    activations, y = hidden
    fitted = LayerPartition("hidden").fit(activations, y)
    again = Partition.from_json(fitted.partition_.to_json())
    assert np.array_equal(again.apply(activations.frame), fitted.apply(activations))


def test_units_become_columns_without_being_copied(hidden):
    frame = hidden[0].frame
    assert list(frame.columns) == [f"hidden[{unit}]" for unit in range(6)]
    assert np.shares_memory(frame.to_numpy(), hidden[0].values)
