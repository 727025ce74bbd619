import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from hetcal.choices import optional_name
from hetcal.cli.main import main
from tests.models.model_files import model_files

COLUMNS = "p_ant,p_bee,p_cow"
SCORED = ("--label", "kind", "--score", COLUMNS, "--split", "split")


@pytest.fixture
def table(kinds, tmp_path):
    path = tmp_path / "kinds.csv"
    kinds.to_csv(path, index=False)
    return path


def run_command(table, out, *more):
    return main(["run", str(table), "--out", str(out), *more])


def test_the_numbers_are_scikit_learns(table, kinds, tmp_path, capsys):
    assert run_command(table, tmp_path / "out", *SCORED, "--features", "x") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    test = kinds[kinds["split"] == "test"]
    assert scored["row"].tolist() == test.index.tolist()
    before = scored[[f"before_{name}" for name in result["classes"]]].to_numpy()
    assert before == pytest.approx(test[COLUMNS.split(",")].to_numpy(), abs=1e-6)
    for name in ("before", "after"):
        p = scored[[f"{name}_{each}" for each in result["classes"]]].to_numpy()
        areas = [roc_auc_score(test["kind"] == c, p[:, i]) for i, c in enumerate(result["classes"])]
        assert result[name]["macro_auc"] == pytest.approx(np.mean(areas), abs=1e-12)
        assert result[name]["log_loss"] == pytest.approx(log_loss(test["kind"], p), abs=1e-9)
        right = accuracy_score(test["kind"], scored[f"top_{name}"])
        assert result[name]["accuracy"] == pytest.approx(right, abs=1e-12)
        assert [each[f"auc_{name}"] for each in result["per_class"]] == pytest.approx(areas)
    assert result["lift"]["low"] > 0
    assert "\nHeterogeneous calibration helps. Macro AUC 0." in capsys.readouterr().out


def test_maps_are_chosen_and_the_candidates_are_told(table, tmp_path, capsys):
    assert run_command(table, tmp_path / "out", *SCORED, "--features", "x") == 0
    said = capsys.readouterr().out.splitlines()
    scheme = json.loads((tmp_path / "out" / "result.json").read_text())["scheme"]
    assert scheme["partition"] == "auto"
    assert "macro AUC lift, cross-fitted" in said[0]
    for line, each in zip(said[1:], scheme["candidates"], strict=False):
        mark = ">" if each["chosen"] else " "
        interval = f"{each['lift']:+.4f} ({each['low']:+.4f} to {each['high']:+.4f})"
        assert line.startswith(
            f"{mark} {optional_name(each['name']):19}  {each['kind']:11}  {interval}"
        )
    (words,) = (each["words"] for each in scheme["candidates"] if each["chosen"])
    assert said[8:10] == [f"Chosen: {scheme['chosen']} ({words}).", scheme["why"]]
    assert said[10].startswith("Heterogeneous calibration helps")
    assert scheme["chosen"] == "tree vector"


def test_a_sound_model_is_left_as_it_is_and_scores_come_back_unchanged(kinds, tmp_path, capsys):
    p = kinds[COLUMNS.split(",")].to_numpy()
    below = np.random.default_rng(5).random((len(kinds), 1)) > np.cumsum(p, axis=1)
    path, out = tmp_path / "sound.csv", tmp_path / "out"
    names = np.array(["ant", "bee", "cow"])
    kinds.assign(kind=names[below.sum(axis=1).clip(0, 2)]).to_csv(path, index=False)
    assert run_command(path, out, *SCORED) == 0
    said = capsys.readouterr().out
    assert "\nNo candidate is significantly better in both macro AUC and log-loss " in said
    assert "\nLeave your model as it is" in said
    assert main(["score", str(out / "artifact.zip"), str(path), "--out", str(out / "s.csv")]) == 0
    scored = pd.read_csv(out / "s.csv")
    assert all(scored[f"after_{name}"].equals(scored[f"before_{name}"]) for name in names)


