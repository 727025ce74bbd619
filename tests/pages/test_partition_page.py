"""Partition: the tree grown on training rows, or one that was saved earlier."""

import json
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import PartitionError
from hetcal.models.scoring import ColumnScoring
from hetcal.partitions.editing import divided
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition, default_min_leaf
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.pages.visit import (
    button,
    calm,
    choose_leaf,
    figure,
    files,
    go,
    links,
    metrics,
    press,
    said,
    table_with,
    the_error,
    the_run,
    upload,
    with_scores,
    with_segment_leaves,
    with_table,
)


def grown(frame, columns, **settings):
    """The partition that the core grows on the training rows."""
    train = frame[frame["split"] == "train"]
    tree = TreePartition(**settings).fit(train[columns], (train["label"] == "yes").to_numpy())
    return tree.partition_


def partition_page(frame):
    return go(with_table(frame), "pages/partition.py")


def saved(partition):
    return partition.to_json().encode()


def test_a_tree_of_depth_one_counts_rows_as_pandas_does(segments):
    app = calm(with_segment_leaves(segments))
    shown = table_with(app, "rule").set_index("rule")
    assert list(shown.index) == ["segment is b", "segment is a"]
    yes = segments["label"] == "yes"
    base = yes[segments["split"] == "train"].mean()
    for rule, row in shown.iterrows():
        inside = segments["segment"] == rule[-1]
        for role in ("train", "validation", "calibration", "test"):
            rows = yes[inside & (segments["split"] == role)]
            assert row[f"rows_{role}"] == len(rows)
            assert row[f"rate_{role}"] == pytest.approx(rows.mean())
        train = yes[inside & (segments["split"] == "train")].mean()
        assert row["distance"] == pytest.approx(train - base)


def test_the_tree_is_that_of_scikit_learn_on_the_training_rows_alone(segments):
    numbers = segments.drop(columns="segment")
    app = calm(partition_page(numbers))
    train = numbers[numbers["split"] == "train"]
    tree = DecisionTreeClassifier(
        max_depth=3, min_samples_leaf=default_min_leaf(len(train)), random_state=0
    ).fit(train[["size"]].astype(np.float32), train["label"])
    sizes = np.unique(tree.apply(train[["size"]].astype(np.float32)), return_counts=True)[1]
    assert table_with(app, "rule")["rows_train"].tolist() == sizes.tolist()
    assert app.subheader[0].value == f"{len(sizes)} leaves"


def test_the_picture_has_a_line_for_every_leaf(segments):
    app = calm(partition_page(segments))
    leaves = next(t for t in figure(app, "partition_tree")["data"] if t.get("name") == "leaves")
    table = table_with(app, "rule")
    for text, row in zip(leaves["text"], table.itertuples(), strict=True):
        assert f"Leaf {row.leaf}" in text
        assert f"{row.rows_train:,} rows" in text


def test_depth_and_smallest_leaf_are_obeyed(segments):
    app = partition_page(segments)
    box = app.selectbox(key="setting_min_leaf")
    train_rows = (segments["split"] == "train").sum()
    assert box.value is None
    assert box.proto.placeholder == f"{default_min_leaf(train_rows):,} (by table size)"
    assert [text for text in box.options if "paper" in text] == ["1,000 (paper)", "2,000 (paper)"]
    box.select(250).run()
    assert (table_with(calm(app), "rule")["rows_train"] >= 250).all()
    app.selectbox(key="setting_min_leaf").select(None).run()
    app.slider(key="setting_max_depth").set_value(2).run()
    assert len(table_with(calm(app), "rule")) == 4


def test_a_tree_that_may_not_split_is_one_leaf(segments):
    app = partition_page(segments)
    app.selectbox(key="setting_min_leaf").select(5000).run()
    assert table_with(calm(app), "rule")["rows_train"].tolist() == [
        (segments["split"] == "train").sum()
    ]


def test_a_column_that_was_left_out_splits_no_rows(segments):
    app = with_table(segments)
    app.multiselect(key="role_ignore").set_value(["segment"]).run()
    rules = table_with(go(app, "pages/partition.py"), "rule")["rule"]
    assert rules.str.contains("size").all()
    assert not rules.str.contains("segment").any()


def test_a_saved_partition_takes_the_place_of_the_tree_until_it_is_let_go(segments):
    partition = grown(segments, ["size"], max_depth=1)
    app = upload(partition_page(segments), "partition_file", "mine.json", saved(partition))
    assert table_with(calm(app), "rule")["rule"].tolist() == [e.rule for e in partition.leaves]
    assert not app.slider
    app = go(go(app, "pages/data.py"), "pages/partition.py")
    assert len(table_with(app, "rule")) == 2
    press(app, "Grow a tree instead")
    assert table_with(calm(app), "rule")["rule"].str.contains("segment").any()
    assert app.slider(key="setting_max_depth").value == 3


def test_the_results_follow_a_saved_partition(segments):
    app = go(with_scores(segments), "pages/partition.py")
    partition = grown(segments, ["size"], max_depth=2)
    upload(app, "partition_file", "mine.json", saved(partition))
    leaf = partition.apply(segments)[(segments["split"] == "test").to_numpy()]
    shown = table_with(go(app, "pages/results.py"), "contribution")
    assert shown["rows"].tolist() == np.bincount(leaf)[1:].tolist()


