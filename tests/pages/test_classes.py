"""A label of more than two values on every page."""

from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.artifacts.report import scored_table
from hetcal.data.scores import scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from hetcal.store.keys import for_classes
from pages.shared.flow import compute
from tests.models.model_files import model_files
from tests.pages.visit import (
    button,
    calm,
    figure,
    go,
    in_this_order,
    links,
    metrics,
    numbers,
    open_page,
    press,
    said,
    table_with,
    the_error,
    the_run,
    upload,
    wait_for_jobs,
    with_table,
)

CLASSES = ["ant", "bee", "cow"]
COLUMNS = ("p_ant", "p_bee", "p_cow")


@pytest.fixture
def sound(kinds):
    """The kinds with labels drawn from the probabilities themselves."""
    p = kinds[list(COLUMNS)].to_numpy()
    below = np.random.default_rng(5).random((len(kinds), 1)) > np.cumsum(p, axis=1)
    return kinds.assign(kind=np.array(CLASSES)[below.sum(axis=1).clip(0, 2)])


def with_class_scores(frame):
    """Upload a table and take the columns that are named after its classes."""
    return press(go(with_table(frame), "pages/scores.py"), "Use these columns")


def show_class(app, name):
    return app.sidebar.selectbox(key="class_shown").select(name).run()


@pytest.fixture(scope="module")
def finished(kinds):
    """The run of the same table, by the core alone."""
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "")
    return run(table, scores, Settings())


def probabilities(finished):
    rows = finished.split.test
    y = np.array(CLASSES)[finished.table.y[rows]]
    return y, np.exp(finished.scores.logit[rows]), np.exp(finished.after[rows])


def test_the_data_page_offers_all_classes_first_and_each_value(kinds):
    app = calm(with_table(kinds))
    box = app.selectbox(key="role_positive")
    assert box.options == ["All classes", *CLASSES]
    assert box.value == ""
    shares = pd.crosstab(kinds["split"], kinds["kind"], normalize="index")
    shown = table_with(app, "share_of_rows").set_index("role")
    for name in CLASSES:
        assert shown[f"class {name}"].dropna().to_dict() == pytest.approx(shares[name].to_dict())
    assert links(app) == ["Next: Scores"]


def test_a_positive_value_makes_two_classes_of_them(kinds):
    app = with_table(kinds)
    app = calm(app.selectbox(key="role_positive").select("bee").run())
    shown = table_with(app, "positives").set_index("role")["positives"]
    assert shown["test"] == ((kinds["kind"] == "bee") & (kinds["split"] == "test")).sum()
    app = go(app, "pages/scores.py")
    app = app.selectbox(key="scores_column").select("p_bee").run()
    app = calm(go(app, "pages/results.py"))
    test = kinds[kinds["split"] == "test"]
    area = roc_auc_score(test["kind"] == "bee", test["p_bee"])
    assert metrics(app)["AUC before"] == f"{area:.4f}"
    assert not [box for box in app.sidebar.selectbox if box.key == "class_shown"]
    app = go(app, "pages/data.py")
    app = calm(app.selectbox(key="role_positive").select("").run())
    app = go(app, "pages/scores.py")
    assert [box.label for box in app.main.selectbox] == [f"Score of class '{c}'" for c in CLASSES]


def address(app):
    """The link to what a page shows, under the name of its run."""
    (link,) = (each.value for each in app.code if "run=" in each.value)
    return dict(parse_qsl(link.partition("?")[2]))


def test_no_class_stays_in_the_address_of_a_label_with_two_values(kinds):
    app = show_class(go(with_class_scores(kinds), "pages/results.py"), "bee")
    assert address(app.run())["class"] == "bee"
    bookmark = address(app)
    app = calm(go(app, "pages/data.py").selectbox(key="role_positive").select("cow").run())
    assert "class" not in address(app)
    later = calm(open_page("pages/scores.py", **bookmark))
    assert "class" not in address(later)
    app = calm(app.run().selectbox(key="role_positive").select("").run())
    assert address(app)["class"] == "ant"


def test_a_label_with_too_many_values_asks_for_a_positive_one(kinds):
    app = with_table(kinds.assign(kind=kinds.index))
    assert "Up to 100 classes can be calibrated" in the_error(app)