def test_leaves_carry_their_rows_shares_and_maps(table, kinds, tmp_path):
    assert run_command(table, tmp_path / "out", *SCORED, "--max-depth", "1") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    test = kinds[kinds["split"] == "test"]
    leaf = pd.read_parquet(tmp_path / "out" / "scored.parquet")["leaf"].to_numpy()
    for each in result["leaves"]:
        inside = test["kind"][leaf == each["id"]]
        assert each["rows"]["test"] == len(inside)
        assert each["shares"]["test"]["bee"] == pytest.approx((inside == "bee").mean())
        assert np.shape(each["weights"]) == (3, 3)
    assert not any(name in json.dumps(result["leaves"]) for name in COLUMNS.split(","))


def test_score_gives_the_same_numbers_as_the_run(table, tmp_path):
    out = tmp_path / "out"
    assert run_command(table, out, *SCORED, "--calibrator", "dirichlet") == 0
    again = tmp_path / "again.parquet"
    assert main(["score", str(out / "artifact.zip"), str(table), "--out", str(again)]) == 0
    expected = pd.read_parquet(out / "scored.parquet").set_index("row").drop(columns="label")
    found = pd.read_parquet(again).set_index("row").loc[expected.index]
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_equal_commands_write_equal_bytes(table, tmp_path):
    for name in ("one", "two"):
        assert run_command(table, tmp_path / name, *SCORED, "--calibrator", "temperature") == 0
    for name in ("result.json", "artifact.zip", "scored.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_order_of_the_outputs_can_be_named(table, tmp_path, capsys):
    turned = ("--label", "kind", "--split", "split", "--score", "p_cow,p_ant,p_bee")
    assert run_command(table, tmp_path / "named", *turned, "--classes", "cow,ant,bee") == 0
    assert "ascending" not in capsys.readouterr().err
    assert run_command(table, tmp_path / "plain", *SCORED) == 0
    assert "No --classes: ascending order is assumed." in capsys.readouterr().err
    results = [
        json.loads((tmp_path / name / "result.json").read_text()) for name in ("named", "plain")
    ]
    assert results[0]["classes"] == ["cow", "ant", "bee"]
    assert results[0]["before"]["macro_auc"] == pytest.approx(results[1]["before"]["macro_auc"])
    assert run_command(table, tmp_path / "wrong", *turned) == 0
    assert "Check the order of the classes" in capsys.readouterr().out


def test_logits_are_recognised(kinds, tmp_path):
    path = tmp_path / "kinds.csv"
    names = COLUMNS.split(",")
    kinds.assign(**{name: np.log(kinds[name]) + 3 for name in names}).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED) == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    expected = kinds[names].to_numpy()[scored["row"]]
    assert scored.filter(like="before_").iloc[:, :3].to_numpy() == pytest.approx(expected)


def test_a_positive_value_stands_against_all_others(table, kinds, tmp_path):
    more = ("--label", "kind", "--score", "p_bee", "--positive", "bee", "--split", "split")
    assert run_command(table, tmp_path / "out", *more) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    test = kinds[kinds["split"] == "test"]
    area = roc_auc_score(test["kind"] == "bee", test["p_bee"])
    assert result["before"]["auc"] == pytest.approx(area, abs=1e-12)


def test_a_class_without_test_rows_has_no_auc_and_the_others_have(kinds, tmp_path):
    path = tmp_path / "kinds.csv"
    few = kinds[(kinds["kind"] != "bee") | (kinds["split"] != "test")]
    few.to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    test = few[few["split"] == "test"]
    areas = [roc_auc_score(test["kind"] == name, test[f"p_{name}"]) for name in ("ant", "cow")]
    assert result["before"]["macro_auc"] == pytest.approx(np.mean(areas), abs=1e-6)
    assert [each["auc_before"] for each in result["per_class"]][1] is None


