"""The README says only what works."""

import re
import shlex
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from hetcal.choices import PLAIN_NAMES, RUNGS
from hetcal.cli.main import main
from hetcal.runs.settings import PARTITIONS

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
def test_the_python_examples_give_a_verdict_and_probabilities(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python")[:3]:
        exec(block, names)
    y, before = names["y"][4_000:], names["network"].predict_proba(names["X"][4_000:])[:, 1]
    found = roc_auc_score(y, before), roc_auc_score(y, names["probability"])
    assert "AUC {:.4f} before and {:.4f} after".format(*found) in capsys.readouterr().out
    assert roc_auc_score(y, names["by_tree"]) > found[0]


def test_every_partition_and_every_rung_is_explained():
    section = README[README.index("| value | plain name |") : README.index("`--calibrator` is")]
    listed = re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted([*PARTITIONS, "FILE.json"])
    assert all(f"`{name}`" in README for name in RUNGS)
    assert all(name in section for name in PLAIN_NAMES.values())


def test_the_files_of_a_run_are_named(segments, tmp_path):
    table, out = tmp_path / "table.csv", tmp_path / "out"
    segments.to_csv(table, index=False)
    options = ("--label", "label", "--score", "score", "--split", "split", "--partition", "tree")
    assert main(["run", str(table), *options, "--out", str(out)]) == 0
    named = re.findall(r"^- `(.*?)`", README, re.MULTILINE)
    assert sorted(path.name for path in out.iterdir()) == sorted(named)


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
