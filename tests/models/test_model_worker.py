import json

import numpy as np
import pytest

from hetcal.errors import ModelError
from hetcal.models.worker import BATCH, as_matrix, explain, open_inputs, read_batch, shorten

LONG = (
    "<class 'keras.src.models.functional.Functional'> could not be deserialized properly.\n\n"
    "config={'module': 'keras', 'class_name': 'Functional'}.\n\nException encountered: x"
)


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Ten rows of two numbers and one text column."""
    monkeypatch.chdir(tmp_path)
    np.save("numbers.npy", np.arange(20, dtype=np.float32).reshape(10, 2))
    np.save("codes.npy", np.array([[0, 1, 2, 1, 0, 1, 2, 1, 0, 1]], dtype=np.int32).T)
    (tmp_path / "texts.json").write_text(json.dumps([["admin", "student", ""]]))
    return open_inputs(
        [
            {"layer": "x", "file": "numbers.npy", "texts": None},
            {"layer": "job", "file": "codes.npy", "texts": "texts.json"},
        ]
    )


def test_every_batch_has_the_same_shape(inputs):
    assert {read_batch(inputs, 0, used)["x"].shape for used in (1, 3, 10)} == {(BATCH, 2)}


def test_a_batch_is_filled_up_with_its_first_row(inputs):
    batch = read_batch(inputs, 4, 3)
    assert batch["x"][:3].tolist() == [[8, 9], [10, 11], [12, 13]]
    assert (batch["x"][3:] == [8, 9]).all()


def test_codes_become_text_again(inputs):
    batch = read_batch(inputs, 1, 3)
    assert batch["job"][:3].ravel().tolist() == ["student", "", "student"]
    assert batch["job"].shape == (BATCH, 1)


def test_arrays_with_pickled_objects_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("bad.npy", np.array([{}, {}]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"allow_pickle|Python objects"):
        open_inputs([{"layer": "x", "file": "bad.npy", "texts": None}])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 1, 1)])
def test_one_output_per_row_is_a_column(shape):
    assert as_matrix(np.zeros(shape), 4).shape == (4, 1)


@pytest.mark.parametrize("shape", [(), (1,), (8, 1), (2, 4)])
def test_a_model_must_give_as_many_outputs_as_rows(shape):
    with pytest.raises(ModelError, match="of 4 rows"):
        as_matrix(np.zeros(shape), 4)


def test_a_message_loses_its_configuration_and_server_paths():
    assert "config" not in shorten(LONG)
    assert shorten("Unable to open /srv/app/x/model.h5 (no such file)") == (
        "Unable to open … (no such file)."
    )
    assert len(shorten("word " * 1000)) <= 240


def test_an_error_of_tensorflow_is_told_by_its_last_line():
    traceback = 'in user code:\n\n    File "/srv/a/b.py", line 7, in f\n\n    ValueError: too short'
    assert shorten(traceback) == "ValueError: too short."


def test_an_error_of_keras_becomes_three_sentences():
    error = explain(RuntimeError(LONG), "mine.keras")
    assert "'mine.keras'" in error.wrong
    assert "use a score column instead" in error.remedy
    assert len(str(error)) < 700


def test_exhausted_memory_is_named():
    assert "memory" in explain(RuntimeError("OOM when allocating tensor"), "m").wrong


def test_an_error_while_computing_is_told_without_its_traceback():
    message = (
        "Graph execution error:\n\nDetected at node f/Assert defined at (most recent call last):\n"
        '  File "/srv/a/b.py", line 7, in f\n\nassertion failed: unseen [pilot]\n\t [[{{node f}}]]'
    )
    assert shorten(message) == "assertion failed: unseen [pilot]."
