"""Calibration: one Platt map per leaf, or the pooled slope with its reason."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from tests.pages.visit import (
    calm,
    choose_leaf,
    click_point,
    defined,
    figure,
    go,
    links,
    said,
    table_with,
    the_error,
    with_least_rows,
    with_scores,
    with_segment_leaves,
)


def calibration_page(frame):
    return go(with_segment_leaves(frame), "pages/calibration.py")


def maps(app):
    return table_with(app, "slope_se").set_index("leaf")


def fitted(rows):
    rows = rows[rows["split"] == "calibration"]
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(rows[["score"]], rows["label"])
    return platt.coef_[0, 0], platt.intercept_[0], len(rows)


def test_the_maps_are_those_of_scikit_learn_on_calibration_rows(segments):
    app = calm(with_least_rows(with_segment_leaves(segments), 50))
    inside = segments["segment"] == "a"
    for leaf, rows in enumerate((segments, segments[~inside], segments[inside])):
        shown = maps(app).loc[leaf]
        slope, intercept, count = fitted(rows)
        assert (shown["slope"], shown["intercept"]) == pytest.approx((slope, intercept), abs=1e-4)
        assert shown["rows"] == count
    assert not app.warning


def test_a_leaf_with_few_of_the_rarer_class_has_the_pooled_slope_and_is_flagged(segments):
    own = segments[segments["split"] == "calibration"]
    counts = own.groupby(["segment", "label"]).size().unstack().min(axis=1)
    rarer = counts.set_axis([2, 1])  # segment a is leaf 2
    small, large = rarer.idxmin(), rarer.idxmax()
    app = calm(with_least_rows(with_segment_leaves(segments), int(rarer.min()) + 1))
    reason = "few of the rarer class"
    assert said(app.warning) == [f"Pooled slope, own intercept: leaf {small} ({reason})."]
    assert maps(app).at[small, "slope"] == maps(app).at[0, "slope"]
    assert maps(app).at[small, "intercept"] != maps(app).at[0, "intercept"]
    assert maps(app).at[small, "fallback"] == reason
    assert maps(app).at[large, "slope"] != maps(app).at[0, "slope"]


def test_a_leaf_with_one_class_has_the_pooled_slope_and_is_flagged(segments):
    inside = (segments["segment"] == "a") & (segments["split"] == "calibration")
    app = with_segment_leaves(segments.assign(label=segments["label"].mask(inside, "yes")))
    app = calm(with_least_rows(app, 50))
    assert said(app.warning) == ["Pooled slope, own intercept: leaf 2 (one class)."]


def test_scores_that_point_the_wrong_way_are_warned_of(segments):
    app = calm(calibration_page(segments.assign(score=-segments["score"])))
    assert any("slope" in text for text in said(app.warning))


def test_the_chosen_leaf_stands_out_in_the_maps(segments):
    app = calibration_page(segments)
    names = [each.get("name") for each in figure(app, "calibration_maps")["data"]]
    assert "Leaf 2" not in names
    choose_leaf(app, 2)
    assert "Leaf 2" in [each.get("name") for each in figure(app, "calibration_maps")["data"]]


def test_separated_calibration_rows_are_explained(segments):
    sure = np.where(segments["label"] == "yes", 3.0, -3.0) + segments["score"] / 1_000
    app = go(with_scores(segments.assign(score=sure)), "pages/calibration.py")
    assert "calibration rows" in the_error(app)
    assert links(app) == ["Go to Scores"]


def test_its_terms_are_explained_one_click_away(segments):
    assert defined(calibration_page(segments)) == [
        "Slope and intercept",
        "Fitted slope",
        "Applied slope",
        "Slope needed",
        "Standard error",
        "Is it calibrated? (p)",
        "Cumulative difference",
    ]


def test_a_slider_goes_from_the_network_to_the_tree_and_moves_the_auc(segments):
    app = calm(calibration_page(segments))
    test, fit = (segments[segments["split"] == role] for role in ("test", "calibration"))
    rate = (fit["label"] == "yes").groupby(fit["segment"]).mean()
    odds = np.log(rate / (1 - rate))[test["segment"]].to_numpy()
    for percent in (0, 40, 100):
        app = calm(app.slider(key="calibration_share").set_value(percent).run())
        mixed = (1 - percent / 100) * test["score"] + percent / 100 * odds
        area = roc_auc_score(test["label"] == "yes", mixed)
        assert any(f"Here the AUC is **{area:.4f}**" in each.value for each in app.markdown)
        drawn = figure(app, "calibration_plane")["data"]
        assert any(each.get("name") == f"{percent}% of the way" for each in drawn)


def test_a_click_on_a_leaf_in_the_plane_chooses_it(segments):
    app = calm(click_point(calm(calibration_page(segments)), "calibration_plane", 2))
    assert app.sidebar.selectbox(key="leaf").value == 2
