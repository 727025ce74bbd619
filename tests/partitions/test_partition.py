import json
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.calibrators.shapes import Affine
from hetcal.data.splits import Split, split_by_column
from hetcal.errors import PartitionError
from hetcal.partitions import partition as routing
from hetcal.partitions.editing import divided, merged, pruned, sibling
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition, fallback_words, leaf_table, with_one_slope
from hetcal.partitions.tree import TreePartition


def table(rows=2_000, seed=0):
    rng = np.random.default_rng(seed)
    job = rng.choice(np.array(["admin.", "student", "<b>", 'say "no"', "ü", None], object), rows)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(10, 1, rows)),
            "job": pd.Series(job, dtype="str"),
        }
    )
    chance = 0.2 + 0.3 * (frame["age"] > 50) + 0.4 * frame["job"].isin(["student", "ü"])
    return frame, (rng.random(rows) < chance).astype(int)


@pytest.fixture(scope="module")
def partition():
    return TreePartition(4, min_samples_leaf=40).fit(*table()).partition_


def route(partition, row):
    """Follow one row by hand."""
    features = {feature.name: feature for feature in partition.features}
    node, path = partition.nodes[0], 0
    while node.feature is not None:
        value = row[node.feature]
        known = not pd.isna(value)
        if features[node.feature].kind == "category":
            known = known and value in features[node.feature].categories
            left = value in node.categories
        else:
            left = node.threshold is None or float(np.float32(value)) <= node.threshold
        path = node.left if (left if known else node.missing_left) else node.right
        node = partition.nodes[path]
    return next(leaf.id for leaf in partition.leaves if leaf.node == path)


def leaves_below(partition, position):
    node = partition.nodes[position]
    if node.feature is None:
        return {leaf.id for leaf in partition.leaves if leaf.node == position}
    return leaves_below(partition, node.left) | leaves_below(partition, node.right)


def test_a_branch_is_the_union_of_the_leaves_below_it(partition):
    inner = [at for at, node in enumerate(partition.nodes) if node.feature is not None]
    assert sorted(each.node for each in partition.branches) == inner[1:]  # all but the root
    for number, branch in enumerate(partition.branches, start=1):
        assert branch.id == -number
        assert set(partition.members(-number)) == leaves_below(partition, branch.node)
        assert partition.names[-number] == f"{branch.rule} (branch {number})"
        rows = [leaf.rows for leaf in partition.leaves if leaf.id in branch.leaves]
        assert sum(rows) == partition.nodes[branch.node].rows
    assert partition.members(3) == (3,)
    assert partition.members(0) == ()


def test_a_pruned_branch_is_one_leaf_with_the_rows_of_its_leaves(partition):
    frame, _ = table()
    before = partition.apply(frame)
    for branch in partition.branches:
        edited = pruned(partition, branch.id)
        after = edited.apply(frame)
        assert edited.edited
        assert len(edited.leaves) == len(partition.leaves) - len(branch.leaves) + 1
        inside = np.isin(before, branch.leaves)
        (leaf,) = set(after[inside])
        assert (after[~inside] != leaf).all()
        assert edited.leaves[leaf - 1].rows == inside.sum()
        outside = pd.Series(after[~inside]).groupby(before[~inside]).nunique()
        assert (outside == 1).all()  # other leaves stay as they are
    assert len(pruned(partition, 0).leaves) == 1


def test_two_leaves_of_one_split_are_merged_and_no_others(partition):
    one = next(each.id for each in partition.leaves if sibling(partition, each.id) is not None)
    other = sibling(partition, one)
    frame, _ = table()
    before, after = partition.apply(frame), merged(partition, one, other).apply(frame)
    assert len(set(after[np.isin(before, (one, other))])) == 1
    assert len(set(after)) == len(set(before)) - 1
    far = next(each.id for each in partition.leaves if each.id not in (one, other))
    with pytest.raises(PartitionError, match="not on both sides of one split"):
        merged(partition, one, far)


