from dataclasses import replace

import numpy as np
import pytest

from hetcal.data.scores import scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.errors import PartitionError, ScoreError, SplitError
from hetcal.partitions.partition import Partition
from hetcal.runs import run as algorithm
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

ROLES = Roles(label="label", split="split", score="score")


def run_on(frame, roles=ROLES, partition=None):
    table = make_table(frame, roles, "digest")
    return run(table, scores_from_column(frame["score"], "logit", "digest"), Settings(), partition)


@pytest.mark.parametrize("role", ["calibration", "test"])
@pytest.mark.parametrize("left", [None, "yes"])
def test_a_role_whose_scored_rows_lack_a_class_is_refused(segments, role, left):
    gone = (segments["split"] == role) & (segments["label"] != left)
    frame = segments.assign(score=segments["score"].where(~gone))
    with pytest.raises(ScoreError, match=f"Too few {role} rows have a finite score"):
        run_on(frame)


@pytest.mark.parametrize("role", ["train", "calibration", "test"])
def test_a_role_without_weight_is_refused(segments, role):
    frame = segments.assign(w=np.where(segments["split"] == role, 0.0, 1.0))
    with pytest.raises(SplitError, match=f"classes of the {role} rows, none has weights above 0"):
        run_on(frame, replace(ROLES, weight="w"))


@pytest.mark.parametrize("special", ["label", "split", "score"])
def test_a_loaded_partition_may_not_ask_for_label_split_or_score(segments, special):
    grown = run_on(segments).partition
    used = grown.features[0].name
    features = tuple(
        replace(each, name=special) if each.name == used else each for each in grown.features
    )
    nodes = tuple(
        replace(node, feature=special) if node.feature == used else node for node in grown.nodes
    )
    with pytest.raises(PartitionError, match=f"splits on '{special}'"):
        run_on(segments, partition=replace(grown, features=features, nodes=nodes))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(SplitError, match="A seed is a whole number from 0"):
        Settings(seed=seed)


@pytest.mark.parametrize("role", ["train", "calibration", "test"])
def test_of_many_classes_two_need_weight_in_every_role(kinds, role):
    frame, columns = kinds, ("p_ant", "p_bee", "p_cow")
    for left, enough in ((("cow",), False), (("bee", "cow"), True)):
        none = (frame["split"] == role) & ~frame["kind"].isin(left)
        weighted = frame.assign(w=np.where(none, 0.0, 1.0))
        roles = Roles("kind", split="split", weight="w", class_scores=columns)
        table = make_table(weighted, roles, "digest")
        scores = scores_from_columns(weighted, columns, "probability", "digest")
        if enough:
            assert run(table, scores, Settings(partition="tree")).evaluation.rows
            continue
        with pytest.raises(SplitError, match=f"{role} rows, only the class 'cow' has weights"):
            run(table, scores, Settings(partition="tree"))


def test_a_partition_of_score_columns_is_refused(kinds):
    columns = ("p_ant", "p_bee", "p_cow")
    table = make_table(kinds, Roles("kind", split="split", class_scores=columns), "digest")
    scores = scores_from_columns(kinds, columns, "probability", "digest")
    grown = run(table, scores, Settings(max_depth=2)).partition
    other = Partition.from_json(grown.to_json().replace('"z"', '"p_bee"'))
    with pytest.raises(PartitionError, match="splits on 'p_bee'"):
        run(table, scores, Settings(), other)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"partition": "forest"}, "The partition 'forest' is for two classes"),
        (
            {"partition": "auc-gain"},
            r"The partition 'AUC-gain tree \(auc-gain\)' is for two classes",
        ),
        ({"tree_size": "cv"}, "chosen by cross-validation, and the label has 3 values"),
    ],
)
def test_partitions_for_two_classes_are_refused_with_three(kinds, settings, words):
    columns = ("p_ant", "p_bee", "p_cow")
    table = make_table(kinds, Roles("kind", split="split", class_scores=columns), "digest")
    scores = scores_from_columns(kinds, columns, "probability", "digest")
    with pytest.raises(PartitionError, match=words):
        run(table, scores, Settings(**settings))


def with_answer(frame, label):
    """The same rows with a column that gives one value of the label away."""
    noise = np.random.default_rng(1).normal(scale=0.01, size=len(frame))
    value = frame[label].iloc[0]
    return frame.assign(answer=(frame[label] == value) + noise)


@pytest.mark.parametrize("classes", [2, 3])
def test_findings_are_told_before_anything_is_fitted(segments, kinds, classes, monkeypatch):
    if classes == 2:
        frame, roles = with_answer(segments, "label"), ROLES
        scores = scores_from_column(frame["score"], "logit", "digest")
    else:
        columns = ("p_ant", "p_bee", "p_cow")
        frame, roles = (
            with_answer(kinds, "kind"),
            Roles("kind", split="split", class_scores=columns),
        )
        scores = scores_from_columns(frame, columns, "probability", "digest")
    table, told = make_table(frame, roles, "digest"), []
    found = run(table, scores, Settings(), tell=told.extend)
    assert tuple(told) == found.findings
    assert [each.column for each in told] == ["answer"]
    told.clear()

    def grow(*_):
        raise RuntimeError("too early")

    monkeypatch.setattr(algorithm, "grow_partition", grow)
    with pytest.raises(RuntimeError, match="too early"):
        run(table, scores, Settings(), tell=told.extend)
    assert tuple(told) == found.findings


def test_a_run_has_been_evaluated_when_it_is_returned(segments):
    assert "evaluation" in vars(run_on(segments))
