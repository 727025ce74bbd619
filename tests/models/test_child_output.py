import json
import os

import numpy as np
import pytest

from hetcal.data.scores import make_scores
from hetcal.errors import ModelError
from hetcal.models import child
from hetcal.models.child import (
    last_numbers,
    numbers_of,
    read_bytes,
    read_messages,
    read_object,
    read_outputs,
    reported_error,
)
from hetcal.models.scoring import ScoringJob
from tests.models.processes import Ended


@pytest.mark.parametrize("units", [1, 2])
def test_outputs_are_read_as_the_child_writes_them(tmp_path, units):
    values = np.random.default_rng(0).normal(size=(50, units)).astype(np.float32)
    written = np.lib.format.open_memmap(tmp_path / "own.npy", "w+", np.float32, (50, units))
    written[:] = values
    written.flush()
    assert np.array_equal(read_outputs(tmp_path / "own.npy", 50), values)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((49, 1), np.float32),
        np.zeros((51, 1), np.float32),
        np.zeros((50, 3), np.float32),
        np.zeros(50, np.float32),
        np.zeros((50, 1), np.float64),
        np.zeros((50, 1), "S4"),
        np.zeros((50, 2), np.float32, order="F"),
    ],
    ids=["too few", "too many", "three units", "flat", "double", "text", "columns first"],
)
def test_outputs_of_another_shape_or_type_are_refused(tmp_path, values):
    np.save(tmp_path / "own.npy", values)
    with pytest.raises(ModelError, match=r"no usable result: the file 'own\.npy'"):
        read_outputs(tmp_path / "own.npy", 50)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04" + bytes(300)])
def test_a_file_that_is_no_array_is_refused(tmp_path, content):
    (tmp_path / "own.npy").write_bytes(content)
    with pytest.raises(ModelError, match="1 or 2 numbers for each row"):
        read_outputs(tmp_path / "own.npy", 50)


def test_an_array_that_is_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "own.npy", np.zeros((50, 1), np.float32))
    whole = (tmp_path / "own.npy").read_bytes()
    for content in (whole[:-1], whole + b"\0"):
        (tmp_path / "own.npy").write_bytes(content)
        with pytest.raises(ModelError, match="1 or 2 numbers for each row"):
            read_outputs(tmp_path / "own.npy", 50)


def test_a_file_is_read_up_to_its_limit(tmp_path):
    (tmp_path / "a").write_bytes(bytes(10))
    assert read_bytes(tmp_path / "a", 10) == bytes(10)
    with pytest.raises(ModelError, match="'a' is too large"):
        read_bytes(tmp_path / "a", 9)


def test_links_pipes_and_folders_are_not_opened(tmp_path):
    (tmp_path / "real").write_bytes(b'{"a": 1}\n')
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "absent"):
        assert read_messages(tmp_path / name) == []
        with pytest.raises(ModelError, match=f"'{name}' is missing"):
            read_bytes(tmp_path / name, 10)
    assert read_messages(tmp_path / "real") == [{"a": 1}]


def test_messages_beyond_the_limit_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "MOST_TEXT", 20)
    (tmp_path / "messages").write_bytes(b'{"a": 1}\n' * 3)
    assert read_messages(tmp_path / "messages") == [{"a": 1}] * 2


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff", b"1", b"[" * 100_000])
def test_a_result_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "output.json").write_bytes(text)
    with pytest.raises(ModelError, match="is not a JSON object"):
        read_object(tmp_path / "output.json")


def test_the_first_error_with_three_sentences_is_told():
    sentences = {"wrong": "A.", "needed": "B.", "remedy": "C." * 5_000}
    error = reported_error([{"error": "x"}, {"error": {"wrong": "x"}}, {"error": sentences}])
    assert (error.wrong, error.needed) == ("A.", "B.")
    assert len(error.remedy) < 1_000
    assert reported_error([{"a": 1}, {"error": {**sentences, "needed": 2}}]) is None


