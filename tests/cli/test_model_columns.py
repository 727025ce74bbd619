"""Columns reach a model as it was trained on them, in `run` and again in `score`."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main
from hetcal.models.file import inspect_model
from hetcal.models.inputs import matrix_input
from hetcal.models.scoring import score_model
from tests.models.model_files import model_files

pytestmark = pytest.mark.network
ROWS = 400
NAMES = ["minutes", "age", "balance"]


def test_text_for_a_text_input_stays_as_it_is_written(tmp_path):
    rng = np.random.default_rng(4)
    grade = rng.choice(["1.0", "2.0"], ROWS)
    frame = pd.DataFrame({"grade": grade, "x": rng.normal(size=ROWS)})
    frame["label"] = (rng.uniform(size=ROWS) < np.where(grade == "1.0", 0.3, 0.7)).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = str(model_files() / "grades.keras")
    told = [str(tmp_path / "t.csv"), "--label", "label", "--model", model, "--max-depth", "1"]
    assert main(["run", *told, "--out", str(tmp_path / "out")]) == 0
    scored = pd.read_parquet(tmp_path / "out/scored.parquet")
    truth = np.where(grade == "1.0", 2.0, 3.0)
    assert scored["score"].tolist() == truth[scored["row"]].tolist()
    new = [str(tmp_path / "out/artifact.zip"), str(tmp_path / "t.csv")]
    assert main(["score", *new, "--out", str(tmp_path / "new.csv")]) == 0
    assert pd.read_csv(tmp_path / "new.csv")["score"].tolist() == truth.tolist()


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    """Raw columns, and a model that knows them standardised: what `run` says and writes."""
    folder = tmp_path_factory.mktemp("churn")
    with np.load(model_files() / "truth.npz") as stored:
        x, logit = stored["x"].astype(np.float64), stored["logits"][:, 0]
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(x * [900.0, 12.0, 60_000.0] + [3000.0, 40.0, 80_000.0], columns=NAMES)
    frame["label"] = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-logit))).astype(int)
    frame["split"] = rng.choice(["train", "calibration", "test"], len(x))
    frame.to_csv(folder / "t.csv", index=False)
    return folder, frame


def run(folder, out, *more):
    told = [str(folder / "t.csv"), "--label", "label", "--split", "split", "--max-depth", "1"]
    model = ["--model", str(model_files() / "sigmoid.keras"), "--inputs", ",".join(NAMES)]
    return main(["run", *told, *model, *more, "--out", str(folder / out)])


def test_a_model_of_scaled_columns_is_told_from_its_scores_on_raw_ones(churn, capsys):
    assert run(churn[0], "raw") == 0
    said = capsys.readouterr()
    assert "The inputs do not look like those the model was trained on" in said.out + said.err
    assert "with the weights of its first layer" in said.err
    best = said.err.partition("its columns rank best '")[2]
    assert best.startswith(("standardise", "min-max"))
    shares = dict(re.findall(r"(as is|standardise): AUC [.\d]+, ([.\d]+)% near", best))
    assert float(shares["as is"]) > 90
    assert float(shares["standardise"]) == 0


def test_scaled_columns_give_what_keras_gives_on_them_and_travel_with_the_artifact(churn, capsys):
    folder, frame = churn
    assert run(folder, "scaled", "--scale", "standardise") == 0
    said = capsys.readouterr()
    assert "do not look like" not in said.out + said.err
    scored = pd.read_parquet(folder / "scaled/scored.parquet")
    training = frame.loc[frame["split"] == "train", NAMES]
    scaled = (frame[NAMES] - training.mean()) / training.std(ddof=0)
    model = inspect_model(model_files() / "sigmoid.keras")
    direct = score_model(model, scaled, matrix_input(model, NAMES))
    assert scored["score"].to_numpy() == pytest.approx(direct.logit[scored["row"]], abs=1e-6)
    new = [str(folder / "scaled/artifact.zip"), str(folder / "t.csv")]
    assert main(["score", *new, "--out", str(folder / "new.parquet")]) == 0
    again = pd.read_parquet(folder / "new.parquet").set_index("row").loc[scored["row"]]
    for column in ("score", "after"):
        assert again[column].tolist() == scored[column].tolist()
    assert 'scale = "standardise"' in (folder / "scaled/run.toml").read_text()
    settings = json.loads((folder / "scaled/result.json").read_text())["settings"]
    assert "'age' less" in settings["prepared"]


def test_one_hot_columns_and_given_numbers_reach_the_model_in_the_stated_order(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(40, 12, ROWS), "plan": rng.choice(["a", "b"], ROWS)})
    frame["label"] = rng.integers(0, 2, ROWS)
    frame.to_csv(tmp_path / "t.csv", index=False)
    steps = {"age": {"mean": 40, "scale": 12}, "plan": {"one-hot": ["b", "a"]}}
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    model = ["--model", str(model_files() / "sigmoid.keras"), "--inputs", "age,plan"]
    told = [str(tmp_path / "t.csv"), "--label", "label", *model, "--max-depth", "1"]
    told += ["--scale", str(tmp_path / "steps.json"), "--partition", "tree"]
    assert main(["run", *told, "--out", str(tmp_path / "out")]) == 0
    new = [str(tmp_path / "out/artifact.zip"), str(tmp_path / "t.csv")]
    assert main(["score", *new, "--out", str(tmp_path / "new.csv")]) == 0
    x = [(frame["age"] - 40) / 12, frame["plan"] == "b", frame["plan"] == "a"]
    with np.load(model_files() / "truth.npz") as stored:
        hidden = np.maximum(np.column_stack(x) @ stored["W1"] + stored["b1"], 0)
        expected = hidden @ stored["W2"] + stored["b2"]
    found = pd.read_csv(tmp_path / "new.csv")["score"]
    assert found.tolist() == pytest.approx(expected[:, 0].tolist(), abs=1e-5)
