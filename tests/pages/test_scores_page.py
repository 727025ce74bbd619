"""Scores: from a column, from a Keras model in a child, from a network trained here."""

import json
import struct
import zipfile
import zlib
from io import BytesIO

import h5py
import numpy as np
import pandas as pd
import pytest
import streamlit as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from hetcal.artifacts.archive import zipped
from hetcal.data.demo import DEMO_NETWORKS
from hetcal.models.scoring import ColumnScoring
from hetcal.models.training import TrainedNetwork
from hetcal.progress import silent
from hetcal.store.work import keep_found
from hetcal.store.workspace import workspace_of
from pages.shared import jobs
from pages.shared.flow import compute
from tests.pages.visit import (
    button,
    calm,
    files,
    go,
    in_this_order,
    links,
    metrics,
    open_page,
    press,
    said,
    table_with,
    the_error,
    the_run,
    upload,
    wait_for_jobs,
    wait_until,
    with_scores,
    with_table,
)

MODEL, TRAINING = "A Keras model", "Train the paper's network"
COLUMNS = ["x0", "x1", "x2"]
WEIGHTS, BIAS = np.array([1.5, -0.75, 0.5]), 0.25


def scores_page(frame, source):
    app = go(with_table(frame), "pages/scores.py")
    return app.segmented_control(key="scores_way").set_value(source).run()


def scored_head(app):
    """The first scored rows, as the Export page shows them."""
    return table_with(go(app, "pages/export.py"), "after")


def layer(name, **config):
    return {
        "module": "keras.layers",
        "class_name": name,
        "config": {"name": name.lower(), **config},
        "registered_name": None,
    }


def keras_file(*layers, shape=(3,)):
    """A .keras file written by hand: three numbers in, sigmoid(x · WEIGHTS + BIAS) out."""
    first = layer("InputLayer", batch_shape=[None, *shape], dtype="float32")
    first["config"]["name"] = "x"
    config = {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "net", "layers": [first, *layers]},
        "registered_name": None,
    }
    weights, packed = BytesIO(), BytesIO()
    with h5py.File(weights, "w") as store:
        store["layers/dense/vars/0"] = WEIGHTS.astype(np.float32).reshape(3, 1)
        store["layers/dense/vars/1"] = np.array([BIAS], np.float32)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        archive.writestr("model.weights.h5", weights.getvalue())
    return packed.getvalue()


DENSE = layer("Dense", units=1, activation="sigmoid")
NET = keras_file(DENSE)
LAMBDA = layer("Lambda", function={"class_name": "__lambda__", "config": {"code": "4wEA"}})


