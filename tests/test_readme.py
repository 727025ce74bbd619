"""The README says only what works."""

import re
import shlex
from pathlib import Path

import pytest

from hetcal.command_line import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_ci_runs_the_test_line():
    line = next(block.strip() for block in blocks("bash") if "python -m tests" in block)
    assert line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_files_that_it_shows_exist():
    shown = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert shown
    assert all((ROOT / path).is_file() for path in shown)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_python_example_runs_and_gives_probabilities():
    names = {}
    exec(blocks("python")[0], names)
    probability = names["probability"]
    assert len(probability) == len(names["test"])
    assert ((probability > 0) & (probability < 1)).all()


@pytest.mark.network
def test_the_command_lines_print_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = next(each for each in blocks("bash") if "hetcal demo" in each)
    for line in block.replace("\\\n", " ").strip().splitlines():
        assert main(shlex.split(line)[3:]) == 0
    printed = capsys.readouterr().out
    claimed = re.findall(r"^Heterogeneous calibration helps. AUC .*\.$", README, re.MULTILINE)
    assert len(claimed) == 1
    assert claimed[0] in printed
    assert (tmp_path / "demo" / "scored.parquet").exists()


def test_the_lines_on_more_classes_print_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(next(each for each in blocks("python") if "kinds.csv" in each), {})
    (line,) = next(each for each in blocks("bash") if "kinds.csv" in each).strip().splitlines()
    assert main(shlex.split(line)[3:]) == 0
    (claimed,) = re.findall(r"```\n(  candidate .*?)```", README, re.DOTALL)
    assert "helps. Macro AUC" in claimed
    assert claimed in capsys.readouterr().out
