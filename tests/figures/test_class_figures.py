from dataclasses import replace

import numpy as np
import pytest

from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.data.scores import scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.figures.results import class_lift_figure, class_maps_table, top_label_figure
from hetcal.results.evaluation import metrics_table
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

COLUMNS = ("p_ant", "p_bee", "p_cow")


@pytest.fixture(scope="module")
def finished(kinds):
    table = make_table(kinds, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    scores = scores_from_columns(kinds, COLUMNS, "probability", "digest")
    return run(table, scores, Settings(max_depth=1))


def test_the_lift_of_all_classes_stands_above_that_of_each(finished):
    found, table = finished.evaluation, finished.evaluation.by_class.table
    figure = class_lift_figure(found, "bee")
    (points,) = figure.data
    assert list(points.x) == [found.lift.auc, *table["lift"]]
    ends = np.array(points.x) + np.array(points.error_x.array)
    assert ends == pytest.approx([found.lift.high, *table["high"]])
    assert figure.layout.yaxis.ticktext == ("<b>all classes</b>", "ant", "<b>bee</b>", "cow")
    assert "ant</b> against all others" in points.hovertext[1]
    tiny = replace(found.by_class, table=table.assign(p=0.0))
    certain = replace(found, lift=replace(found.lift, p=0.0), by_class=tiny)
    words = class_lift_figure(certain).data[0].hovertext
    assert ["p-value &lt; 1e-300<br>" in each for each in words] == [True] * 4


def test_without_any_lift_the_axis_stays_small(finished):
    found = finished.evaluation
    table = found.by_class.table.assign(lift=0.0, low=0.0, high=0.0)
    none, lift = replace(found.by_class, table=table), replace(found.lift, auc=0, low=0, high=0)
    still = replace(found, lift=lift, by_class=none)
    assert class_lift_figure(still).layout.xaxis.range == (-0.01, 0.01)
    assert class_lift_figure(found).layout.xaxis.range is None


def test_the_top_label_figure_names_its_axes(finished):
    figure = top_label_figure(finished.evaluation.by_class.top_label)
    assert [trace.name for trace in figure.data] == ["perfectly calibrated", "before", "after"]
    assert figure.layout.xaxis.title.text == "probability of the top label"
    assert figure.layout.yaxis.title.text == "share of right top labels"


def test_the_table_of_measures_has_a_row_per_way(finished):
    table = metrics_table(finished.evaluation).set_index("scheme")
    assert table.index.tolist() == [
        "the model as it is",
        "one map for all rows",
        "heterogeneous calibration",
    ]
    assert table.at["one map for all rows", "accuracy"] == finished.evaluation.pooled.accuracy
    chosen = metrics_table(finished.evaluation, "tree vector").iloc[-1]
    assert chosen["scheme"] == "chosen: tree vector"
    assert chosen["log_loss"] == finished.evaluation.after.log_loss


def test_maps_are_listed_by_leaf_and_class(finished):
    calibrator: ClassCalibrator = finished.calibrator
    table = class_maps_table(calibrator, finished.partition, finished.table.classes)
    assert table["leaf"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    second = table[(table["leaf"] == 2) & (table["class"] == "cow")].iloc[0]
    assert second["weight"] == calibrator.maps_[2].weights[2, 2]
    assert second["bias"] == calibrator.maps_[2].bias[2]