@pytest.mark.parametrize(
    "content",
    [b"{not json", b"\xff\xfe\x00", b"[]", b'{"format": 99}', json.dumps({"nodes": []}).encode()],
)
def test_a_corrupt_partition_is_refused_and_the_tree_stays(segments, content):
    app = partition_page(segments)
    before = table_with(app, "rule")
    upload(app, "partition_file", "broken.json", content)
    with pytest.raises(PartitionError) as caught:
        Partition.from_json(content.decode("utf-8", "replace"))
    assert the_error(app) == str(caught.value)
    pd.testing.assert_frame_equal(table_with(app, "rule"), before)
    good = grown(segments, ["size"], max_depth=1)
    upload(app, "partition_file", "good.json", saved(good))
    assert len(table_with(calm(app), "rule")) == 2


def test_a_partition_that_takes_long_to_read_is_refused_by_its_size(segments):
    app = upload(partition_page(segments), "partition_file", "long.json", b"[[]" * 2**21)
    assert the_error(app).startswith("'long.json' has 6.0 MB. Such a file may have 4 MB here.")


def test_a_partition_of_another_table_names_the_column_and_can_be_let_go(segments):
    other = grown(segments.rename(columns={"size": "height"}), ["height"])
    app = go(with_scores(segments), "pages/partition.py")
    upload(app, "partition_file", "other.json", saved(other))
    assert "no column 'height'" in the_error(app)
    assert "no column 'height'" in the_error(go(app, "pages/results.py"))
    assert links(app) == ["Go to Partition"]
    press(go(app, "pages/partition.py"), "Grow a tree instead")
    assert len(table_with(calm(app), "rule")) > 1


def test_what_is_saved_loads_again(segments):
    app = partition_page(segments)
    assert files(app) == ["Download this partition (JSON)"]
    partition = grown(segments, ["segment", "size"])
    rules = [leaf.rule for leaf in Partition.from_json(partition.to_json()).leaves]
    assert table_with(app, "rule")["rule"].tolist() == rules
    upload(app, "partition_file", "partition.json", saved(partition))
    assert table_with(calm(app), "rule")["rule"].tolist() == rules
    assert button(app, "Grow a tree instead")


def test_a_role_without_rows_has_no_columns_and_short_rules_take_little_room(segments):
    frame = segments.assign(split=segments["split"].replace("validation", "train"))
    app = with_segment_leaves(frame)
    (table,) = app.dataframe
    order = list(table.proto.column_order)
    assert "rows_train" in order
    assert not any("validation" in name for name in order)
    width = json.loads(table.proto.columns)["rule"]["width"]
    assert len("segment is a") * 6 < width < 200


def edited_by_hand(frame, cut):
    """The run of the core with the tree of the page, whose leaf 2 is divided; and that tree."""
    tree = grown(frame, ["segment", "size"], max_depth=1)
    train = frame[frame["split"] == "train"]
    edited = divided(tree, 2, cut, train[["segment", "size"]], (train["label"] == "yes").to_numpy())
    roles = Roles("label", positive="yes", split="split", score="score")
    table = make_table(frame, roles, "digest")
    scores = scores_from_column(frame["score"], "logit")
    return run(table, scores, Settings(), partition=edited), edited


@pytest.mark.parametrize("cut", [("size", 40.0), ("segment", ["a"])])
def test_an_edited_tree_gives_the_same_result_as_a_run_with_that_partition(segments, cut):
    app = calm(choose_leaf(with_segment_leaves(segments), 2))
    app = calm(app.selectbox(key="edit_column").select(cut[0]).run())
    if cut[0] == "segment":  # leaf 2 holds nothing else
        app = calm(app.multiselect(key="edit_of_segment").set_value(["a"]).run())
        assert "on one side" in the_error(press(app, "Divide the leaf"))
        return
    app = calm(app.number_input(key="edit_at_size").set_value(40.0).run())
    before = the_run(app)
    app = calm(press(app, "Divide the leaf"))
    expected, tree = edited_by_hand(segments, cut)
    used = app.session_state["workspace"].partition
    assert used == tree
    assert used.edited
    lift = expected.evaluation.lift
    assert any(f"the lift is **{lift.auc:+.4f}**" in each.value for each in app.markdown)
    results = calm(go(app, "pages/results.py"))
    assert metrics(results)["AUC after"] == f"{lift.after:.4f}"
    app = calm(press(go(results, "pages/partition.py"), "Undo the latest edit"))
    assert the_run(app).state["partition"] == before.state["partition"] is None
    assert len(table_with(app, "rule")) == 2


def test_leaves_are_merged_and_branches_pruned(customers):
    app = go(with_scores(customers), "pages/partition.py")
    app = calm(app.slider(key="setting_max_depth").set_value(2).run())
    count = len(table_with(app, "rule"))
    app = calm(choose_leaf(app, 1))
    assert any(each.startswith("Only the two leaves of one split") for each in said(app.caption))
    app = calm(press(app, "Merge with leaf 2"))
    assert len(table_with(app, "rule")) == count - 1
    branch = app.session_state["workspace"].partition.branches[0]
    app = calm(choose_leaf(app, branch.id))
    app = calm(press(app, f"Make these {len(branch.leaves)} leaves one"))
    assert len(table_with(app, "rule")) == count - len(branch.leaves)
    app = calm(press(calm(press(app, "Undo the latest edit")), "Undo the latest edit"))
    assert len(table_with(app, "rule")) == count


def test_the_artifact_says_that_a_tree_was_edited_by_hand(segments, tmp_path):
    finished, tree = edited_by_hand(segments, ("size", 40.0))
    content = artifact_bytes(finished, ColumnScoring(("score",), "logit"))
    assert open_artifact(content, tmp_path).partition == tree
    with ZipFile(BytesIO(content)) as archive:
        report = json.loads(archive.read("metrics.json"))
    assert "The tree was edited by hand." in report["notes"]
