import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.errors import ModelError
from hetcal.models import scoring
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns, matrix_input, suggest_inputs
from hetcal.models.outputs import to_logit
from hetcal.models.sandbox import Limits
from hetcal.models.scoring import score_model, start_scoring
from tests.models.model_files import ROWS, model_files

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def files():
    return model_files()


@pytest.fixture(scope="module")
def truth(files):
    with np.load(files / "truth.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def found(files):
    """Scores of every saved matrix model, by file name."""
    activations = json.loads((files / "found.json").read_text())
    with np.load(files / "found.npz") as stored:
        arrays = dict(stored)
    return {
        name: to_logit(arrays[f"{name} own"], arrays.get(f"{name} stripped"), activation)
        for name, activation in activations.items()
        if not name.startswith(("three", "layer_as_end"))
    }


@pytest.fixture(scope="module")
def rows(truth):
    return pd.DataFrame(truth["x"], columns=["a", "b", "c"])


EXACT = [
    "sigmoid.keras",
    "sigmoid.h5",
    "activation.keras",
    "activation.h5",
    "sequential.keras",
    "sequential.h5",
    "unshaped.keras",
    "unshaped.h5",
    "operation.keras",
    "dropout.keras",
    "nested.keras",
    "logit.keras",
    "logit.h5",
]


@pytest.mark.parametrize("name", EXACT)
def test_the_logit_is_what_numpy_computes(found, truth, name):
    assert found[name].logit == pytest.approx(truth["logits"][:, 0], abs=1e-5)
    assert found[name].clipped == 0


@pytest.mark.parametrize("name", EXACT)
def test_sigmoid_and_logit_version_of_a_network_agree(found, name):
    assert found[name].logit == pytest.approx(found["logit.keras"].logit, abs=1e-5)


@pytest.mark.parametrize("name", ["softmax.keras", "softmax_layer.keras"])
def test_a_two_unit_softmax_is_the_difference_of_its_units(found, truth, name):
    difference = truth["logits"][:, 1] - truth["logits"][:, 0]
    assert found[name].logit == pytest.approx(difference, abs=1e-5)
    assert found[name].largest_difference < 1e-6


@pytest.mark.parametrize("name", ["log_softmax.keras", "logs.keras"])
def test_a_two_unit_log_softmax_is_the_difference_of_its_units(found, truth, name):
    difference = truth["logits"][:, 1] - truth["logits"][:, 0]
    assert found[name].logit == pytest.approx(difference, abs=1e-5)


def test_a_file_of_keras_2_is_read_in_the_words_of_keras_3(found, truth):
    assert found["older_sequential.keras"].logit == pytest.approx(truth["logits"][:, 0], abs=1e-5)
    hidden = np.maximum(truth["x"] @ truth["W1"] + truth["b1"], 0).astype(np.float64)
    normalised = hidden / np.sqrt(1 + 1e-3) @ truth["W2"][:, 0] + truth["b2"][0]
    assert found["older.keras"].logit == pytest.approx(normalised, abs=1e-5)


def test_a_file_of_keras_2_that_cannot_be_read_says_so(files):
    said = json.loads((files / "refusals.json").read_text())["unlike"]
    assert "was written by Keras 2.15.0" in said
    assert "save it again" in said


def test_a_layer_as_activation_is_not_taken_for_a_linear_end(files):
    activation = json.loads((files / "found.json").read_text())["layer_as_end.keras"]
    assert activation == inspect_model(files / "layer_as_end.keras").activation == "LeakyReLU"
    with np.load(files / "found.npz") as stored, pytest.raises(ModelError, match="'LeakyReLU'"):
        to_logit(stored["layer_as_end.keras own"], None, activation)


def test_the_file_says_how_many_numbers_the_last_layer_gives(files):
    units = {name: inspect_model(files / f"{name}.keras").units for name in ("softmax", "nested")}
    assert units == {"softmax": 2, "nested": 1}


def test_a_hard_sigmoid_is_inverted_with_clipping(found, truth):
    probability = np.clip(truth["logits"][:, 0] / 6 + 0.5, 1e-7, 1 - 1e-7)
    expected = np.log(probability / (1 - probability))
    inside = np.abs(expected) < 10
    assert found["hard.keras"].logit[inside] == pytest.approx(expected[inside], abs=1e-3)
    assert found["hard.keras"].clipped == np.sum(~inside) > 0


def test_a_sigmoid_that_is_used_twice_is_inverted_not_stripped(found, truth):
    x, w1, b1, w2, b2 = (truth[key].astype(np.float64) for key in ("x", "W1", "b1", "W2", "b2"))
    inner = 1 / (1 + np.exp(-np.maximum(x @ w1 + b1, 0)))
    assert "turned into a logit" in found["shared.keras"].how
    assert found["shared.keras"].logit == pytest.approx((inner @ w2 + b2)[:, 0], abs=1e-3)


@pytest.fixture(scope="module")
def sigmoid(files):
    return inspect_model(files / "sigmoid.keras")


@pytest.fixture(scope="module")
def many(rows):
    return pd.concat([rows] * 8, ignore_index=True)


@pytest.fixture(scope="module")
def jobs(sigmoid, many):
    """Two children at a time: all rows, and some of them in another order."""
    order = np.random.default_rng(3).permutation(len(many))[:1500]
    inputs = matrix_input(sigmoid, ["a", "b", "c"])
    whole, part = (start_scoring(sigmoid, each, inputs) for each in (many, many.iloc[order]))
    return whole, part, order


def test_a_child_gives_the_same_scores_as_numpy(jobs, truth):
    scores = jobs[0].result()
    assert scores.logit[:ROWS] == pytest.approx(truth["logits"][:, 0], abs=1e-5)
    assert scores.largest_difference < 1e-6
    assert "removed exactly" in scores.how


def test_a_score_does_not_depend_on_neighbours_bit_for_bit(jobs):
    whole, part, order = jobs
    assert np.array_equal(part.result().logit, whole.result().logit[order])


def test_a_finished_job_is_not_running_and_can_be_asked_again(jobs):
    job = jobs[0]
    assert job.result() is job.result()
    assert not job.running
    assert job.progress().fraction == 1


def test_the_digest_follows_the_content(jobs):
    assert jobs[0].result().digest != jobs[1].result().digest


def test_scores_say_that_the_isolation_was_reduced(sigmoid, rows, monkeypatch):
    monkeypatch.setattr(scoring, "reduced_isolation", lambda: "Reduced isolation: told.")
    scores = score_model(sigmoid, rows, matrix_input(sigmoid, ["a", "b", "c"]))
    assert scores.how.endswith(" Reduced isolation: told.")


def test_text_inputs_go_through_the_models_own_lookup(files):
    model = inspect_model(files / "columns.keras")
    frame = pd.DataFrame(
        {"job": ["admin", "student", "pilot", None, "admin"], "age": [1.0, 2, 3, 4, np.nan]}
    )
    scores = score_model(model, frame, suggest_inputs(model, frame.columns))
    # 0.5 age + (admin 2, student 3, otherwise -1)
    assert scores.logit[:4] == pytest.approx([2.5, 4.0, 0.5, 1.0], abs=1e-6)
    assert scores.excluded == 1
    assert "1 missing value of 'job'" in scores.how


def test_a_chosen_output_is_scored(files, rows, truth):
    model = inspect_model(files / "two_outputs.keras")
    inputs = matrix_input(model, ["a", "b", "c"])
    assert set(model.outputs) == {"chance", "size"}
    with pytest.raises(ModelError, match="has 2 outputs"):
        start_scoring(model, rows, inputs)
    with pytest.raises(ModelError, match="none is called 'luck'"):
        start_scoring(model, rows, inputs, output="luck")
    scores = score_model(model, rows, inputs, output="chance")
    assert scores.logit == pytest.approx(truth["logits"][:, 0], abs=1e-5)


def test_errors_inside_the_child_reach_the_person(files, rows):
    """Three children at once, each with something to say."""
    strict, three = (inspect_model(files / f"{name}.keras") for name in ("strict", "three"))
    unseen = pd.DataFrame({"job": ["admin", "pilot"]})
    small = Limits(memory=2**30)
    matrix = matrix_input(three, ["a", "b", "c"])
    for job, message in (
        (start_scoring(strict, unseen, suggest_inputs(strict, unseen.columns)), "pilot"),
        (start_scoring(three, rows, matrix, classes=4), "gives 3 numbers per row"),
        (start_scoring(three, rows, matrix, classes=3, limits=small), "memory"),
    ):
        with pytest.raises(ModelError, match=message) as caught:
            job.result()
        assert len(str(caught.value)) < 800
        assert str(files) not in str(caught.value)
        assert "/" not in caught.value.wrong


def test_one_of_three_units_is_scored_against_the_others(files, rows):
    three = inspect_model(files / "three.keras")
    matrix = matrix_input(three, ["a", "b", "c"])
    for unit in (None, 3):
        with pytest.raises(ModelError, match=r"gives 3 numbers per row.*unit, 0 to 2"):
            start_scoring(three, rows, matrix, positive_unit=unit)
    with np.load(files / "found.npz") as stored:
        chance = stored["three.keras own"].astype(np.float64)[:, 2]
    scores = score_model(three, rows, matrix, positive_unit=2)
    assert expit(scores.logit) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("flipped", "mixes rows"),
        ("sorted", "mixes rows"),
        ("centred", "mixes rows"),
        ("counted", "mixes rows"),
        ("summed", "of 1,024 rows"),
        ("doubled", "of 1,024 rows"),
    ],
)
def test_a_model_in_which_rows_touch_each_other_is_refused(files, name, why):
    assert why in json.loads((files / "refusals.json").read_text())[name]


