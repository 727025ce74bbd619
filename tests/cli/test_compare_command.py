import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.artifacts.compared import compared_run, read_compared
from hetcal.cli.main import main
from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.runs.run import run as run_all
from hetcal.runs.settings import Settings
from hetcal.version import __version__

SCORED = ("--label", "label", "--score", "score", "--split", "split")


@pytest.fixture
def table(segments, tmp_path):
    path = tmp_path / "table.csv"
    noise = np.random.default_rng(0).normal(size=len(segments))
    segments.assign(other=segments["score"] + noise).to_csv(path, index=False)
    return path


def run(table, out, *more):
    assert main(["run", str(table), *more, "--out", str(out)]) == 0


def test_runs_are_laid_side_by_side_and_tested_on_the_same_rows(table, tmp_path, capsys):
    one, two = tmp_path / "one", tmp_path / "two"
    run(table, one, *SCORED, "--max-depth", "1")
    run(table, two, "--label", "label", "--score", "other", "--split", "split", "--max-depth", "2")
    capsys.readouterr()
    assert main(["compare", str(one), str(two), "--json", str(tmp_path / "both.json")]) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "both.json").read_text())
    scored = [pd.read_parquet(each / "scored.parquet") for each in (one, two)]
    y = scored[0]["label"] == "yes"
    areas = [roc_auc_score(y, each["after"]) for each in scored]
    (difference,) = found["differences"]
    assert found["hetcal"] == __version__
    assert difference["same_rows"]
    assert difference["auc"] == pytest.approx(areas[1] - areas[0])
    assert [each["after"] for each in found["runs"]] == pytest.approx(areas)
    results = [json.loads((each / "result.json").read_text()) for each in (one, two)]
    for each, result in zip(found["runs"], results, strict=True):
        assert each["lift"] == pytest.approx(result["lift"]["auc"])
        assert each["low"] == pytest.approx(result["lift"]["low"])
        assert each["log_loss_after"] == pytest.approx(result["after"]["log_loss"])
    assert f"on the same {len(y)} test rows: AUC {areas[1] - areas[0]:+.4f}" in said
    assert "  max_depth  one: 1; two: 2" in said
    assert "  score  one: score; two: other" in said


def test_a_changed_value_of_a_feature_or_another_split_is_no_test(table, tmp_path, capsys):
    run(table, tmp_path / "one", *SCORED, "--max-depth", "1")
    frame = pd.read_csv(table)
    tested = frame.index[frame["split"] == "test"]
    frame.loc[tested[7], "size"] += 1
    frame.to_csv(table, index=False)
    run(table, tmp_path / "two", *SCORED, "--max-depth", "1")
    split = ("--label", "label", "--score", "score", "--ignore", "split", "--max-depth", "1")
    run(table, tmp_path / "three", *split)
    folders = [str(tmp_path / name) for name in ("one", "two", "three")]
    capsys.readouterr()
    assert main(["compare", *folders]) == 0
    said = capsys.readouterr().out
    assert "'two' and 'one' are on other test rows (the column 'size' has other values)" in said
    assert "'three' and 'one' are on other test rows" in said


