"""Over-confidence: train against test, for all rows and for the chosen leaf."""

import re

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import ttest_ind
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.figures import overconfidence
from hetcal.results.words import DEFINITIONS
from tests.pages.visit import (
    bold_panels,
    calm,
    choose_leaf,
    defined,
    figure,
    go,
    identity,
    metrics,
    numbers,
    table_with,
    with_segment_leaves,
)


@pytest.fixture
def app(segments):
    return calm(go(with_segment_leaves(segments), "pages/overconfidence.py"))


def expected(rows):
    """The page's numbers for some rows, by scikit-learn and numpy."""
    train, test = (rows[rows["split"] == role] for role in ("train", "test"))
    areas = [roc_auc_score(part["label"], part["score"]) for part in (train, test)]
    losses = [log_loss(part["label"] == "yes", expit(part["score"])) for part in (train, test)]
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(test[["score"]], test["label"])
    return {
        "AUC, train → test": f"{areas[0]:.3f} → {areas[1]:.3f}",
        "Log-loss gap": f"{losses[1] - losses[0]:+.3f}",
        "Slope needed on test rows": f"{platt.coef_[0, 0]:.2f}",
    }


def test_all_rows_and_each_leaf_have_the_numbers_of_scikit_learn(app, segments):
    assert metrics(app) == expected(segments)
    for leaf, segment in ((1, "b"), (2, "a")):
        choose_leaf(app, leaf)
        inside = segments[segments["segment"] == segment]
        assert metrics(calm(app)) == expected(inside)
        assert any(each.value.startswith(f"**Leaf {leaf}:** train AUC") for each in app.markdown)


def test_its_first_line_answers_whether_the_model_is_overconfident(app, segments):
    slope = expected(segments)["Slope needed on test rows"]
    (said,) = (each.value for each in app.markdown if "over-confident?" in each.value)
    assert f" {slope} (" in said


def test_the_table_has_the_log_loss_of_train_and_test(app, segments):
    shown = table_with(app, "log_loss_gap").set_index("leaf")
    for leaf, segment in ((1, "b"), (2, "a")):
        losses = {}
        for role in ("train", "test"):
            part = segments[(segments["segment"] == segment) & (segments["split"] == role)]
            losses[role] = log_loss(part["label"] == "yes", expit(part["score"]))
            assert shown.at[leaf, f"log_loss_{role}"] == pytest.approx(losses[role])
            assert shown.at[leaf, f"rows_{role}"] == len(part)
        assert shown.at[leaf, "log_loss_gap"] == pytest.approx(losses["test"] - losses["train"])


def test_bars_of_rows_add_up_to_the_rows_and_densities_do_not(app, segments):
    used = segments["split"].isin(["train", "test"]).sum()

    def height():
        bars = [t for t in figure(app, "overconfidence_leaf")["data"] if t["type"] == "bar"]
        return sum(np.abs(numbers(each["y"])).sum() for each in bars)

    assert height() != pytest.approx(used)
    app.segmented_control(key="overconfidence_height").set_value("Rows").run()
    assert height() == pytest.approx(used)
    choose_leaf(app, 1)
    used = (segments["split"].isin(["train", "test"]) & (segments["segment"] == "b")).sum()
    assert height() == pytest.approx(used)


def test_another_leaf_is_marked_above_its_small_panel_without_drawing_all_of_them_anew(app):
    before = identity(choose_leaf(app, 1), "overconfidence_leaves")
    assert bold_panels(app, "overconfidence_leaves") == [0]
    titles = figure(choose_leaf(app, 2), "overconfidence_leaves")["layout"]["annotations"]
    (place,) = bold_panels(app, "overconfidence_leaves")
    assert "(2)" in titles[place]["text"]
    assert identity(app, "overconfidence_leaves") == before


def test_a_leaf_without_a_small_panel_marks_none(app, monkeypatch):
    monkeypatch.setattr(overconfidence, "MAX_POINTS", 4 * 24)  # enough for one leaf
    app = calm(choose_leaf(app, 2))
    assert "1 more leaves not shown" in str(figure(app, "overconfidence_leaves")["layout"])
    assert not any("overconfidence_leaves" in each.proto.body for each in app.get("html"))


def test_the_axis_of_probabilities_runs_from_0_to_1_and_is_kept(app):
    def positions():
        bars = [t for t in figure(app, "overconfidence_leaf")["data"] if t["type"] == "bar"]
        return np.concatenate([numbers(each["x"]) for each in bars])

    assert positions().min() < 0
    app.segmented_control(key="overconfidence_axis").set_value("probability").run()
    assert positions().min() >= 0
    assert positions().max() <= 1
    app = go(go(app, "pages/results.py"), "pages/overconfidence.py")
    assert app.segmented_control(key="overconfidence_axis").value == "probability"


def test_a_leaf_without_test_rows_has_dashes_and_says_why(segments):
    gone = (segments["segment"] == "a") & (segments["split"] == "test")
    frame = segments.assign(split=segments["split"].mask(gone, "train"))
    app = go(with_segment_leaves(frame), "pages/overconfidence.py")
    shown = metrics(calm(choose_leaf(app, 2)))
    assert re.fullmatch(r"0\.\d{3} → –", shown.pop("AUC, train → test"))
    assert set(shown.values()) == {"–"}
    assert any("no test rows" in each.value for each in app.markdown)
    assert not any("nan" in each.delta for each in app.metric)


def test_its_terms_are_explained_one_click_away(app):
    assert defined(app) == [
        "Over-confident",
        "Slope needed",
        "AUC",
        "Log-loss",
        "Log-loss gap",
        "Is the gap real? (p)",
        "Is it calibrated? (p)",
    ]
    slope = next(each for each in app.metric if each.label == "Slope needed on test rows")
    assert slope.proto.help == DEFINITIONS["Slope needed"]


def test_the_gap_of_every_leaf_is_tested_as_scipy_does(app, segments):
    shown = table_with(app, "p_gap").set_index("leaf")
    p = []
    for segment in ("b", "a"):
        inside = segments[segments["segment"] == segment]
        losses = [
            np.logaddexp(0, np.where(part["label"] == "yes", -1, 1) * part["score"])
            for part in (inside[inside["split"] == role] for role in ("train", "test"))
        ]
        p.append(ttest_ind(*losses, equal_var=False).pvalue)
    # Of two p-values Holm doubles the smaller one; the larger stays, but is not below it.
    smaller = min(2 * min(p), 1)
    expected = [smaller if each == min(p) else max(each, smaller) for each in p]
    assert shown.loc[[1, 2], "p_gap"].tolist() == pytest.approx(expected, rel=0.02)
    assert "Holm" in " ".join(each.value for each in app.caption)