@pytest.mark.parametrize(
    ("cut", "left"),
    [
        (("age", 40), lambda frame: frame["age"] <= 40),
        (("income", 25_000.1), lambda frame: frame["income"] <= 25_000.1),
        (("job", ["student", "<b>"]), lambda frame: frame["job"].isin(["student", "<b>"])),
    ],
)
def test_a_divided_leaf_sends_rows_by_the_column_and_counts_them(partition, cut, left):
    frame, y = table()
    before = partition.apply(frame)
    goes, there = left(frame).to_numpy(), frame[cut[0]].notna().to_numpy()
    both = pd.Series(goes[there]).groupby(before[there]).nunique()
    leaf = int(both.idxmax())  # one whose rows are on both sides
    edited = divided(partition, leaf, cut, frame, y)
    after, inside = edited.apply(frame), before == leaf
    assert len(edited.leaves) == len(partition.leaves) + 1
    larger_left = (goes & inside & there).sum() > (~goes & inside & there).sum()
    sides = np.where(there, goes, larger_left)[inside]
    assert len(set(after[inside][sides])) == len(set(after[inside][~sides])) == 1
    assert set(after[inside][sides]) != set(after[inside][~sides])
    for each in edited.leaves:
        rows = after == each.id
        assert each.rows == rows.sum()
        assert each.positive_rate == pytest.approx(y[rows].mean())
    assert Partition.from_json(edited.to_json()) == edited
    assert json.loads(edited.to_json())["edited"] is True
    assert "edited" not in json.loads(partition.to_json())


def test_a_number_that_is_typed_goes_left_though_single_precision_rounds_it(partition):
    frame = pd.DataFrame({"x": [0.1, 0.3, 0.7, 0.9] * 10})
    tree = Partition((), (Node(40, 0.5),))
    for value in (0.1, 0.3, 0.7):
        edited = divided(tree, 1, ("x", value), frame, np.tile([0, 1], 20))
        assert (edited.apply(frame) == 1).tolist() == (frame["x"] <= value).tolist()
        assert edited.leaves[0].rule == f"x ≤ {value}"


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (("age", 4), "on one side"),
        (("job", ["nobody"]), "'nobody'"),
        (("job", 4), "a number is given"),
        (("age", ["old"]), "categories are given"),
    ],
)
def test_a_split_that_divides_nothing_says_why(partition, cut, words):
    with pytest.raises(PartitionError, match=words):
        divided(partition, 1, cut, *table())


def test_every_row_reaches_the_leaf_found_by_hand(partition):
    frame, _ = table(300, seed=1)
    frame.loc[:20, "job"] = "unseen"
    expected = [route(partition, row) for _, row in frame.iterrows()]
    assert len(set(expected)) > 5
    assert partition.apply(frame).tolist() == expected


def test_leaves_are_numbered_from_left_to_right_in_any_order_of_nodes():
    x = Feature("x", "number")
    nodes = (
        Node(4, 0.5, "x", 0.0, (), False, 2, 1),
        Node(2, 0.5),
        Node(2, 0.5, "x", -1.0, (), False, 4, 3),
        Node(1, 0.5),
        Node(1, 0.5),
    )
    partition = Partition((x,), nodes)
    assert [leaf.rule for leaf in partition.leaves] == ["x ≤ -1", "-1 < x ≤ 0", "x > 0"]
    assert [leaf.depth for leaf in partition.leaves] == [2, 2, 1]
    assert partition.apply(pd.DataFrame({"x": [-2, -0.5, 1, None]})).tolist() == [1, 2, 3, 3]


def test_a_table_without_rows_has_no_leaves(partition):
    assert partition.apply(table()[0].iloc[:0]).tolist() == []


def test_columns_are_found_by_name(partition):
    frame, _ = table(200)
    assert np.array_equal(partition.apply(frame), partition.apply(frame[["job", "income", "age"]]))


def test_a_category_may_come_as_any_type():
    codes = Feature("code", "category", ("1", "2"))
    nodes = (Node(2, 0.5, "code", None, ("1",), False, 1, 2), Node(1, 0.5), Node(1, 0.5))
    partition = Partition((codes,), nodes)
    for values in (["1", "2", None], [1.0, 2.0, None], pd.Categorical([1, 2, 3])):
        assert partition.apply(pd.DataFrame({"code": values})).tolist() == [1, 2, 2]


def test_a_column_that_is_entirely_missing_may_have_any_type(partition):
    frame, _ = table(50)
    empty = frame.assign(age=None, income=None, job=np.nan)
    gaps = frame.assign(age=np.nan, income=np.nan, job=pd.Series([None] * len(frame), dtype="str"))
    assert np.array_equal(partition.apply(empty), partition.apply(gaps))