@pytest.mark.parametrize(
    "content",
    [None, [1, 2], {"a": 1}, {"a": 1, "b": "2"}, {"a": True, "b": 1}, {"a": 10**400, "b": 1}],
)
def test_numbers_have_to_be_numbers(content):
    assert numbers_of(content, ("a", "b")) is None


def test_the_latest_finite_numbers_count():
    said = [{"a": 1, "b": 0.5}, {"a": 2, "b": 1}, {"c": 1}, {"a": 3, "b": float("nan")}]
    assert last_numbers(said, ("a", "b")) == [2, 1]
    assert last_numbers(said, ("c", "d")) is None


@pytest.fixture
def job(tmp_path):
    np.save(tmp_path / "own.npy", np.full((3, 1), 0.5, np.float32))
    (tmp_path / "output.json").write_text(json.dumps({"activation": "sigmoid"}))
    return ScoringJob(Ended(tmp_path), 3, (1, 2), lambda given: given)


def test_scores_are_made_of_sound_files(job, tmp_path):
    np.save(tmp_path / "stripped.npy", np.zeros((3, 1), np.float32))
    found = job.result()
    assert found.own.tolist() == [[0.5], [0.5], [0.5]]
    assert found.stripped.tolist() == [[0], [0], [0]]
    assert found.activation == "sigmoid"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.npy", np.zeros((2, 1), np.float32)),
        ("stripped.npy", np.zeros((3, 2), np.float32)),
        ("stripped.npy", np.zeros((3, 1), np.int64)),
        ("output.json", '{"activation": 3}'),
        ("output.json", "sigmoid"),
    ],
)
def test_scores_are_refused_where_a_file_is_not_what_was_asked_for(job, tmp_path, name, content):
    if name.endswith(".npy"):
        np.save(tmp_path / name, content)
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(ModelError, match="no usable result"):
        job.result()


@pytest.mark.parametrize(
    ("units", "values"),
    [
        (2, np.zeros((3, 3), np.float32)),
        (3, np.zeros((3, 3), np.float64)),
        ("3", np.zeros((3, 3), np.float32)),
        (True, np.zeros((3, 1), np.float32)),
        (4097, np.zeros((3, 4097), np.float32)),
        (None, None),
        (3, None),
    ],
)
def test_what_a_layer_gives_is_refused_unless_it_has_the_told_width(job, tmp_path, units, values):
    watching = ScoringJob(Ended(tmp_path), 3, (1, 2), lambda given: given, "hidden")
    said = {"activation": "sigmoid", "layer_units": units}
    (tmp_path / "output.json").write_text(json.dumps(said))
    if values is not None:
        np.save(tmp_path / "layer.npy", values)
    with pytest.raises(ModelError, match="no usable result"):
        watching.result()


def first_unit(given):
    return make_scores(given.own[:, 0], "", digest="d")


@pytest.mark.usefixtures("job")
def test_the_output_of_a_layer_comes_with_the_scores(tmp_path):
    watching = ScoringJob(Ended(tmp_path), 3, (1, 2), first_unit, "hidden")
    said = {"activation": "sigmoid", "layer_units": 2}
    (tmp_path / "output.json").write_text(json.dumps(said))
    np.save(tmp_path / "layer.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    assert watching.result().activations.values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert list(watching.result().activations.frame) == ["hidden[0]", "hidden[1]"]
    assert watching.result().digest == "d hidden"


@pytest.mark.parametrize(
    ("line", "rows_done"),
    [
        ('{"rows_done": 2, "rows": 3, "seconds_left": 1, "more": 1}', 2),
        ('{"rows_done": 9, "rows": 9, "seconds_left": -1}', 3),
        ('{"rows_done": -9, "seconds_left": 0}', 0),
    ],
)
def test_progress_stays_within_the_rows(job, tmp_path, line, rows_done):
    (tmp_path / "messages").write_text(f'{line}\n{{"rows_done": NaN, "seconds_left": 0}}\n["x"]\n')
    state = job.progress()
    assert (state.rows_done, state.rows) == (rows_done, 3)
    assert 0 <= state.fraction <= 1
    assert state.seconds_left >= 0
