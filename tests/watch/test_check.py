import json
from dataclasses import replace

import numpy as np
import pytest

from hetcal.artifacts.artifact import open_artifact
from hetcal.errors import ArtifactError, TableError
from hetcal.watch.check import Gate, check_json, check_lines, check_rows
from tests.artifacts.test_format_page import SAVED
from tests.watch.streams import Change, artifact_of, draw_rows

RNG = np.random.default_rng


def test_rows_like_those_of_the_run_pass(tree, curves):
    rows = draw_rows(4_000, RNG(2))
    for artifact in (tree, curves):
        checked = check_rows(artifact, rows)
        assert (checked.passed, checked.action, checked.reasons) == (True, "nothing", ())
        assert checked.verdict == ("On 4,000 labelled rows the maps hold. Nothing is to be done.")
        assert set(checked.labelled.leaves["status"]) == {"holds"}


def test_leaves_whose_rate_has_changed_are_named_and_the_maps_are_to_be_fitted_again(tree, curves):
    rows = draw_rows(6_000, RNG(3), Change("plus", 0.7))
    for artifact in (tree, curves):
        checked = check_rows(artifact, rows)
        rules = [checked.rules[each] for each in checked.labelled.changed if each]
        assert rules
        assert all("plan is plus" in each for each in rules)
        assert (checked.passed, checked.action) == (False, "refit")
        assert checked.verdict.startswith("On 6,000 labelled rows the maps no longer hold in lea")
        assert any("labels are positive where" in each for each in checked.reasons)


def test_scores_that_order_rows_worse_ask_for_another_model(tree):
    checked = check_rows(tree, draw_rows(6_000, RNG(4), Change(noise=4)))
    assert checked.action == "begin again"
    assert any("The model itself ranks worse: AUC 0.5" in each for each in checked.reasons)


def test_rows_that_move_to_other_leaves_are_noted_while_their_maps_hold(tree):
    checked = check_rows(tree, draw_rows(6_000, RNG(5), Change(shares=(0.6, 0.1, 0.1, 0.2))))
    assert checked.passed
    assert "though the rows have moved" in checked.verdict
    assert any("shares of rows in the leaves have moved far" in each for each in checked.notes)


def test_without_labels_movement_alone_is_checked(tree):
    same = draw_rows(3_000, RNG(6)).drop(columns="label")
    checked = check_rows(tree, same)
    assert (checked.passed, checked.labelled) == (True, None)
    assert "no column 'label' with labels" in checked.notes[0]
    unknown = same.replace({"plan": {"pro": "premium"}})
    checked = check_rows(tree, unknown)
    assert (checked.passed, checked.action) == (False, "label rows")
    (reason,) = (each for each in checked.reasons if "unseen" in each)
    assert reason.startswith("In column 'plan' rare or unseen categories have moved far, from 0.0%")


def test_the_gate_asks_for_a_lift_and_for_a_calibration_error(tree):
    rows = draw_rows(4_000, RNG(7))
    lift = check_rows(tree, rows).labelled.lift.auc
    assert check_rows(tree, rows, gate=Gate(lift - 1e-6, 0.05)).passed
    failed = check_rows(tree, rows, gate=Gate(lift + 1e-4, None))
    assert failed.reasons[0].startswith(f"The lift is {lift:+.4f} AUC on 4,000 labelled rows; at l")
    assert failed.action == "begin again"
    with pytest.raises(TableError, match="can be asked for only of labelled rows"):
        check_rows(tree, rows.drop(columns="label"), gate=Gate(0.002))


def test_rows_without_label_or_score_are_counted_and_left_out(tree):
    rows = draw_rows(3_000, RNG(8))
    rows.loc[:499, "label"] = None
    rows.loc[2_900:, "score"] = np.nan
    checked = check_rows(tree, rows)
    assert (checked.rows, checked.labelled.rows) == (2_900, 2_400)
    assert "500 rows without a label: only their movement is checked." in checked.notes
    with pytest.raises(ArtifactError, match=r"None of the 3,000 rows has a finite score"):
        check_rows(tree, rows.assign(score=np.nan))
    with pytest.raises(TableError, match="single value"):
        check_rows(tree, rows.assign(label="yes"))


def test_weights_and_groups_of_the_run_are_those_of_newer_rows(tmp_path):
    rng = RNG(9)
    more = {"weight": rng.uniform(0.5, 2, 6_000), "group": np.repeat(np.arange(3_000), 2)}
    frame = draw_rows(6_000, rng).assign(**more)
    artifact = open_artifact(artifact_of(frame, weight="weight", group="group"), tmp_path)
    checked = check_rows(artifact, draw_rows(6_000, rng).assign(**more))
    assert checked.passed
    assert not checked.notes
    without = check_rows(artifact, draw_rows(2_000, rng))
    assert [each for each in without.notes if each.startswith("The table has no column")] == [
        "The table has no column 'weight' of weights: every row counts once.",
        "The table has no column 'group' of groups: rows count as independent.",
    ]


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("more", ["", "_chosen"])
def test_artifacts_of_older_formats_are_checked_by_their_sketches(number, more, tmp_path):
    artifact = open_artifact(
        (SAVED / f"two_classes_format_{number}{more}.zip").read_bytes(), tmp_path
    )
    rng = RNG(10)
    rows = draw_rows(500, rng).rename(columns={"plan": "segment"}).assign(segment="a")
    assert check_rows(artifact, rows).labelled.rows == 500


def test_what_keeps_no_test_rows_or_has_many_classes_is_refused(tmp_path):
    rows = draw_rows(100, RNG(11)).assign(segment="a")
    first = open_artifact((SAVED / "two_classes_format_1.zip").read_bytes(), tmp_path)
    with pytest.raises(ArtifactError, match="holds no sketches"):
        check_rows(first, rows)
    three = open_artifact((SAVED / "three_classes_format_4.zip").read_bytes(), tmp_path)
    with pytest.raises(ArtifactError, match="is of 3 classes"):
        check_rows(three, rows)


def test_json_and_lines_say_the_same(tree):
    checked = check_rows(tree, draw_rows(6_000, RNG(3), Change("plus", 0.7)))
    found, lines = json.loads(check_json(checked, "new.csv")), check_lines(checked)
    assert (found["passed"], found["action"]) == (False, "refit")
    assert lines[-len(found["reasons"]) :] == [f"- {each}" for each in found["reasons"]]
    assert len(found["labelled"]["leaves"]) == len(checked.labelled.leaves)
    assert [each["status"] for each in found["labelled"]["leaves"]].count("changed") == sum(
        " changed " in each for each in lines
    )
    tiny = replace(checked.labelled, fallen=0.0, auc=0.5, auc_reference=0.9)
    assert tiny.orders_worse
