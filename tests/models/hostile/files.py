"""Hostile and broken model files; what they would do is harmless, but shows when it was done."""

import base64
import json
import marshal
import stat
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.models.hostile.crafted import (
    DENSE,
    functional,
    layer,
    named,
    sequential,
    without_modules,
    write_weights,
)


@dataclass(frozen=True)
class Hostile:
    """A file, and the words with which it is refused."""

    name: str  # its suffix is its format
    reason: str
    config: Any = None
    fill: Callable[[h5py.File], None] | None = None
    more: Callable[[zipfile.ZipFile], None] | None = None
    change: Callable[[bytes], bytes] = field(default=bytes)

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        config = sequential(DENSE) if self.config is None else self.config
        text = config if isinstance(config, (str, bytes)) else json.dumps(config)
        if path.suffix == ".h5":
            write_weights(path, self.fill)
            with h5py.File(path, "a") as store:
                store.attrs["model_config"] = text
                store.create_group("model_weights").attrs["layer_names"] = np.zeros(0, "S1")
        else:
            write_weights(folder / "weights", self.fill)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("config.json", text)
                archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
                archive.write(folder / "weights", "model.weights.h5")
                if self.more is not None:
                    self.more(archive)
            (folder / "weights").unlink()
        path.write_bytes(self.change(path.read_bytes()))
        return path


def hostile_files(outside: Path, port: int, saved: Path) -> list[Hostile]:
    """List the files; what they do, they do in `outside` or at a port of this machine.

    `saved` is a SavedModel whose initialiser writes a file.
    """
    return [
        *_with_code(outside, port),
        *_with_functions(outside, port, saved),
        *_with_classes(saved),
        *_with_lists(outside, port),
        *_with_weights(outside),
        *_odd_archives(outside),
        *_endless_descriptions(),
        *_broken(),
    ]


def code(text: str) -> dict[str, Any]:
    """A Python function as Keras stores it."""
    packed = marshal.dumps(eval(f"lambda x: ({text}, x)[1]").__code__)
    stored = {"code": base64.b64encode(packed).decode(), "defaults": None, "closure": None}
    return {"class_name": "__lambda__", "config": stored}


def _lambda(function: dict[str, Any]) -> dict[str, Any]:
    return layer("Lambda", function=function)


def _with_code(outside: Path, port: int) -> list[Hostile]:
    def marker(name: str) -> dict[str, Any]:
        return code(f"open({str(outside / name)!r}, 'w').close()")

    def leak(place: str, name: str) -> dict[str, Any]:
        text = f"open({place!r}).read()"
        return code(f"open({str(outside / name)!r}, 'w').write({text})")

    connect = f"__import__('socket').create_connection(('127.0.0.1', {port}), 5)"
    start = f"__import__('subprocess').run(['touch', {str(outside / 'started')!r}])"
    shell = f"__import__('os').system('touch {outside / 'shell'}')"
    fork = f"__import__('os').fork() or open({str(outside / 'forked')!r}, 'w').close()"
    remove = f"__import__('shutil').rmtree({str(outside)!r})"
    inner = sequential(_lambda(marker("inner")), DENSE)
    inner["config"]["name"] = "inner"
    x = named(layer("InputLayer", name="x", batch_shape=[None, 3], dtype="float32"))
    called = functional(["x", 0, 0], ["inner", 0, 0], x, named(inner, "x"))
    older = without_modules(sequential(_lambda(marker("older")), DENSE))
    cases = {
        "code": sequential(_lambda(marker("code")), DENSE),
        "code_in_wrapper": sequential(layer("TimeDistributed", layer=_lambda(marker("w"))), DENSE),
        "code_in_cell": sequential(layer("RNN", cell=_lambda(marker("cell"))), DENSE),
        "code_in_two_directions": sequential(
            layer("Bidirectional", layer=layer("LSTM", units=2, cell=_lambda(marker("b")))), DENSE
        ),
        "code_as_activation": sequential(layer("Dense", units=1, activation=marker("activation"))),
        "code_as_initialiser": sequential(
            layer("Dense", units=1, kernel_initializer=marker("initialiser"))
        ),
        "code_as_regulariser": sequential(
            layer("Dense", units=1, kernel_regularizer=marker("regulariser"))
        ),
        "code_as_constraint": sequential(
            layer("Dense", units=1, bias_constraint=marker("constraint"))
        ),
        "code_in_inner_model": sequential(inner, DENSE),
        "code_in_called_model": called,
        "code_that_reads": sequential(_lambda(leak("/etc/passwd", "passwd")), DENSE),
        "code_that_reads_a_secret": sequential(
            _lambda(leak(str(outside / "secret"), "copy")), DENSE
        ),
        "code_that_connects": sequential(_lambda(code(connect)), DENSE),
        "code_that_starts_a_program": sequential(_lambda(code(start)), DENSE),
        "code_that_uses_a_shell": sequential(_lambda(code(shell)), DENSE),
        "code_that_forks": sequential(_lambda(code(fork)), DENSE),
        "code_that_removes": sequential(_lambda(code(remove)), DENSE),
    }
    both = [
        Hostile(f"{name}.{kind}", "Lambda", config)
        for name, config in cases.items()
        for kind in ("keras", "h5")
    ]
    return [*both, Hostile("code_in_older_format.h5", "Lambda", older)]