def test_maps_and_test_rows_of_many_rows_by_classes_are_worked_on_beside_the_page(
    kinds, monkeypatch
):
    app = go(with_class_scores(kinds), "pages/results.py")
    in_place = metrics(calm(app))
    monkeypatch.setattr(compute, "PASSED_IN_PLACE", 1000)
    monkeypatch.setattr(compute, "FITTED_IN_PLACE", 1000)
    st.cache_resource.clear()  # what was computed in place
    beside = calm(wait_for_jobs(open_page("pages/results.py", run=the_run(app).id)))
    assert metrics(beside) == in_place
    for kind in ("maps", "evaluation"):
        assert len(the_run(app).kept_results(kind)) == 1


def test_columns_named_after_the_classes_are_offered(kinds):
    app = go(with_table(kinds), "pages/scores.py")
    assert [box.value for box in app.main.selectbox] == list(COLUMNS)
    app = calm(press(app, "Use these columns"))
    assert said(app.success) == ["Probabilities of 'p_ant', 'p_bee', 'p_cow', as logarithms."]
    assert metrics(app)["Rows with scores"] == "3,000"
    assert links(app) == ["Next: Partition"]


def test_columns_that_do_not_add_up_are_refused_and_can_be_logits(kinds):
    app = with_class_scores(kinds.assign(p_ant=0.5))
    assert "add up to" in the_error(app)
    app = app.segmented_control(key="scores_kind").set_value("logit").run()
    assert said(calm(app).success) == ["Logits of 'p_ant', 'p_bee', 'p_cow'."]


def test_the_results_begin_with_all_classes(kinds, finished):
    app = calm(go(with_class_scores(kinds), "pages/results.py"))
    y, before, after = probabilities(finished)
    areas = [
        [roc_auc_score(y == name, p[:, i]) for i, name in enumerate(CLASSES)]
        for p in (before, after)
    ]
    first = app.metric[:5]  # those below are about one class
    shown = {each.label: each.value for each in first}
    assert shown["Macro AUC before"] == f"{np.mean(areas[0]):.4f}"
    assert shown["Macro AUC after"] == f"{np.mean(areas[1]):.4f}"
    assert shown["Log-loss"] == f"{log_loss(y, before):.4f} → {log_loss(y, after):.4f}"
    right = [accuracy_score(y, np.array(CLASSES)[p.argmax(axis=1)]) for p in (before, after)]
    assert shown["Accuracy"] == f"{right[0]:.1%} → {right[1]:.1%}"
    # They hold what it knows.
    columns = "The columns do the work, not your model: consider replacing it. Macro AUC"
    assert any(each.startswith(columns) for each in said(app.warning))
    table = table_with(app, "class").set_index("class")
    assert table.loc[CLASSES, "auc_after"].tolist() == pytest.approx(areas[1], abs=1e-12)
    (points,) = figure(app, "classes_lift")["data"]
    lifts = [np.mean(areas[1]) - np.mean(areas[0]), *np.subtract(areas[1], areas[0])]
    assert numbers(points["x"]) == pytest.approx(lifts, abs=1e-12)


@pytest.mark.parametrize("name", ["ant", "cow"])
def test_the_rest_of_the_results_is_about_the_class_shown(kinds, finished, name):
    app = calm(show_class(go(with_class_scores(kinds), "pages/results.py"), name))
    y, before, after = probabilities(finished)
    place = CLASSES.index(name)
    areas = [roc_auc_score(y == name, p[:, place]) for p in (before, after)]
    shown = metrics(app)
    assert (shown["AUC before"], shown["AUC after"]) == tuple(f"{area:.4f}" for area in areas)
    assert f"Class {name} against all others" in [each.value for each in app.subheader]


def test_the_overview_gives_the_verdict_on_the_macro_auc(kinds):
    app = calm(go(with_class_scores(kinds), "app.py"))
    assert any("Macro AUC" in each for each in said(app.warning))
    assert "Macro AUC after" in metrics(app)


