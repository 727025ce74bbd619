"""Work of the child process on other formats: ONNX and LiteRT, and what a server warms up with.

ONNX and LiteRT hold no text in the model. Text becomes a number before it: missing (empty) text is
0, text that neither the network nor the tree knows is 1, and what they know follows in order. ONNX
does that itself.
"""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hetcal.errors import ExportError

Tensor = Any  # of Keras
Document = dict[str, Any]
OPSET = 17
ONNX, LITE = "model.onnx", "model.tflite"
ABOUT = "hetcal.json"
CODE = "hetcal_code_"  # begins the names of inputs inside that are numbers of texts
UNKNOWN = "\ue000"  # a text that no vocabulary has


def texts_of(network: Any, categories: list[str]) -> list[str]:
    """Return all texts that a network, whose layers look text up, and a tree know."""
    known = set(categories)
    for layer in network.layers if network is not None else ():
        if type(layer).__name__ == "StringLookup":
            known.update(map(str, layer.get_vocabulary(include_special_tokens=False)))
            known.add(layer.mask_token or "")
    return sorted(known - {"", UNKNOWN})


def only_looks_up(network: Any) -> bool:
    """Whether layers StringLookup alone read the text of a network, one text of each input."""
    import keras

    if isinstance(network, keras.Sequential):
        return False
    read = [
        each
        for each in network.get_config()["layers"]
        if '"dtype": "string"' in json.dumps(each["inbound_nodes"])
    ]
    wide = [each for each in network.inputs if each.dtype == "string" and each.shape[1:] != (1,)]
    return not wide and all(
        each["class_name"] == "StringLookup"
        and each["config"]["num_oov_indices"] == 1
        and not each["config"]["invert"]
        and not each["config"]["sparse"]
        for each in read
    )


def with_codes(network: Any, inputs: Any, texts: list[str]) -> Any:
    """Let a network look codes up where it looked text up, with the weights that it has."""
    import keras

    def coded(layer: Any) -> Any:
        if type(layer).__name__ == "StringLookup":
            return _lookup(layer, ["", UNKNOWN, *texts])
        return layer

    try:
        return keras.models.clone_model(network, input_tensors=inputs, clone_function=coded)
    except (TypeError, ValueError) as error:
        raise not_held("its layers for text cannot take numbers") from error


def _lookup(layer: Any, texts: list[str]) -> Callable[[Tensor], Tensor]:
    import tensorflow as tf
    from keras import ops

    if layer.num_oov_indices > 1 or layer.invert:
        raise not_held(f"its layer '{layer.name}' does more than to look text up")
    if layer.output_mode == "int":
        table = np.asarray(layer(tf.constant(texts)))
        return lambda codes: ops.take(table, codes)
    table = np.asarray(layer(tf.constant(texts)[:, None]))  # of inputs that are one text wide
    return lambda codes: ops.reshape(ops.take(table, codes, axis=0), (-1, table.shape[1]))


def not_held(why: str) -> ExportError:
    """Say that a format cannot hold a network."""
    return ExportError(
        f"The format cannot hold the network: {why}.",
        "ONNX and LiteRT hold networks of common layers, whose text goes through StringLookup.",
        "Choose the format 'keras' or 'savedmodel', or 'python', which takes the score.",
    )


def write_onnx(model: Any, request: Document, texts: list[str]) -> None:
    """Write a model whose inputs have the names of the columns, and take text."""
    import onnx
    import tensorflow as tf
    import tf2onnx

    layers = request["layers"]
    specs = {
        name: tf.TensorSpec(each.shape, each.dtype, layers[name])
        for name, each in model.input.items()
    }
    traced = tf.function(lambda rows: model(rows, training=False), input_signature=[specs])
    exact: dict[str, Any] = {"SelectV2": (_where, [])}
    written, _ = tf2onnx.convert.from_function(
        traced, [specs], opset=OPSET, custom_op_handlers=exact
    )
    graph = written.graph
    _fix(graph, traced.get_concrete_function())
    names = {layer: name for name, layer in request["layers"].items()}
    known = {each.name for each in graph.input}
    foreign = sorted(known - set(names))  # of what tf2onnx could not convert
    if foreign:
        raise not_held(f"it has operations that ONNX has not ({', '.join(foreign)})")
    coded = {each.name for each in model.inputs if each.name in request["coded"]}
    _rename(
        graph, {each: f"hetcal_code_{each}" if each in coded else names[each] for each in known}
    )
    for each in graph.input:
        if each.name.startswith(CODE):
            _encode(graph, each, names[each.name.removeprefix(CODE)], texts)
    ml = onnx.helper.make_opsetid("ai.onnx.ml", 2)
    kept = [each for each in written.opset_import if each.domain != "ai.onnx.ml"]
    del written.opset_import[:]
    written.opset_import.extend([*kept, ml])
    written.producer_name = "hetcal"
    onnx.helper.set_model_props(written, {"hetcal": json.dumps(request["about"])})
    onnx.checker.check_model(written)
    onnx.save(written, ONNX)


