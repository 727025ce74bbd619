"""The benchmark from end to end, on a small file in the layout of a public data set."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.benchmarks import networks as benchmark_networks
from hetcal.benchmarks.benchmark import Plan, measure, read_results, run_benchmark
from hetcal.benchmarks.contenders import all_contenders
from hetcal.benchmarks.networks import (
    CONFIGURATIONS,
    BenchmarkRows,
    Part,
    ScoredModel,
    training_jobs,
)
from hetcal.cli.main import main
from hetcal.errors import ScoreError
from hetcal.models.network import NetworkSettings
from tests.benchmarks.benchmark_files import bank_frame, write_bank, write_scores

BANK = "bank_marketing-w1-none-std-lr0.001-best-s0"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of data and one of two networks' scores."""
    home = tmp_path_factory.mktemp("benchmark")
    frame = bank_frame()
    write_bank(home / "data", frame)
    write_scores(home / "scores", frame)
    write_scores(home / "scores", frame, BANK.replace("best", "last"), seed=2)
    return home / "data", home / "scores"


def test_the_command_prints_every_model_and_a_summary(folders, tmp_path, capsys):
    data, scores = map(str, folders)
    save = tmp_path / "results.jsonl"
    command = ["benchmark", "--data", data, "--scores", scores, "--save", str(save)]
    assert main([*command, "--datasets", "bank_marketing"]) == 0
    printed = capsys.readouterr().out
    for text in (f"{BANK}: 6", "best", "last", "2 models", "boosted trees", "sklearn isotonic"):
        assert text in printed
    with np.load(folders[1] / f"{BANK}.npz") as arrays:
        test = arrays["split"] == "test"
        expected = roc_auc_score(arrays["y"][test], arrays["s"][test])
    assert re.search(rf"^network +{expected:.4f}", printed, re.MULTILINE)
    contenders = {each.name: each for each in read_results(save)[BANK].contenders}
    assert list(contenders) == list(all_contenders())
    assert contenders["network"].auc == pytest.approx(expected)
    assert contenders["pooled"].auc == pytest.approx(expected)
    assert contenders["pooled"].log_loss < contenders["network"].log_loss  # which is over-confident


def test_what_was_saved_is_not_done_again(folders, tmp_path, capsys):
    data, scores = folders
    shutil.copytree(data, tmp_path / "data")
    plan = Plan(tmp_path / "data", ("bank_marketing",), scores=scores, save=tmp_path / "results")
    contenders = {name: all_contenders()[name] for name in ("network", "pooled")}
    first = list(run_benchmark(plan, contenders))
    content = plan.save.read_bytes()
    shutil.rmtree(tmp_path / "data")  # not even the rows are needed
    assert list(run_benchmark(plan, contenders)) == first
    assert plan.save.read_bytes() == content


def test_a_new_contender_is_added_to_what_was_saved(folders, tmp_path):
    data, scores = folders
    plan = Plan(data, ("bank_marketing",), 1, scores=scores, save=tmp_path / "results")
    calls = []

    def counted(rows):
        calls.append(rows)
        return -rows.test.scores

    contenders = {"network": lambda rows: rows.test.scores, "reversed": counted}
    (first,) = run_benchmark(plan, contenders)
    (second,) = run_benchmark(plan, {**contenders, "again": lambda rows: rows.test.scores})
    assert len(calls) == 1
    assert second.contenders[:2] == first.contenders
    assert second.contender("again").z == 0
    assert first.contender("reversed").auc == pytest.approx(1 - first.contender("network").auc)
    assert read_results(plan.save)[BANK] == second


def rows_with(scores):
    y = np.array([0, 1, 0, 1, 1])
    part = Part(None, y, np.array(scores, dtype=np.float64))
    return BenchmarkRows(part, part, part, part)