def test_partition_and_overconfidence_show_the_class(kinds, finished):
    app = show_class(go(with_class_scores(kinds), "pages/partition.py"), "bee")
    leaves = table_with(calm(app), "rate_train").set_index("leaf")
    train = kinds["split"] == "train"
    for leaf, row in leaves.iterrows():
        inside = train & (finished.leaf == leaf)
        assert row["rows_train"] == inside.sum()
        assert row["rate_train"] == pytest.approx((kinds["kind"][inside] == "bee").mean())
    app = calm(go(app, "pages/overconfidence.py"))
    assert app.sidebar.selectbox(key="class_shown").value == "bee"
    test = kinds[kinds["split"] == "test"]
    area = roc_auc_score(test["kind"] == "bee", test["p_bee"])
    assert metrics(app)["AUC, train → test"].endswith(f" → {area:.3f}")


def test_the_leaves_can_be_segments_of_ones_own(kinds):
    frame = kinds.copy()
    frame.insert(0, "side", np.array(["left", "middle", "right"])[np.digitize(kinds["x"], [-1, 1])])
    app = go(with_class_scores(frame), "pages/partition.py")
    assert app.selectbox(key="setting_partition").value == "tree"
    app = app.selectbox(key="setting_partition").select("columns").run()
    app = calm(app.multiselect(key="setting_segments").set_value(["side"]).run())
    assert len(table_with(app, "rate_train")) == 3
    assert "p_ant" not in app.multiselect(key="setting_segments").options
    assert metrics(calm(go(app, "pages/results.py")))["Macro AUC after"] > "0.7"


@pytest.mark.recommended
def test_maps_are_chosen_without_a_click_and_explained(kinds):
    app = calm(go(with_class_scores(kinds), "pages/partition.py"))
    assert app.selectbox(key="setting_partition").value == "auto"
    (rungs,) = app.button_group
    assert rungs.value == "tree vector"
    vector = "tree vector – a weight and a bias per class in every leaf (calibration)"
    assert f"Recommended: {vector}" in [each.value for each in app.subheader]
    assert any("Other schemes need two classes" in m.value for m in app.markdown)
    drawn = figure(app, "partition_ladder_tree vector")
    assert drawn["layout"]["xaxis"]["title"]["text"] == "macro AUC, cross-fitted"
    table = table_with(app, "rung")
    assert len(drawn["layout"]["yaxis"]["ticktext"]) == len(table) == len(rungs.options)
    results = calm(go(app, "pages/results.py"))
    assert any(
        f"In use until the model is replaced: {vector}. " in each for each in said(results.markdown)
    )
    assert table_with(results, "top_label_error")["scheme"].iloc[-1] == "chosen: tree vector"
    calibration = calm(go(app, "pages/calibration.py"))
    assert any("Chosen for all classes: tree vector" in m for m in said(calibration.markdown))
    assert not [each for each in calibration.segmented_control if each.key == "class_method"]
    calm(go(app, "pages/export.py"))


@pytest.mark.recommended
def test_a_sound_model_is_left_as_it_is_on_every_page(sound):
    app = calm(go(with_class_scores(sound), "pages/partition.py"))
    assert "Recommended: leave the model as it is" in [each.value for each in app.subheader]
    assert any(
        "The model is left as it is, so no leaf has a map." in each.value for each in app.markdown
    )
    for page in ("app.py", "pages/results.py"):
        app = calm(go(app, page))
        assert said(app.info)[0].startswith("Leave your model as it is")
        assert metrics(app)["Macro AUC before"] == metrics(app)["Macro AUC after"]
    for measure in ("top_label_error", "brier"):
        *_, before, after = table_with(app, measure)["scheme"]
        assert after.lower() == "chosen: leave the model as it is" != before
    app = calm(go(app, "pages/calibration.py"))
    assert "No map is fitted: the model is left as it is." in [each.value for each in app.caption]


@pytest.mark.recommended
def test_too_few_rows_to_choose_on_send_to_the_partition(kinds):
    few = kinds[kinds["split"] == "calibration"].index[40:]
    app = go(with_class_scores(kinds.drop(few)), "pages/results.py")
    assert "No class has at least 20 rows inside" in the_error(app)
    assert links(app) == ["Go to Partition"]
    assert button(app, "Try again")
    app = go(app, "pages/partition.py").selectbox(key="setting_partition").select("tree").run()
    assert metrics(calm(go(app, "pages/results.py")))["Macro AUC after"]


