"""Results: before and after on test rows."""

import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    roc_auc_score,
    roc_curve,
)

from hetcal.metrics.metrics import Metrics, measure
from tests.pages.visit import (
    calm,
    choose_leaf,
    defined,
    figure,
    go,
    metrics,
    numbers,
    open_page,
    press,
    said,
    table_with,
    the_error,
    the_run,
    with_least_rows,
    with_segment_leaves,
    with_table,
)


@pytest.fixture
def app(segments):
    return calm(go(with_least_rows(with_segment_leaves(segments), 50), "pages/results.py"))


def platt(rows, test):
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(rows[["score"]], rows["label"] == "yes")
    return model.decision_function(test[["score"]])


@pytest.fixture
def schemes(segments):
    """The four logits of the test rows, by scikit-learn and pandas; and the labels."""
    fit, test = (segments[segments["split"] == role] for role in ("calibration", "test"))
    after, tree = np.empty(len(test)), np.empty(len(test))
    for segment in "ab":
        rows, inside = fit[fit["segment"] == segment], (test["segment"] == segment).to_numpy()
        after[inside] = platt(rows, test[inside])
        tree[inside] = logit((rows["label"] == "yes").mean())
    logits = (test["score"].to_numpy(), platt(fit, test), tree, after)
    return dict(zip(("model", "pooled", "tree", "after"), logits, strict=True)), (
        test["label"] == "yes"
    ).to_numpy()


def test_the_cards_show_the_lift_that_scikit_learn_finds(app, schemes):
    logits, y = schemes
    before, after = (roc_auc_score(y, logits[name]) for name in ("model", "after"))
    shown = metrics(app)
    assert shown["AUC before"] == f"{before:.4f}"
    assert shown["AUC after"] == f"{after:.4f}"
    alone = roc_auc_score(y, logits["tree"])
    assert float(shown["Network adds to this scheme"]) == pytest.approx(after - alone, abs=1e-4)
    losses = [log_loss(y, expit(logits[name])) for name in ("model", "after")]
    assert shown["Log-loss"] == f"{losses[0]:.4f} → {losses[1]:.4f}"
    (verdict,) = said(app.success)
    assert f": {after - before:+.4f}," in verdict
    assert f"on {len(y):,} test rows" in verdict


def test_a_lift_beyond_doubt_has_no_p_value_of_zero():
    rng = np.random.default_rng(4)
    sizes = {"train": 800, "calibration": 800, "test": 4_000}
    n = sum(sizes.values())
    segment = rng.choice(["a", "b"], n)
    odd = rng.uniform(size=n) < 0.02
    label = (segment == "a") ^ odd
    score = rng.normal(size=n) + np.where(odd, np.where(label, 1.5, -1.5), 0)
    frame = {"segment": segment, "score": score, "label": label.astype(int)}
    frame["split"] = np.repeat(list(sizes), list(sizes.values()))
    app = calm(go(with_segment_leaves(pd.DataFrame(frame)), "pages/results.py"))
    # The placements of a score that knows next to nothing spread like a uniform.
    before, after = (float(metrics(app)[f"AUC {when}"]) for when in ("before", "after"))
    assert (after - before) / np.sqrt(2 / 12 / 1_900) > 40
    drawn = {each.get("name"): each for each in figure(app, "results_change")["data"][:4]}
    assert "p-value &lt; 1e-300" in drawn["after"]["hovertext"][0]


def test_the_four_schemes_have_the_measures_of_scikit_learn(app, schemes):
    logits, y = schemes
    shown = table_with(app, "scheme")
    assert len(shown) == 4
    for row, scores in zip(shown.itertuples(), logits.values(), strict=True):
        probability = expit(scores)
        assert row.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-6)
        assert row.average_precision == pytest.approx(average_precision_score(y, scores), abs=1e-4)
        area = measure(y, scores).balanced_precision_area
        assert row.balanced_precision_area == pytest.approx(area, abs=1e-4)
        assert row.log_loss == pytest.approx(log_loss(y, probability), abs=1e-5)
        assert row.brier == pytest.approx(brier_score_loss(y, probability), abs=1e-5)
    assert shown["auc"][0] == shown["auc"][1], "one map for all rows changes no order"