def test_another_network_of_the_same_name_is_measured_anew():
    contenders = {"network": lambda rows: rows.test.scores, "same": lambda rows: rows.test.scores}
    model = ScoredModel("m", np.zeros(5), None)
    before = measure(model, rows_with([1, 2, 3, 4, 5]), contenders)
    after = measure(model, rows_with([1, 2, 0, 4, 5]), contenders, before)
    assert (before.contender("same").auc, after.contender("same").auc) == pytest.approx((5 / 6, 1))


def test_log_loss_is_that_of_scikit_learn_with_probabilities_clipped():
    contenders = {"network": lambda rows: rows.test.scores}
    found = measure(
        ScoredModel("m", np.zeros(5), None), rows_with([-900, 0, 900, 1, 900]), contenders
    )
    small = 1e-7
    expected = log_loss([0, 1, 0, 1, 1], [small, 0.5, 1 - small, 1 / (1 + np.exp(-1)), 1 - small])
    assert found.contenders[0].log_loss == pytest.approx(expected, rel=1e-6)


def test_scores_of_other_rows_are_refused(folders, tmp_path):
    write_scores(tmp_path, bank_frame(seed=9), BANK)
    plan = Plan(folders[0], ("bank_marketing",), scores=tmp_path)
    with pytest.raises(ScoreError, match="are not those of the data set 'bank_marketing'"):
        list(run_benchmark(plan))


def test_a_file_without_scores_is_refused(folders, tmp_path):
    np.savez(tmp_path / f"{BANK}.npz", s=np.zeros(3))
    plan = Plan(folders[0], ("bank_marketing",), scores=tmp_path)
    with pytest.raises(ScoreError, match="cannot be read as saved scores"):
        list(run_benchmark(plan))


def test_a_folder_without_scores_is_refused(folders, tmp_path, capsys):
    command = ["benchmark", "--data", str(folders[0]), "--scores", str(tmp_path)]
    assert main(command) == 2
    assert "has no scores of any data set" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--models", "0"], ["--models", "x"], ["--seed", "-1"]])
def test_numbers_that_mean_nothing_are_refused(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["benchmark", *option])
    assert ended.value.code == 2
    assert "whole number" in capsys.readouterr().err


def test_being_offline_ends_with_a_message(monkeypatch, capsys):
    def fetch(**options):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    assert main(["benchmark", "--datasets", "higgs"]) == 2
    assert "could not be fetched from OpenML (no route to host)" in capsys.readouterr().err


def test_trainings_differ_between_data_sets_and_each_gives_two_models():
    names = [each.names for each in training_jobs("higgs", 4, 3, 7)]
    assert names == [
        ("higgs-w1-bn-raw-lr0.001-best-s7", "higgs-w1-bn-raw-lr0.001-last-s7"),
        ("higgs-w2-drop-std-lr0.0003-best-s8",),
    ]


def test_the_configurations_cover_sizes_regularisation_and_raw_columns():
    assert {each.size for each in CONFIGURATIONS} == {1, 2, 4}
    assert {each.regularisation for each in CONFIGURATIONS} == {"none", "batch norm", "dropout"}
    assert {each.standardise for each in CONFIGURATIONS} == {True, False}


@pytest.mark.network
def test_networks_are_trained_and_measured(folders, tmp_path, monkeypatch):
    tiny = NetworkSettings(epochs=2, batch_size=64, learning_rate=0.01)
    monkeypatch.setattr(benchmark_networks, "CONFIGURATIONS", (tiny,))
    plan = Plan(folders[0], ("bank_marketing",), models=2, seed=3, save=tmp_path / "results")
    contenders = {"network": lambda rows: rows.test.scores, "tree": all_contenders()["tree"]}
    best, last = run_benchmark(plan, contenders)
    assert best.model == "bank_marketing-w1-none-std-lr0.01-best-s3"
    assert last.model == best.model.replace("best", "last")
    assert best.training_seconds > 0
    assert best.contender("network").auc > 0.7
    assert best.test_rows == last.test_rows == round(2400 * 5222 / 45211)
    assert list(run_benchmark(replace(plan, data=tmp_path), contenders)) == [best, last]