def test_batch_normalisation_mixes_no_rows_when_it_predicts(files):
    assert json.loads((files / "refusals.json").read_text())["normalised"] is None


def test_a_child_refuses_a_model_that_mixes_rows(files, rows):
    model = inspect_model(files / "flipped.keras")
    with pytest.raises(ModelError, match="mixes rows"):
        score_model(model, rows, matrix_input(model, ["a", "b", "c"]))


def test_a_model_of_three_classes_gives_logarithms_of_its_probabilities(files, rows):
    three = inspect_model(files / "three.keras")
    matrix = matrix_input(three, ["a", "b", "c"])
    jobs = [start_scoring(three, rows, matrix, classes=n) for n in (3, 4)]
    found = jobs[0].result()
    with np.load(files / "found.npz") as stored:
        own = stored["three.keras own"].astype(np.float64)
    assert np.exp(found.logit[: len(own)]) == pytest.approx(own, abs=1e-6)
    assert "softmax was removed exactly" in found.how
    with pytest.raises(ModelError, match="gives 3 numbers per row, but the label has 4 values"):
        jobs[1].result()


def test_a_cancelled_job_ends_at_once(sigmoid, many):
    job = start_scoring(sigmoid, many, matrix_input(sigmoid, ["a", "b", "c"]))
    assert job.running
    assert job.progress() is None
    job.cancel()
    assert not job.running
    with pytest.raises(ModelError, match="cancelled"):
        job.result()


