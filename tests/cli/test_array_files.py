"""Images and embeddings beside a table, from `run` to `score`."""

import json

import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main
from hetcal.store.store import Store
from hetcal.store.work import read_source
from hetcal.store.workspace import workspace_of
from tests.models.arrays.array_models import FACTS
from tests.models.model_files import model_files

pytestmark = pytest.mark.network
NAMES = ["ant", "bee", "cow"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HETCAL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def given(home, tmp_path_factory):
    """A table of labels and roles beside images, and what `run` made of both."""
    folder, models = tmp_path_factory.mktemp("arrays"), model_files() / "arrays"
    with np.load(models / "truth.npz") as stored:
        truth = dict(stored)
    rng = np.random.default_rng(0)
    chance = truth["kinds predicted"].astype(np.float64)
    drawn = (rng.uniform(size=(len(chance), 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    frame = pd.DataFrame({"kind": np.array(NAMES)[np.minimum(drawn, 2)]})
    frame["split"] = rng.choice(["train", "calibration", "test"], len(frame))
    frame.loc[5, "kind"] = None
    frame.to_csv(folder / "t.csv", index=False)
    np.savez(folder / "pixels.npz", image=truth["image"], other=truth["facts"])
    told = [str(folder / "t.csv"), "--label", "kind", "--split", "split", "--drop-unlabelled"]
    model = ["--model", str(models / "kinds.keras"), "--array", f"image={folder / 'pixels.npz'}"]
    tree = ["--array-scale", "255", "--layer", "hidden", "--max-depth", "2", "--min-leaf", "30"]
    assert main(["run", *told, *model, *tree, "--out", str(folder / "out"), "--keep", "k"]) == 0
    return folder, truth


def test_three_classes_of_images_are_divided_by_a_layer(given):
    folder, truth = given
    scored = pd.read_parquet(folder / "out/scored.parquet")
    rows = scored["row"].to_numpy()
    assert 5 not in rows  # it has no label, and its image is left out with it
    before = scored[[f"before_{name}" for name in NAMES]].to_numpy()
    assert before == pytest.approx(truth["kinds predicted"][rows], abs=1e-6)
    partition = json.loads((folder / "out/partition.json").read_text())
    features = {each["name"] for each in partition["features"]}
    assert features
    assert features <= {f"hidden[{unit}]" for unit in range(6)}
    assert set(scored["leaf"]) >= {1, 2}


def test_one_of_three_classes_is_set_against_the_others_by_its_place_in_their_order(given, capsys):
    folder, truth = given
    told = [str(folder / "t.csv"), "--label", "kind", "--split", "split", "--drop-unlabelled"]
    told += ["--model", str(model_files() / "arrays/kinds.keras"), "--positive", "cow"]
    told += ["--array", f"image={folder / 'pixels.npz'}", "--array-scale", "255"]
    told += ["--embeddings", str(folder / "own.npy"), "--max-depth", "1", "--min-leaf", "30"]
    np.save(folder / "own.npy", truth["facts"].reshape(len(truth["facts"]), -1))
    assert main(["run", *told, "--out", str(folder / "cow")]) == 0
    assert "the model's outputs are taken in this order: ant, bee, cow" in capsys.readouterr().err
    scored = pd.read_parquet(folder / "cow/scored.parquet")
    expected = truth["kinds predicted"][scored["row"], 2]
    assert scored["before"].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_new_rows_bring_their_own_array(given, capsys):
    folder, truth = given
    scored = pd.read_parquet(folder / "out/scored.parquet")
    artifact, rows = str(folder / "out/artifact.zip"), scored["row"].to_numpy()
    pd.DataFrame({"id": rows}).to_csv(folder / "new.csv", index=False)
    told = [artifact, str(folder / "new.csv"), "--out", str(folder / "new.parquet")]
    assert main(["score", *told]) == 2
    assert "No array of the new rows is given for the input 'image'" in capsys.readouterr().err
    np.save(folder / "new.npy", truth["image"][rows])
    assert main(["score", *told, "--array", str(folder / "new.npy")]) == 0
    again = pd.read_parquet(folder / "new.parquet")
    for column in scored.columns.difference(["row", "label"]):
        if column in again:
            assert again[column].tolist() == scored[column].tolist(), column


def test_the_artifact_and_the_kept_run_know_the_array(given):
    folder, truth = given
    options = (folder / "out/run.toml").read_text()
    assert 'array = ["image=../pixels.npz"]' in options
    arrays = json.loads((folder / "out/result.json").read_text())["settings"]["arrays"]
    assert arrays.startswith("'image' from 'pixels.npz: image', 8 × 8 × 1 of uint8")
    assert arrays.endswith("divided by 255")
    run = Store().find("k")
    (array,) = workspace_of(run).scoring.inputs.arrays
    assert array.file.path.parent == run.files
    assert np.array_equal(np.load(array.file.path), truth["image"])


def test_a_table_and_its_array_have_the_same_number_of_rows(given, capsys):
    folder, _ = given
    pd.read_csv(folder / "t.csv").dropna().to_csv(folder / "less.csv", index=False)
    model = ["--model", str(model_files() / "arrays/kinds.keras")]
    told = [str(folder / "less.csv"), "--label", "kind", *model, "--out", str(folder / "no")]
    assert main(["run", *told, "--array", str(folder / "pixels.npz"), "--layer", "hidden"]) == 2
    assert "has 600 rows, and the table has 599" in capsys.readouterr().err
    assert main(["run", *told, "--layer", "hidden"]) == 2
    assert "Name the file: --array image=FILE" in capsys.readouterr().err


def test_embeddings_are_columns_of_a_partition_in_run_and_score(given, capsys):
    folder, truth = given
    frame = pd.read_csv(folder / "t.csv").fillna("ant")
    frame["label"] = (frame["kind"] == "ant").astype(int)
    frame["p"] = truth["kinds predicted"][:, 0]
    frame.drop(columns="kind").to_csv(folder / "p.csv", index=False)
    np.save(folder / "e.npy", truth["kinds hidden"])
    told = [str(folder / "p.csv"), "--label", "label", "--score", "p", "--split", "split"]
    out = ["--max-depth", "1", "--out", str(folder / "own"), "--keep", "own"]
    assert main(["run", *told, *out]) == 2
    assert "No features are left" in capsys.readouterr().err
    assert main(["run", *told, *out, "--embeddings", str(folder / "e.npy")]) == 0
    partition = json.loads((folder / "own/partition.json").read_text())
    (feature,) = partition["features"]
    assert feature["name"].startswith("embedding_")
    scored = pd.read_parquet(folder / "own/scored.parquet")
    new = [str(folder / "own/artifact.zip"), str(folder / "p.csv")]
    out = ["--out", str(folder / "own.parquet"), "--embeddings", str(folder / "e.npy")]
    assert main(["score", *new, *out]) == 0
    again = pd.read_parquet(folder / "own.parquet").set_index("row").loc[scored["row"]]
    assert again["after"].tolist() == scored["after"].tolist()
    frame = read_source(workspace_of(Store().find("own")).files, ()).frame
    assert frame["embedding_0"].to_numpy() == pytest.approx(truth["kinds hidden"][:, 0])


def test_image_files_and_columns_feed_one_model(given, tmp_path):
    _, truth = given
    frame = pd.DataFrame(truth["facts"].astype(float), columns=FACTS)
    rng = np.random.default_rng(3)
    chance = truth["mixed predicted"][:, 0]
    frame["label"] = (rng.uniform(size=len(frame)) < chance).astype(int)
    frame["file"] = [f"files/{row}.png" for row in range(len(frame))]
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = ["--model", str(model_files() / "arrays/mixed.keras"), "--inputs", "height,width"]
    images = ["--images", str(model_files() / "arrays"), "--image-column", "image=file"]
    told = [str(tmp_path / "t.csv"), "--label", "label", *model, *images, "--max-depth", "1"]
    assert main(["run", *told, "--array-scale", "255", "--out", str(tmp_path / "out")]) == 0
    scored = pd.read_parquet(tmp_path / "out/scored.parquet")
    expected = chance[scored["row"]]
    assert scored["before"].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_scales_of_columns_are_not_tried_where_only_an_array_feeds_the_model(given, capsys):
    folder, _ = given
    model = ["--model", str(model_files() / "arrays/kinds.keras"), "--positive-unit", "0"]
    told = [str(folder / "t.csv"), "--label", "kind", "--positive", "ant", "--split", "split"]
    told += ["--drop-unlabelled", "--embeddings", str(folder / "embeddings.npy")]
    np.save(
        folder / "embeddings.npy", np.random.default_rng(1).normal(size=(len(given[1]["image"]), 2))
    )
    saturated = ["--array", str(folder / "pixels.npz"), "--array-scale", "0.01"]
    out = ["--max-depth", "1", "--out", str(folder / "saturated")]
    assert main(["run", *told, *model, *saturated, *out]) == 0
    said = capsys.readouterr().err
    assert "--array-scale for an array" in said
    assert "its columns rank best" not in said
