"""Descriptions and files of models, written by hand."""

import h5py
import numpy as np


def layer(class_name, module="keras.layers", **config):
    config = {"name": class_name.lower(), **config}
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def sequential(*layers):
    shape = layer("InputLayer", batch_shape=[None, 3], dtype="float32", name="x")
    config = {"name": "sequential", "layers": [shape, *layers]}
    return {"module": "keras", "class_name": "Sequential", "config": config}


DENSE = layer("Dense", units=1, activation="sigmoid")


def write_weights(path, fill=None):
    with h5py.File(path, "w") as store:
        store["layers/dense/vars/0"] = np.zeros((3, 1), np.float32)
        store["layers/dense/vars/1"] = np.zeros(1, np.float32)
        store["optimizer/vars/0"] = np.zeros(50, np.float32)
        if fill is not None:
            fill(store)


def without_modules(value):
    """The older format names classes without their modules."""
    if isinstance(value, dict):
        return {k: without_modules(v) for k, v in value.items() if k != "module"}
    return [without_modules(v) for v in value] if isinstance(value, list) else value


def functional(inputs, outputs, *layers):
    config = {"name": "f", "layers": [*layers], "input_layers": inputs, "output_layers": outputs}
    return {"module": "keras.src.models.functional", "class_name": "Functional", "config": config}


def named(part, *feeders):
    nodes = [{"args": [{"config": {"keras_history": [each, 0, 0]}} for each in feeders]}]
    return {**part, "name": part["config"]["name"], "inbound_nodes": nodes}


LAMBDA = layer("Lambda", function={"class_name": "__lambda__", "config": {"code": "4wEA"}})
SNEAKY = {"class_name": "function", "config": "set_floatx", "module": "keras.config"}
