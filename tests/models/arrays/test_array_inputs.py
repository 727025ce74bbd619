"""Inputs of any rank: what models make of arrays beside the table, next to Keras itself."""

import os
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.data.array_files import open_array
from hetcal.errors import ModelError, TableError
from hetcal.models.file import inspect_model
from hetcal.models.images import decode_images
from hetcal.models.inputs import (
    ArrayInput,
    InputColumns,
    array_doubts,
    array_input,
    check_inputs,
    suggest_inputs,
)
from hetcal.models.scoring import start_scoring
from tests.models.arrays.array_models import FACTS, ROWS
from tests.models.model_files import model_files

pytestmark = pytest.mark.network
MODELS = ["image", "rescaled", "steps", "words", "mixed", "kinds"]


@pytest.fixture(scope="module")
def folder():
    return model_files() / "arrays"


@pytest.fixture(scope="module")
def truth(folder):
    with np.load(folder / "truth.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def models(folder):
    return {name: inspect_model(folder / f"{name}.keras") for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_arrays_are_scored_as_keras_itself_does(folder, truth, name):
    with np.load(folder / "found.npz") as found:
        assert found[name] == pytest.approx(truth[f"{name} predicted"], abs=1e-6)


def test_a_hidden_layer_gives_what_keras_gives_for_images(folder, truth):
    assert np.load(folder / "kinds/layer.npy") == pytest.approx(truth["kinds hidden"], abs=1e-6)


def test_the_look_at_a_model_says_what_arrays_it_takes(models):
    shapes = {name: [each.shape for each in model.inputs] for name, model in models.items()}
    assert shapes["image"] == [(8, 8, 1)]
    assert shapes["steps"] == [(6, 3)]
    assert sorted(shapes["mixed"], key=str) == [(8, 8, 1), None]
    (words,) = models["words"].inputs
    assert (words.shape, words.width, words.ids) == (None, 5, 20)
    assert models["rescaled"].inputs[0].scaler == "Rescaling"


def given(tmp_path, name, values, scale=1.0):
    np.save(tmp_path / "x.npy", values)
    return ArrayInput(name, open_array(tmp_path / "x.npy", name, tmp_path), scale)


def refusal(model, *arrays, columns=(), rows=ROWS):
    frame = pd.DataFrame({name: np.zeros(rows) for name in ("label", *FACTS)})
    with pytest.raises((ModelError, TableError)) as error:
        start_scoring(model, frame, InputColumns(columns, arrays=arrays))
    return str(error.value)


def test_rows_of_another_shape_or_number_are_refused_before_any_child_starts(
    tmp_path, models, truth
):
    images = truth["image"]
    wrong = given(tmp_path, "image", images[:, :7])
    assert "rows of 7 × 8 × 1, but the input 'image'" in refusal(models["image"], wrong)
    few = given(tmp_path, "image", images[:-1])
    assert "has 599 rows, and the table has 600" in refusal(models["image"], few)
    right = given(tmp_path, "image", images)
    assert "no array is given" in refusal(models["image"])
    assert "An array is given for 'img'" in refusal(
        models["image"], right, replace(right, input="img")
    )
    assert "inputs of the model 'mixed.keras' are 'facts'" in refusal(models["mixed"], right)
    without = replace(right, file=replace(right.file, path=None))
    assert "No array of the new rows" in refusal(models["image"], without)


def test_ids_are_whole_numbers_that_the_model_knows(tmp_path, models, truth):
    words = truth["words"].copy()
    assert "takes whole numbers" in refusal(models["words"], given(tmp_path, "words", words / 2))
    words[3, 2] = 20
    assert "only knows the ids 0 to 19" in refusal(models["words"], given(tmp_path, "words", words))


def test_flat_rows_and_missing_axes_of_length_one_fit(tmp_path, models, truth):
    frame = pd.DataFrame({"label": np.zeros(ROWS)})
    for values in (truth["image"].reshape(ROWS, 64), truth["image"][..., 0]):
        arrays = (given(tmp_path, "image", values),)
        check_inputs(models["image"], frame, InputColumns((), arrays=arrays))


def test_numbers_from_0_to_255_are_doubted_where_nothing_scales_them(tmp_path, models, truth):
    def doubts(name, values, scale=1.0):
        array = given(tmp_path, "image", values, scale)
        return array_doubts(models[name], InputColumns((), arrays=(array,)))

    images = truth["image"]
    assert "no first layer of it scales the input 'image'" in doubts("image", images)[0]
    assert not doubts("image", images, 255.0)
    assert not doubts("image", images / 255)
    assert not doubts("rescaled", images)
    assert "scales the input 'image' once more" in doubts("rescaled", images, 255.0)[0]
    words = ArrayInput("words", given(tmp_path, "words", truth["words"]).file)
    assert not array_doubts(models["words"], InputColumns((), arrays=(words,)))


def test_image_files_are_decoded_as_tensorflow_does(folder, truth):
    with np.load(folder / "decoded.npz") as found:
        assert np.array_equal(found["grey"], truth["image"][:2])
        assert np.array_equal(found["colours"][0], found["jpeg"])
        assert np.array_equal(found["colours"][1], np.repeat(truth["image"][0], 3, axis=-1))
        assert "has 8 × 8 pixels, and the model takes 8 × 9" in str(found["other size"])
        assert "'x' of row 1 cannot be used: it is damaged" in str(found["damaged"])
        assert "it is damaged" in str(found["damaged jpeg"])


def test_only_images_below_the_folder_are_read(folder, models, tmp_path):
    files, (spec,) = tmp_path / "files", models["image"].inputs
    files.mkdir()
    (tmp_path / "outside.png").write_bytes((folder / "files/0.png").read_bytes())
    (files / "link.png").symlink_to(tmp_path / "outside.png")
    (tmp_path / "elsewhere").mkdir()
    (files / "through").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/0.png").write_bytes((folder / "files/0.png").read_bytes())
    (files / "table.png").write_text("a,b")
    (files / "folder.png").mkdir()
    os.mkfifo(files / "pipe.png")
    for name, why in (
        ("../outside.png", "no path below the folder"),
        (str(tmp_path / "outside.png"), "no path below the folder"),
        ("", "no path below the folder"),
        ("link.png", "leads through a link"),
        ("through/0.png", "leads through a link"),
        ("none.png", "no such file"),
        ("folder.png", "no such file that can be read"),
        ("pipe.png", "no file"),
        ("table.png", "neither PNG nor JPEG"),
        ("a\0b", "no such file"),
    ):
        with pytest.raises(TableError, match=why):
            decode_images(pd.Series([name], name="path"), files, spec, tmp_path)
    (steps,) = models["steps"].inputs
    with pytest.raises(ModelError, match="takes rows of 6 × 3"):
        decode_images(pd.Series(["x.png"], name="path"), files, steps, tmp_path)


def test_only_files_of_a_zip_are_read_from_it(folder, models, tmp_path):
    (spec,) = models["image"].inputs
    image = (folder / "files/0.png").read_bytes()
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("all/0.png", image)
        archive.writestr("all/long.png", bytes(40 * 2**20), zipfile.ZIP_DEFLATED)
        archive.writestr("all/table.png", "a,b")
        archive.writestr("all/changed.png", image)
    content = (tmp_path / "some.zip").read_bytes()
    at = content.rindex(image)
    changed = content[: at + 20] + bytes([content[at + 20] ^ 1]) + content[at + 21 :]
    (tmp_path / "some.zip").write_bytes(changed)
    (tmp_path / "none.zip").write_bytes(content[:200])
    for name, file, why in (
        ("../some.zip", "some.zip", "no such file"),
        ("/etc/passwd", "some.zip", "no such file"),
        ("", "some.zip", "no such file|neither PNG"),
        ("long.png", "some.zip", "more than 32 MB"),
        ("all/table.png", "some.zip", "neither PNG nor JPEG"),
        ("changed.png", "some.zip", "damaged or encrypted"),
        ("0.png", "none.zip", "neither a folder nor a zip"),
    ):
        with pytest.raises(TableError, match=why):
            decode_images(pd.Series([name], name="path"), tmp_path / file, spec, tmp_path)


def test_an_array_without_a_name_is_for_the_one_input_that_takes_arrays(models):
    assert array_input(models["mixed"]) == "image"
    assert array_input(models["words"]) == "words"
    two = replace(models["mixed"], inputs=models["image"].inputs + models["steps"].inputs)
    with pytest.raises(ModelError, match="names no input"):
        array_input(two)


def test_an_input_of_several_axes_never_gets_a_column_of_its_name(models):
    assert suggest_inputs(models["image"], ["image"]) is None