def test_a_job_is_watched_until_it_ends(sigmoid, rows):
    told, job = [], start_scoring(sigmoid, rows, matrix_input(sigmoid, ["a", "b", "c"]))
    job.watch(lambda done, doing: told.append((done, doing)))
    assert not job.running
    assert told[0] == (0.0, "Starting the model")
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(job.result().logit) == len(rows)


def test_whoever_watches_can_end_the_model(sigmoid, many):
    job = start_scoring(sigmoid, many, matrix_input(sigmoid, ["a", "b", "c"]))

    def leave(done, doing):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.watch(leave)
    assert not job.running
    with pytest.raises(ModelError, match="cancelled"):
        job.result()


def test_ids_beyond_the_embedding_are_refused_before_any_child_starts(files):
    model = inspect_model(files / "ids.keras")
    with pytest.raises(ModelError, match="'town' holds 10"):
        start_scoring(model, pd.DataFrame({"town": [3, 10]}), InputColumns((("city", ("town",)),)))


def test_a_file_that_changed_after_the_look_is_refused(files, rows, tmp_path):
    path = shutil.copy(files / "sigmoid.keras", tmp_path / "m.keras")
    model = inspect_model(path)
    shutil.copy(files / "logit.keras", path)
    with pytest.raises(ModelError, match="has changed since it was opened"):
        start_scoring(model, rows, matrix_input(model, ["a", "b", "c"]))
