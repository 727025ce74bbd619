"""A partition reads raw columns while the model reads prepared ones: `run`, `score`, kept runs."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main
from hetcal.partitions.tree import TreePartition
from hetcal.store.store import Store
from hetcal.store.work import read_source
from hetcal.store.workspace import workspace_of
from tests.models.model_files import model_files

pytestmark = pytest.mark.network
NAMES = ["minutes", "age", "balance"]
SHIFT, SCALE = np.array([3000, 40, 80_000]), np.array([900, 12, 60_000])
STEPS = {
    name: {"mean": int(shift), "scale": int(scale)}
    for name, shift, scale in zip(NAMES, SHIFT, SCALE, strict=True)
}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Scaled columns with a model that takes them, raw ones in another order, and the steps."""
    folder = tmp_path_factory.mktemp("raw")
    with np.load(model_files() / "truth.npz") as stored:
        values, logit = stored["x"].astype(np.float64), stored["logits"][:, 0]
    rng = np.random.default_rng(8)
    raw = pd.DataFrame(np.round(values * SCALE + SHIFT), columns=NAMES).astype(int)
    names = pd.DataFrame({"row id": rng.permutation(len(raw)) + 100})
    scaled = names.join((raw - SHIFT) / SCALE)
    scaled["label"] = (rng.uniform(size=len(raw)) < 1 / (1 + np.exp(-logit))).astype(int)
    scaled["split"] = rng.choice(["train", "calibration", "test"], len(raw))
    scaled.to_csv(folder / "t.csv", index=False)
    names.join(raw).assign(plan="basic").sample(frac=1, random_state=1).to_csv(
        folder / "raw.csv", index=False
    )
    (folder / "steps.json").write_text(json.dumps(STEPS))
    return folder, raw, scaled


BESIDE = {
    "table": ["--raw", "raw.csv", "--raw-id", "row id"],
    "steps": ["--undo-scale", "steps.json"],
}


def beside(folder, kind):
    return [str(folder / each) if "." in each else each for each in BESIDE[kind]]


def run(folder, kind, *more):
    told = [str(folder / "t.csv"), "--label", "label", "--split", "split", "--partition", "tree"]
    model = ["--model", str(model_files() / "sigmoid.keras"), "--inputs", "all", "--id", "row id"]
    given = [*model, *more, *beside(folder, kind), "--out", str(folder / kind)]
    return main(["run", *told, "--max-depth", "2", "--min-leaf", "20", *given])


@pytest.fixture(scope="module")
def runs(given):
    """The folder of both runs, which are kept, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HETCAL_HOME", str(given[0] / "home"))
        assert [run(given[0], kind, "--keep", kind) for kind in BESIDE] == [0, 0]
        kept = {kind: workspace_of(Store().find(kind)) for kind in BESIDE}
    return given[0], {kind: read_source(each.files, ()).frame for kind, each in kept.items()}


@pytest.mark.parametrize("kind", ["table", "steps"])
def test_the_partition_reads_raw_columns_and_the_model_scaled_ones(runs, given, kind):
    (folder, _), (_, raw, scaled) = runs, given
    found = pd.read_parquet(folder / kind / "scored.parquet")
    with np.load(model_files() / "truth.npz") as stored:
        logit = stored["logits"][:, 0]
    # The values of the table are those of the model's truth but for rounding.
    assert found["score"].to_numpy() == pytest.approx(logit[found["row"]], abs=0.2)
    # A tree of columns that were only shifted and scaled has the same leaves.
    train = scaled[scaled["split"] == "train"]
    tree = TreePartition(max_depth=2, min_samples_leaf=20).fit(train[NAMES], train["label"])
    assert found["leaf"].tolist() == tree.apply(scaled[NAMES].iloc[found["row"]]).tolist()
    partition = json.loads((folder / kind / "partition.json").read_text())
    names = {each["name"] for each in partition["features"]}
    assert names <= {f"{name} (raw)" for name in NAMES}
    for node in partition["nodes"]:
        if node.get("threshold") is not None:
            values = raw[node["feature"].removesuffix(" (raw)")]
            assert values.min() <= node["threshold"] <= values.max()


@pytest.mark.parametrize("kind", ["table", "steps"])
def test_new_rows_are_scored_with_what_the_run_was_given(runs, kind, capsys):
    folder, _ = runs
    found = pd.read_parquet(folder / kind / "scored.parquet")
    new = [str(folder / kind / "artifact.zip"), str(folder / "t.csv"), *beside(folder, kind)]
    assert main(["score", *new, "--out", str(folder / "new.parquet")]) == 0
    assert "The partition reads them, the model does not" in capsys.readouterr().err
    again = pd.read_parquet(folder / "new.parquet").set_index("row").loc[found["row"]]
    assert again["after"].tolist() == found["after"].tolist()


@pytest.mark.parametrize("kind", ["table", "steps"])
def test_a_kept_run_and_the_file_that_repeats_it_know_the_files_beside_the_table(runs, given, kind):
    (folder, frames), (_, raw, scaled) = runs, given
    kept = frames[kind]
    assert kept["age (raw)"].tolist() == raw["age"].tolist()
    assert kept["age"].tolist() == scaled["age"].tolist()
    options = tomllib.loads((folder / kind / "run.toml").read_text())
    for name, value in zip(BESIDE[kind][::2], BESIDE[kind][1::2], strict=True):
        place = f"../{value}" if "." in value else value
        assert options[name.removeprefix("--")] == place


def test_an_id_without_a_second_table_is_refused(given, capsys):
    assert run(given[0], "steps", "--raw-id", "row id") == 2
    assert "--raw-id has no effect here" in capsys.readouterr().err