def test_the_type_in_which_a_file_holds_numbers_does_not_matter(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    frame["size"] = frame["size"].round()
    frame.assign(size=frame["size"].astype(int)).to_csv(table, index=False)
    frame.astype({"segment": "category"}).to_parquet(tmp_path / "table.parquet")
    run(table, tmp_path / "one", *SCORED, "--max-depth", "1")
    run(tmp_path / "table.parquet", tmp_path / "two", *SCORED, "--max-depth", "1")
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    assert "on the same" in capsys.readouterr().out


def test_a_folder_gives_what_the_run_in_memory_gives(segments, tmp_path):
    frame = segments.assign(
        w=np.linspace(0.5, 2, len(segments)), house=np.arange(len(segments)) // 3
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    more = ("--weight", "w", "--group", "house", "--max-depth", "1", "--shrinkage", "inf")
    run(tmp_path / "table.csv", tmp_path / "out", *SCORED, *more)
    roles = Roles("label", split="split", score="score", weight="w", group="house")
    table = make_table(pd.read_csv(tmp_path / "table.csv"), roles)
    scores = scores_from_column(table.frame["score"], "logit")
    expected = compared_run("out", run_all(table, scores, Settings(max_depth=1, shrinkage=np.inf)))
    (found,) = read_compared([tmp_path / "out"])
    for name in ("y", "before", "rows", "weight", "group"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert expit(found.after) == pytest.approx(expit(expected.after), abs=1e-15)
    assert found.columns == expected.columns
    table_name = found.settings["table"]
    assert table_name.startswith("table.csv (")
    assert found.settings == {**expected.settings, "table": table_name}


@pytest.mark.network
def test_tables_and_models_of_one_name_are_told_apart_by_their_content(tmp_path, capsys):
    demo_table().to_csv(tmp_path / "customers.csv", index=False)
    for name, network in zip("ab", DEMO_NETWORKS.values(), strict=False):
        (tmp_path / f"{name}.folder").mkdir()
        model = tmp_path / f"{name}.folder" / "network.keras"
        model.write_bytes(network.content())
        line = ("--label", "churned", "--positive", "yes", "--model", str(model), "--split")
        one_leaf = ("split", "--partition", "tree", "--max-depth", "1")
        run(tmp_path / "customers.csv", tmp_path / name, *line, *one_leaf)
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    said = capsys.readouterr().out
    digests = [
        hashlib.sha256((tmp_path / f"{name}.folder" / "network.keras").read_bytes()).hexdigest()[:8]
        for name in "ab"
    ]
    models = (f"{name}: network.keras ({each})" for name, each in zip("ab", digests, strict=True))
    assert f"  model  {'; '.join(models)}\n" in said
    assert "  table  " not in said


def test_more_than_two_classes_are_compared(kinds, tmp_path, capsys):
    kinds.to_csv(tmp_path / "kinds.csv", index=False)
    line = ("--label", "kind", "--score", "p_ant,p_bee,p_cow", "--split", "split")
    run(tmp_path / "kinds.csv", tmp_path / "one", *line, "--calibrator", "temperature")
    run(tmp_path / "kinds.csv", tmp_path / "two", *line, "--calibrator", "vector")
    both = tmp_path / "both.json"
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert main(["compare", *folders, "--json", str(both)]) == 0
    found = json.loads(both.read_text())
    results = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("one", "two")]
    areas = [result["after"]["macro_auc"] for result in results]
    assert [each["after"] for each in found["runs"]] == pytest.approx(areas, abs=1e-9)
    assert found["differences"][0]["auc"] == pytest.approx(areas[1] - areas[0], abs=1e-9)
    assert "macro AUC" in capsys.readouterr().out


def test_folders_of_one_name_are_told_apart_by_their_paths(table, tmp_path, capsys):
    for name in ("a", "b"):
        run(table, tmp_path / name / "out", *SCORED, "--max-depth", "1")
    capsys.readouterr()
    folders = [str(tmp_path / name / "out") for name in ("a", "b")]
    assert main(["compare", *folders]) == 0
    said = capsys.readouterr().out
    assert f"'{folders[1]}' is not shown to rank otherwise than '{folders[0]}'" in said
    assert "Their settings are the same." in said


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "result.json").unlink(), "There is no run in"),
        (lambda folder: (folder / "scored.parquet").write_bytes(b"no"), "cannot be compared"),
        (lambda folder: (folder / "result.json").write_text("[]"), "cannot be compared"),
        (lambda folder: (folder / "result.json").write_text("{"), "cannot be compared"),
        (
            lambda folder: (
                pd.read_parquet(folder / "scored.parquet")
                .drop(columns="label")
                .to_parquet(folder / "scored.parquet")
            ),
            "KeyError('label')",
        ),
    ],
)
def test_folders_that_cannot_be_compared_are_named(table, tmp_path, capsys, spoil, words):
    run(table, tmp_path / "out", *SCORED, "--max-depth", "1")
    spoil(tmp_path / "out")
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "out"), str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert f"'{tmp_path / 'out'}'" in said
    assert said.count("\n") == 1


def test_one_run_alone_is_refused(table, tmp_path, capsys):
    run(table, tmp_path / "out", *SCORED, "--max-depth", "1")
    assert main(["compare", str(tmp_path / "out")]) == 2
    assert "Name two runs or more." in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "out"), str(tmp_path / "out")]) == 2
    assert "each with a name of its own" in capsys.readouterr().err