def model_rows(columns=COLUMNS):
    """1,200 rows of three numbers whose label follows the model's own logit."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_200, 3)).round(3)
    return pd.DataFrame(x, columns=columns).assign(
        label=np.where(rng.uniform(size=1_200) < expit(x @ WEIGHTS + BIAS), "yes", "no"),
        split=rng.choice(["train", "calibration", "test"], 1_200),
    )


# A column


def test_before_a_column_is_chosen_there_are_no_scores(segments):
    unknown = segments.rename(columns={"score": "margin"})
    app = calm(go(with_table(unknown), "pages/scores.py"))
    assert app.segmented_control(key="scores_way").value == "A column of the table"
    assert app.selectbox(key="scores_column").value is None
    assert app.selectbox(key="scores_column").options == ["size", "margin"]
    assert not app.metric
    assert not links(app)


def test_a_column_that_is_named_like_a_score_is_offered_as_one(segments):
    app = calm(go(with_table(segments), "pages/scores.py"))
    assert app.selectbox(key="scores_column").value == "score"
    assert said(app.success) == ["Logits of column 'score'."]


def test_a_column_of_logits_is_taken_as_it_stands(segments):
    app = calm(with_scores(segments))
    assert said(app.success) == ["Logits of column 'score'."]
    assert metrics(app) == {
        "Rows with a score": "2,400",
        "Left out": "0",
        "Clipped": "0",
    }
    assert links(app) == ["Next: Partition"]
    assert scored_head(app)["score"].tolist() == pytest.approx(segments["score"].head(8).tolist())


def slope_needed(segments):
    """What the page says of the slope on test rows, by scikit-learn."""
    test = segments[segments["split"] == "test"]
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(test[["score"]], test["label"])
    return f"slope needed {platt.coef_[0, 0]:.2f}"


def test_three_conditions_are_judged_before_anything_is_fitted_to_the_scores(segments, monkeypatch):
    for fitting in ("find_scheme", "fit_maps", "finish_run"):
        monkeypatch.delattr(compute, fitting)
    app = calm(with_scores(segments))
    assert "Before anything is fitted: what a lift needs" in [each.value for each in app.subheader]
    assert slope_needed(segments) in said(app.markdown)
    badges = [each for each in said(app.markdown) if "-badge[" in each]
    assert [each.split(" :")[0] for each in badges] == [
        "Over-confident",
        "Misses structure",
        "Enough rows",
    ]
    assert badges[0].endswith(" yes]")


def test_of_many_rows_the_conditions_are_found_beside_the_page(segments, monkeypatch):
    monkeypatch.setattr(compute, "LOOKED_AT_IN_PLACE", 0)
    monkeypatch.setattr(jobs, "SOON", 0)
    app = with_scores(segments)
    assert "Next: Partition" in links(app)
    assert slope_needed(segments) in said(calm(wait_for_jobs(app)).markdown)


def test_a_model_from_elsewhere_needs_a_split_that_says_what_it_was_trained_on(segments):
    assert not calm(with_scores(segments)).warning
    (warning,) = said(calm(with_scores(segments.drop(columns="split"))).warning)
    assert "which of them the model was trained on" in warning


def test_percentages_taken_for_logits_are_pointed_out(segments):
    percent = segments.assign(score=100 * expit(segments["score"] - 2))
    (warning,) = said(calm(with_scores(percent)).warning)
    assert "if they are percentages, divide them by 100" in warning


def test_a_column_of_probabilities_is_recognised_and_inverted(segments):
    probability = expit(segments["score"] / 10)
    app = calm(with_scores(segments.assign(score=probability)))
    assert app.segmented_control(key="scores_kind").value == "probability"
    expected = np.log(probability / (1 - probability)).head(8)
    assert scored_head(app)["score"].tolist() == pytest.approx(expected.tolist())
    app = go(app, "pages/scores.py")
    app.segmented_control(key="scores_kind").set_value("logit").run()
    assert scored_head(calm(app))["score"].tolist() == pytest.approx(probability.head(8).tolist())


def test_missing_infinite_and_extreme_scores_are_counted(segments):
    probability = expit(segments["score"] / 10)
    probability[:30], probability[30:50], probability[50:57] = np.nan, 0.0, 1.0
    shown = metrics(calm(with_scores(segments.assign(score=probability))))
    assert (shown["Rows with a score"], shown["Left out"], shown["Clipped"]) == (
        "2,370",
        "30",
        "27",
    )
    infinite = segments["score"].mask(segments.index < 5, np.inf)
    assert metrics(with_scores(segments.assign(score=infinite)))["Left out"] == "5"


def test_the_chosen_column_survives_page_changes_and_can_be_let_go(segments):
    app = go(go(with_scores(segments), "pages/results.py"), "pages/scores.py")
    assert app.selectbox(key="scores_column").value == "score"
    app.selectbox(key="scores_column").select(None).run()
    assert not calm(app).metric
    assert "Choose where scores come from" in links(go(app, "pages/results.py"))


def test_a_chosen_score_is_no_feature_of_the_tree(segments):
    frame = segments.rename(columns={"score": "network"})
    app = with_scores(frame, "network")
    rules = table_with(go(app, "pages/partition.py"), "rule")["rule"]
    assert not rules.str.contains("network").any()


def test_logits_called_probabilities_are_refused_and_can_be_called_logits_again(segments):
    app = with_scores(segments)
    app.segmented_control(key="scores_kind").set_value("probability").run()
    assert "values outside 0 to 1" in the_error(app)
    app.segmented_control(key="scores_kind").set_value("logit").run()
    assert metrics(calm(app))["Rows with a score"] == "2,400"


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (4.0, "All scores are equal (logit 4)."),
        (np.inf, "None of the 2,400 rows has a finite score."),
    ],
)
def test_scores_that_rank_nothing_are_refused_and_another_column_taken(segments, score, words):
    app = with_scores(segments.assign(flat=score), "flat")
    assert the_error(app).startswith(words)
    assert app.selectbox(key="scores_column").value == "flat"
    app.selectbox(key="scores_column").select("score").run()
    assert metrics(calm(app))["Rows with a score"] == "2,400"


def test_a_column_name_is_never_read_as_markdown(segments):
    app = with_scores(segments.rename(columns={"score": ":red[*s*]"}), ":red[*s*]")
    assert app.success[0].value == r"Logits of column '\:red\[\*s\*\]'."


# A model


def test_an_array_beside_the_table_is_shown_confirmed_and_scored():
    frame = model_rows()
    x = frame[COLUMNS].to_numpy(np.float32).reshape(-1, 3, 1)
    sequence = keras_file(layer("Flatten"), DENSE, shape=(3, 1))
    app = scores_page(frame[["label", "split"]], MODEL)
    app = calm(upload(app, "scores_model", "steps.keras", sequence))
    assert button(app, "Score the rows").disabled
    (key,) = (each.key for each in app.file_uploader if each.label.startswith("Array for"))
    app = upload(app, key, "short.npy", npy(x[1:]))
    assert "'short.npy' has 1,199 rows, and the table has 1,200" in the_error(app)
    app = upload(app, key, "other.npy", npy(x[:, :2]))
    assert "'other.npy' has rows of 2 × 1, but the input 'x'" in the_error(app)
    app = calm(upload(app, key, "x.npy", npy(x * 255)))
    shown = table_with(app, "shape of a row")
    assert shown["shape of a row"].tolist() == ["3 × 1", "3 × 1", "3 × 1"]
    assert f"{255 * x.min():.6g} to {255 * x.max():.6g}" in shown["numbers"][0]
    next(each for each in app.radio if each.label == "Numbers for the input 'x'").set_value(255.0)
    app = in_this_order(app.run()).check().run()
    app = calm(wait_for_jobs(press(app, "Score the rows")))
    (words,) = said(app.success)
    assert "Input 'x' from 'x.npy', 3 × 1 of float32" in words
    run = the_run(app)
    (array,) = workspace_of(run).scoring.inputs.arrays
    assert array.file.path.parent == run.files
    score = table_with(go(app, "pages/scores.py"), "shape of a row")
    assert len(score) == 3  # it is still there after the upload is forgotten
    found = [run.result(each) for each in run.kept_results("scores")]
    assert found[0].logit == pytest.approx(x[:, :, 0] @ WEIGHTS + BIAS, abs=1e-5)


def test_images_that_a_column_names_are_decoded_from_a_zip_and_scored():
    frame, rng = model_rows(), np.random.default_rng(2)
    pixels = rng.integers(0, 256, (len(frame), 3))
    frame = frame[["label", "split"]].assign(path=[f"{row}.png" for row in range(len(frame))])
    app = scores_page(frame, MODEL)
    picture = keras_file(layer("Flatten"), DENSE, shape=(1, 3, 1))
    app = calm(upload(app, "scores_model", "picture.keras", picture))
    (kind,) = (each for each in app.segmented_control if each.label == "Rows of the input 'x'")
    app = kind.set_value("Image files").run()
    (key,) = (each.key for each in app.file_uploader if each.label.startswith("Zip of"))
    app = upload(app, key, "some.zip", zipped({"all/0.png": png(pixels[0])}))
    (column,) = (each for each in app.selectbox if each.label == "Paths of images for 'x'")
    app = wait_for_jobs(column.select("path").run())
    assert "The image '1.png' of row 2 cannot be used" in the_error(app)
    packed = {f"all/{row}.png": png(each) for row, each in enumerate(pixels)}
    app = calm(wait_for_jobs(upload(app, key, "all.zip", zipped(packed))))
    assert table_with(app, "shape of a row")["numbers"][0] == "uint8, 0 to 255"
    next(each for each in app.radio if each.label == "Numbers for the input 'x'").set_value(255.0)
    app = in_this_order(app.run()).check().run()
    app = calm(wait_for_jobs(press(app, "Score the rows")))
    run = the_run(app)
    (found,) = (run.result(each) for each in run.kept_results("scores"))
    assert found.logit == pytest.approx(pixels / 255 @ WEIGHTS + BIAS, abs=1e-5)


def png(row):
    """A grey picture of one row, by the format's own description."""
    head = b"IHDR" + struct.pack(">IIBBBBB", len(row), 1, 8, 0, 0, 0, 0)
    parts = head, b"IDAT" + zlib.compress(bytes([0, *row])), b"IEND"
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in parts
    )


