import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.artifacts import report
from hetcal.artifacts.report import (
    result_json,
    scored_table,
    scored_test_rows,
    table_bytes,
    to_json,
)
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.errors import TableError
from hetcal.progress import silent
from hetcal.runs import run as finished_run
from hetcal.runs.run import run
from hetcal.runs.settings import Settings


@pytest.fixture
def finished(segments):
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    return run(table, scores_from_column(segments["score"], "logit", "digest"), Settings())


def test_the_result_has_every_promised_number(finished):
    result = json.loads(result_json(finished))
    names = {
        "auc", "average_precision", "balanced_precision_area", "log_loss", "brier",
        "calibration_error", "calibration_error_debiased",
    }  # fmt: skip
    for scheme in ("before", "pooled", "tree", "after"):
        assert set(result[scheme]) == names
    assert set(result["lift"]) == {"auc", "percent", "se", "z", "p", "low", "high"}
    assert result["lift"]["auc"] == pytest.approx(result["after"]["auc"] - result["before"]["auc"])
    for leaf in result["leaves"]:
        assert set(leaf) == {
            "id", "rule", "rows", "positive_rate", "slope", "intercept", "limits", "map", "applied",
            "fallback",
        }  # fmt: skip
    assert sum(leaf["rows"]["test"] for leaf in result["leaves"]) == result["rows"]["test"]


def test_one_map_for_all_rows_leaves_the_ranking_as_it_is(finished):
    evaluation = finished.evaluation
    assert evaluation.pooled.auc == evaluation.before.auc
    assert evaluation.pooled.log_loss < evaluation.before.log_loss


def test_what_is_not_defined_becomes_null():
    assert json.loads(to_json({"a": np.nan, "b": [np.float64("inf"), np.int64(3)]})) == {
        "a": None,
        "b": [None, 3],
    }


def test_scored_rows_carry_both_probabilities(finished):
    scored = scored_test_rows(finished)
    assert list(scored.columns) == ["row", "leaf", "score", "before", "after"]
    assert scored["row"].tolist() == finished.split.test.tolist()
    assert np.array_equal(scored["before"], expit(scored["score"]))
    maps = {each.leaf: each for each in finished.calibrator.maps_}
    byhand = [
        expit(maps[leaf].slope * score + maps[leaf].intercept)
        for leaf, score in zip(scored["leaf"], scored["score"], strict=True)
    ]
    assert scored["after"].tolist() == pytest.approx(byhand, abs=1e-12)


def test_the_whole_table_names_roles_and_labels(finished, segments):
    scored = scored_table(finished)
    assert scored["role"].tolist() == segments["split"].tolist()
    assert scored["label"].tolist() == segments["label"].tolist()


def test_some_rows_of_the_table_are_those_of_the_whole(finished):
    some, whole = scored_table(finished, slice(3, 8)), scored_table(finished)
    pd.testing.assert_frame_equal(some, whole.iloc[3:8].reset_index(drop=True))


def test_rows_are_calibrated_alike_however_many_at_a_time(finished, monkeypatch):
    monkeypatch.setattr(finished_run, "CALIBRATED", 999)
    again = replace(finished)
    again.complete(silent)
    assert np.array_equal(again.after, finished.after)
    assert np.array_equal(again.after, finished.after_of(np.arange(finished.table.rows)))


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 7])
def test_csv_does_not_depend_on_how_many_rows_are_written_at_a_time(monkeypatch, rows):
    text = pd.Series(["=1", "a,b", "", 'c"', "d", "e", "f"], dtype="str")
    table = pd.DataFrame({"x": np.arange(7) / 3, "label": text}).head(rows)
    whole = table_bytes(table, "x.csv")
    monkeypatch.setattr(report, "WRITTEN", 3)
    assert table_bytes(table, "x.csv") == whole
    assert len(pd.read_csv(io.BytesIO(whole))) == rows


def test_text_that_begins_like_a_formula_is_disarmed_in_csv():
    table = pd.DataFrame({"label": ["=1+1", "yes"], "score": [-1.0, 2.0]})
    read = pd.read_csv(io.BytesIO(table_bytes(table, "x.csv")))
    assert read["label"].tolist() == ["'=1+1", "yes"]
    assert read["score"].tolist() == [-1.0, 2.0]


def test_an_unknown_ending_is_refused():
    with pytest.raises(TableError, match=r"'x\.xlsx' ends in neither"):
        table_bytes(pd.DataFrame({"a": [1]}), "x.xlsx")
