"""Learn: the paper's example by sliders, then the same pictures for the run."""

import pytest
from sklearn.metrics import roc_auc_score

from tests.pages.visit import (
    calm,
    figure,
    go,
    links,
    metrics,
    numbers,
    open_page,
    with_segment_leaves,
)


@pytest.mark.parametrize(
    ("weight", "area"), [(0.0, "0.7602"), (1.8, "0.8302"), (3.6, "0.8520"), (4.4, "0.8533")]
)
def test_the_slider_reaches_the_golden_numbers(weight, area):
    app = calm(open_page("pages/learn.py"))
    app.slider(key="learn_weight").set_value(weight).run()
    assert metrics(calm(app))["AUC, new rows"] == area
    mark = next(
        each for each in figure(app, "learn_weights")["data"] if each.get("name") == "your weight"
    )
    assert numbers(mark["x"]) == pytest.approx([weight])
    assert numbers(mark["y"]) == pytest.approx([float(area)], abs=5e-5)


def test_it_says_the_maps_of_both_leaves():
    app = calm(open_page("pages/learn.py"))
    (said,) = (each.value for each in app.markdown if "In leaf x = 0" in each.value)
    assert "slope **0.50**, intercept **-0.6486**" in said
    assert "slope **0.50**, intercept **+0.6486**" in said
    assert "**0.8533**" in said


def test_without_a_run_it_leads_to_the_demo():
    assert links(open_page("pages/learn.py")) == ["Run the demo"]


def test_the_leaves_of_a_run_get_weights_too(segments):
    app = calm(go(with_segment_leaves(segments), "pages/learn.py"))
    curve, mark = figure(app, "learn_own_weights")["data"]
    test = segments[segments["split"] == "test"]
    area = roc_auc_score(test["label"], test["score"])
    assert numbers(mark["y"]) == pytest.approx([area])
    assert numbers(curve["y"])[0] == pytest.approx(area)