def _with_functions(outside: Path, port: int, saved: Path) -> list[Hostile]:
    cases = [
        ("os", "system", {"command": f"touch {outside / 'system'}"}),
        ("builtins", "exec", {"source": f"open({str(outside / 'exec')!r}, 'w')"}),
        ("builtins", "eval", {}),
        ("numpy", "fromfile", {"file": str(outside / "secret")}),
        ("keras.utils", "get_file", {"origin": f"http://127.0.0.1:{port}/x"}),
        ("keras.saving", "load_model", {"filepath": str(outside / "secret")}),
        ("keras.config", "enable_unsafe_deserialization", {}),
        ("keras.src.backend.common.global_state", "set_global_attribute", {}),
        ("keras.config", "set_floatx", {}),
        ("keras.utils", "set_random_seed", {}),
        ("keras.saving", "KerasFileEditor", {"filepath": str(outside / "secret")}),
        ("keras.utils", "plot_model", {"to_file": str(outside / "plot.png")}),
        ("keras.callbacks", "CSVLogger", {"filename": str(outside / "log.csv")}),
        ("keras.layers", "TFSMLayer", {"call_endpoint": "serve"}),
    ]
    found = []
    for module, name, arguments in cases:
        function = {
            "module": module,
            "class_name": "function",
            "config": name,
            "registered_name": name,
        }
        called = {**_lambda(function), "name": "x"}
        called["config"]["arguments"] = arguments
        found.append(Hostile(f"function_{name}.keras", "Lambda", sequential(called, DENSE)))
        active = sequential(layer("Dense", units=1, activation=function))
        found.append(Hostile(f"activation_{name}.keras", f"function {name}", active))
    initialised = {
        "module": "keras.layers",
        "class_name": "TFSMLayer",
        "config": {"filepath": str(saved), "call_endpoint": "serve", "name": "initialised"},
        "registered_name": None,
    }
    return [*found, Hostile("initialiser.keras", "TFSMLayer", sequential(initialised))]


def _with_classes(saved: Path) -> list[Hostile]:
    cases = {
        "saved_model": (layer("TFSMLayer", filepath=str(saved)), "TFSMLayer"),
        "torch": (layer("TorchModuleWrapper", module="gASVAA=="), "TorchModuleWrapper"),
        "jax": (layer("JaxLayer"), "JaxLayer"),
        "flax": (layer("FlaxLayer"), "FlaxLayer"),
        "popen": (layer("Popen", "subprocess", args=["true"]), "Popen"),
        "other_module": (layer("Dense", "os", units=1), "from os"),
        "below_a_module": (layer("Dense", "keras.layersx.core", units=1), "keras.layersx"),
        "unknown": (layer("MyLayer", None), "MyLayer"),
        "registered": ({**DENSE, "registered_name": "mine>Layer"}, "Dense"),
        "map": (layer("Map", "keras.src.ops.core"), "Map"),
    }
    return [
        Hostile(f"class_{name}.{kind}", reason, sequential(part, DENSE))
        for name, (part, reason) in cases.items()
        for kind in ("keras", "h5")
    ]


