"""The child process that joins a network, the tree and its maps to one model of Keras' own parts.

It is shut in like every process that opens a model. Its directory holds `request.json`, whose
`command` is

- `fuse`: join the network in the directory and the steps, and write `fused.keras`,
- `export`: write the model in `fused.keras` as a SavedModel, into the folder `saved`, with requests
  of the rows of `rows.json`,
- `onnx`, `tflite`: join them to a model of numbers, and write it in that format,
- `serve`, `run onnx`, `run tflite`: score the rows of `rows.json` by what was written, and write
  `found.npy`.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.data.columns import single_limits
from hetcal.errors import ExportError, HetcalError
from hetcal.exports.converted import (
    UNKNOWN,
    not_held,
    only_looks_up,
    run_lite,
    run_onnx,
    texts_of,
    warm_up,
    with_codes,
    write_lite,
    write_onnx,
)
from hetcal.exports.prepared import prepared
from hetcal.models.keras_internals import import_keras
from hetcal.models.sandbox import Limits, confine
from hetcal.models.worker import (
    activation_of,
    explain,
    last_operation,
    load,
    readable,
    use_one_thread,
)

Tensor = Any  # of Keras
Document = dict[str, Any]
Codes = dict[str, tuple[Tensor, list[int]]]  # of an input, with the tree's code for each of them
FARTHEST = 1_000.0  # a logit beyond has the probability 0 or 1, and may be infinite as a single
BATCH = 1_000  # rows at a time: a row through many trees takes memory
WIDE = 20_000  # places of a pair of columns; of more it is looked up by its own entries
FEW = 64  # numbers of one tree that are joined one by one
LARGEST = float(np.finfo(np.float32).max)
BEYOND = 1e37  # a number farther than that gives what the largest one gives
PROBED = (np.nan, LARGEST, np.inf, -LARGEST, -np.inf)
FUSED, REQUEST = "fused.keras", "request.json"
SAVED, VERSION = "saved", "1"  # a server looks for versions below the folder of a model
WARM_UP = "tf_serving_warmup_requests"  # the name by which TensorFlow Serving finds them
GIVEN, FOUND = "rows.json", "found.npy"


def main() -> None:
    """Carry out the request in the current directory."""
    import_keras()
    request = json.loads(Path(REQUEST).read_text(encoding="utf-8"))
    confine(Limits(**request["limits"]))
    use_one_thread()
    try:
        COMMANDS[request["command"]](request)
    except HetcalError as error:
        _say(error)
    except Exception as error:
        _say(explain(error, "network"))


def _fuse(request: Document) -> None:
    fused_model(request).save(FUSED)


def _export(request: Document) -> None:
    import tensorflow as tf

    load(Path(FUSED)).export(f"{SAVED}/{VERSION}", verbose=False)
    rows = json.loads(Path(GIVEN).read_text(encoding="utf-8"))
    _, specs = (
        tf.saved_model.load(f"{SAVED}/{VERSION}")
        .signatures["serving_default"]
        .structured_input_signature
    )
    typed = {name: np.array(rows[name], each.dtype.as_numpy_dtype) for name, each in specs.items()}
    warm_up(Path(SAVED, VERSION, "assets.extra", WARM_UP), typed)


def _serve(request: Document) -> None:
    """Call the signature with tensors of the types that it names."""
    import tensorflow as tf

    loaded = tf.saved_model.load(f"{SAVED}/{VERSION}")
    signature = loaded.signatures["serving_default"]
    rows = json.loads(Path(GIVEN).read_text(encoding="utf-8"))
    _, specs = signature.structured_input_signature
    given = {name: tf.constant(rows[name], spec.dtype) for name, spec in specs.items()}
    found = []
    for begin in range(0, len(next(iter(rows.values()))), BATCH):
        part = {name: each[begin : begin + BATCH] for name, each in given.items()}
        found += [each.numpy() for each in signature(**part).values()]
    np.save(FOUND, np.concatenate(found).astype(np.float32))


def _convert(request: Document) -> None:
    """Write the model in a format whose models take no text."""
    network = None if request["model"] is None else load(*readable(Path(request["model"])))
    known = _known_texts(request)
    texts = texts_of(network, [text for each in known.values() for text in each])
    coded = list(known)
    for tensor in [] if network is None else network.inputs:
        coded += [request["inputs"][tensor.name]] if tensor.dtype == "string" else []
    coded = [request["layers"][name] for name in coded]
    write = {"onnx": write_onnx, "tflite": write_lite}[request["command"]]
    try:
        write(fused_model(request | {"texts": texts}), request | {"coded": coded}, texts)
    except HetcalError:
        raise
    except Exception as error:  # of whatever the network has that the format has not
        first = str(error).strip().partition("\n")[0]
        raise not_held(f"the model cannot be written ({first[:200]})") from error


def _known_texts(request: Document) -> dict[str, list[str]]:
    """Return what tree and steps know of the text of an input, by its name."""
    columns = [each for each in request["document"]["columns"] if each["kind"] == "category"]
    read = [each for each in columns if each["name"] in request["names"]]
    steps = [each for columns in request["prepared"].values() for each in columns if each["text"]]
    known = {each["name"]: list(each["codes"]) for each in steps}
    for each in read:
        name = request["names"][each["name"]]
        known[name] = [*known.get(name, ()), *each["categories"]]
    return known


def _run(request: Document) -> None:
    rows = json.loads(Path(GIVEN).read_text(encoding="utf-8"))
    found = {"run onnx": run_onnx, "run tflite": run_lite}[request["command"]](rows)
    np.save(FOUND, np.asarray(found, np.float32))


COMMANDS: dict[str, Callable[[Document], None]] = {
    **{"fuse": _fuse, "export": _export, "serve": _serve},
    **dict.fromkeys(("onnx", "tflite"), _convert),
    **dict.fromkeys(("run onnx", "run tflite"), _run),
}


def _say(error: HetcalError) -> None:
    said = {"wrong": error.wrong, "needed": error.needed, "remedy": error.remedy}
    sys.stdout.write(json.dumps({"error": said}) + "\n")
    sys.exit(1)


def request_of(command: str, limits: Limits, **more: Any) -> bytes:
    """Write a request."""
    return json.dumps({"command": command, "limits": asdict(limits), **more}).encode()


def layer_names(inputs: Sequence[str]) -> dict[str, str]:
    """Name the layers of inputs: as the input, where Keras and TensorFlow take such a name.

    >>> layer_names(["age", "the city's name"])
    {'age': 'age', "the city's name": 'hetcal_input_2'}
    """
    plain = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
    return {
        name: name if plain.fullmatch(name) else f"hetcal_input_{number}"
        for number, name in enumerate(inputs, 1)
    }


def fusion(
    document: Document, network: Document | None, names: dict[str, str], layers: dict[str, str]
) -> Document:
    """Return what a request to fuse has.

    Logits are in double precision, and text stays text.

    `network` has `model` (the file), `inputs` (their names by layer), `prepared` (the columns of
    those that steps prepare), `output` and `unit`; `names` has the input of each column, which may
    be one of the network's, and `layers` the name of the layer of every input.
    """
    found = {"document": document, "names": names, "layers": layers, "model": None, "prepared": {}}
    return found | {"precision": "float64", "texts": None} | (network or {})


def fused_model(request: Document) -> Any:
    """Build the model: inputs by name, one output, the calibrated probability."""
    import keras

    document, precision = request["document"], request["precision"]
    given: dict[str, Tensor] = {}
    codes: Codes = {}
    if request["model"] is not None:
        score = _network_logit(request, given, codes)
    else:
        name = document["score"]["column"]
        given[name] = keras.Input((1,), name=request["layers"][name], dtype=precision)
        score = _given_logit(document["score"], given[name])
    columns = [
        _column(each, request, given, codes) if each["name"] in request["names"] else None
        for each in document["columns"]
    ]
    read = [codes.get(request["names"].get(each["name"])) for each in document["columns"]]
    orders = [None if each is None else each[1] for each in read]
    logit = _Steps(document, columns, orders, precision).apply(score)
    logit = keras.ops.clip(logit, -FARTHEST, FARTHEST)
    if request["texts"] is None:
        probability = _probability(logit + (score - score))  # NaN if it is not finite
    else:  # runtimes take NaN for a number in a sigmoid, and the largest single for infinity
        near = keras.ops.less(keras.ops.abs(score), _farthest(precision))
        lost = keras.ops.where(near, np.float32(0.0), np.float32(np.nan))
        probability = _probability(logit) + lost
    return keras.Model(given, probability, name="hetcal_calibrated")


def _farthest(precision: str) -> float:
    return LARGEST if precision == "float32" else float(np.finfo(np.float64).max)


def _probability(logit: Tensor) -> Tensor:
    import keras

    single = keras.ops.cast(logit, "float32")
    return keras.layers.Activation("sigmoid", name="calibrated_probability")(single)


def _given_logit(score: Document, given: Tensor) -> Tensor:
    from keras import ops

    if score["kind"] == "logit":
        return given
    p = ops.clip(given, score["clip"], 1 - score["clip"]) + (given - given)
    return ops.log(p / (1 - p))


def _network_logit(request: Document, given: dict[str, Tensor], codes: Codes) -> Tensor:
    """Call the network without its last activation, and take the logit of the positive unit.

    Also note its inputs, and the codes of what it looks up itself.
    """
    import keras

    network = load(*readable(Path(request["model"])))
    inputs = {}
    for tensor in network.inputs:
        name = request["inputs"][tensor.name]
        if name in request["prepared"]:
            read = [prepared(each, request, given) for each in request["prepared"][name]]
            joined = keras.ops.concatenate(read, axis=1) if len(read) > 1 else read[0]
            inputs[tensor.name] = keras.ops.cast(joined, tensor.dtype)
            continue
        coded = tensor.dtype == "string" and request["texts"] is not None
        inputs[tensor.name] = given[name] = keras.Input(
            tensor.shape[1:],
            dtype="int32" if coded else tensor.dtype,
            name=request["layers"][name],
        )
    last = last_operation(network, request["output"])
    activation = activation_of(last)
    if activation in ("sigmoid", "softmax") and hasattr(last, "activation"):
        last.activation = keras.activations.linear
    elif activation != "linear":
        raise ExportError(
            f"The network ends in {activation or 'a layer without an activation'!r}.",
            "To be joined with the maps it has to end in a sigmoid, a softmax or a linear layer.",
            "Choose the format 'python' or 'sql', which take the score as a column.",
        )
    if request["texts"] is None:
        called = _with_one_lookup(network, inputs, request, codes)
    else:
        called = with_codes(network, _arranged(network, inputs), request["texts"])
    flat = _chosen(called, called(_arranged(network, inputs)), request)
    logits = keras.ops.cast(flat, request["precision"])
    if request["texts"] is not None:
        for name, lost in _losses(network, request).items():
            logits = logits + keras.ops.cast(_nothing(inputs[name], lost), logits.dtype)
    return _positive_logit(logits, flat.shape[1], request["unit"], activation)


def _arranged(network: Any, by_name: dict[str, Any]) -> Any:
    """Return what a network is called with; a sequential one names its input as a list of one."""
    import keras

    taken = network.inputs[0] if isinstance(network, keras.Sequential) else network.input
    return keras.tree.map_structure(lambda each: by_name[each.name], taken)


def _with_one_lookup(
    network: Any, inputs: dict[str, Tensor], request: Document, codes: Codes
) -> Any:
    """Let the network read codes where the tree reads the same text, and note these codes.

    To look text up a second time would take as long as the tree.
    """
    import keras

    known, words = _known_texts(request), {}
    for tensor in network.inputs:
        if tensor.dtype == "string":
            words[request["inputs"][tensor.name]] = tensor.name
    if not set(words) & set(known) or not only_looks_up(network):
        return network
    texts = texts_of(network, [text for name in words for text in known.get(name, ())])
    looked = dict(inputs)
    for layer in words.values():
        lookup = keras.layers.StringLookup(vocabulary=texts, mask_token="", oov_token=UNKNOWN)
        looked[layer] = keras.ops.cast(lookup(inputs[layer]), "int32")
    try:
        coded = with_codes(network, _arranged(network, looked), texts)
    except ExportError:  # this only saves time
        return network
    inputs |= looked
    for column in request["document"]["columns"]:
        name = request["names"].get(column["name"])
        if name in words:
            own = {each: code for code, each in enumerate(column["categories"], 2)}
            codes[name] = inputs[words[name]], [0, 1, *(own.get(each, 1) for each in texts)]
    return coded


def _chosen(network: Any, outputs: Any, request: Document) -> Tensor:
    """Return the units of the output that is asked for, rows x units."""
    import keras

    if isinstance(outputs, dict):
        outputs = outputs[request["output"]] if len(outputs) > 1 else next(iter(outputs.values()))
    elif isinstance(outputs, list | tuple):
        outputs = outputs[network.output_names.index(request["output"] or network.output_names[0])]
    return keras.layers.Reshape((prod(outputs.shape[1:]),))(outputs)


def _losses(network: Any, request: Document) -> dict[str, Any]:
    """Find out which values cost a row its score: other runtimes take them for numbers somewhere.

    Returns for inputs of numbers, unit by unit, whether each of `PROBED` does.
    """
    import tensorflow as tf

    found = {}
    for tensor in network.inputs:
        width = None if None in tensor.shape[1:] else prod(tensor.shape[1:])
        if tensor.dtype != "float32" or width is None:
            continue
        one = np.eye(width, dtype=bool)
        values = np.concatenate([np.where(one, np.float32(each), 0) for each in PROBED])
        rows = {
            each.name: tf.constant(values.reshape(-1, *each.shape[1:]))
            if each is tensor
            else tf.zeros((len(values), *each.shape[1:]), each.dtype)
            for each in network.inputs
        }
        scores = np.asarray(_chosen(network, network(_arranged(network, rows)), request))
        found[tensor.name] = ~np.isfinite(scores).all(axis=1).reshape(len(PROBED), width)
    return found


def _nothing(given: Tensor, lost: Any) -> Tensor:
    """Return 0, or NaN for a row that has no score."""
    from keras import ops

    flat = ops.reshape(given, (-1, prod(given.shape[1:])))
    far = [(BEYOND, LARGEST), (LARGEST, np.inf), (-LARGEST, -BEYOND), (-np.inf, -LARGEST)]
    inside = [ops.isnan(flat)]
    for low, high in far:
        above = ops.greater(flat, low) if low > 0 else ops.greater_equal(flat, low)
        below = ops.less_equal(flat, high) if low > 0 else ops.less(flat, high)
        inside.append(ops.logical_and(above, below))
    wrong = [
        ops.logical_and(each, flags[None, :])
        for each, flags in zip(inside, lost, strict=True)
        if flags.any()
    ]
    total: Tensor = ops.zeros_like(flat)
    for each in wrong:
        total = total + ops.where(each, np.float32(np.nan), np.float32(0.0))
    return ops.sum(total, axis=1, keepdims=True)


def _positive_logit(outputs: Tensor, units: int, unit: int | None, activation: str) -> Tensor:
    """Return what `hetcal.models.outputs.to_logit` does."""
    from keras import ops

    if units == 1:
        return outputs
    positive = 1 if unit is None else unit
    own = ops.take(outputs, [positive], axis=1)
    if units == 2 and activation == "sigmoid":
        return own
    others = ops.take(outputs, [each for each in range(units) if each != positive], axis=1)
    return own - ops.logsumexp(others, axis=1, keepdims=True)


def _column(column: Document, request: Document, given: dict[str, Tensor], codes: Codes) -> Tensor:
    """Return the numbers of a column, or the codes of its categories."""
    import keras

    name, texts = request["names"][column["name"]], request["texts"]
    category = column["kind"] == "category"
    if name not in given:
        text = "string" if texts is None else "int32"
        layer = request["layers"][name]
        given[name] = keras.Input((1,), dtype=text if category else "float32", name=layer)
    if not category:
        return given[name]
    if name in codes:
        return codes[name][0]
    # Missing text is empty and has code 0, what is not known 1: see `_codes`.
    if texts is not None:
        own = {each: code for code, each in enumerate(["", None, *column["categories"]])}
        table = np.array([own.get(each, 1) for each in ["", None, *texts]], np.int32)
        return keras.ops.take(table, given[name])
    lookup = keras.layers.StringLookup(vocabulary=column["categories"], mask_token="")
    return lookup(given[name])


def _codes(values: list[Any], order: list[int] | None) -> list[Any]:
    """Put what belongs to each category, to others and to missing ones in the order of codes."""
    ours = [values[-1], values[-2], *values[:-2]]
    return ours if order is None else [ours[code] for code in order]


class _Steps:
    """The steps of a recipe on tensors: one row after the other."""

    def __init__(
        self,
        document: Document,
        columns: list[Tensor],
        orders: list[list[int] | None],
        precision: str,
    ) -> None:
        self.document = document
        self.columns = columns
        self.orders = orders  # of codes, where the network's own are read
        self.precision = precision  # of logits

    def apply(self, logit: Tensor) -> Tensor:
        for step in self.document["steps"]:
            logit = getattr(self, f"_{step['step']}")(step, logit)
        return logit

    def _tame(self, step: Document, logit: Tensor) -> Tensor:
        return _line(step, _tamed(step, logit))

    def _leaves(self, step: Document, logit: Tensor) -> Tensor:
        """Take the number of the leaf that a row is in out of those of all leaves."""
        from keras import ops

        inside, maps = self._inside(step["trees"][0], logit), step["maps"]
        if {each["kind"] for each in maps} <= {"affine"}:
            numbers = np.array([[each[key] for each in maps] for key in ("slope", "intercept")])
            slope, intercept = _of_leaf(inside, numbers, self.precision)
            return slope * logit + intercept
        finite = ops.where(ops.isfinite(logit), logit, ops.zeros_like(logit))
        mapped = _stacked([ops.reshape(_map(each, finite), (1, -1)) for each in maps])
        own = ops.where(inside, mapped, ops.zeros_like(mapped))
        return ops.reshape(ops.sum(own, axis=0), (-1, 1))

    def _mean(self, step: Document, logit: Tensor) -> Tensor:
        from keras import ops

        slope, intercept = self._lines(step)
        mean = [ops.mean(each, axis=1, keepdims=True) for each in (slope, intercept)]
        return mean[0] * logit + mean[1]

    def _nest(self, step: Document, logit: Tensor) -> Tensor:
        """Follow one line by the next: the slopes of later trees multiply what earlier ones add."""
        from keras import ops

        slope, intercept = self._lines(step)
        later = ops.flip(ops.cumprod(ops.flip(slope, axis=1), axis=1), axis=1)
        end = ops.ones_like(logit)
        total = ops.concatenate([later[:, 1:], end], axis=1) if len(step["trees"]) > 1 else end
        added = ops.sum(intercept * total, axis=1, keepdims=True)
        return later[:, :1] * logit + added

    def _lines(self, step: Document) -> tuple[Tensor, Tensor]:
        """Return slope and intercept of the leaf that a row is in, rows x trees."""
        trees = [self.document["trees"][tree] for tree in step["trees"]]
        leaves = max(map(len, step["slope"]))
        lines = np.zeros((len(trees), leaves, 2))
        for tree, own in enumerate(zip(step["slope"], step["intercept"], strict=True)):
            lines[tree, : len(own[0])] = np.array(own).T
        place = (
            self._leaves_of_trees(trees, leaves) + np.arange(len(trees), dtype=np.int32) * leaves
        )
        found = _many_looked_up(place, lines.reshape(-1, 2), self.precision)
        return found[:, :, 0], found[:, :, 1]

    def _leaves_of_trees(self, trees: list[list[list[Any]]], leaves: int) -> Tensor:
        """Return the leaf of each tree that a row is in, from 0, rows x trees.

        Trees are looked at side by side: what is said of a leaf in `_inside` holds here, too.
        """
        import keras
        from keras import ops

        splits = [
            (self._group(node), tree, at)
            for tree, nodes in enumerate(trees)
            for at, node in enumerate(nodes)
            if len(node) > 1
        ]
        splits.sort(key=lambda each: each[0])
        parts = [
            self._goes_left(column, [trees[tree][at] for _, tree, at in group])
            for column, group in ((key, list(each)) for key, each in groupby(splits, _first))
        ]
        most = max(sum(len(node) > 1 for node in nodes) for nodes in trees)
        order = np.full((len(trees), most), len(splits))  # of splits that are none: they say 0
        paths = np.zeros((len(trees), most, leaves), np.float32)
        lefts = np.full((len(trees), leaves), FARTHEST, np.float32)
        for tree, nodes in enumerate(trees):
            own = [(place, at) for place, (_, of, at) in enumerate(splits) if of == tree]
            path = _paths(nodes, [at for _, at in own])
            order[tree, : len(own)] = [place for place, _ in own]
            paths[tree, : path.shape[0], : path.shape[1]] = path
            lefts[tree, : path.shape[1]] = (path > 0).sum(axis=0)
        nothing = ops.zeros_like(parts[0][:1, :])
        sides = ops.take(_stacked([*parts, nothing]), order.ravel(), axis=0)
        sides = ops.reshape(ops.transpose(sides), (-1, *order.shape))
        agree = keras.layers.EinsumDense("btk,tkl->btl", (len(trees), leaves))
        found = agree(sides)
        agree.set_weights([paths])
        inside = ops.cast(ops.equal(found, lefts[None]), "int32")
        return ops.sum(inside * np.arange(leaves, dtype=np.int32), axis=2)

    def _add(self, step: Document, logit: Tensor) -> Tensor:
        """Look up what all terms add at once, in one table.

        Every column is placed once, among all limits of its terms. A pair is looked up by the
        places of both columns, together with their curves.
        """
        from keras import ops

        limits = _limits_of(step["terms"])
        if not limits:
            return _line(step, logit)
        order = sorted(limits, key=self._is_category)
        places = self._places({column: limits[column] for column in order})
        curves: dict[int, Floats] = {}
        pairs: dict[tuple[int, ...], Floats] = {}
        looked: list[Tensor] = []
        tables: list[Floats] = []
        for term in step["terms"]:
            values = np.array(term["values"]).reshape([each["entries"] for each in term["axes"]])
            rows = tuple(order.index(each["column"]) for each in term["axes"])
            entries = [self._entries(each, limits[each["column"]]) for each in term["axes"]]
            if len(rows) == 1:
                curves[rows[0]] = curves.get(rows[0], 0.0) + values[entries[0]]
            elif entries[0].size * entries[1].size <= WIDE:
                pairs[rows] = pairs.get(rows, 0.0) + values[np.ix_(*entries)]
            else:
                one, other = (
                    ops.take(own.astype(np.int32), places[row : row + 1, :])
                    for own, row in zip(entries, rows, strict=True)
                )
                looked.append(one * values.shape[1] + other)
                tables.append(values)
        if pairs:
            looked.append(_places_of_pairs(places, pairs))
            tables += [_with_curves(each, pairs[each], curves) for each in pairs]
        if curves:
            looked.append(ops.take(places, list(curves), axis=0))
            tables += curves.values()
        starts = np.cumsum([0, *(each.size for each in tables[:-1])]).astype(np.int32)
        table = np.concatenate([each.ravel() for each in tables])[:, None]
        found = _many_looked_up(_stacked(looked) + starts[:, None], table, self.precision)
        return _line(step, logit) + ops.sum(found, axis=0)

    def _is_category(self, column: int) -> bool:
        return self.document["columns"][column]["kind"] == "category"

    def _places(self, columns: dict[int, Floats]) -> Tensor:
        """Return where values are among the limits of their columns, columns x rows.

        Numbers are in the place of how many limits they are up to, those that are missing one
        after all. Categories come last, and are in the place of their code.
        """
        from keras import ops

        rows = {column: ops.reshape(self.columns[column], (1, -1)) for column in columns}
        numbers = {column: each for column, each in rows.items() if not self._is_category(column)}
        found = [ops.cast(each, "int32") for column, each in rows.items() if column not in numbers]
        if numbers:
            up_to = []
            for column, values in numbers.items():
                # Singles are added up faster than whole numbers, and these are exact.
                below = ops.cast(ops.less_equal(values, columns[column][:, None]), "float32")
                up_to.append(ops.sum(below, axis=0, keepdims=True))
            beyond = np.array([[columns[each].size + 1] for each in numbers], np.float32)
            missing = ops.isnan(_stacked(list(numbers.values())))
            placed = ops.where(missing, beyond, _stacked(up_to))
            found.insert(0, ops.cast(placed, "int32"))
        return _stacked(found)

    def _entries(self, axis: Document, limits: Floats) -> Ints:
        """Return the entry of an axis that each place among the limits of its column is in."""
        if "places" in axis:
            return np.array(_codes(axis["places"], self.orders[axis["column"]]))
        own = single_limits(np.array(axis["limits"]))
        return np.array([own.size, *np.searchsorted(own, limits)[::-1], axis["entries"] - 1])

    def _inside(self, tree: int, logit: Tensor) -> Tensor:
        """Return whether a row is in each leaf, leaves x rows.

        What the splits say of left, added where the path of a leaf goes left and subtracted where
        it goes right, is as large as its turns to the left only if its whole path agrees.
        """
        from keras import ops

        nodes = self.document["trees"][tree]
        if len(nodes) == 1:
            return ops.reshape(ops.ones_like(logit, dtype="bool"), (1, -1))
        splits = [at for at, node in enumerate(nodes) if len(node) > 1]
        splits.sort(key=lambda at: self._group(nodes[at]))
        path = _paths(nodes, splits).astype(np.float32)
        groups = groupby((nodes[at] for at in splits), key=self._group)
        sides = _stacked([self._goes_left(column, list(group)) for column, group in groups])
        lefts = (path > 0).sum(axis=0).astype(np.float32)
        return ops.equal(ops.matmul(path.T, sides), lefts[:, None])

    def _group(self, split: list[Any]) -> int:
        """Return the column of categories that a split reads; -1 for all of numbers."""
        return split[0] if isinstance(split[1], list) else -1

    def _goes_left(self, column: int, nodes: list[list[Any]]) -> Tensor:
        """Return 1 where a split sends the row left, splits of a group x rows."""
        from keras import ops

        if column >= 0:
            many = len(self.document["columns"][column]["categories"]) + 2
            left = np.array([[code in node[1] for node in nodes] for code in range(many)])
            table = np.array(_codes(list(left), self.orders[column]), np.float64)
            return ops.transpose(_looked_up(self.columns[column], table, "float32"))
        values = self._one_below_the_other([node[0] for node in nodes])
        endless, missing = (
            np.array(flags)[:, None] for flags in zip(*map(_flags, nodes), strict=True)
        )
        limits = np.array([0.0 if node[1] is None else node[1] for node in nodes])
        below = ops.less_equal(values, single_limits(limits)[:, None])  # no missing value is
        absent = ops.isnan(values) if endless.any() or missing.any() else None
        if endless.any():
            below = ops.logical_or(below, ops.logical_and(ops.logical_not(absent), endless))
        if missing.any():
            below = ops.logical_or(below, ops.logical_and(absent, missing))
        return ops.cast(below, "float32")

    def _one_below_the_other(self, columns: list[int]) -> Tensor:
        """Return columns of numbers, splits x rows.

        Of many trees each column is there many times.
        """
        from keras import ops

        read = sorted(set(columns)) if len(columns) > FEW else columns
        each = [ops.reshape(self.columns[column], (1, -1)) for column in read]
        values = _stacked(each)
        if read is columns:
            return values
        return ops.take(values, np.searchsorted(read, columns), axis=0)


def _first(split: tuple[int, int, int]) -> int:
    return split[0]


def _flags(node: list[Any]) -> tuple[bool, bool]:
    """Return whether all numbers go left, and whether missing ones do."""
    return node[1] is None, node[2]


def _paths(nodes: list[list[Any]], splits: list[int]) -> Floats:
    """Return 1 where a leaf lies left of a split, -1 where right of it, splits x leaves."""
    leaves = sum(len(node) == 1 for node in nodes)
    path = np.zeros((len(splits), leaves))
    waiting: list[tuple[int, list[tuple[int, float]]]] = [(0, [])]
    while waiting:
        at, sides = waiting.pop()
        node = nodes[at]
        if len(node) == 1:
            for split, side in sides:
                path[splits.index(split), node[0] - 1] = side
        else:
            waiting += [(node[3], [*sides, (at, 1.0)]), (node[4], [*sides, (at, -1.0)])]
    return path


def _looked_up(place: Tensor, table: Floats, dtype: str) -> Tensor:
    """Return the row of a table at each place, as an embedding does."""
    import keras

    layer = keras.layers.Embedding(*table.shape, dtype=dtype)
    found = keras.layers.Reshape((table.shape[1],), dtype=dtype)(layer(place))
    layer.set_weights([table])
    return found


def _limits_of(terms: list[Document]) -> dict[int, Floats]:
    """Return all limits of each column of numbers, in single precision; of categories none."""
    found: dict[int, Floats] = {}
    for axis in (axis for term in terms for axis in term["axes"]):
        own = single_limits(np.array(axis.get("limits", ())))
        found[axis["column"]] = np.union1d(found.get(axis["column"], own), own)
    return found


def _places_of_pairs(places: Tensor, pairs: dict[tuple[int, ...], Floats]) -> Tensor:
    """Return where a row is in the table of each pair, pairs x rows."""
    from keras import ops

    one, other = (ops.take(places, list(each), axis=0) for each in zip(*pairs, strict=True))
    return one * np.array([[each.shape[1]] for each in pairs.values()], np.int32) + other


def _with_curves(pair: tuple[int, ...], values: Floats, curves: dict[int, Floats]) -> Floats:
    """Add the curves of both columns to their pair, and take them out of those that are left."""
    first, second = (curves.pop(each, np.zeros(1)) for each in pair)
    return values + first[:, None] + second


def _stacked(rows: list[Tensor]) -> Tensor:
    """Put rows one below the other: so they are joined in half the time."""
    from keras import ops

    return ops.concatenate(rows, axis=0) if len(rows) > 1 else rows[0]


def _many_looked_up(places: Tensor, table: Floats, dtype: str) -> Tensor:
    """Return the row of a table at each of several places."""
    import keras

    layer = keras.layers.Embedding(*table.shape, dtype=dtype)
    found = layer(places)
    layer.set_weights([table])
    return found


def _of_leaf(inside: Tensor, numbers: Floats, precision: str) -> list[Tensor]:
    """Return each number of the leaf that a row is in; numbers x leaves.

    Only places are multiplied, which are exact also where a GPU cuts single numbers short: up to
    2,048 of them.
    """
    from keras import ops

    places = np.arange(numbers.shape[1], dtype=np.float32)
    leaf = ops.cast(ops.matmul(places[None], ops.cast(inside, "float32"))[0], "int32")
    return [ops.reshape(ops.take(each.astype(precision), leaf), (-1, 1)) for each in numbers]


def _line(numbers: Document, logit: Tensor) -> Tensor:
    return numbers["slope"] * logit + numbers["intercept"]


def _tamed(limits: Document, logit: Tensor) -> Tensor:
    from keras import ops

    low, high = limits["low"], limits["high"]
    above, below = ops.maximum(logit - high, 0.0), ops.maximum(low - logit, 0.0)
    return ops.clip(logit, low, high) + ops.log(1 + above) - ops.log(1 + below)


def _map(shape: Document, logit: Tensor) -> Tensor:
    """Return the logits of one leaf's map."""
    from keras import ops

    kind = shape["kind"]
    if kind == "affine":
        return _line(shape, logit)
    if kind == "tamed":
        return _line(shape, _tamed(shape, logit))
    if kind == "beta":
        rest = ops.log(1 + ops.exp(-ops.abs(logit)))  # ONNX has no log1p
        low, high = ops.minimum(logit, 0.0) - rest, ops.maximum(logit, 0.0) + rest
        return shape["a"] * low + shape["b"] * high + shape["c"]
    if kind == "steps":
        logits = np.array(shape["logits"])[:, None]
        return _looked_up(_beyond(shape["edges"], logit), logits, "float64")
    return _knots(np.array(shape["scores"]), np.array(shape["probabilities"]), logit)


def _beyond(edges: Any, logit: Tensor) -> Tensor:
    """Count the edges that a logit has reached."""
    from keras import ops

    reached = ops.greater_equal(logit, np.array(edges, np.float64)[None, :])
    return ops.sum(ops.cast(reached, "int32"), axis=1, keepdims=True)


def _knots(scores: Floats, levels: Floats, logit: Tensor) -> Tensor:
    from keras import ops

    slope = np.concatenate([[0.0], np.diff(levels) / np.diff(scores), [0.0]])
    begin = np.concatenate([scores[:1], scores])
    level = np.concatenate([levels[:1], levels])
    table = np.stack([slope, begin, level], axis=1)
    piece = _looked_up(_beyond(scores, logit), table, "float64")
    rise, origin, height = (ops.take(piece, [each], axis=1) for each in range(3))
    p = ops.clip(height + rise * (logit - origin), float(levels[0]), float(levels[-1]))
    return ops.log(p / (1 - p))