def npy(values):
    content = BytesIO()
    np.save(content, values)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"just some text", "is not a Keras model file"),
        (b"PK\x03\x04" + bytes(40), "'net.keras'"),
        (keras_file(LAMBDA, DENSE), "contains a Lambda layer"),
    ],
    ids=["text", "broken zip", "Lambda"],
)
def test_a_file_that_is_no_safe_model_is_refused_and_the_column_stays(segments, content, words):
    app = with_scores(segments)
    app.segmented_control(key="scores_way").set_value(MODEL).run()
    upload(app, "scores_model", "net.keras", content)
    assert words in the_error(app)
    assert [each.key for each in app.file_uploader] == ["scores_model"]
    assert said(app.success) == ["Logits of column 'score'."]
    app.segmented_control(key="scores_way").set_value("A column of the table").run()
    assert metrics(calm(app))["Rows with a score"] == "2,400"


def test_a_refused_model_leaves_the_one_before_it_and_the_page_says_so():
    app = upload(scores_page(model_rows(), MODEL), "scores_model", "net.keras", NET)
    words = next(each.value for each in calm(app).markdown if "net.keras" in each.value)
    upload(app, "scores_model", "other.keras", b"just some text")
    assert the_error(app).startswith("'other.keras' is not a Keras model file")
    assert f"Still in use: {words}" in [each.value for each in app.markdown]
    assert app.multiselect(key="scores_input_x").value == COLUMNS