def test_a_class_without_training_or_calibration_rows_stays_possible(kinds, tmp_path):
    path, out = tmp_path / "kinds.csv", tmp_path / "out"
    kinds[(kinds["kind"] != "bee") | (kinds["split"] == "test")].to_csv(path, index=False)
    assert run_command(path, out, *SCORED) == 0
    after = pd.read_parquet(out / "scored.parquet")["after_bee"]
    assert ((after > 0) & (after < 1)).all()


def test_the_leaves_can_be_segments_of_ones_own(kinds, tmp_path):
    path, out = tmp_path / "kinds.csv", tmp_path / "out"
    kinds.assign(side=np.where(kinds["x"] > 0, "right", "left")).to_csv(path, index=False)
    assert run_command(path, out, *SCORED, "--columns", "side") == 0
    leaves = json.loads((out / "result.json").read_text())["leaves"]
    assert len(leaves) == 2
    assert all("side" in leaf["rule"] for leaf in leaves)
    assert run_command(path, out, *SCORED, "--partition", "forest") == 2


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        (lambda f: f, ("--label", "kind", "--score", "p_ant"), "1 score column is named"),
        (lambda f: f, ("--label", "kind", "--score", "p_ant,p_ant,p_bee"), "one of them twice"),
        (lambda f: f, ("--label", "kind", "--score", "p_ant,p_bee,p_dog"), "'p_dog'"),
        (lambda f: f, (*SCORED, "--classes", "ant,bee"), "cow is in only one of the two lists"),
        (lambda f: f, (*SCORED, "--calibrator", "platt"), "not for more than two classes"),
        (lambda f: f, (*SCORED, "--score-kind", "logit", "--positive-unit", "1"), "--positive-un"),
        (lambda f: f, (*SCORED, "--only", "calibration"), "--only has no effect"),
        (lambda f: f, (*SCORED, "--pairs", "2"), "--pairs has no effect"),
        (lambda f: f, (*SCORED, "--take", "forest"), "no rung called 'forest'"),
        (lambda f: f.assign(p_ant=0.9), SCORED, "add up to"),
        (lambda f: f.assign(p_ant=np.nan), SCORED, "finite score"),
        (lambda f: f.assign(kind=f.index), SCORED, "3,000 distinct values"),
        (lambda f: f.assign(kind=f["x"]), SCORED, "fractions"),
        (
            lambda f: f,
            (*SCORED, "--partition", "auto", "--calibrator", "vector"),
            "auto has maps of its own",
        ),
        (lambda f: f[f["kind"] != "cow"], (*SCORED, "--classes", "ant,bee"), "--classes has no"),
        (lambda f: f[f["kind"] != "cow"], (*SCORED, "--calibrator", "vector"), "only two classes"),
    ],
)
def test_bad_input_ends_with_two_and_one_message(kinds, tmp_path, capsys, change, arguments, words):
    path = tmp_path / "kinds.csv"
    change(kinds).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.network
def test_a_model_with_a_unit_per_class_is_run_and_saved(kinds, tmp_path):
    path, out = tmp_path / "kinds.csv", tmp_path / "out"
    kinds.assign(a=kinds["x"], b=kinds["z"], c=1.0).to_csv(path, index=False)
    model = ("--label", "kind", "--split", "split", "--inputs", "a,b,c", "--ignore", COLUMNS)
    file = str(model_files() / "three.keras")
    assert run_command(path, out, *model, "--model", file) == 0
    assert main(["score", str(out / "artifact.zip"), str(path), "--out", str(out / "s.csv")]) == 0
    expected = pd.read_parquet(out / "scored.parquet").set_index("row")
    found = pd.read_csv(out / "s.csv").set_index("row").loc[expected.index]
    for name in ("after_ant", "before_cow"):
        assert found[name].to_numpy() == pytest.approx(expected[name].to_numpy(), abs=1e-15)
