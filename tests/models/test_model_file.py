import contextlib
import json
import subprocess
import sys
import zipfile
from dataclasses import asdict

import h5py
import numpy as np
import pytest

from hetcal.errors import ModelError
from hetcal.models import file as model_file
from hetcal.models.allowed import is_allowed
from hetcal.models.file import inspect_model
from hetcal.models.scan import describe
from tests.models.hostile.crafted import (
    DENSE,
    LAMBDA,
    SNEAKY,
    functional,
    layer,
    named,
    sequential,
    without_modules,
    write_weights,
)


def look(path, name=None):
    """What the child finds, but in this process, which takes less time."""
    with path.open("rb") as file:
        return describe(file, name or path.name)


@pytest.fixture
def write_keras(tmp_path):
    def write(config, *, members=(), fill=None, name="model.keras"):
        write_weights(tmp_path / "weights", fill)
        text = config if isinstance(config, (str, bytes)) else json.dumps(config)
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("config.json", text)
            archive.writestr("metadata.json", "{}")
            archive.write(tmp_path / "weights", "model.weights.h5")
            for member, content in members:
                archive.writestr(member, content)
        return tmp_path / name

    return write


@pytest.fixture
def write_h5(tmp_path):
    def write(config, *, fill=None, name="model.h5"):
        write_weights(tmp_path / name, fill)
        if config is not None:
            with h5py.File(tmp_path / name, "a") as store:
                store.attrs["model_config"] = json.dumps(config)
        return tmp_path / name

    return write


def test_a_sequential_model_is_described(write_keras):
    model = look(write_keras(sequential(DENSE)))
    assert (model.format, model.activation, model.outputs) == ("keras", "sigmoid", ("dense",))
    (only,) = model.inputs
    assert (only.name, only.width, only.dtype) == ("x", 3, "float32")


def test_parameters_leave_the_optimizer_out(write_keras):
    assert look(write_keras(sequential(DENSE))).parameters == 4


def test_an_h5_file_is_described_like_a_keras_file(write_keras, write_h5):
    config = sequential(DENSE)
    new, old = look(write_keras(config)), look(write_h5(without_modules(config)))
    assert old.format == "h5"
    assert (old.inputs, old.outputs, old.activation) == (new.inputs, new.outputs, new.activation)


def test_the_content_decides_not_the_extension(write_keras, write_h5):
    assert look(write_keras(sequential(DENSE), name="a.h5")).format == "keras"
    assert look(write_h5(sequential(DENSE), name="a.keras")).format == "h5"


def test_named_inputs_carry_the_names_people_know(write_keras):
    age = named(layer("InputLayer", name="input_7", batch_shape=[None, 1], dtype="float32"))
    job = named(layer("InputLayer", name="job", batch_shape=[None, 1], dtype="string"))
    inputs = {"age": ["input_7", 0, 0], "job": ["job", 0, 0]}
    model = look(write_keras(functional(inputs, ["dense", 0, 0], age, job, named(DENSE))))
    assert [(each.name, each.layer, each.dtype) for each in model.inputs] == [
        ("age", "input_7", "float32"),
        ("job", "job", "string"),
    ]


def test_an_input_of_ids_knows_how_many_there_are(write_keras):
    city = named(layer("InputLayer", name="city", batch_shape=[None, 1], dtype="int32"))
    embedding = named(layer("Embedding", input_dim=12, output_dim=2), "city")
    config = functional(["city", 0, 0], ["embedding", 0, 0], city, embedding)
    assert look(write_keras(config)).inputs[0].ids == 12


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (LAMBDA, "Lambda layer called 'lambda'"),
        (layer("TimeDistributed", layer=LAMBDA), "Lambda"),
        (sequential(layer("Bidirectional", layer=layer("LSTM", cell=LAMBDA))), "Lambda"),
        (layer("Dense", activation={"class_name": "__lambda__", "config": {}}), "Lambda"),
        (layer("TFSMLayer", filepath="/srv/model"), "TFSMLayer"),
        (layer("TorchModuleWrapper"), "TorchModuleWrapper"),
        (layer("TextVectorization", vocabulary="/etc/passwd"), "vocabulary from another file"),
        (layer("TextVectorization", standardize={**SNEAKY}), "function set_floatx"),
        (layer("Popen", "subprocess"), "Popen called 'popen' \\(from subprocess\\)"),
        (layer("Dense", "os"), "from os"),
        (layer("MyLayer", None), "MyLayer"),
        (layer("Dense", activation={**SNEAKY, "registered_name": None}), "function set_floatx"),
        (layer("Dense", activation={**SNEAKY, "config": "sigmoid"}), "from keras.config"),
        (layer("Dense", activation="enable_unsafe_deserialization"), "activation enable_unsafe"),
        ({**DENSE, "registered_name": "mine>Layer"}, "Dense"),
        (layer("Map", "keras.src.ops.core"), "Map"),
        (layer("StringLookup", vocabulary="/etc/passwd"), "vocabulary from another file"),
        (layer("Dense", name="../../outside"), "'../../outside'"),
    ],
)
def test_what_could_run_code_or_read_files_is_refused_by_name(write_keras, write_h5, part, named):
    for path in (write_keras(sequential(part, DENSE)), write_h5(sequential(part, DENSE))):
        with pytest.raises(ModelError, match=named) as caught:
            look(path)
        assert "use a score column instead" in caught.value.remedy


