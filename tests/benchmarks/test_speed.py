"""The speed test: its table, its rows and its clock; never how fast this machine is."""

import json
import os
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.special import expit

from hetcal.benchmarks import speed, speed_jobs
from hetcal.benchmarks.speed import Measured, measure_speed, timed
from hetcal.benchmarks.speed_jobs import INTERCEPTS, SLOPES, Outcome, make_rows
from hetcal.benchmarks.tables import speed_heading, speed_line
from hetcal.cli.main import main

NAMES = ["whole-job", "auc", "slider", "interval", "apply", "tree", "auc-gain", "instability"]
KEYS = {
    "name",
    "rows",
    "compiled",
    "seconds",
    "rival",
    "rival_seconds",
    "ratio",
    "limit_ratio",
    "difference",
}
# A standard error from 20 draws is off by a sixth of itself, which is about 0.01 here.
LARGEST = {
    "whole-job": 1e-5,
    "auc": 1e-12,
    "slider": 1e-2,
    "interval": 1e-2,
    "apply": 1e-6,
    "tree": 0,
}


def small(difference, name):
    """Trees on scores have no rival with the same result."""
    return difference is None if name not in LARGEST else difference <= LARGEST[name]


@pytest.fixture
def few_replicates(monkeypatch):
    monkeypatch.setattr(speed, "REPLICATES", 100)


def test_the_command_prints_a_table_and_writes_the_same_as_json(tmp_path, capsys, few_replicates):
    out = tmp_path / "speed.json"
    assert main(["speed", "--rows", "2e3", "--json", str(out)]) == 0
    lines = json.loads(out.read_text(encoding="utf-8"))
    assert [each["name"] for each in lines] == NAMES
    assert all(set(each) == KEYS for each in lines)
    assert {(each["rows"], each["compiled"]) for each in lines} == {(2000, False)}
    for each in lines:
        assert small(each["difference"], each["name"]), each
        assert each["ratio"] == pytest.approx(each["rival_seconds"] / each["seconds"])
        assert each["limit_ratio"] > 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == speed_heading()
    assert [line.split()[0] for line in printed[1:10]] == [*NAMES, "fit"]


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
def test_compiled_kernels_agree_with_the_rivals(monkeypatch, few_replicates):
    monkeypatch.setenv("HETCAL_COMPILED", "0")
    found = [each for each in measure_speed([2000], compiled=True) if each.name in NAMES]
    assert [each.name for each in found] == NAMES
    assert all(each.compiled and small(each.difference, each.name) for each in found)
    assert os.environ["HETCAL_COMPILED"] == "0"


def test_compiled_kernels_without_numba_are_refused_in_words(monkeypatch, capsys):
    monkeypatch.setattr(speed, "find_spec", lambda name: None)
    assert main(["speed", "--rows", "2000", "--compiled"]) == 2
    assert "numba is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("rows", ["many", "", "100", "nan", "1e5,-1e6", "1e99"])
def test_rows_that_cannot_be_measured_are_refused(rows, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["speed", "--rows", rows])
    assert ended.value.code == 2
    assert "such as 1e5,1e6" in capsys.readouterr().err


def test_growth_is_the_time_over_that_of_the_size_before():
    def one(rows, seconds, name="auc"):
        return Measured(name, rows, False, seconds, "x", 1.0, 2.0, 3.0, "sort", 1e-16, 10**9, "")

    earlier = [one(10_000, 0.001), one(100_000, 0.25), one(100_000, 9.0, "tree")]
    assert speed_line(one(1_000_000, 2.0), earlier).endswith("8.0 ×")
    assert speed_line(one(1_000_000, 2.0)).endswith("1.00 GB")


def test_rows_have_features_of_four_kinds_and_are_equal_for_equal_seeds():
    made, again, other = make_rows(5000, 3), make_rows(5000, 3), make_rows(5000, 4)
    assert np.array_equal(made.X, again.X)
    assert np.array_equal(made.y, again.y)
    assert not np.array_equal(made.scores, other.scores)
    assert np.shares_memory(made.X, made.frame["x0"].to_numpy())
    kinds = [_kind(column) for column in made.X.T]
    assert kinds == ["fraction"] * 8 + ["whole"] * 5 + ["binary"] * 4 + ["positive"] * 3


def _kind(column):
    if np.all(column == np.round(column)):
        return "binary" if set(column) == {0, 1} else "whole"
    return "positive" if np.all(column > 0) else "fraction"


def test_labels_follow_a_platt_map_in_each_of_eight_cells():
    made = make_rows(400_000)
    assert made.y.mean() == pytest.approx(0.127, abs=0.002)
    cuts = made.X[:, 0] > 0.4, made.X[:, 8] >= 60, made.X[:, 19] > 1.5
    cell = np.ravel_multi_index([cut.astype(int) for cut in cuts], (2, 2, 2))
    for each in range(8):
        inside = cell == each
        y, p = made.y[inside], expit(SLOPES[each] * made.scores[inside] + INTERCEPTS[each])
        for moment in (np.ones(y.size), made.scores[inside]):  # a likelihood's two equations
            off = np.sum(moment * (y - p)) / np.sqrt(np.sum(moment**2 * p * (1 - p)))
            assert abs(off) < 4


def test_outcomes_with_other_leaves_differ_without_limit():
    one = Outcome(np.zeros((2, 1)), np.zeros(6), np.zeros((1, 64, 2), dtype=np.int64))
    two = Outcome(np.zeros((2, 2)), np.zeros(6), np.zeros((2, 64, 2), dtype=np.int64))
    near = Outcome(np.zeros((2, 1)), np.full(6, 0.25), one.counts)
    assert one.difference(two) == np.inf
    assert one.difference(near) == 0.25


def test_slow_work_is_done_once_and_quick_work_three_times():
    done = []
    assert timed(lambda: done.append(1)).runs == 3
    assert timed(lambda: done.append(1), patience=0.0).runs == 1
    assert len(done) == 4


def test_the_peak_of_memory_holds_what_was_allocated():
    small = timed(lambda: None).memory
    large = timed(lambda: np.ones(2**24).sum()).memory
    assert large - small > 2**26


def test_calibrators_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(speed_jobs, "find_spec", lambda name: None)
    always = ["CalibratedClassifierCV", "LightGBM on logits"]
    assert [name for name, _ in speed_jobs.other_calibrators(2000)] == always
    monkeypatch.setattr(speed_jobs, "find_spec", lambda name: name)
    assert len(list(speed_jobs.other_calibrators(2000))) == 3
    assert len(list(speed_jobs.other_calibrators(10**6))) == 2  # MCGrad would take too long


def test_the_global_sigmoid_keeps_the_rate_of_positives():
    made = make_rows(5000)
    probability = speed_jobs.pooled_sigmoid(made)
    assert probability.mean() == pytest.approx(made.y.mean(), abs=1e-3)