def test_without_a_model_the_page_says_what_happens_to_one(segments):
    app = calm(scores_page(segments, MODEL))
    assert any("Lambda layers and unknown classes are rejected" in c.value for c in app.caption)
    assert "Score the rows" not in [each.label for each in app.button]


@pytest.mark.network
def test_a_matrix_model_scores_only_columns_that_were_confirmed_in_their_order():
    frame = model_rows()
    app = scores_page(frame, MODEL)
    upload(app, "scores_model", "net.keras", NET)
    assert calm(app).multiselect(key="scores_input_x").value == COLUMNS
    assert button(app, "Score the rows").disabled

    app.multiselect(key="scores_input_x").set_value(COLUMNS[:2]).run()
    in_this_order(app).check().run()
    assert any("takes 3 numbers a row, and these columns give 2" in x.value for x in app.caption)
    assert button(app, "Score the rows").disabled
    app.multiselect(key="scores_input_x").set_value([*COLUMNS, "split"]).run()
    assert in_this_order(app).disabled
    app.multiselect(key="scores_input_x").set_value(COLUMNS[::-1]).run()
    in_this_order(app).check().run()
    assert not button(app, "Score the rows").disabled
    app.multiselect(key="scores_input_x").set_value(COLUMNS).run()
    assert button(app, "Score the rows").disabled, "another order needs another confirmation"
    in_this_order(app).check().run()
    app = go(go(app, "pages/data.py"), "pages/scores.py")
    assert in_this_order(app).value
    assert app.multiselect(key="scores_input_x").value == COLUMNS

    app = calm(wait_for_jobs(press(app, "Score the rows")))
    assert "sigmoid" in said(app.success)[0]
    assert metrics(app)["Rows with a score"] == "1,200"
    assert float(metrics(app)["Largest difference"]) < 1e-6
    expected = (frame[COLUMNS].head(8) @ WEIGHTS + BIAS).tolist()
    assert scored_head(app)["score"].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.network
def test_columns_that_were_scaled_in_training_are_found_out_and_scaled():
    plain = model_rows()
    raw = plain.assign(**{name: 900 * plain[name] + 40_000 for name in COLUMNS})
    app = scores_page(raw, MODEL)
    upload(app, "scores_model", "net.keras", NET)
    in_this_order(app).check().run()
    assert any("with the weights of its first layer" in text for text in said(app.warning))
    app = wait_for_jobs(press(app, "Score the rows"))
    inputs = "The inputs do not look like those the model was trained on"
    assert any(text.startswith(inputs) for text in said(app.warning))
    tried = table_with(app, "near 0 or 1").set_index("columns")
    assert tried["near 0 or 1"]["as is"] > 0.9
    assert tried["near 0 or 1"]["standardise"] == 0
    app.selectbox(key=scaled_key(app)).set_value("Standardised (mean 0, deviation 1)").run()
    app = calm(wait_for_jobs(press(app, "Score the rows")))
    assert not said(app.warning)
    assert "3 columns prepared as in training" in said(app.success)[0]
    training = raw.loc[raw["split"] == "train", COLUMNS]
    scaled = (raw[COLUMNS] - training.mean()) / training.std(ddof=0)
    expected = (scaled.head(8) @ WEIGHTS + BIAS).tolist()
    assert scored_head(app)["score"].tolist() == pytest.approx(expected, abs=1e-5)


