"""The fused file: network, tree and maps in one model of Keras' own parts."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.artifacts.artifact import score_with_artifact
from hetcal.cli.main import main
from hetcal.errors import ExportError
from hetcal.exports import fused
from hetcal.exports.export import make_exports
from hetcal.exports.fused import fusion, layer_names
from hetcal.exports.keras_file import input_names, names, trial
from hetcal.exports.proof import difficult_rows, expected_rows, in_fresh_process, rows_json
from hetcal.exports.recipe import recipe, trees_of
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import ModelScoring
from hetcal.models.steps import ColumnStep, InputSteps
from tests.exports.artifacts import CITY, SIZE, artifact, people
from tests.models.model_files import ROWS, model_files
from tests.watch.streams import draw_rows

pytestmark = pytest.mark.network

ALONE = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np, tensorflow as tf
model = keras.saving.load_model("calibrated.keras", safe_mode=True)
assert "hetcal" not in sys.modules
rows, given = json.load(open("rows.json")), {}
for name, tensor in model.input.items():
    values = [row[name] for row in rows]
    if tensor.dtype == "string":
        given[name] = tf.constant([[each or ""] for each in values])
    else:
        given[name] = np.array(values, dtype=float).astype("float32")[:, None]
print(json.dumps(model.predict(given, verbose=0)[:, 0].astype(float).tolist()))
"""


def with_network(opened, name="sigmoid", columns=("a", "b", "c"), *steps):
    model = inspect_model(model_files() / f"{name}.keras")
    inputs = InputColumns(((model.inputs[0].name, columns),), InputSteps(steps))
    return replace(opened, scoring=ModelScoring(model, inputs))


def test_without_hetcal_it_prepares_columns_and_gives_what_the_artifact_does():
    cities = "Bern", "Basel", "Zürich"
    opened = with_network(
        artifact(partition="tree"),
        "sequential",
        ("a", "b", CITY),
        ColumnStep("a", "standardise", 1.0, 2.0),
        ColumnStep("b", "log1p"),
        ColumnStep(CITY, "codes", codes=cities),
    )
    (made,) = make_exports(opened, ["keras"], rows=2_000)
    assert made.parity.difference < 1e-6
    truth = np.load(model_files() / "truth.npz")
    document, x = recipe(opened), truth["x"].astype(float)
    a, b = (2 * x[:, 0] + 1).astype(np.float32), np.expm1(x[:, 1]).astype(np.float32)
    rows = difficult_rows(document, ROWS).assign(a=a.astype(float), b=b.astype(float))
    rows[CITY] = rows[CITY].mask(rows[CITY] == "")
    code = rows[CITY].map({city: code for code, city in enumerate(cities)}).to_numpy(float)
    read = np.column_stack([(a - 1) / 2, np.log1p(b), code]).astype(np.float32)
    hidden = np.maximum(read @ truth["W1"] + truth["b1"], 0)
    rows["score"] = (hidden @ truth["W2"] + truth["b2"])[:, 0].astype(float)
    found = np.array(
        in_fresh_process(ALONE, {"calibrated.keras": made.content, "rows.json": rows_json(rows)})
    )
    expected = expected_rows(opened, document, rows)["after"].to_numpy()
    known = np.isfinite(code)  # what TensorFlow makes of a missing number is its own matter
    assert 50 < known.sum() < ROWS
    assert np.abs(found - expected)[known].max() < 1e-6
    assert np.abs(expit(rows["score"]) - expected)[known].max() > 0.1  # it does something
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        examples = json.loads(archive.read("assets/hetcal.json"))["examples"]
    rows = json.dumps([each["row"] for each in examples]).encode()
    found = in_fresh_process(ALONE, {"calibrated.keras": made.content, "rows.json": rows})
    assert found == pytest.approx([each["after"] for each in examples], abs=1e-6)


@pytest.mark.parametrize(
    "settings", [{"partition": "additive"}, {"partition": "tree", "calibrator": "isotonic"}]
)
def test_curves_and_maps_of_points_take_a_score_by_its_column(settings):
    (made,) = make_exports(artifact(**settings), ["keras"], rows=2_000)
    assert made.parity.difference < 1e-6
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        about = json.loads(archive.read("assets/hetcal.json"))
    assert {each["name"] for each in about["inputs"]} == {"score", SIZE, "age", CITY}
    assert len(about["examples"]) == 5


@pytest.mark.filterwarnings("ignore:When providing")  # names of columns that Keras does not take
def test_a_pair_with_many_places_is_looked_up_by_its_own_entries(monkeypatch):
    import tensorflow as tf

    opened = artifact(partition="additive")
    document, rows = recipe(opened), people()[:1_000]
    assert any(len(term["axes"]) == 2 for term in document["steps"][-1]["terms"])
    layers = layer_names(names(opened, document))
    monkeypatch.setattr(fused, "WIDE", 0)
    model = fused.fused_model(fusion(document, None, input_names(opened, document), layers))
    given = {name: tf.constant(rows[[name]].to_numpy(np.float32)) for name in (SIZE, "age")}
    given["score"] = tf.constant(rows[["score"]].to_numpy())
    given[CITY] = tf.constant(rows[[CITY]].astype(object).fillna("").to_numpy(dtype=object))
    found = np.asarray(model(given))[:, 0]
    assert found == pytest.approx(score_with_artifact(opened, rows)["after"], abs=1e-6)


