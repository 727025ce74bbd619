from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.data.scores import make_scores
from hetcal.data.splits import Split
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError, PartitionError
from hetcal.partitions.tree import TreePartition
from hetcal.runs.fitting import grow_partition, lend_rows
from hetcal.runs.run import run, split_table
from hetcal.runs.settings import Settings

SHARES = (0.3, 0.0, 0.4, 0.3)


@pytest.fixture(scope="module")
def drawn():
    """Scores mean the opposite of little in region b, where the label is as common as in a."""
    rng = np.random.default_rng(0)
    region, x = rng.choice(["a", "b"], 12_000), rng.normal(size=12_000)
    scores = rng.normal(0, 2, 12_000)
    y = rng.random(12_000) < expit(np.where(region == "a", 1.5, 0.1) * scores)
    frame = pd.DataFrame({"region": region, "x": x, "y": y.astype(int)})
    table = make_table(frame, Roles("y"), "digest")
    return table, make_scores(scores, "made up", digest="scores")


@pytest.mark.parametrize("name", ["auc-gain", "instability"])
def test_partitions_that_read_scores_find_where_the_score_means_less(drawn, name):
    table, scores = drawn
    settings = Settings(fractions=SHARES, partition=name, max_depth=1)
    finished = run(table, scores, settings)
    assert [each.name for each in finished.partition.features] == ["region"]
    assert finished.evaluation.lift.low > 0


def test_they_are_grown_on_rows_that_are_neither_trained_on_nor_calibrated_on(drawn):
    table, scores = drawn
    settings = Settings(fractions=SHARES, partition="auc-gain", max_depth=1)
    split = split_table(table, settings)
    partition = grow_partition(table, split, settings, scores)
    assert partition.nodes[0].rows == split.validation.size
    given = split_table(table, Settings(fractions=SHARES))
    assert np.array_equal(np.sort([*split.validation, *split.calibration]), given.calibration)
    assert abs(split.validation.size - split.calibration.size) <= 2  # one of each class
    assert np.array_equal(split.test, given.test)


def test_enough_validation_rows_lend_none():
    split = Split(np.arange(5), np.arange(5, 15), np.arange(15, 35), np.arange(35, 40))
    assert lend_rows(split, np.tile([0, 1], 20), 0) is split


def test_the_labels_of_lent_rows_are_divided_alike():
    y = np.repeat([0, 1], [300, 100])
    rows = np.arange(400)
    split = lend_rows(Split(rows[:0], rows[:0], rows, rows[:0]), y, 0)
    assert y[split.validation].sum() == y[split.calibration].sum() == 50


def test_segments_are_the_columns_of_the_user(drawn):
    table, scores = drawn
    settings = Settings(partition="columns", segments=("region", "x"), bins=3)
    finished = run(table, scores, settings)
    assert len(finished.partition.leaves) == 6


def test_no_segments_are_refused_in_words(drawn):
    with pytest.raises(PartitionError, match="No columns are named"):
        grow_partition(drawn[0], split_table(drawn[0], Settings()), Settings(partition="columns"))


@pytest.mark.parametrize("name", ["auc-gain", "layer"])
def test_what_needs_scores_says_so(drawn, name):
    settings = Settings(partition=name)
    with pytest.raises(PartitionError, match="reads"):
        grow_partition(drawn[0], split_table(drawn[0], settings), settings)


def test_a_tree_of_a_chosen_size_is_smaller_than_one_of_depth_six(drawn):
    table, _ = drawn
    settings = Settings(tree_size="cv", min_leaf=50)
    split = split_table(table, settings)
    chosen = grow_partition(table, split, settings)
    deep = TreePartition(6, min_samples_leaf=50)
    deep.fit(table.X.iloc[split.train], table.y[split.train])
    assert len(chosen.leaves) < len(deep.leaves_)


@pytest.mark.parametrize("field", ["partition", "tree_size", "calibrator"])
def test_names_that_are_not_known_are_refused(field):
    with pytest.raises(HetcalError, match="called 'magic'"):
        Settings(**{field: "magic"})


def test_the_settings_choose_the_map_and_its_shrinkage(drawn):
    table, scores = drawn
    plain = run(table, scores, Settings(max_depth=2))
    one = run(table, scores, Settings(max_depth=2, shrinkage=float("inf")))
    assert {each.slope for each in one.calibrator.maps_} == {one.calibrator.pooled_.slope}
    assert len({each.slope for each in plain.calibrator.maps_}) > 1
    assert run(table, scores, Settings(calibrator="isotonic")).calibrator.method == "isotonic"


def test_groups_are_lent_as_a_whole():
    rng = np.random.default_rng(0)
    y, group, rows = rng.integers(0, 2, 400), rng.integers(0, 30, 400), np.arange(400)
    split = lend_rows(Split(rows[:0], rows[:0], rows, rows[:0]), y, 0, group)
    assert not set(group[split.validation]) & set(group[split.calibration])
    assert abs(split.validation.size - split.calibration.size) < 60
    one = lend_rows(Split(rows[:0], rows[:0], rows, rows[:0]), y, 0, np.zeros(400))
    plain = lend_rows(Split(rows[:0], rows[:0], rows, rows[:0]), y, 0)
    assert np.array_equal(one.calibration, plain.calibration)  # there is nothing to keep apart


def test_groups_stay_whole_where_a_partition_reads_scores(drawn):
    table, _ = drawn
    frame = table.frame.assign(site=np.arange(table.rows) % 60)
    grouped = make_table(frame, replace(table.roles, group="site", features=None), "sites")
    split = split_table(grouped, Settings(fractions=SHARES, partition="instability"))
    roles = [set(frame["site"].iloc[rows]) for rows in (split.validation, split.calibration)]
    assert all(roles)
    assert not roles[0] & roles[1]


@pytest.mark.parametrize("size", ["cv", "pruned"])
def test_trees_are_judged_on_groups_that_they_were_not_grown_on(size):
    rng = np.random.default_rng(0)
    site = rng.integers(0, 60, 6_000)
    rate, number = rng.random(60), rng.permutation(60)
    y = (rng.random(6_000) < rate[site]).astype(int)
    split = np.where(site < 40, "train", np.where(site < 50, "calibration", "test"))
    frame = pd.DataFrame({"number": number[site], "site": site, "y": y, "split": split})
    leaves = []
    for group in (None, "site"):
        roles = Roles("y", features=("number",), group=group, split="split", assume_group=False)
        table = make_table(frame, roles, "digest")
        settings = Settings(partition="tree", tree_size=size, min_leaf=50)
        leaves.append(grow_partition(table, split_table(table, settings), settings).leaves)
    assert len(leaves[0]) > 10
    assert len(leaves[1]) == 1
