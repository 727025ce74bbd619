from dataclasses import replace

import numpy as np
import pytest

from hetcal.class_algorithm import run_classes
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_figures import (
    class_lift_figure,
    class_maps_table,
    class_metrics_table,
    top_label_figure,
)
from hetcal.roles import Roles
from hetcal.scores import scores_from_columns
from hetcal.settings import Settings
from hetcal.table import make_table

COLUMNS = ("p_ant", "p_bee", "p_cow")


@pytest.fixture(scope="module")
def finished(kinds):
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    return run_classes(table, scores, Settings(max_depth=1))


def test_the_lift_of_all_classes_stands_above_that_of_each(finished):
    found = finished.evaluation
    figure = class_lift_figure(found, "bee")
    (points,) = figure.data
    assert list(points.x) == [found.lift.auc, *found.classes["lift"]]
    ends = np.array(points.x) + np.array(points.error_x.array)
    assert ends == pytest.approx([found.lift.high, *found.classes["high"]])
    assert figure.layout.yaxis.ticktext == ("<b>all classes</b>", "ant", "<b>bee</b>", "cow")
    assert "ant</b> against all others" in points.hovertext[1]
    certain = replace(found, lift=replace(found.lift, p=0.0), classes=found.classes.assign(p=0.0))
    words = class_lift_figure(certain).data[0].hovertext
    assert ["p-value &lt; 1e-300<br>" in each for each in words] == [True] * 4


def test_without_any_lift_the_axis_stays_small(finished):
    found = finished.evaluation
    none = found.classes.assign(lift=0.0, low=0.0, high=0.0)
    still = replace(found, lift=replace(found.lift, auc=0.0, low=0.0, high=0.0), classes=none)
    assert class_lift_figure(still).layout.xaxis.range == (-0.01, 0.01)
    assert class_lift_figure(found).layout.xaxis.range is None


def test_the_top_label_figure_names_its_axes(finished):
    figure = top_label_figure(finished.evaluation.top_label)
    assert [trace.name for trace in figure.data] == ["perfectly calibrated", "before", "after"]
    assert figure.layout.xaxis.title.text == "probability of the top label"
    assert figure.layout.yaxis.title.text == "share of right top labels"


def test_the_table_of_measures_has_a_row_per_way(finished):
    table = class_metrics_table(finished.evaluation).set_index("scheme")
    assert table.index.tolist() == [
        "Model as it is",
        "One map for all rows",
        "One map in every leaf",
    ]
    assert table.at["One map for all rows", "accuracy"] == finished.evaluation.pooled.accuracy
    chosen = class_metrics_table(finished.evaluation, "tree vector").iloc[-1]
    assert chosen["scheme"] == "Chosen: tree vector"
    assert chosen["log_loss"] == finished.evaluation.after.log_loss


def test_maps_are_listed_by_leaf_and_class(finished):
    calibrator: ClassCalibrator = finished.calibrator
    table = class_maps_table(calibrator, finished.partition, finished.table.classes)
    assert table["leaf"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    second = table[(table["leaf"] == 2) & (table["class"] == "cow")].iloc[0]
    assert second["weight"] == calibrator.maps_[2].weights[2, 2]
    assert second["bias"] == calibrator.maps_[2].bias[2]