def test_the_leaves_share_the_lift_and_keep_their_own_area(app, schemes, segments):
    logits, y = schemes
    shown = table_with(app, "contribution").set_index("leaf")
    lift = roc_auc_score(y, logits["after"]) - roc_auc_score(y, logits["model"])
    assert shown["contribution"].sum() == pytest.approx(lift, abs=1e-6)
    segment = segments.loc[segments["split"] == "test", "segment"].to_numpy()
    for leaf, name in ((1, "b"), (2, "a")):
        area = roc_auc_score(y[segment == name], logits["model"][segment == name])
        assert shown.at[leaf, "auc_before"] == pytest.approx(area)
        assert shown.at[leaf, "auc_after"] == pytest.approx(area)


def test_the_curves_name_their_areas_and_end_in_the_corners(app, schemes):
    logits, y = schemes
    roc = {each["name"]: each for each in figure(app, "results_roc")["data"]}
    for name, scheme in (("before", "model"), ("after", "after")):
        curve = roc[f"{name} · AUC {roc_auc_score(y, logits[scheme]):.4f}"]
        x, height = numbers(curve["x"]), numbers(curve["y"])
        assert (x[0], height[0], x[-1], height[-1]) == (0, 0, 1, 1)
        assert np.trapezoid(height, x) == pytest.approx(roc_auc_score(y, logits[scheme]), abs=1e-3)
    assert len(figure(app, "results_pr")["data"]) == 3
    reliability = [each["name"] for each in figure(app, "results_reliability")["data"]]
    assert reliability[-2:] == ["before", "after"]


def test_the_chosen_leaf_is_kept_and_changes_no_result(app):
    before = metrics(app)
    assert metrics(calm(choose_leaf(app, 2))).items() >= before.items()
    assert app.sidebar.selectbox(key="leaf").value == 2


def test_numbers_of_a_leaf_push_no_chart_to_another_place(app):
    def places():
        blocks = {place: each for place, each in app.main.children.items() if hasattr(each, "get")}
        return {
            chart.proto.id.rpartition("-")[2]: place
            for place, each in blocks.items()
            for chart in each.get("plotly_chart")
        }

    before = places()
    assert {"results_roc", "results_costs"} <= set(before)
    choose_leaf(app, 2)
    assert any("these rows" in each.label for each in app.metric)
    assert places() == before


def test_rows_without_a_finite_score_are_left_out(segments):
    score = segments["score"].mask(segments.index < 300)
    app = go(with_segment_leaves(segments.assign(score=score)), "pages/results.py")
    test = segments[(segments["split"] == "test") & (segments.index >= 300)]
    assert f"on {len(test):,} test rows" in said(calm(app).success)[0]
    area = roc_auc_score(test["label"], test["score"])
    assert metrics(app)["AUC before"] == f"{area:.4f}"


def test_a_leaf_without_test_rows_is_no_obstacle(segments):
    gone = (segments["segment"] == "a") & (segments["split"] == "test")
    frame = segments.assign(split=segments["split"].mask(gone, "train"))
    app = calm(go(with_segment_leaves(frame), "pages/results.py"))
    shown = table_with(app, "contribution").set_index("leaf")
    assert shown.at[2, "rows"] == 0
    assert np.isnan(shown.at[2, "auc_before"])
    calm(choose_leaf(app, 2))


def test_what_is_not_defined_is_a_dash_with_its_reason(segments, app):
    assert not any("not defined" in each for each in said(app.caption))
    gone = (segments["segment"] == "a") & (segments["split"] == "test")
    frame = segments.assign(split=segments["split"].mask(gone, "train"))
    app = with_segment_leaves(frame)
    for page, reason in (
        ("partition", "– no rows of this role"),
        ("overconfidence", "– not defined: AUC"),
        ("results", "– not defined: AUC"),
    ):
        app = calm(go(app, f"pages/{page}.py"))
        assert {each.proto.placeholder for each in app.dataframe} == {"–"}
        assert any(each.startswith(reason) for each in said(app.caption)), page


def test_row_weights_count_as_copies_of_a_row(segments):
    weight = 1 + (segments["segment"] == "a") * 2
    app = go(with_segment_leaves(segments.assign(weight=weight)), "pages/results.py")
    test = segments["split"] == "test"
    area = roc_auc_score(
        segments.loc[test, "label"], segments.loc[test, "score"], sample_weight=weight[test]
    )
    assert metrics(calm(app))["AUC before"] == f"{area:.4f}"


def test_the_numbers_of_a_small_table_are_computed_on_all_rows(app):
    assert "Computed on every row, not from a sketch." in said(app.caption)
    assert not app.toggle