def _where(graph: Any, node: Any, name: str, more: Any) -> None:
    """Choose between two values; tf2onnx adds them up, times 0 and 1, which spoils them by NaN."""
    node.type = "Where"


def _fix(graph: Any, traced: Any) -> None:
    """Put numbers that layers hold beside their weights into the graph."""
    from onnx import numpy_helper

    held = {inside.name: given for given, inside in traced.graph.captures}
    kept = [each for each in graph.input if each.name not in held]
    for each in graph.input:
        if each.name in held:
            graph.initializer.append(numpy_helper.from_array(held[each.name].numpy(), each.name))
    del graph.input[:]
    graph.input.extend(kept)


def _rename(graph: Any, names: dict[str, str]) -> None:
    for each in graph.input:
        each.name = names[each.name]
    for node in graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)


def _encode(graph: Any, given: Any, name: str, texts: list[str]) -> None:
    """Put what turns text into codes before an input."""
    from onnx import TensorProto, helper

    keys = ["", *texts]
    values = [0, *range(2, len(keys) + 1)]
    wide = f"{given.name}_wide"
    look = {"keys_strings": keys, "values_int64s": values, "default_int64": 1}
    nodes = [
        helper.make_node("LabelEncoder", [name], [wide], domain="ai.onnx.ml", **look),
        helper.make_node("Cast", [wide], [given.name], to=TensorProto.INT32),
    ]
    for node in reversed(nodes):
        graph.node.insert(0, node)
    given.name = name
    given.type.tensor_type.elem_type = TensorProto.STRING


def write_lite(model: Any, request: Document, texts: list[str]) -> None:
    """Write a model whose inputs are numbers, and behind it what text stands for which number."""
    import keras
    import tensorflow as tf

    # The converter names inputs by their layers, and takes a model that Keras has called.
    by_layer = keras.Model(list(model.inputs), model.output)
    by_layer([tf.zeros((1, *each.shape[1:]), each.dtype) for each in model.inputs])
    converter = tf.lite.TFLiteConverter.from_keras_model(by_layer)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    content = io.BytesIO(converter.convert())
    codes = {"": 0, **{text: code for code, text in enumerate(texts, 2)}}
    about = {**request["about"], "codes": codes, "other": 1}
    with zipfile.ZipFile(content, "a") as archive:  # as files that belong to such a model are
        archive.writestr(zipfile.ZipInfo(ABOUT, (1980, 1, 1, 0, 0, 0)), json.dumps(about, indent=1))
    Path(LITE).write_bytes(content.getvalue())


def run_onnx(rows: Document) -> Any:
    """Return the probabilities of rows by ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(ONNX, options, providers=["CPUExecutionProvider"])
    types = {"float": "float32", "double": "float64", "string": "object"}
    given = {}
    for each in session.get_inputs():
        kind = each.type.removeprefix("tensor(").removesuffix(")")
        given[each.name] = np.array(rows[each.name], dtype=types.get(kind, kind))
    return session.run(None, given)[0]


def run_lite(rows: Document) -> Any:
    """Return the probabilities of rows by LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    with zipfile.ZipFile(LITE) as archive:
        about = json.loads(archive.read(ABOUT))
    runner = Interpreter(LITE, num_threads=1).get_signature_runner()
    given = {}
    for name, detail in runner.get_input_details().items():
        values = np.array(rows[name], dtype=object)
        if values.size and isinstance(values.flat[0], str):
            values = np.vectorize(lambda text: about["codes"].get(text, about["other"]))(values)
        given[name] = values.astype(detail["dtype"])
    (found,) = runner(**given).values()
    return found


def warm_up(path: Path, rows: Document) -> None:
    """Write requests that TensorFlow Serving sends to itself before it takes others: 1 and 10 rows.

    They are records of the message PredictionLog of TensorFlow Serving, whose own package is not
    needed to write these few fields.
    """
    import tensorflow as tf

    path.parent.mkdir(parents=True, exist_ok=True)
    spec = _field(1, b"calibrated") + _field(3, b"serving_default")
    with tf.io.TFRecordWriter(str(path)) as records:
        for many in (1, 10):
            request = _field(1, spec)
            for name, values in rows.items():
                tensor = tf.make_tensor_proto(values[:many])
                request += _field(
                    2, _field(1, name.encode()) + _field(2, tensor.SerializeToString())
                )
            records.write(_field(6, _field(1, request)))


def _field(number: int, content: bytes) -> bytes:
    """Write a field of a message of Protocol Buffers that has a length."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Write a whole number, seven bits a byte.

    >>> _varint(300).hex()
    'ac02'
    """
    high, low = divmod(value, 128)
    return bytes([low | 128]) + _varint(high) if high else bytes([low])