def test_lambda_users_are_told_what_to_save_instead(write_keras):
    with pytest.raises(ModelError, match=r"keras\.ops or a built-in layer"):
        look(write_keras(sequential(LAMBDA)))


def test_a_lambda_in_the_older_format_is_refused(write_h5):
    with pytest.raises(ModelError, match="Lambda layer"):
        look(write_h5(without_modules(sequential(LAMBDA, DENSE))))


def test_settings_of_an_earlier_training_are_ignored_at_the_top(write_keras):
    compiled = {"optimizer": {"module": "mine", "class_name": "Optimizer", "config": {}}}
    config = {**sequential(DENSE), "compile_config": compiled}
    assert look(write_keras(config)).activation == "sigmoid"


@pytest.mark.parametrize(
    "operation",
    [
        "Take",
        "LessEqual",
        "Isnan",
        "Cast",
        "Matmul",
        "Add",
        "Equal",
        "Subtract",
        "Maximum",
        "Minimum",
        "Multiply",
        "Sum",
        "GetItem",
    ],
)
def test_arithmetic_of_a_calibrated_model_is_allowed(operation):
    module = "keras.src.ops.core" if operation == "Cast" else "keras.src.ops.numpy"
    assert is_allowed(module, operation)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff\xfe", "not readable JSON"),
        ("{", "not readable JSON"),
        ('{"class_name": "Sequential", "class_name": "Lambda"}', "not readable JSON"),
        ("[" * 20_000 + "]" * 20_000, "nested too deeply"),
        (json.dumps({"class_name": "Sequential", "config": []}), "no layers"),
        (" " * (9 * 2**20), "9 MB"),
        (json.dumps({"class_name": "MyModel", "config": {}}), "'MyModel', which is not"),
        ("[]", "which is not a Sequential"),
    ],
)
def test_a_description_that_keras_would_not_write_is_refused(write_keras, text, reason):
    with pytest.raises(ModelError, match=reason):
        look(write_keras(text))


def test_deep_nesting_that_json_can_read_is_refused(write_keras):
    deep = DENSE
    for _ in range(40):
        deep = layer("TimeDistributed", layer=deep)
    with pytest.raises(ModelError, match="nested too deeply"):
        look(write_keras(sequential(deep)))


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (("../outside.txt", "x"), "contains '../outside.txt'"),
        (("assets/../../x", "x"), r"contains 'assets/\.\./\.\./x'"),
        (("weights.npz", "x"), "contains 'weights.npz'"),
        (("assets/bomb", b"\0" * 80 * 2**20), "unpacks to far more"),
    ],
)
def test_an_archive_with_odd_members_is_refused(write_keras, member, reason):
    with pytest.raises(ModelError, match=reason):
        look(write_keras(sequential(DENSE), members=[member]))


def external_link(store):
    store["layers/dense/vars/2"] = h5py.ExternalLink("/etc/passwd", "/")


def external_dataset(store):
    store.create_dataset("d", (4,), "f4", external=[("/etc/passwd", 0, 16)])


def soft_link(store):
    store["again"] = h5py.SoftLink("/layers")


def empty_giant(store):
    store.create_dataset("giant", (2**30,), "f4", chunks=(2**20,))


def pickled(store):
    store.create_dataset("objects", data=["text"], dtype=h5py.string_dtype())


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (external_link, "point to another place"),
        (external_dataset, "point to another place"),
        (soft_link, "point to another place"),
        (empty_giant, "more numbers than the file holds"),
        (pickled, "are not numbers"),
    ],
)
def test_weights_that_are_not_in_the_file_are_refused(write_keras, write_h5, fill, reason):
    for path in (write_keras(sequential(DENSE), fill=fill), write_h5(sequential(DENSE), fill=fill)):
        with pytest.raises(ModelError, match=reason):
            look(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"\x80\x04\x95", "a Python pickle"),
        (b"a,b\n1,2\n", "is not a Keras model file"),
        (b"PK\x03\x04 not a zip", "damaged or incomplete"),
        (b"\x89HDF\r\n\x1a\n not HDF5", "damaged or incomplete"),
    ],
)
def test_other_files_are_named_for_what_they_are(tmp_path, content, reason):
    path = tmp_path / "stored-under-a-digest"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=reason) as caught:
        look(path, name="mine.keras")
    assert "'mine.keras'" in caught.value.wrong
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_called_damaged(write_keras, write_h5, share):
    for path in (write_keras(sequential(DENSE)), write_h5(sequential(DENSE))):
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        with pytest.raises(ModelError, match="damaged or incomplete"):
            look(path)


