"""What is applied, on Calibration, Over-confidence and Results, for every kind of scheme."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.data.columns import counted
from hetcal.models.scoring import ColumnScoring
from hetcal.results.why import BEFORE
from pages.shared.display.applied import NO_ROWS
from pages.shared.flow import compute
from tests.pages.visit import (
    bold_panels,
    button,
    calm,
    choose_leaf,
    click_point,
    click_row,
    figure,
    go,
    identity,
    metrics,
    numbers,
    open_page,
    press,
    said,
    table_with,
    the_run,
    upload,
    with_scores,
    with_segment_leaves,
)
from tests.schemes.chosen import chosen


@pytest.fixture
def runs(monkeypatch):
    """The runs that the pages finish."""
    found, finish = [], compute.finish_run

    def finishing(*args):
        found.append(finish(*args))
        return found[-1]

    monkeypatch.setattr(compute, "finish_run", finishing)
    return found


@pytest.fixture
def calibration(segments, monkeypatch, runs):
    """Open the Calibration page with a scheme that is chosen by its name."""

    def open_with(name, frame=segments):
        monkeypatch.setattr(compute, "find_scheme", chosen(name))
        app = go(with_scores(frame), "pages/partition.py")
        app = app.selectbox(key="setting_partition").select("auto").run()
        return calm(go(app, "pages/calibration.py"))

    return open_with


def charts(app):
    return {each.key for each in app.get("plotly_chart")}


def trace(app, key, name):
    return next(each for each in figure(app, key)["data"] if each.get("name") == name)


def steps(app):
    return table_with(app, "probability")


def listed(app):
    return next(each.value for each in app.dataframe if "loss" in each.value)


def test_where_a_leaf_has_one_map_it_is_met_exactly(segments, runs):
    app = calm(choose_leaf(go(with_segment_leaves(segments), "pages/calibration.py"), 2))
    (own,) = (each for each in runs[-1].calibrator.maps_ if each.leaf == 2)
    mean = trace(app, "calibration_applied", "mean after")
    before = numbers(mean["x"])
    logit = own.slope * np.log(before / (1 - before)) + own.intercept
    assert numbers(mean["y"]) == pytest.approx(expit(logit), abs=1e-9)
    table = table_with(app, "explained").set_index("leaf")
    assert table.loc[[1, 2], "explained"].tolist() == pytest.approx([1, 1])
    assert table.at[0, "explained"] < 0.99


def test_many_trees_have_bands_and_no_maps(calibration, runs):
    app = calibration("forest")
    assert not charts(app) & {"calibration_maps", "calibration_plane"}
    assert {"calibration_applied", "calibration_leaves"} <= charts(app)
    assert any("This is not one map" in each for each in said(app.markdown))
    run, leaf = runs[-1], 1
    rows = run.split.test[run.leaf[run.split.test] == leaf]
    shown = table_with(app, "explained").set_index("leaf").loc[leaf]
    assert shown["mean_after"] == pytest.approx(expit(run.after[rows]).mean())
    correlation = np.corrcoef(run.scores.logit[rows], run.after[rows])[0, 1]
    assert shown["explained"] == pytest.approx(correlation**2)


def test_a_correction_shows_its_curves_and_enlarges_the_one_that_is_searched(calibration, runs):
    app = calibration("additive")
    (terms,) = (each.terms for each in runs[-1].choice.scheme.stages if hasattr(each, "terms"))
    assert "calibration_curves" in charts(app)
    assert "calibration_term_chart" not in charts(app)
    assert any(f"plus {counted(len(terms.curves), 'curve')}" in each for each in said(app.info))
    box = app.selectbox(key="calibration_term")
    assert sorted(box.options) == sorted(terms.names)
    app = calm(box.select("segment").run())
    assert "segment" in [each.value for each in app.subheader]
    assert "calibration_term_chart" in charts(app)
    app = calm(click_row(app, "calibration_terms", 0))
    shown = app.selectbox(key="calibration_term").value
    assert shown == table_with(app, "together")["term"].iloc[0]


@pytest.mark.parametrize("name", ["identity", "pooled", "tree", "forest", "additive"])
def test_every_scheme_says_why_a_row_has_its_probability(calibration, runs, name):
    app = calibration(name)
    run = runs[-1]
    rows = run.split.test
    wrong = np.where(run.table.y[rows] == 1, -run.scores.logit[rows], run.scores.logit[rows])
    row = listed(app)["row"].iloc[0] - 1
    assert row == rows[wrong.argmax()]  # the most over-confident one
    assert steps(app)["name"].iloc[0] == BEFORE
    assert steps(app)["logit"].iloc[0] == run.scores.logit[row]
    assert steps(app)["logit"].iloc[-1] == pytest.approx(run.after[row], abs=1e-9)
    assert "row_steps" in charts(app)


def test_rows_are_picked_by_a_click_by_number_at_random_and_by_a_search(segments, runs):
    app = calm(go(with_segment_leaves(segments), "pages/calibration.py"))
    third = listed(app)["row"].iloc[2]
    app = calm(click_row(app, "row_list", 2))
    assert app.number_input(key="row_number").value == third
    app = calm(app.number_input(key="row_number").set_value(5).run())
    assert steps(app)["logit"].iloc[-1] == pytest.approx(runs[-1].after[4])
    app = calm(app.segmented_control(key="row_order").set_value("random").run())
    first = listed(app)["row"].tolist()
    assert app.number_input(key="row_number").value == first[0]
    second = listed(calm(press(app, "Draw others")))["row"].tolist()
    assert first != second
    app = calm(app.text_input(key="row_search").set_value("segment = b").run())
    assert set(listed(app)["column segment"]) == {"b"}
    app = calm(app.text_input(key="row_search").set_value("nowhere").run())
    assert any("No row fits" in each for each in said(app.caption))


def test_the_rows_of_a_leaf_are_turned_page_by_page(segments, runs):
    app = calm(choose_leaf(go(with_segment_leaves(segments), "pages/calibration.py"), 2))
    run = runs[-1]
    count = (run.leaf[run.split.test] == 2).sum()
    seen = listed(app)["row"].tolist()
    losses = listed(app)["loss_before"].tolist()
    assert len(seen) == 50 < count
    while not button(app, "Next rows").disabled:
        app = calm(press(app, "Next rows"))
        assert app.number_input(key="row_number").value == listed(app)["row"].iloc[0]
        seen += listed(app)["row"].tolist()
        losses += listed(app)["loss_before"].tolist()
    assert len(set(seen)) == len(seen) == count
    assert losses == sorted(losses, reverse=True)
    app = calm(choose_leaf(app, 1))
    assert button(app, "Previous rows").disabled  # another leaf begins with its first rows


def test_all_rows_of_a_leaf_are_sorted_by_a_column_not_only_those_in_sight(segments, runs):
    app = calm(choose_leaf(go(with_segment_leaves(segments), "pages/calibration.py"), 2))
    app = calm(app.segmented_control(key="row_order").set_value("by a column").run())
    run = runs[-1]
    rows = run.split.test[run.leaf[run.split.test] == 2]
    before = expit(run.scores.logit[rows])
    assert listed(app)["before"].tolist() == pytest.approx(np.sort(before)[::-1][:50].tolist())
    app = calm(app.selectbox(key="row_column").select("column size").run())
    app = calm(app.toggle(key="row_descending").set_value(False).run())
    size = np.sort(run.table.X["size"].to_numpy()[rows])
    assert listed(app)["column size"].tolist() == pytest.approx(size[:50].tolist())
    app = calm(press(app, "Next rows"))
    assert listed(app)["column size"].tolist() == pytest.approx(size[50:100].tolist())


def test_a_column_named_as_one_of_hetcals_own_has_another_label(segments):
    frame = segments.rename(columns={"size": "row"})
    app = calm(go(with_segment_leaves(frame), "pages/calibration.py"))
    app = calm(app.segmented_control(key="row_order").set_value("by a column").run())
    labels = app.selectbox(key="row_column").options
    assert len(set(labels)) == len(labels)
    assert {"row", "row (table)"} <= set(labels)


def test_the_most_wrong_rows_are_those_of_the_chosen_leaf(segments, runs):
    app = calm(choose_leaf(go(with_segment_leaves(segments), "pages/calibration.py"), 1))
    app = calm(app.segmented_control(key="row_order").set_value("most wrong").run())
    run = runs[-1]
    rows = run.split.test[run.leaf[run.split.test] == 1]
    p = expit(run.after[rows])
    loss = -np.log(np.where(run.table.y[rows] == 1, p, 1 - p))
    assert listed(app)["row"].iloc[0] == rows[loss.argmax()] + 1
    assert set(listed(app)["leaf"]) == {1}


@pytest.fixture
def branch(customers, runs):
    """A session that looks at a branch of a tree, and the rows of the branch in its run."""
    app = go(with_scores(customers), "pages/partition.py")
    app = app.slider(key="setting_max_depth").set_value(2).run()
    app = calm(go(app, "pages/results.py"))
    found = runs[-1].partition.branches[0]
    app = calm(click_point(go(app, "pages/partition.py"), "partition_tree", found.id))
    assert len(found.leaves) > 1
    return app, runs[-1], np.isin(runs[-1].leaf, found.leaves)


@pytest.mark.parametrize("page", ["overconfidence", "results"])
def test_a_click_on_a_split_shows_the_curves_of_its_leaves_together(branch, page):
    app, run, inside = branch
    app = calm(go(app, f"pages/{page}.py"))
    rows = run.split.test[inside[run.split.test]]
    names = [each.get("name") or "" for each in figure(app, f"{page}_roc")["data"]]
    for name, logit in (("before", run.scores.logit), ("after", run.after)):
        assert f"{name} · AUC {roc_auc_score(run.table.y[rows], logit[rows]):.4f}" in names


def test_a_branch_has_its_histogram_its_diagnosis_and_its_losses(branch):
    app, run, inside = branch
    train, test = (rows[inside[rows]] for rows in (run.split.train, run.split.test))
    app = calm(go(app, "pages/overconfidence.py"))
    titles = [each["text"] for each in figure(app, "overconfidence_leaf")["layout"]["annotations"]]
    assert titles == [f"train rows · n = {train.size:,}", f"test rows · n = {test.size:,}"]
    area = roc_auc_score(run.table.y[test], run.scores.logit[test])
    assert metrics(app)["AUC, train → test"].endswith(f"→ {area:.3f}")
    app = calm(go(app, "pages/results.py"))
    shown, notes = metrics(app), {each.label: each.delta for each in app.metric}
    y, both = run.table.y[test], [expit(each[test]) for each in (run.scores.logit, run.after)]
    for label, measure in (("Log-loss", log_loss), ("Brier score", brier_score_loss)):
        before, after = (measure(y, p) for p in both)
        assert shown[f"{label}, these rows"] == f"{before:.4f} → {after:.4f}"
        assert notes[f"{label}, these rows"].startswith(f"{after - before:+.4f} (")


def test_a_branch_has_its_rows_its_band_and_its_decisions(branch):
    app, run, inside = branch
    rows = run.split.test[inside[run.split.test]]
    app = calm(go(app, "pages/calibration.py"))
    assert set(listed(app)["row"] - 1) <= set(rows)
    assert any(f"of {counted(rows.size, 'row')}" in each for each in said(app.caption))
    mean = f"from {expit(run.scores.logit[rows]).mean():.1%} to {expit(run.after[rows]).mean():.1%}"
    assert any(mean in each for each in said(app.markdown))
    table = table_with(calm(go(app, "pages/results.py")), "false_positives")
    counts = table[["true_positives", "false_positives", "false_negatives", "true_negatives"]]
    assert counts.sum(axis=1).tolist() == [rows.size, rows.size]


def test_a_branch_stands_in_the_address_and_all_rows_are_one_click_away(branch):
    app, run, _ = branch
    number = the_run(app).id
    fresh = calm(open_page("pages/results.py", run=number, leaf="-1"))
    assert fresh.sidebar.selectbox(key="leaf").value == -1
    assert run.partition.branches[0].rule in said(fresh.sidebar.caption)
    fresh = calm(press(fresh, "Show all rows"))
    assert fresh.sidebar.selectbox(key="leaf").value == 0
    nobody = calm(open_page("pages/results.py", run=number, leaf="-99"))
    assert nobody.sidebar.selectbox(key="leaf").value == 0


def test_the_chosen_leaf_is_ticked_and_shaded_in_every_table(segments):
    app = calm(choose_leaf(go(with_segment_leaves(segments), "pages/results.py"), 2))
    for page, key in (
        ("results", "results_table"),
        ("overconfidence", "overconfidence_table"),
        ("calibration", "calibration_table"),
        ("calibration", "calibration_applied_table"),
        ("partition", "partition_leaves"),
    ):
        app = calm(go(app, f"pages/{page}.py"))
        table = next(each for each in app.dataframe if each.proto.id.endswith(f"-{key}"))
        (row,) = app.session_state[key]["selection"]["rows"]
        assert table.value["leaf"].iloc[row] == 2
        shaded = [
            line for line in table.proto.arrow_data.styler.styles.split("}") if "background" in line
        ]
        assert shaded
        assert all(f"_row{row}_" in line for line in shaded)


def test_bands_of_all_leaves_are_drawn_anew_only_after_a_click_on_them(calibration):
    app = choose_leaf(calibration("forest"), 1)
    before = identity(app, "calibration_leaves")
    assert identity(choose_leaf(app, 2), "calibration_leaves") == before
    assert bold_panels(app, "calibration_leaves") == [1]
    # What was clicked would stay selected, and another click on it would choose all rows.
    calm(click_point(app, "calibration_leaves", 1))
    assert bold_panels(app, "calibration_leaves") == [0]
    assert identity(app, "calibration_leaves") != before


def test_a_leaf_without_test_rows_can_be_chosen_and_says_so(segments, calibration, runs):
    used = (segments["split"] != "test") | (segments["segment"] == "b")
    app = calibration("forest", segments[used])
    run = runs[-1]
    (empty, *_) = {each.id for each in run.partition.leaves} - set(run.leaf[run.split.test])
    app = calm(choose_leaf(app, empty))
    assert "calibration_leaves" in charts(app)
    assert NO_ROWS in said(app.markdown)


@pytest.mark.parametrize("page", ["overconfidence", "results"])
def test_curves_before_and_after_are_those_of_the_chosen_leaf(calibration, runs, page):
    app = calm(choose_leaf(go(calibration("forest"), f"pages/{page}.py"), 2))
    run = runs[-1]
    rows = run.split.test[run.leaf[run.split.test] == 2]
    names = [each.get("name") or "" for each in figure(app, f"{page}_roc")["data"]]
    for name, logit in (("before", run.scores.logit), ("after", run.after)):
        area = roc_auc_score(run.table.y[rows], logit[rows])
        assert f"{name} · AUC {area:.4f}" in names
    assert f"{page}_reliability" in charts(app)
    title = f"Before and after · {run.partition.names[2]}"
    assert any(title == each.value.replace("\\", "") for each in app.subheader)


@pytest.mark.parametrize("page", ["overconfidence", "results", "calibration"])
def test_a_leaf_whose_test_rows_have_one_label_has_no_roc_curve(segments, page):
    inside = (segments["segment"] == "a") & (segments["split"] == "test")
    frame = segments.assign(label=segments["label"].mask(inside, "yes"))
    app = calm(choose_leaf(go(with_segment_leaves(frame), f"pages/{page}.py"), 2))
    assert f"{page}_roc" not in charts(app)
    assert f"{page}_reliability" in charts(app)


def test_a_saved_correction_has_its_curves_and_bands_but_no_rows(calibration, runs):
    calibration("additive")
    data = artifact_bytes(runs[-1], ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", data)
    app = calm(go(press(calm(app), "Explore this run"), "pages/calibration.py"))
    assert {"calibration_curves", "calibration_applied", "calibration_leaves"} <= charts(app)
    assert any("A saved run has no rows" in each for each in said(app.caption))
    shown = table_with(app, "explained").set_index("leaf")
    rows = runs[-1].split.test
    assert shown.at[0, "mean_after"] == pytest.approx(expit(runs[-1].after[rows]).mean(), abs=0.002)


def test_where_a_name_leaves_conditions_out_the_title_has_the_whole_rule(runs):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 4, (4_000, 6)), columns=[*"abcdef"])
    odds = frame.to_numpy() @ np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]) - 5.5
    label = (rng.random(4_000) < expit(odds)).astype(int)
    split = rng.choice(["train", "calibration", "test"], 4_000)
    app = go(with_scores(frame.assign(score=odds, label=label, split=split)), "pages/partition.py")
    app = calm(app.slider(key="setting_max_depth").set_value(6).run())
    app = calm(go(app, "pages/calibration.py"))
    partition = runs[-1].partition
    long = next(each for each in partition.leaves if "…" in partition.names[each.id])
    short = next(each for each in partition.leaves if "…" not in partition.names[each.id])
    for leaf, help_text in ((long, long.rule), (short, "")):
        app = calm(choose_leaf(app, leaf.id))
        title = next(each for each in app.subheader if each.value.startswith("What is applied"))
        assert title.proto.help.replace("\\", "") == help_text