def test_a_saved_model_gives_the_same_by_its_signature_and_names_its_inputs():
    opened = with_network(artifact(partition="tree"))
    (made,) = make_exports(opened, ["savedmodel"], rows=2_000)
    assert made.parity.by == "the signature of the SavedModel"
    assert made.parity.difference < 1e-6
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        assert "1/saved_model.pb" in archive.namelist()
        about = json.loads(archive.read("1/assets.extra/hetcal.json"))
        warm_up = archive.read("1/assets.extra/tf_serving_warmup_requests")
    assert warm_up.count(b"serving_default") == 2
    for name in about["signature"].values():  # a text in Protocol Buffers: tag, length, letters
        assert warm_up.count(b"\n" + bytes([len(name)]) + name.encode()) == 2
    assert set(about["signature"]) == {"x", SIZE, "age", CITY}
    assert about["signature"]["age"] == "age"


def test_rows_are_compared_as_tensorflow_reads_them():
    opened = artifact(partition="tree")
    document = recipe(opened)
    rows = difficult_rows(document, 3).assign(score=1.0)
    rows[SIZE], rows["age"] = [1e-39, 1e300, np.nan], [0.1, -1e-45, 40.0]
    rows[CITY] = ["", "Bern", "x"]
    read = trial(opened, document, rows).table
    assert read[SIZE].tolist() == pytest.approx([0.0, np.inf, np.nan], nan_ok=True)
    assert read["age"].tolist() == [float(np.float32(0.1)), 0.0, 40.0]
    assert read[CITY].isna().tolist() == [True, False, False]


def test_a_scheme_of_many_trees_is_fused_tree_beside_tree():
    opened = artifact(partition="forest")
    document = recipe(opened)
    assert len(trees_of(document)) > 10
    (made,) = make_exports(opened, ["keras"], rows=1_000)
    assert made.parity.difference < 1e-6


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras saves so
@pytest.mark.parametrize(
    ("scheme", "mask", "more", "lookups"),
    [
        ("tree", "", {}, 1),
        ("additive", "", {}, 1),
        ("tree", None, {}, 1),
        ("tree", "NULL", {}, 1),
        ("tree", None, {"num_oov_indices": 3}, 2),
        ("tree", None, {"output_mode": "one_hot", "sparse": True}, 2),
    ],
    ids=[
        *("missing has a code", "beside curves", "missing is as unknown", "mask is a text"),
        *("unknown text has several codes", "codes are sparse"),
    ],
)
def test_text_is_looked_up_once_where_its_code_says_all_that_the_network_reads(
    scheme, mask, more, lookups, tmp_path
):
    import keras

    city = keras.Input((1,), name="city", dtype="string")
    words = ["Genf", "Zürich", "Bern"]
    codes = keras.layers.StringLookup(vocabulary=words, mask_token=mask, **more)(city)
    if "sparse" not in more:
        codes = keras.layers.Flatten()(keras.layers.Embedding(len(words) + 3, 2)(codes))
    last = keras.layers.Dense(1, activation="sigmoid")(codes)
    keras.Model(city, last).save(tmp_path / "city.keras")
    model = inspect_model(tmp_path / "city.keras")
    scoring = ModelScoring(model, InputColumns(((model.inputs[0].name, (CITY,)),)))
    opened = replace(artifact(partition=scheme), scoring=scoring)
    (made,) = make_exports(opened, ["keras"], rows=2_000)
    assert made.parity.difference < 1e-6
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        assert archive.read("config.json").count(b'"class_name": "StringLookup"') == lookups


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras saves so
def test_uploaded_as_a_network_it_gives_the_same_probabilities_and_nothing_lifts_it(tmp_path):
    import keras

    given = keras.Input((1,), name="score")
    last = keras.layers.Dense(1, activation="sigmoid", kernel_initializer="ones")
    keras.Model(given, last(given)).save(tmp_path / "plain.keras")
    draw_rows(6_000, np.random.default_rng(16)).to_csv(tmp_path / "rows.csv", index=False)
    told = ["run", str(tmp_path / "rows.csv"), "--label", "label", "--positive", "yes", "--model"]

    def done(model, *more):
        out = tmp_path / model.removesuffix(".keras")
        assert main([*told, str(tmp_path / model), *more, "--out", str(out)]) == 0
        scored = pd.read_parquet(out / "scored.parquet").set_index("row")
        return json.loads((out / "result.json").read_text()), scored

    first, before = done("plain.keras", "--partition", "tree", "--ignore", "size")
    assert first["lift"]["low"] > 0.05
    words = ["export", str(tmp_path / "plain/artifact.zip"), "--to", "keras"]
    assert main([*words, "--out", str(tmp_path / "fused.keras")]) == 0
    found, again = done("fused.keras")
    assert np.abs(again["before"] - before["after"]).max() < 1e-6
    assert found["verdict"].startswith("Leave your model as it is")
    assert found["lift"]["low"] <= 0 <= found["lift"]["high"]


def test_a_network_whose_end_has_no_logit_is_refused():
    with pytest.raises(ExportError, match="ends in 'hard_sigmoid'"):
        make_exports(with_network(artifact(partition="tree"), "hard"), ["keras"], rows=500)
