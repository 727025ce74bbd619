import dataclasses
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hetcal.models.network import NetworkSettings, RawRows, fit_preparation, prepare, settle


@pytest.fixture
def raw():
    numbers = np.array([[1, 5], [3, 5], [np.nan, 5], [100, 6]], np.float32)
    codes = np.array([[0], [1], [1], [3]], np.int32)
    return RawRows(numbers, codes, [["b", "a", "[UNK]", "late", ""]], np.zeros(4, np.int8), None)


@pytest.fixture
def preparation(raw):
    """Fitted on the first three rows."""
    return fit_preparation(raw, 3, (["x", "constant"], ["job"]), ())


def test_means_and_deviations_come_from_training_rows_alone(preparation):
    assert preparation.mean.tolist() == [2, 5]
    assert preparation.deviation.tolist() == [1, 1]


def test_words_seen_in_training_rows_are_the_vocabulary_frequent_first(preparation):
    assert preparation.vocabularies == [["a", "b"]]


def test_rows_are_standardised_with_missing_numbers_at_the_mean(raw, preparation):
    numbers, codes = prepare(raw, preparation)
    assert numbers.tolist() == [[-1, 0], [1, 0], [0, 0], [98, 1]]
    assert codes.ravel().tolist() == [2, 1, 1, 0]


def test_columns_can_be_taken_as_they_are_with_missing_numbers_at_zero(raw):
    preparation = fit_preparation(raw, 3, (["x", "constant"], ["job"]), (), standardise=False)
    assert prepare(raw, preparation)[0].tolist() == [[1, 5], [3, 5], [0, 5], [100, 6]]


def test_a_column_without_numbers_does_no_harm(raw):
    empty = dataclasses.replace(raw, numbers=np.full((4, 1), np.nan, np.float32))
    preparation = fit_preparation(empty, 3, (["x"], ["job"]), ())
    assert prepare(empty, preparation)[0].tolist() == [[0], [0], [0], [0]]


def test_a_nearly_constant_column_is_not_blown_up():
    values = np.full((100, 1), 0.1, np.float32)
    raw = RawRows(values, np.zeros((100, 0), np.int32), [], np.zeros(100, np.int8), None)
    assert fit_preparation(raw, 100, (["x"], []), ()).deviation.tolist() == [1]


def test_rare_words_beyond_the_limit_share_the_code_of_unseen_ones():
    codes = np.repeat(np.arange(1200), 2)[:, None].astype(np.int32)[:-1]
    words = [[f"w{i:04}" for i in range(1200)]]
    numbers = np.zeros((codes.size, 0), np.float32)
    raw = RawRows(numbers, codes, words, np.zeros(codes.size, np.int8), None)
    one_hot = fit_preparation(raw, codes.size, ([], ["c"]), ())
    embedded = fit_preparation(raw, codes.size, ([], ["c"]), ("c",))
    assert len(one_hot.vocabularies[0]) == 1000
    assert len(embedded.vocabularies[0]) == 1200
    assert prepare(raw, one_hot)[0][-1] == 0


def test_settling_removes_dates_and_addresses(tmp_path):
    for name, address in (("one", 111), ("two", 222)):
        shared = {"dtype": {"shared_object_id": address}}
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("metadata.json", json.dumps({"date_saved": name, "keras_version": 3}))
            archive.writestr("config.json", json.dumps({"layers": [shared, shared]}))
        settle(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


BUILD = """
import json, sys
import numpy as np
from hetcal.models.network import NetworkSettings, Preparation, build_core, join

preparation = Preparation(["x", "a/b"], ["job"], np.zeros(2), np.ones(2), [["a", "b"]])
found = {}
choices = (1, "none", ()), (2, "batch norm", ()), (4, "dropout", ("job",))
for size, regularisation, embed in choices:
    settings = NetworkSettings(size=size, regularisation=regularisation, embed=embed)
    core = build_core(preparation, settings)
    found[regularisation] = [
        [type(layer).__name__, getattr(layer, "units", None) or getattr(layer, "rate", None)]
        for layer in core.layers
    ]
model = join(preparation, core)
given = {"x": [[1.0], [np.nan]], "a/b": [[0.0], [0.0]], "job": [["a"], ["new"]]}
import tensorflow as tf
given = {key: tf.constant(value) for key, value in given.items()}
found["finite"] = bool(np.isfinite(model(given)).all())
found["inputs"] = sorted(model.input)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def built():
    """The networks as one process builds them."""
    run = subprocess.run(
        [sys.executable, "-c", BUILD],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def after_columns(layers):
    names = [name for name, _ in layers]
    return layers[names.index("Concatenate") + 1 :]


@pytest.mark.network
def test_three_layers_of_64_32_16_times_the_size(built):
    assert after_columns(built["none"]) == [
        ["Dense", 64],
        ["Dense", 32],
        ["Dense", 16],
        ["Dense", 1],
    ]


@pytest.mark.network
def test_batch_norm_follows_each_layer(built):
    names = after_columns(built["batch norm"])
    norm = ["BatchNormalization", None]
    assert names == [["Dense", 128], norm, ["Dense", 64], norm, ["Dense", 32], norm, ["Dense", 1]]


@pytest.mark.network
def test_dropout_of_a_quarter_follows_each_layer(built):
    names = after_columns(built["dropout"])
    drop = ["Dropout", 0.25]
    assert names == [["Dense", 256], drop, ["Dense", 128], drop, ["Dense", 64], drop, ["Dense", 1]]
    assert ["Embedding", None] in built["dropout"]


@pytest.mark.network
def test_the_joined_network_takes_columns_by_name_and_survives_missing_values(built):
    assert built["inputs"] == ["a/b", "job", "x"]
    assert built["finite"]


def test_the_defaults_are_the_smallest_network_without_regularisation():
    assert (NetworkSettings().size, NetworkSettings().regularisation) == (1, "none")
