"""What an internal layer gives, next to the scores, from a child process."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact, score_with_artifact
from hetcal.artifacts.report import scored_test_rows
from hetcal.data.table import Roles, make_table
from hetcal.errors import ModelError
from hetcal.models.config import check_width
from hetcal.models.file import inspect_model
from hetcal.models.inputs import matrix_input
from hetcal.models.scoring import ModelScoring, score_model, start_scoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.models.model_files import ROWS, model_files

pytestmark = pytest.mark.network
INPUTS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def files():
    return model_files()


@pytest.fixture(scope="module")
def truth(files):
    with np.load(files / "truth.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def found(files):
    with np.load(files / "found.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def hidden(truth):
    """The hidden layer as numpy computes it."""
    return np.maximum(truth["x"].astype(float) @ truth["W1"] + truth["b1"], 0)


@pytest.mark.parametrize(
    "name",
    ["sigmoid.keras", "sigmoid.h5", "sequential.keras", "unshaped.h5", "dropout.keras",
     "operation.keras", "between.keras", "softmax.keras"],
)  # fmt: skip
def test_a_watched_layer_gives_what_numpy_computes(found, hidden, name):
    assert found[f"{name} hidden"] == pytest.approx(hidden, abs=1e-5)
    assert np.array_equal(found[f"{name} own beside hidden"], found[f"{name} own"])


def test_a_layer_of_a_model_inside_the_model_can_be_watched(found, hidden):
    assert found["nested.keras inner/hidden"] == pytest.approx(hidden, abs=1e-5)


def test_what_is_computed_between_layers_can_be_watched(found, hidden):
    assert found["between.keras negative"] == pytest.approx(-hidden, abs=1e-5)


def test_of_several_outputs_of_a_layer_the_first_one_is_flattened(found, truth):
    assert np.array_equal(found["states.keras grid"], truth["x"])
    assert found["states.keras steps"].shape == (ROWS, 3 * 4)


def test_the_static_look_lists_what_can_be_watched(files):
    layers = {each.name: each.width for each in inspect_model(files / "states.keras").layers}
    assert {"grid": 3, "steps": 12}.items() <= layers.items()
    assert [each.name for each in inspect_model(files / "sequential.h5").layers] == ["hidden"]
    assert [each.name for each in inspect_model(files / "nested.keras").layers] == ["inner/hidden"]


@pytest.fixture(scope="module")
def model(files):
    return inspect_model(files / "sigmoid.keras")


@pytest.fixture(scope="module")
def many(truth):
    rows = pd.DataFrame(truth["x"], columns=INPUTS)
    return pd.concat([rows] * 8, ignore_index=True)


@pytest.fixture(scope="module")
def jobs(model, many):
    """All rows, some of them in another order, and all without a layer."""
    order = np.random.default_rng(3).permutation(len(many))[:1_500]
    inputs = matrix_input(model, INPUTS)
    whole = start_scoring(model, many, inputs, layer="hidden")
    part = start_scoring(model, many.iloc[order], inputs, layer="hidden")
    return whole, part, order, score_model(model, many, inputs)


def test_a_child_gives_the_layer_of_every_row(jobs, hidden):
    activations = jobs[0].result().activations
    assert activations.layer == "hidden"
    assert activations.values == pytest.approx(np.tile(hidden, (8, 1)), abs=1e-5)


def test_what_a_layer_gives_does_not_depend_on_neighbours_bit_for_bit(jobs):
    whole, part, order, _ = jobs
    of_part, of_whole = (job.result().activations.values for job in (part, whole))
    assert np.array_equal(of_part, of_whole[order])


def test_watching_a_layer_leaves_the_scores_as_they_are_bit_for_bit(jobs):
    watched, plain = jobs[0].result(), jobs[3]
    assert np.array_equal(watched.logit, plain.logit)
    assert watched.digest == f"{plain.digest} hidden"


def test_a_layer_that_is_not_there_is_refused_before_any_child_starts(model, many):
    inputs = matrix_input(model, INPUTS)
    with pytest.raises(ModelError, match=r"no internal layer 'hiden'.*are: 'hidden'"):
        start_scoring(model, many, inputs, layer="hiden")


def test_a_layer_that_is_too_wide_is_refused(files, many):
    known, unknown = (inspect_model(files / f"wide.{kind}") for kind in ("keras", "h5"))
    name = known.layers[0].name
    assert (known.layers[0].width, unknown.layers[0].width) == (5_000, None)
    with pytest.raises(ModelError, match="gives 5,000 numbers per row"):
        start_scoring(known, many, matrix_input(known, INPUTS), layer=name)
    with pytest.raises(ModelError, match="gives 5,000 numbers per row"):  # from the child
        start_scoring(unknown, many, matrix_input(unknown, INPUTS), layer=name).result()


def test_a_layer_of_too_many_rows_is_refused():
    check_width("m", "hidden", 4_096, 2**16)
    with pytest.raises(ModelError, match="4,096 numbers for each of 65,537 rows"):
        check_width("m", "hidden", 4_096, 2**16 + 1)


@pytest.fixture(scope="module")
def finished(model, many, truth, jobs):
    """A run whose partition is a tree on the hidden layer."""
    rng = np.random.default_rng(1)
    chance = 1 / (1 + np.exp(-0.5 * np.tile(truth["logits"][:, 0], 8)))
    frame = many.assign(label=np.where(rng.random(len(many)) < chance, "yes", "no"))
    table = make_table(frame, Roles(label="label", positive="yes"), "digest")
    scoring = ModelScoring(model, matrix_input(model, INPUTS), layer="hidden")
    return run(table, jobs[0].result(), Settings(partition="layer", max_depth=2)), scoring


def test_an_artifact_watches_the_layer_and_scores_bit_for_bit(finished, tmp_path):
    run, scoring = finished
    packed = artifact_bytes(run, scoring)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["scoring"]["layer"] == "hidden"
    assert sorted(manifest["kinds"]) == INPUTS
    artifact = open_artifact(packed, tmp_path)
    assert artifact.scoring.layer == "hidden"
    new = run.table.frame.drop(columns="label").iloc[run.split.test]
    scored = score_with_artifact(artifact, new, "other")
    expected = scored_test_rows(run)
    assert set(expected["leaf"]) == {leaf.id for leaf in run.partition.leaves} > {1}
    for column in ("leaf", "before", "after"):
        assert np.array_equal(scored[column], expected[column]), column