def test_the_verdict_says_that_the_interval_counts_groups(segments):
    grouped = segments.assign(site=np.arange(len(segments)) // 4)
    app = with_table(grouped)
    app.selectbox(key="role_group").select("site").run()
    app = go(app, "pages/scores.py")
    app.selectbox(key="scores_column").select("score").run()
    app = go(app, "pages/partition.py")
    app.slider(key="setting_max_depth").set_value(1).run()
    test = grouped["site"][grouped["split"] == "test"]
    (words,) = said(calm(go(app, "pages/results.py")).success)
    assert f"on {test.size:,} test rows of {test.nunique():,} groups" in words


def test_a_sketched_table_has_nearly_the_same_results_and_on_demand_the_same(
    app, segments, monkeypatch
):
    exact = metrics(app)
    monkeypatch.setattr("pages.shared.flow.compute.SKETCHED_FROM", 100)
    sketched = with_least_rows(with_segment_leaves(segments.assign(extra=1)), 50)
    sketched = go(sketched, "pages/results.py")
    assert any(each.startswith("From a sketch of ") for each in said(calm(sketched).caption))
    shown = metrics(sketched)
    for name in ("AUC before", "AUC after"):
        assert float(shown[name]) == pytest.approx(float(exact[name]), abs=2e-3)
    for page in ("pages/calibration.py", "pages/overconfidence.py"):
        calm(go(sketched, page))
    assert any(each.startswith("From a sketch of ") for each in said(sketched.caption))
    sketched.toggle(key="all_rows").set_value(True).run()
    for page in ("pages/overconfidence.py", "pages/results.py"):
        assert "Computed on every row, not from a sketch." in said(calm(go(sketched, page)).caption)
    assert metrics(sketched) == exact
    sketched.toggle(key="all_rows").set_value(False).run()
    assert metrics(calm(sketched)) == shown


def test_all_measures_stand_in_two_tables_of_few_columns(app):
    shown = [list(each.proto.column_order) for each in app.dataframe if "scheme" in each.value]
    assert [each[0] for each in shown] == ["scheme", "scheme"]
    assert max(map(len, shown)) <= 5
    assert sorted(shown[0][1:] + shown[1][1:]) == sorted(each.name for each in fields(Metrics))


def test_every_measure_is_explained_one_click_away(app):
    assert defined(app) == [
        "AUC", "Lift", "p-value", "TPR and FPR at (T, q)", "Average precision",
        "Class-balanced PR-AUC", "Log-loss", "Calibration part of the log-loss",
        "Refinement part of the log-loss", "Brier score", "Calibration error",
        "Calibration error, debiased", "Smooth calibration error", "Cumulative difference",
        "Interval", "Smallest detectable lift", "Share of the lift",
        "Without the network", "Network adds", "Kinds of schemes",
    ]  # fmt: skip


def test_a_false_positive_rate_buys_what_scikit_learn_says(app, schemes):
    logits, y = schemes
    for percent in (10.0, 30.0):
        app.number_input(key="results_rate").set_value(percent).run()
        marks = figure(calm(app), "results_roc")["data"][-2:]
        for mark, scheme in zip(marks, ("model", "after"), strict=True):
            false, true, _ = roc_curve(y, logits[scheme], drop_intermediate=False)
            (height,) = numbers(mark["y"])
            assert numbers(mark["x"]) == pytest.approx([percent / 100])
            assert height == pytest.approx(np.interp(percent / 100, false, true), abs=1 / y.sum())
            assert any(f"{100 * height:.1f} %" in each.value for each in app.markdown)


def test_pairs_of_leaves_are_told_in_order_of_what_they_gained(app, schemes, segments):
    logits, y = schemes
    leaf = np.where(segments.loc[segments["split"] == "test", "segment"] == "b", 1, 2)
    gains = np.zeros((2, 2))
    for one, zero in np.ndindex(2, 2):
        mine, other = y & (leaf == one + 1), ~y & (leaf == zero + 1)
        order = [logits[each][mine][:, None] - logits[each][other] for each in ("model", "after")]
        gains[one, zero] = (np.sign(order[1]) - np.sign(order[0])).sum() / 2 / y.sum() / (~y).sum()
    (heat,) = figure(app, "results_pairs")["data"]
    assert np.array([numbers(row) for row in heat["z"]]) == pytest.approx(gains, abs=1e-9)
    texts = [each.value for each in app.markdown]
    (told,) = (each for each in texts if "against negative rows" in each)
    assert f": {gains.flat[np.abs(gains).argmax()]:+.4f}," in told.split("\n")[0]


def test_every_measure_stands_with_its_interval(app, schemes):
    logits, y = schemes
    shown = table_with(app, "measure").set_index("measure")
    precision = average_precision_score(y, logits["after"])
    value, low, high = map(float, re.findall(r"[\d.]+", shown.at["Average precision", "after"]))
    assert value == pytest.approx(precision, abs=1e-4)
    assert low < precision < high
    assert "p-value" in shown.at["Cumulative difference", "before"]
    assert shown.at["Class-balanced PR-AUC", "before"] != shown.at["Average precision", "before"]


def test_every_chart_offers_its_data(app):
    charts = {each.key for each in app.get("plotly_chart")}
    offered = {each.key.removesuffix("_csv") for each in app.download_button if each.label == "CSV"}
    assert charts == offered


def set_threshold(app, threshold, alarm, miss):
    app.number_input(key="results_alarm").set_value(alarm).run()
    app.number_input(key="results_miss").set_value(miss).run()
    return calm(app.slider(key="results_threshold").set_value(threshold).run())


def counted_at(y, logits, threshold):
    """False alarms, misses, hits of each scheme, by scikit-learn."""
    for each in logits:
        (_, alarms), (misses, hits) = confusion_matrix(y, expit(each) >= threshold)
        yield alarms, misses, hits


@pytest.mark.parametrize("leaf", [0, 2])
def test_a_threshold_counts_errors_before_and_after_in_the_leaf(app, schemes, segments, leaf):
    logits, y = schemes
    segment = segments.loc[segments["split"] == "test", "segment"].to_numpy()
    inside = (segment == "a") | (leaf == 0)  # leaf 2 is segment a
    app = set_threshold(choose_leaf(app, leaf), 0.3, 2.0, 5.0)
    shown = table_with(app, "false_positives")
    both = [logits[name][inside] for name in ("model", "after")]
    for row, (alarms, misses, hits) in zip(
        shown.itertuples(), counted_at(y[inside], both, 0.3), strict=True
    ):
        assert (row.false_positives, row.false_negatives) == (alarms, misses)
        assert row.precision == pytest.approx(hits / (hits + alarms))
        assert row.cost == pytest.approx((2 * alarms + 5 * misses) / inside.sum())
    side = [expit(each) >= 0.3 for each in both]
    moved = f"Rows that change side: {(side[0] != side[1]).sum()}."
    assert any(moved in each.value for each in app.markdown)


def test_the_cheapest_threshold_after_can_be_taken(app, schemes):
    logits, y = schemes
    app = set_threshold(app, 0.5, 1.0, 4.0)
    (button,) = (each for each in app.button if each.label.startswith("Cheapest after"))
    app = calm(button.click().run())
    taken = app.slider(key="results_threshold").value
    shown = table_with(app, "false_positives").set_index("scored").loc["after", "cost"]
    costs = [
        np.mean(np.where(y, 4.0 * (logits["after"] < edge), logits["after"] >= edge))
        for edge in logits["after"]
    ]
    assert shown == pytest.approx(min(costs), abs=0.01)  # the slider has two decimals
    assert taken == pytest.approx(expit(logits["after"][np.argmin(costs)]), abs=0.02)
    assert any("**0.20** is the cheapest threshold" in each.value for each in app.markdown)


def test_pinned_leaves_and_cohorts_stand_side_by_side_and_stay_with_the_run(app, segments):
    app = calm(app.multiselect(key="compared").set_value([0, 2]).run())
    app = calm(app.text_input(key="new_cohort").set_value("segment = b and size > 30").run())
    table = table_with(app, "group").set_index("group")
    test = segments[segments["split"] == "test"]
    cohort = test[(test["segment"] == "b") & (test["size"] > 30)]
    assert table["rows"].tolist() == [len(test), (test["segment"] == "a").sum(), len(cohort)]
    area = roc_auc_score(cohort["label"] == "yes", cohort["score"])
    assert table.loc["segment = b and size > 30", "auc_before"] == pytest.approx(area)
    assert app.text_input(key="new_cohort").value == ""
    again = calm(open_page("pages/results.py", run=the_run(app).id))
    assert table_with(again, "group")["group"].tolist() == table.index.tolist()
    again = calm(again.multiselect(key="compared").set_value([2]).run())
    assert table_with(again, "group")["rows"].tolist() == [(test["segment"] == "a").sum()]


def test_a_chosen_leaf_is_pinned_by_a_click(app):
    app = calm(press(choose_leaf(app, 2), "Pin leaf 2"))
    assert app.multiselect(key="compared").value == [2]


def test_a_cohort_that_cannot_be_read_says_why_and_the_text_stays(app):
    app = app.text_input(key="new_cohort").set_value("segmet = b").run()
    assert "no column 'segmet'" in the_error(app)
    assert app.text_input(key="new_cohort").value == "segmet = b"