def test_columns_of_an_array_are_named_by_their_number():
    values = np.random.default_rng(0).normal(size=(200, 3))
    nodes = (Node(200, 0.5, "x2", threshold=0.25, left=1, right=2), *[Node(100, 0.5)] * 2)
    stump = Partition((Feature("x2", "number"),), nodes)
    assert np.array_equal(stump.apply(values), 1 + (values[:, 2].astype(np.float32) > 0.25))
    with pytest.raises(PartitionError, match="no column 'x2'"):
        stump.apply(values[:, :2])
    with pytest.raises(PartitionError, match="array of shape"):
        stump.apply(values[:, 2])


def test_columns_that_are_absent_are_named(partition):
    with pytest.raises(PartitionError, match="no column 'age', 'job'"):
        partition.apply(table(10)[0][["income"]])


def test_raw_columns_that_are_absent_are_to_be_given_again():
    split = Node(2, 0.5, "age (raw)", 30.0, (), True, 1, 2)
    tree = Partition((Feature("age (raw)", "number"),), (split, Node(1, 0.0), Node(1, 1.0)))
    with pytest.raises(PartitionError, match=r"a second table \(--raw FILE\), or the steps"):
        tree.apply(pd.DataFrame({"age": [0.1]}))


def test_a_column_that_is_there_twice_is_named(partition):
    frame = table(10)[0]
    with pytest.raises(PartitionError, match="'age', or has it twice"):
        partition.apply(pd.concat([frame, frame[["age"]]], axis=1))


def test_text_in_a_number_column_is_named(partition):
    with pytest.raises(PartitionError, match="'age' holds text"):
        partition.apply(table(10)[0].assign(age="old"))


def test_json_gives_back_the_same_partition(partition):
    text = partition.to_json()
    again = Partition.from_json(text)
    assert again == partition
    assert again.to_json() == text
    assert again.digest == partition.digest
    assert Partition.from_json(text.encode()) == partition
    frame, _ = table(500, seed=5)
    assert np.array_equal(again.apply(frame), partition.apply(frame))


def test_json_remembers_that_categories_are_rare():
    job = Feature("job", "category", ("a", "b"), rare=True)
    nodes = (Node(2, 0.5, "job", None, ("a",), False, 1, 2), Node(1, 0.1), Node(1, 0.7))
    assert Partition.from_json(Partition((job,), nodes).to_json()).features == (job,)


@pytest.mark.parametrize("threshold", [0.1, 1 / 3, 5e-324, -1.7976931348623157e308, -0.0])
def test_thresholds_survive_bit_for_bit(threshold):
    nodes = (Node(2, 1 / 3, "x", threshold, (), True, 1, 2), Node(1, 0.1), Node(1, 0.7))
    again = Partition.from_json(Partition((Feature("x", "number"),), nodes).to_json())
    assert again.nodes[0].threshold.hex() == threshold.hex()
    assert again.nodes == nodes


def test_a_partition_that_differs_has_another_digest(partition):
    root = replace(partition.nodes[0], missing_left=not partition.nodes[0].missing_left)
    other = Partition(partition.features, (root, *partition.nodes[1:]))
    assert other.digest != partition.digest


def change(content, path, value):
    for key in path[:-1]:
        content = content[key]
    if value is ...:
        del content[path[-1]]
    else:
        content[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["kind"], "something", "not a partition saved by hetcal"),
        (["kind"], ..., "not a partition saved by hetcal"),
        (["format"], 3, "format that this version"),
        (["format"], 2, "no 'edited'"),
        (["format"], True, "whole number"),
        (["extra"], 1, "not known"),
        (["nodes"], [], "0 leaves"),
        (["nodes"], {}, "not a list"),
        (["nodes"], [{"rows": 1, "positive_rate": 0.5}] * 1025, "1,025 leaves"),
        (["nodes", 0, "left"], 0, "whole number from 1"),
        (["nodes", 0, "left"], 10**6, "points to node"),
        (["nodes", 1, "left"], 1, "points to node 1"),
        (["nodes", 0, "left"], 2, "no parent or several"),
        (["nodes", 0, "feature"], "nobody", "not listed"),
        (["nodes", 0, "rows"], -1, "whole number"),
        (["nodes", 0, "rows"], 1.5, "whole number"),
        (["nodes", 0, "positive_rate"], 1.5, "from 0 to 1"),
        (["nodes", 0, "missing_left"], 1, "true or false"),
        (["features", 0, "name"], "\ud800", "valid text"),
        (["features", 0, "kind"], "date", "neither a number nor a category"),
        (["features", 0, "digits"], 1000, "whole number"),
        (["features", 0], None, "not an object"),
    ],
)
def test_an_unsound_file_is_refused_with_the_reason(partition, path, value, message):
    content = json.loads(partition.to_json())
    change(content, path, value)
    with pytest.raises(PartitionError, match=message):
        Partition.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        b"\xff\xfe",
        "[" * 100_000,
        '{"kind": 1}',
        '{"kind": "hetcal partition", "kind": "hetcal partition"}',
        '{"kind": "hetcal partition", "format": NaN}',
        '{"kind": "hetcal partition", "format": ' + "1" * 5_000 + "}",
    ],
)
def test_text_that_is_no_partition_is_refused(text):
    with pytest.raises(PartitionError):
        Partition.from_json(text)