def test_a_zip_of_something_else_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(ModelError, match="not one that Keras wrote"):
        look(tmp_path / "book.xlsx")


def test_weights_without_their_model_are_refused(write_h5):
    with pytest.raises(ModelError, match="holds weights only"):
        look(write_h5(None))


def test_a_model_for_images_says_the_shape_of_a_row_and_what_scales_it(write_keras):
    picture = layer("InputLayer", batch_shape=[None, 8, 8, 3], dtype="float32", name="picture")
    scaled = [picture, layer("Rescaling", scale=0.1), DENSE]
    for layers, scaler in (([picture, DENSE], ""), (scaled, "Rescaling")):
        config = {"module": "keras", "class_name": "Sequential", "config": {"layers": layers}}
        (found,) = look(write_keras(config)).inputs
        assert (found.shape, found.width, found.scaler) == ((8, 8, 3), None, scaler)


def test_random_damage_always_ends_in_a_named_error_or_a_model(write_keras):
    path = write_keras(sequential(DENSE))
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = whole.copy()
        where = rng.integers(0, whole.size, rng.integers(1, 6))
        damaged[where] = rng.integers(0, 256, where.size)
        path.write_bytes(damaged.tobytes())
        with contextlib.suppress(ModelError):
            assert look(path).inputs


def test_no_library_that_reads_models_is_imported_to_look_at_a_file(write_keras):
    path = write_keras(sequential(DENSE))
    code = (
        "import sys, pathlib; from hetcal.models.file import inspect_model; "
        f"inspect_model(pathlib.Path({str(path)!r})); "
        "assert not {'keras', 'tensorflow', 'h5py'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_child_finds_the_same_and_refuses_in_the_same_words(write_keras, write_h5):
    x = named(layer("InputLayer", name="x", batch_shape=[None, 3], dtype="float32"))
    config = functional({"x": ["x", 0, 0]}, [["dense", 0, 0]], x, named(DENSE, "x"))
    path = write_keras(config)
    assert inspect_model(path).description == look(path)
    assert inspect_model(path, name="mine").name == "mine"
    path = write_h5(sequential(LAMBDA))
    with pytest.raises(ModelError) as here:
        look(path, "mine \0\n\ud800")
    with pytest.raises(ModelError) as there:
        inspect_model(path, name="mine \0\n\ud800")
    assert str(there.value) == str(here.value)


def in_place_of_the_look(monkeypatch, code):
    monkeypatch.setattr(model_file, "command_line", lambda module: [sys.executable, "-c", code])


ENDLESS = "import signal; signal.alarm(1)\nwhile True: pass"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ENDLESS, "could not be read within 10 s"),
        ("import os; os.abort()", "damaged or incomplete"),
        ("print('no JSON')", "damaged or incomplete"),
        ("print('{\"model\": 1}')", "damaged or incomplete"),
        ('print(\'{"model": {"format": "keras"}}\')', "description of the model is incomplete"),
    ],
)
def test_a_child_that_fails_is_told_in_three_sentences(write_keras, monkeypatch, code, reason):
    in_place_of_the_look(monkeypatch, code)
    with pytest.raises(ModelError, match=reason):
        inspect_model(write_keras(sequential(DENSE)))


def test_a_child_that_does_not_end_is_ended(write_keras, monkeypatch):
    in_place_of_the_look(monkeypatch, "import time; time.sleep(600)")
    monkeypatch.setattr(model_file, "_START", -9.0)
    with pytest.raises(ModelError, match="could not be read within 10 s"):
        inspect_model(write_keras(sequential(DENSE)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"parameters": "4"},
        {"outputs": [5]},
        {"inputs": [{"name": "x", "width": True}]},
        {"inputs": [{"name": "x", "width": 1, "reach": ["4"]}]},
    ],
)
def test_nothing_that_the_child_says_is_taken_on_trust(write_keras, wrong):
    path = write_keras(sequential(DENSE))
    said = json.loads(json.dumps({**asdict(look(path)), **wrong}))
    with pytest.raises(ModelError, match="wrong types"):
        model_file.described(path, "m", "0", said)


def spots(value, path=()):
    """Every place inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from spots(inner, (*path, key))


@pytest.mark.parametrize("put", [None, [], {}, 5, "x", ["x", 0, 0], [None] * 4])
def test_any_one_value_of_a_description_may_be_wrong(write_keras, put):
    x = named(layer("InputLayer", name="x", batch_shape=[None, 3], dtype="float32"))
    config = functional({"x": ["x", 0, 0]}, [["dense", 0, 0]], x, named(DENSE, "x"))
    for path in list(spots(config)):
        changed = json.loads(json.dumps(config))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = put
        with contextlib.suppress(ModelError):
            assert look(write_keras(changed)).inputs


def test_without_h5py_a_model_file_is_refused_with_the_command_that_installs_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("hetcal.models.process.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"'h5py' is not installed\. .*\.\[keras\]\""):
        inspect_model(tmp_path / "model.keras")