def scaled_key(app):
    return next(each.key for each in app.selectbox if str(each.key).startswith("scores_done"))


def test_cells_are_shown_as_the_model_sees_them():
    app = upload(scores_page(model_rows(), MODEL), "scores_model", "net.keras", NET)
    in_this_order(app).check().run()
    app.selectbox(key=scaled_key(app)).set_value("Different for each column").run()
    step = next(each for each in app.selectbox if each.label == "'x0'")
    step.set_value("log1p").run()
    seen = table_with(calm(app), "row 1").set_index("column")
    assert float(seen["row 1"]["x1"]) == model_rows()["x1"][0]
    assert float(seen["row 1"]["x0"]) == pytest.approx(np.log1p(model_rows()["x0"][0]), abs=1e-5)


def test_names_of_columns_can_be_pasted_in_the_order_of_the_model():
    app = upload(scores_page(model_rows(), MODEL), "scores_model", "net.keras", NET)
    pasted = app.text_area(key="scores_input_x pasted")
    for text, words in (("x2\nx9\nx0", "No such column: x9."), ("x2, x2", "is listed twice")):
        app = pasted.set_value(text).run()
        assert any(words in each.value for each in app.caption)
        assert button(app, "Use these columns").disabled
    app = calm(pasted.set_value('["x2", "x0", "x1"]').run())
    app = calm(press(app, "Use these columns"))
    assert app.multiselect(key="scores_input_x").value == ["x2", "x0", "x1"]
    assert "label" not in app.multiselect(key="scores_input_x").options


def test_columns_of_another_table_must_be_chosen_again():
    app = upload(scores_page(model_rows(), MODEL), "scores_model", "net.keras", NET)
    in_this_order(app).check().run()
    other = model_rows(["y0", "x1", "x2"])
    upload(go(app, "pages/data.py"), "data_file", "other.csv", other)
    upload(calm(go(app, "pages/scores.py")), "scores_model", "net.keras", NET)
    assert "y0" in calm(app).multiselect(key="scores_input_x").options
    assert "x0" not in app.multiselect(key="scores_input_x").value
    assert not in_this_order(app).value


def text_for_numbers():
    frame = model_rows().assign(x1=np.resize(["green", "blue, dark"], 1200))
    app = upload(scores_page(frame, MODEL), "scores_model", "net.keras", NET)
    app.multiselect(key="scores_input_x").set_value(["x0", "x1"]).run()
    in_this_order(app).check().run()
    assert button(app, "Score the rows").disabled
    return frame, app, next(each for each in app.selectbox if "'x1' holds text" in each.label)


@pytest.mark.network
def test_text_that_was_one_hot_in_training_is_given_so_in_the_stated_order():
    frame, app, box = text_for_numbers()
    box.set_value("one-hot").run()
    assert not button(app, "Score the rows").disabled
    order = next(each for each in app.multiselect if "in the order of training" in each.label)
    assert order.value == ["blue, dark", "green"]
    order.set_value(["green", "blue, dark"]).run()
    app = calm(wait_for_jobs(press(app, "Score the rows")))
    green = (frame["x1"] == "green").to_numpy(float)
    given = np.column_stack([frame["x0"], green, 1 - green])[:8]
    expected = (given @ np.asarray(WEIGHTS) + BIAS).tolist()
    assert scored_head(app)["score"].tolist() == pytest.approx(expected, abs=1e-5)


def test_one_code_is_not_two_numbers():
    _, app, box = text_for_numbers()
    app = box.set_value("codes").run()
    assert any("takes 3 numbers a row, and these columns give 2" in x.value for x in app.caption)
    assert button(app, "Score the rows").disabled