@pytest.mark.parametrize(
    "threshold", ["1e999", "-1e999", "Infinity", "NaN", "1" + "0" * 400, '"1"']
)
def test_thresholds_have_to_be_finite_numbers(threshold):
    x = Feature("x", "number")
    nodes = (Node(2, 0.5, "x", 0.125, (), True, 1, 2), Node(1, 0.5), Node(1, 0.5))
    text = Partition((x,), nodes).to_json()
    assert "0.125" in text
    with pytest.raises(PartitionError):
        Partition.from_json(text.replace("0.125", threshold))


@pytest.mark.parametrize(
    ("feature", "node", "message"),
    [
        (Feature("x", "number"), {"categories": ("a",)}, "by categories"),
        (Feature("x", "category", ("a",)), {"threshold": 1.0}, "at a number"),
        (Feature("x", "category", ("a",)), {"categories": ("b",)}, "not listed"),
        (Feature("x", "category", ("b", "a")), {}, "not sorted"),
        (Feature("x", "number"), {"missing_left": True}, "every row left"),
    ],
)
def test_splits_have_to_suit_their_column(feature, node, message):
    nodes = (Node(2, 0.5, "x", left=1, right=2, **node), Node(1, 0.5), Node(1, 0.5))
    with pytest.raises(PartitionError, match=message):
        Partition((feature,), nodes)


JUNK = [None, True, -1, 0, 1, 3, 2**70, 1e308, -0.0, "", "age", "a\x00b", [], {}, [[]], ["x"]]


def places(content, path=()):
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def mutate(text, chance):
    """Change a value, drop one, or spoil the text itself."""
    if chance.random() < 0.3:
        at = chance.randrange(len(text))
        return text[:at] + chance.choice(["", '"', "0", "}", ",", "9e9", "\\"]) + text[at + 1 :]
    content = json.loads(text)
    for _ in range(chance.randint(1, 3)):
        path = chance.choice(list(places(content)))
        change(content, path, chance.choice([..., *JUNK]))
    return json.dumps(content)


@pytest.mark.parametrize("seed", range(8))
def test_spoiled_files_raise_nothing_but_partition_errors(partition, seed):
    chance, frame, refused = random.Random(seed), table(30)[0], 0
    for _ in range(100):
        try:
            loaded = Partition.from_json(mutate(partition.to_json(), chance))
            leaf = loaded.apply(frame)
            assert set(leaf) <= {each.id for each in loaded.leaves}
        except PartitionError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(("written", "read"), [(-2e-15, 0.0), (1.0000000000000002, 1.0)])
def test_a_rate_that_rounding_has_brought_beyond_0_or_1_is_read(written, read):
    text = Partition((), (Node(5, 0.25),)).to_json().replace("0.25", repr(written))
    assert Partition.from_json(text).nodes[0].positive_rate == read


def test_counting_gives_the_rows_and_rates_of_other_rows():
    rng = np.random.default_rng(1)
    X, y = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"]), rng.integers(0, 2, 600)
    grown = TreePartition(2, min_samples_leaf=50).fit(X, y).partition_
    other, weight = 1 - y[:500], rng.random(500)
    counted, leaf = grown.counting(X[:500], other, weight), grown.apply(X[:500])
    for each in counted.leaves:
        inside = leaf == each.id
        assert each.rows == inside.sum()
        expected = np.average(other[inside], weights=weight[inside])
        assert each.positive_rate == pytest.approx(expected)
    assert counted.nodes[0].rows == 500
    assert counted.base_rate == pytest.approx(np.average(other, weights=weight))
    assert np.array_equal(counted.apply(X), grown.apply(X))


def walk(partition, row):
    """Follow one row by hand."""
    position = 0
    while partition.nodes[position].feature is not None:
        node = partition.nodes[position]
        value = row[int(node.feature[1:])]
        left = node.missing_left if np.isnan(value) else float(value) <= node.threshold
        position = node.left if left else node.right
    return position


