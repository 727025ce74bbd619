import pytest

from hetcal.models.config import ModelLayer, read_layers


def tensor(name, shape, index=0, dtype="float32"):
    history = {"shape": shape, "dtype": dtype, "keras_history": [name, 0, index]}
    return {"class_name": "__keras_tensor__", "config": history}


def layer(kind, name, *inputs, **more):
    nodes = [{"args": [list(inputs)], "kwargs": {}}] if inputs else []
    return {"class_name": kind, "config": {"name": name}, "inbound_nodes": nodes, **more}


def functional(*layers):
    return {"class_name": "Functional", "config": {"layers": list(layers)}}


def test_a_layer_is_as_wide_as_what_the_next_layer_takes():
    config = functional(
        layer("InputLayer", "x"),
        layer("Conv2D", "conv", tensor("x", [None, 4, 4, 1])),
        layer("Flatten", "flat", tensor("conv", [None, 3, 3, 2])),
        layer("Dense", "last", tensor("flat", [None, 18])),
    )
    assert read_layers(config) == (
        ModelLayer("conv", "Conv2D", 18),
        ModelLayer("flat", "Flatten", 18),
    )


def test_of_several_outputs_the_first_one_is_meant():
    config = functional(
        layer("LSTM", "lstm"),
        layer("Add", "sum", tensor("lstm", [None, 6], 1), tensor("lstm", [None, 7, 6], 0)),
        layer("Dense", "last", tensor("sum", [None, 6])),
    )
    assert read_layers(config)[0] == ModelLayer("lstm", "LSTM", 42)


def test_a_width_that_varies_is_not_known():
    config = functional(
        layer("Embedding", "words"), layer("Dense", "last", tensor("words", [None, None, 8]))
    )
    assert read_layers(config) == (ModelLayer("words", "Embedding", None),)


def test_layers_of_a_model_inside_the_model_come_with_its_name():
    inner = functional(
        layer("InputLayer", "x"),
        layer("Dense", "hidden", tensor("x", [None, 3])),
        layer("Dense", "last", tensor("hidden", [None, 5])),
    )
    inner["config"]["name"] = "encoder"
    inner["inbound_nodes"] = [{"args": [tensor("y", [None, 3])], "kwargs": {}}]
    last = layer("Dense", "last", tensor("encoder", [None, 2]))
    assert read_layers(functional(layer("InputLayer", "y"), inner, last)) == (
        ModelLayer("encoder/hidden", "Dense", 5),
        ModelLayer("encoder", "Functional", 2),
    )
    inner["inbound_nodes"] *= 2
    assert read_layers(functional(inner, last)) == ()


@pytest.mark.parametrize(("dtype", "listed"), [("bfloat16", 1), ("int64", 0), ("bool", 0)])
def test_a_layer_gives_fractions(dtype, listed):
    last = layer("Dense", "last", tensor("hidden", [None, 3], dtype=dtype))
    assert len(read_layers(functional(layer("Dense", "hidden"), last))) == listed


def test_a_layer_that_is_used_twice_is_left_out():
    shared = layer("Dense", "shared", tensor("x", [None, 3]))
    shared["inbound_nodes"] *= 2
    last = layer("Dense", "last", tensor("shared", [None, 3]))
    assert read_layers(functional(shared, last)) == ()


def test_older_files_name_layers_without_their_width():
    hidden = {"class_name": "Dense", "config": {"name": "hidden"}}
    config = functional(
        {**hidden, "inbound_nodes": [[["x", 0, 0, {}]]]},
        {
            "class_name": "Dense",
            "config": {"name": "last"},
            "inbound_nodes": [[["hidden", 0, 0, {}]]],
        },
    )
    assert read_layers(config) == (ModelLayer("hidden", "Dense", None),)


@pytest.mark.parametrize(
    ("built", "width"),
    [({"input_shape": [None, 8]}, 8), ({"input_shape": None}, None), (None, None)],
)
def test_in_a_sequence_the_next_layer_knows_what_it_was_built_on(built, width):
    layers = [
        {"class_name": "InputLayer", "config": {"name": "x"}},
        {"class_name": "Dense", "config": {"name": "hidden"}},
        {"class_name": "Dense", "config": {"name": "last"}, "build_config": built},
    ]
    config = {"class_name": "Sequential", "config": {"layers": layers}}
    assert read_layers(config) == (ModelLayer("hidden", "Dense", width),)