# Training


def test_the_training_choices_are_the_papers_and_survive_page_changes(segments):
    app = calm(scores_page(segments, TRAINING))
    assert app.selectbox(key="training_size").options == [
        "64 / 32 / 16",
        "128 / 64 / 32",
        "256 / 128 / 64",
    ]
    assert app.selectbox(key="training_regularisation").options == ["none", "batch norm", "dropout"]
    assert app.multiselect(key="training_embed").options == ["segment"]
    assert app.number_input(key="training_epochs").value == 20


def test_training_without_validation_rows_is_refused_in_words(segments):
    split = segments["split"].replace("validation", "train")
    app = press(scores_page(segments.assign(split=split), TRAINING), "Train")
    assert "validation rows" in the_error(app)
    assert app.number_input(key="training_epochs").value == 20


@pytest.mark.network
def test_a_training_shows_its_progress_and_a_stop_keeps_the_best_epoch(customers, monkeypatch):
    monkeypatch.setattr(jobs, "SOON", 0.2)
    app = scores_page(customers.drop(columns="score"), TRAINING)
    app.number_input(key="training_epochs").set_value(500)
    app.number_input(key="training_batch").set_value(32)
    app.multiselect(key="training_embed").set_value(["segment"])
    press(app, "Train")
    assert calm(app).get("progress")[0].text.startswith("Starting Keras")
    assert button(app, "Train").disabled

    go(go(app, "pages/data.py"), "pages/scores.py")
    assert app.number_input(key="training_epochs").value == 500
    wait_until(app, lambda: any(c.proto.id.endswith("-training_live") for c in charts(app)))
    assert "of 500 epochs done" in app.get("progress")[0].text
    press(app, "Stop and keep the best epoch so far")
    app = calm(wait_for_jobs(app))

    network = app.session_state["workspace"].network
    assert 0 < len(network.history) < 500
    assert network.best_epoch == 1 + network.history["validation_auc"].to_numpy().argmax()
    assert any(f"Epoch {network.best_epoch} has the best" in each.value for each in app.caption)
    assert files(app) == ["Download the trained model (.keras)"]
    assert metrics(app)["Rows with a score"] == "2,400"
    assert logit(scored_head(app)["before"]).tolist() == pytest.approx(
        scored_head(app)["score"].tolist()
    )


@pytest.mark.network
def test_a_trained_network_replaces_no_other_scores_until_it_is_asked_to(customers):
    app = scores_page(customers, TRAINING)
    app.number_input(key="training_epochs").set_value(1)
    app = calm(press(app, "Train"))
    here = app.session_state["workspace"]
    assert here.scoring == ColumnScoring(("score",), "logit")
    assert len(here.network.history) == 1
    app = calm(press(app, "Use its scores"))
    assert app.session_state["workspace"].scoring.model.name == "the trained network"
    assert "Use its scores" not in [each.label for each in app.button]
    app = calm(press(app, "Undo"))
    assert app.session_state["workspace"].scoring == ColumnScoring(("score",), "logit")


def test_a_training_that_ended_while_nobody_looked_is_offered_by_a_server_that_was_restarted(
    customers,
):
    app = with_scores(customers)
    history = pd.DataFrame({"epoch": [1, 2], "train_auc": [0.6, 0.7], "validation_auc": [0.6, 0.5]})
    network = TrainedNetwork(DEMO_NETWORKS["over-trained"].content(), history, 1)
    keep_found(the_run(app), jobs.TRAINING, lambda progress: network, (), silent)
    st.cache_resource.clear()  # what a server that begins does not have
    later = calm(open_page("pages/data.py", run=the_run(app).id))
    kept = workspace_of(the_run(later))
    assert (kept.network.content, kept.network.best_epoch) == (network.content, 1)
    assert kept.scoring == ColumnScoring(("score",), "logit")
    later = go(later, "pages/scores.py")
    later = later.segmented_control(key="scores_way").set_value(TRAINING).run()
    assert button(calm(later), "Use its scores")
    assert any(c.proto.id.endswith("-training_done") for c in charts(later))


def charts(app):
    return app.get("plotly_chart")


def test_the_page_opens_empty_with_the_way_to_data():
    assert links(open_page("pages/scores.py")) == ["Choose a table", "Or start with the demo"]