def _with_lists(outside: Path, port: int) -> list[Hostile]:
    places = {"path": str(outside / "secret"), "address": f"http://127.0.0.1:{port}/words"}
    found = []
    for where, place in places.items():
        for kind, reason in (
            ("StringLookup", "vocabulary from another file"),
            ("IntegerLookup", "vocabulary from another file"),
            ("TextVectorization", "TextVectorization|vocabulary"),
        ):
            config = sequential(layer(kind, vocabulary=place), DENSE)
            found += [Hostile(f"{kind}_{where}.{each}", reason, config) for each in ("keras", "h5")]
    idf = layer("StringLookup", vocabulary=["a"], output_mode="tf_idf", idf_weights="/etc/passwd")
    return [*found, Hostile("idf.keras", "idf_weights from another file", sequential(idf))]


def _with_weights(outside: Path) -> list[Hostile]:
    secret = str(outside / "secret")

    def link(store: h5py.File) -> None:
        del store["layers/dense/vars/0"]
        store["layers/dense/vars/0"] = h5py.ExternalLink(secret, "/")

    def external(store: h5py.File) -> None:
        del store["layers/dense/vars/1"]
        store.create_dataset("layers/dense/vars/1", (1,), "f4", external=[(secret, 0, 4)])

    def soft(store: h5py.File) -> None:
        store["again"] = h5py.SoftLink("/layers")

    def virtual(store: h5py.File) -> None:
        layout = h5py.VirtualLayout((3, 1), "f4")
        layout[:] = h5py.VirtualSource(secret, "x", (3, 1))
        store.create_virtual_dataset("layers/dense/vars/2", layout)

    def giant(gigabytes: int) -> Callable[[h5py.File], None]:
        def fill(store: h5py.File) -> None:
            shape = (gigabytes * 2**28,)
            store.create_dataset("layers/dense/vars/2", shape, "f4", chunks=(2**20,))

        return fill

    def texts(store: h5py.File) -> None:
        store.create_dataset("objects", data=["text"], dtype=h5py.string_dtype())

    cases = [
        ("linked", "point to another place", link),
        ("external", "point to another place", external),
        ("soft", "point to another place", soft),
        ("virtual", "point to another place", virtual),
        ("giant_3", "more numbers than the file holds", giant(3)),
        ("giant_8", "more numbers than the file holds", giant(8)),
        ("texts", "are not numbers", texts),
    ]
    return [
        Hostile(f"weights_{name}.{kind}", reason, fill=fill)
        for name, reason, fill in cases
        for kind in ("keras", "h5")
    ]