@pytest.mark.parametrize("leaves", [2, 3, 40, 300])
@pytest.mark.parametrize("block", [7, 64, 1 << 15])
def test_every_row_takes_the_way_of_a_walk_by_hand(monkeypatch, leaves, block):
    monkeypatch.setattr(routing, "BLOCK", block)
    nodes = [Node(9, 0.5)]
    for i in range(leaves - 1):  # the last leaf becomes a split with two leaves
        at = len(nodes) - 1
        nodes[at] = Node(
            9, 0.5, f"x{i % 2}", i / leaves, missing_left=i % 3 == 0, left=at + 1, right=at + 2
        )
        nodes += [Node(9, 0.5), Node(9, 0.5)]
    partition = Partition((Feature("x0", "number"), Feature("x1", "number")), tuple(nodes))
    X = np.random.default_rng(leaves).uniform(size=(500, 2)).astype(np.float32)
    X[::9, 0], X[::11, 1] = np.nan, np.nan
    node_of = {leaf.node: leaf.id for leaf in partition.leaves}
    expected = [node_of[walk(partition, row)] for row in X]
    assert partition.apply(X).tolist() == expected


def test_no_rows_have_no_leaves():
    partition = Partition((), (Node(9, 0.5),))
    assert partition.apply(np.empty((0, 1))).tolist() == []
    assert partition.apply(np.empty((3, 1))).tolist() == [1, 1, 1]


@pytest.fixture
def halves():
    """Two leaves, eight rows."""
    X = pd.DataFrame({"x": [0.0, 0, 0, 0, 1, 1, 1, 1]})
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    partition = TreePartition(max_depth=1, min_samples_leaf=1).fit(X, y).partition_
    return partition, partition.apply(X), y


def test_rows_and_rates_are_counted_per_leaf_and_role(halves):
    roles = ["train", "train", "calibration", "test", "train", "train", "calibration", "test"]
    table = leaf_table(*halves, split_by_column(pd.Series(roles)))
    assert table["leaf"].tolist() == [1, 2]
    assert table["rows_train"].tolist() == [2, 2]
    assert table["rate_train"].tolist() == [0, 1]
    assert table["rate_test"].tolist() == [1, 0]
    assert table["rows_validation"].tolist() == [0, 0]
    assert table["rate_validation"].isna().all()
    assert table["distance"].tolist() == pytest.approx([-0.5, 0.5])


def test_weights_change_rates_but_not_numbers_of_rows(halves):
    every, none = np.arange(8), np.array([], dtype=np.int64)
    weight = np.array([1.0, 2, 3, 4, 0, 0, 0, 0])
    table = leaf_table(*halves, Split(every, none, none, none), weight)
    assert table["rows_train"].tolist() == [4, 4]
    assert table["rate_train"][0] == 4 / 10
    assert np.isnan(table["rate_train"][1])
    assert table["distance"][0] == 0


def test_weights_of_one_are_no_weights(halves):
    roles = ["train", "train", "calibration", "test", "train", "train", "calibration", "test"]
    split = split_by_column(pd.Series(roles))
    plain, weighted = leaf_table(*halves, split), leaf_table(*halves, split, np.ones(8))
    pd.testing.assert_frame_equal(plain, weighted)


def test_without_training_rows_there_is_no_distance(halves):
    every, none = np.arange(8), np.array([], dtype=np.int64)
    table = leaf_table(*halves, Split(none, none, every, every))
    assert table["rows_train"].tolist() == [0, 0]
    assert table["distance"].isna().all()
    assert table["rate_test"].tolist() == [0.25, 0.75]


def with_reasons(*reasons):
    return [LeafMap(i, Affine(1.0, 0.0), 9, 4, reason) for i, reason in enumerate(reasons, 1)]


def test_leaves_without_a_map_of_their_own_are_named_once_for_each_reason():
    maps = with_reasons("few rows", None, "one class", "few rows", "few rows")
    assert fallback_words(maps) == "leaves 1, 4, 5 (few rows); leaf 3 (one class)"


def test_leaves_of_a_scheme_with_the_pooled_slope_are_known_by_it():
    slopes = [0.5, 0.7, 0.5, 0.6]
    maps = [LeafMap(i, Affine(each, -i), 9, 4) for i, each in enumerate(slopes, 1)]
    assert with_one_slope(maps) == [1, 3]
    assert with_one_slope(maps[1:]) == []


def test_leaves_with_maps_of_their_own_need_no_words():
    assert fallback_words(with_reasons(None, None)) == ""
