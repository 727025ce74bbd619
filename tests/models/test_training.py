import dataclasses
import json
import time

import numpy as np
import pandas as pd
import pytest

from hetcal.data.splits import Split
from hetcal.errors import ModelError
from hetcal.metrics.metrics import auc
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.network import NetworkSettings
from hetcal.models.scoring import score_model
from hetcal.models.training import TrainingJob, start_training
from tests.models.processes import Ended

ROWS = 3000
SETTINGS = NetworkSettings(
    epochs=3, batch_size=32, embed=("job",), regularisation="dropout", seed=5, keep_last=True
)


@pytest.fixture(scope="module")
def table():
    """Logit = age + 2 for students - 2 for those who paid; awkward names, missing values."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, ROWS),
            "paid a/b": rng.choice([True, False], ROWS),
            "job": rng.choice(["student", "admin", "[UNK]", None], ROWS),
            "logit": rng.normal(1e6, 1, ROWS),
        }
    )
    logit = (X["age"] - 40) / 10 + 2 * (X["job"] == "student") - 2 * X["paid a/b"]
    X.loc[::9, "age"] = np.nan
    y = rng.binomial(1, 1 / (1 + np.exp(-logit)))
    return X, y, Split(*np.split(np.arange(ROWS), [1800, 2400, 2700]))


@pytest.fixture(scope="module")
def twice(table):
    """The same training in two children at a time."""
    return [start_training(*table, SETTINGS) for _ in range(2)]


@pytest.fixture(scope="module")
def network(twice):
    return twice[0].result()


@pytest.mark.network
def test_each_epoch_is_recorded_and_the_best_is_kept(network):
    assert network.history["epoch"].tolist() == [1, 2, 3]
    best = network.history["validation_auc"].idxmax()
    assert network.best_epoch == network.history["epoch"][best]
    assert (network.history["seconds"] > 0).all()


@pytest.mark.network
def test_equal_seeds_give_equal_bytes(network, twice):
    assert twice[1].result().content == network.content


@pytest.mark.network
def test_a_finished_job_tells_its_last_state(network, twice):
    state = twice[0].progress()
    assert (state.epoch, state.epochs, state.fraction, state.seconds_left) == (3, 3, 1, 0)
    assert state.validation_auc == network.history["validation_auc"].iloc[-1]


@pytest.mark.network
def test_the_network_is_scored_like_any_upload(table, network, tmp_path):
    X, y, split = table
    path = tmp_path / "network.keras"
    path.write_bytes(network.content)
    model = inspect_model(path)
    assert model.activation == "linear"
    assert {each.name for each in model.inputs} == set(X.columns)
    scores = score_model(model, X, suggest_inputs(model, X.columns))
    assert scores.excluded == 0
    measured = auc(y[split.validation], scores.logit[split.validation])
    assert measured == pytest.approx(network.history["validation_auc"].max(), abs=1e-6)
    assert measured > 0.8


@pytest.mark.network
def test_the_network_of_the_last_epoch_is_kept_beside_the_best(table, network, tmp_path):
    X, y, split = table
    path = tmp_path / "last.keras"
    path.write_bytes(network.last)
    model = inspect_model(path)
    scores = score_model(model, X.iloc[split.validation], suggest_inputs(model, X.columns))
    measured = auc(y[split.validation], scores.logit)
    assert measured == pytest.approx(network.history["validation_auc"].iloc[-1], abs=1e-6)


@pytest.mark.network
def test_a_cancel_keeps_the_best_weights_so_far(table):
    endless = dataclasses.replace(SETTINGS, epochs=100_000, embed=(), keep_last=False)
    job = start_training(*table, endless, weight=np.ones(ROWS))
    assert job.progress() is None
    while len(job.history()) < 2:
        assert job.running
        time.sleep(0.1)
    assert 0 < job.progress().fraction < 0.01
    job.cancel()
    network = job.result()
    assert not job.running
    assert job.cancelled
    assert 2 <= len(network.history) < 100_000
    assert network.best_epoch == network.history["validation_auc"].idxmax() + 1
    assert network.content.startswith(b"PK")
    assert network.last is None


EPOCH = dict.fromkeys(("train_auc", "validation_auc", "train_loss", "validation_loss"), 0.5)
EPOCH |= {"epoch": 1, "seconds": 2}


@pytest.mark.parametrize(
    "told",
    [
        [],
        {},
        {"epochs": [EPOCH]},
        {"epochs": [EPOCH], "best_epoch": 2},
        {"epochs": [EPOCH], "best_epoch": "1"},
        {"epochs": [EPOCH], "best_epoch": 0.5},
        {"epochs": [{**EPOCH, "train_auc": "0.5"}], "best_epoch": 1},
        {"epochs": 7, "best_epoch": 1},
    ],
)
def test_a_history_that_is_not_what_was_asked_for_is_refused(tmp_path, told):
    (tmp_path / "network.keras").write_bytes(b"PK")
    (tmp_path / "history.json").write_text(json.dumps(told))
    with pytest.raises(ModelError, match="no usable result"):
        TrainingJob(Ended(tmp_path), 3).result()


def test_a_network_that_is_missing_is_told(tmp_path):
    (tmp_path / "history.json").write_text(json.dumps({"epochs": [EPOCH], "best_epoch": 1}))
    with pytest.raises(ModelError, match=r"'network\.keras' is missing"):
        TrainingJob(Ended(tmp_path), 3).result()


def test_progress_is_told_by_sound_messages_only(tmp_path):
    said = [{"done": EPOCH}, {"fraction": 7, "seconds_left": -1}, {"done": 3}, {"fraction": "x"}]
    (tmp_path / "messages").write_text("".join(json.dumps(each) + "\n" for each in said))
    state = TrainingJob(Ended(tmp_path), 3).progress()
    assert (state.epoch, state.fraction, state.seconds_left) == (1, 1, 0)
    assert (state.train_auc, state.validation_auc) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0}, "size 0"),
        ({"regularisation": "l2"}, "regularisation 'l2'"),
        ({"learning_rate": 0.0}, "learning rate 0.0"),
        ({"batch_size": 0}, "batch size 0"),
        ({"epochs": 0}, "0 epochs"),
        ({"embed": ("town",)}, "'town'"),
    ],
)
def test_settings_that_cannot_work_are_refused(table, change, message):
    with pytest.raises(ModelError, match=message):
        start_training(*table, dataclasses.replace(SETTINGS, **change))


def test_a_table_without_features_is_refused(table):
    X, y, split = table
    with pytest.raises(ModelError, match="no feature columns"):
        start_training(X[[]], y, split, NetworkSettings())


def test_training_and_validation_rows_need_both_classes(table):
    X, y, split = table
    with pytest.raises(ModelError, match="1,800 train rows do not contain both"):
        start_training(X, np.where(np.arange(ROWS) < 1800, 1, y), split, NetworkSettings())
    empty = dataclasses.replace(split, validation=np.array([], dtype=np.int64))
    with pytest.raises(ModelError, match="0 validation rows"):
        start_training(X, y, empty, NetworkSettings())