def _odd_archives(outside: Path) -> list[Hostile]:
    def add(name: str, content: str | bytes = "x", kind: int | None = None) -> Any:
        return lambda archive: archive.writestr(name, content, kind)

    def link(archive: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("assets/link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, str(outside))

    def many(archive: zipfile.ZipFile) -> None:
        for number in range(300):
            archive.writestr(f"assets/{number}", "x")

    def encrypted(content: bytes) -> bytes:
        at = content.index(b"PK\x01\x02")
        return content[: at + 8] + b"\x01" + content[at + 9 :]

    cases: list[tuple[str, str, Any]] = [
        ("above", "contains '../outside'", add("../outside")),
        ("absolute", "contains '/", add(str(outside / "absolute"))),
        ("windows", "contains", add("assets\\..\\x")),
        ("pickle", "contains 'model.weights.npz'", add("model.weights.npz")),
        ("code", "contains 'run.py'", add("run.py")),
        ("link", "is a link or encrypted", link),
        ("many", "too many members", many),
        ("bomb", "unpacks to far more", add("assets/x", b"\0" * 80 * 2**20)),
        ("long", "its description is", add("assets/x.json", b" " * 9 * 2**20)),
        ("lzma", "packed in another way", add("assets/x", "x", zipfile.ZIP_LZMA)),
        ("bzip2", "packed in another way", add("assets/x", "x", zipfile.ZIP_BZIP2)),
    ]
    found = [Hostile(f"archive_{name}.keras", reason, more=more) for name, reason, more in cases]
    found.append(Hostile("archive_encrypted.keras", "link or encrypted", change=encrypted))
    return found


def _endless_descriptions() -> list[Hostile]:
    deep = '{"class_name": "Sequential", "config": ' + "[" * 20_000 + "]" * 20_000 + "}"
    wrapped = DENSE
    for _ in range(40):
        wrapped = layer("TimeDistributed", layer=wrapped)
    both = layer("LSTM", units=1)
    for _ in range(18):
        both = layer("Bidirectional", layer=both)
    doubled = DENSE
    for number in range(9):
        x = named(layer("InputLayer", name="x", batch_shape=[None, 3], dtype="float32"))
        inner = named({**doubled, "config": {**doubled["config"], "name": "inner"}}, "x")
        inner["inbound_nodes"] *= 4
        doubled = functional(["x", 0, 0], ["inner", number, 0], x, inner)
    inside = DENSE
    for _ in range(12):
        inside = sequential(inside)
    parts = [
        named(layer("InputLayer", name=f"x{i}", batch_shape=[None, 1], dtype="float32"))
        for i in range(3_000)
    ]
    ends = [[part["name"], 0, 0] for part in parts]
    return [
        Hostile("deep.keras", "nested too deeply", deep),
        Hostile("wrapped.keras", "nested too deeply", sequential(wrapped)),
        Hostile("doubled.keras", "calls of layers", doubled),
        Hostile("directions.keras", "calls of layers", sequential(both)),
        Hostile("inside.keras", "inside one another", sequential(inside)),
        Hostile("inputs.keras", "3,000 inputs", functional(ends, ["x0", 0, 0], *parts)),
        Hostile("layers.keras", "6,001 layers|6,002 layers", sequential(*[DENSE] * 6_000)),
        Hostile("name_above.keras", "a layer is called", sequential(layer("Dense", name="a..b"))),
        Hostile("name_path.keras", "a layer is called", sequential(layer("Dense", name="../x"))),
        Hostile("name_line.keras", "a layer is called", sequential(layer("Dense", name="a\nb"))),
        Hostile("no_name.keras", "a layer is called", sequential(layer("Dense", name=""))),
    ]


def _broken() -> list[Hostile]:
    twice = '{"class_name": "Sequential", "class_name": "Lambda", "config": {}}'
    half = {"change": lambda content: content[: len(content) // 2]}
    end = {"change": lambda content: content[:-30] + struct.pack("<I", 2**31) * 7 + b"\0\0"}
    return [
        Hostile("twice.keras", "not readable JSON", twice),
        Hostile("no_json.keras", "not readable JSON", b"\xff\xfe"),
        Hostile("no_layers.keras", "no layers", {"class_name": "Sequential", "config": []}),
        Hostile("subclassed.keras", "which is not a Sequential", {"class_name": "Mine"}),
        Hostile("list.keras", "which is not a Sequential", "[]"),
        Hostile("half.keras", "damaged or incomplete", **half),
        Hostile("half.h5", "damaged or incomplete", **half),
        Hostile("end.keras", "damaged or incomplete", **end),
        Hostile("pickle.keras", "a Python pickle", change=lambda _: b"\x80\x04cos\nsystem\n."),
        Hostile("empty.keras", "an empty file", change=lambda _: b""),
        Hostile(
            "nameless.keras",  # as Keras writes Dense(1, activation=lambda x: x)
            "has a function of Python as an activation",
            sequential(layer("Dense", units=1, activation={"value": ["4wEA", None, None]})),
        ),
        Hostile("zeros.h5", "not a Keras model file", change=lambda content: bytes(len(content))),
    ]


def endless(content):
    """The free room of an HDF5 heap is said to end early: a part of no size follows for ever."""
    at = content.index(b"GCOL") + 16
    while content[at : at + 2] != b"\0\0":
        size = int.from_bytes(content[at + 8 : at + 16], "little")
        at += 16 + -(-size // 8) * 8
    return content[: at + 8] + b"\0" + content[at + 9 :]


ENDLESS = Hostile("endless.h5", "could not be read within 10 s", change=endless)