@pytest.mark.recommended
def test_the_choice_waits_for_scores_and_the_tree_does_not(kinds):
    app = calm(go(with_table(kinds), "pages/partition.py"))
    assert "Choose where scores come from" in links(app)
    app = calm(app.selectbox(key="setting_partition").select("tree").run())
    assert len(table_with(app, "rate_train")) > 1


def test_the_map_of_all_classes_can_be_chosen(kinds, finished):
    app = calm(go(with_class_scores(kinds), "pages/calibration.py"))
    assert app.segmented_control(key="class_method").value == "vector"
    maps = table_with(app, "bias").query("leaf == 0")
    assert maps["weight"].tolist() == pytest.approx(np.diag(finished.calibrator.pooled_.weights))
    app = calm(app.segmented_control(key="class_method").set_value("temperature").run())
    maps = table_with(app, "bias")
    assert (maps["bias"] == 0).all()
    spread = maps.groupby("leaf")["weight"].agg(["min", "max"])
    assert spread["min"].tolist() == spread["max"].tolist()
    assert any("does to the probability of class ant" in text for text in said(app.info))


def test_the_export_page_gives_the_run_of_all_classes(kinds, finished):
    app = calm(go(with_class_scores(kinds), "pages/export.py"))
    pd.testing.assert_frame_equal(
        table_with(app, "top_after"), scored_table(finished).head(8), check_dtype=False
    )
    (contents,) = [each.value for each in app.markdown if each.value.startswith("A zip")]
    assert contents.endswith("the metrics and sketches of the scores.")


def test_an_artifact_comes_back_and_scores_rows(kinds, finished):
    artifact = artifact_bytes(finished, ColumnScoring(COLUMNS, "probability"))
    app = calm(upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact))
    shown = metrics(app)
    assert shown["Macro AUC after"] == f"{finished.evaluation.after.macro_auc:.4f}"
    assert shown["Classes"] == "3"
    app = calm(upload(app, "reopen_table", "new.csv", kinds.head(30)))
    assert said(app.success) == ["30 rows of new.csv scored."]
    expected = scored_table(finished).drop(columns=["role", "label"]).head(8)
    pd.testing.assert_frame_equal(
        table_with(app, "top_after"), expected, check_dtype=False, check_exact=True
    )


@pytest.mark.network
def test_a_model_with_a_unit_per_class_scores_the_rows_in_the_order_given():
    with np.load(model_files() / "truth.npz") as truth:
        frame = pd.DataFrame(truth["x"].astype(float), columns=["a", "b", "c"])
    rng = np.random.default_rng(2)
    frame["split"] = rng.choice(["train", "calibration", "test"], len(frame))
    frame["kind"] = rng.choice(CLASSES, len(frame))
    app = go(with_table(frame), "pages/scores.py")
    app = app.segmented_control(key="scores_class_way").set_value("A Keras model").run()
    content = (model_files() / "three.keras").read_bytes()
    app = calm(upload(app, "scores_model", "three.keras", content))
    assert [each.value for each in app.multiselect] == [["a", "b", "c"], CLASSES]
    app = app.multiselect[1].set_value(["cow", "ant"]).run()
    assert button(in_this_order(app).check().run(), "Score the rows").disabled
    app = app.multiselect[1].set_value(["cow", "ant", "bee"]).run()
    app = calm(wait_for_jobs(press(app, "Score the rows")))
    assert "The final softmax was removed exactly" in said(app.success)[0]
    assert "Order of the classes: cow, ant, bee." in [each.value for each in app.caption]
    head = table_with(calm(go(app, "pages/export.py")), "top_after")
    with np.load(model_files() / "found.npz") as stored:
        own = stored["three.keras own"][: len(head)]
    shown = head[["before_cow", "before_ant", "before_bee"]].to_numpy()
    assert shown == pytest.approx(own.astype(float), abs=1e-6)


def test_settings_for_two_classes_give_way_and_the_map_of_all_classes_stays():
    asked = Settings(partition="forest", seed=3, max_depth=5, tree_size="cv", min_rows=70)
    assert for_classes(asked, "dirichlet") == Settings(
        partition="auto", seed=3, calibrator="dirichlet"
    )
    tree = for_classes(Settings(partition="tree", max_depth=5, tree_size="cv"), "vector")
    assert tree == Settings(partition="tree", max_depth=5, calibrator="vector")
