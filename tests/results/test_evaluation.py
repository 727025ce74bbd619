from dataclasses import astuple

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.cells.cells import Cells
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import measure
from hetcal.results.evaluation import Comparison, evaluate, leaf_areas, leaf_losses, metrics_table
from hetcal.schemes.candidates import in_words


@pytest.fixture
def rows():
    """Leaf 1 needs half the slope, leaf 2 is right, leaf 3 is upside down, leaf 4 is empty."""
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 4, 900)
    truth = np.round(rng.normal(size=900), 1) + np.array([0, 1.0, -1.0, 0.0])[leaf]
    y = rng.binomial(1, expit(truth))
    before = truth * np.array([0, 2.0, 1.0, -1.0])[leaf]
    pooled = 0.5 * before + 0.1
    tree = logit(np.array([0.5, 0.7, 0.3, 0.5]))[leaf]
    return {"y": y, "before": before, "pooled": pooled, "tree": tree, "after": truth, "leaf": leaf}


LEAVES = [1, 2, 3, 4]
WEIGHTS = [None, np.random.default_rng(5).exponential(size=900)]


def evaluated(rows, weight=None):
    """Evaluate the rows as cells."""
    y, leaf = rows["y"], rows["leaf"]
    parts = (rows[name] for name in ("before", "pooled", "tree", "after"))
    return evaluate(
        Comparison(*(Cells.of_rows(scores, y, leaf, weight) for scores in parts)), LEAVES
    )


@pytest.mark.parametrize("weight", WEIGHTS, ids=["plain", "weighted"])
def test_each_scheme_is_measured_on_the_same_rows(rows, weight):
    result = evaluated(rows, weight)
    for name in ("before", "pooled", "tree", "after"):
        assert getattr(result, name) == measure(rows["y"], rows[name], weight)
    assert result.lift == paired_delong(rows["y"], rows["before"], rows["after"], weight)
    assert result.rows == 900


@pytest.mark.parametrize("weight", WEIGHTS, ids=["plain", "weighted"])
def test_leaf_contributions_add_up_to_the_lift(rows, weight):
    result = evaluated(rows, weight)
    assert result.leaves["contribution"].sum() == pytest.approx(result.lift.auc, abs=1e-12)
    truth = roc_auc_score(rows["y"], rows["after"], sample_weight=weight) - roc_auc_score(
        rows["y"], rows["before"], sample_weight=weight
    )
    assert result.leaves["contribution"].sum() == pytest.approx(truth, abs=1e-12)


def test_an_increasing_map_lifts_no_leaf_but_lowers_its_loss(rows):
    leaves = evaluated(rows).leaves.set_index("leaf")
    assert leaves.at[1, "lift"] == 0
    inside = rows["leaf"] == 1
    for when in ("before", "after"):
        expected = log_loss(rows["y"][inside], expit(rows[when][inside]))
        assert leaves.at[1, f"log_loss_{when}"] == pytest.approx(expected, abs=1e-12)
    assert leaves.at[1, "log_loss_after"] < leaves.at[1, "log_loss_before"]


def test_the_table_of_ways_names_what_was_chosen(rows):
    found = evaluated(rows)
    assert metrics_table(found)["scheme"].iloc[-1] == "heterogeneous calibration"
    chosen = metrics_table(found, in_words("identity"))
    assert chosen["scheme"].iloc[-1] == "chosen: leave the model as it is"
    assert chosen["auc"].iloc[-1] == found.after.auc
    assert (in_words("pooled"), in_words("forest")) == ("one map for all rows", "forest")


def test_a_leaf_is_compared_on_its_own_rows(rows):
    leaves = evaluated(rows).leaves.set_index("leaf")
    inside = rows["leaf"] == 3
    y, before, after = (rows[name][inside] for name in ("y", "before", "after"))
    areas = [roc_auc_score(y, before), roc_auc_score(y, after)]
    columns = ["auc_before", "auc_after", "lift"]
    assert leaves.loc[3, columns].tolist() == pytest.approx([*areas, areas[1] - areas[0]])
    assert leaves.loc[3, ["rows", "positives"]].tolist() == [inside.sum(), y.sum()]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_measures_of_all_leaves_are_those_of_each_alone(weighted):
    rng = np.random.default_rng(4)
    scores, leaf = np.round(rng.normal(size=3_000), 1), rng.choice([2, 5, 9], 3_000)
    y, weight = rng.binomial(1, expit(scores)), rng.exponential(size=3_000)
    cells = Cells.of_rows(scores, y, leaf, weight if weighted else None)
    areas, losses = leaf_areas(cells, [9, 7, 2]), leaf_losses(cells, [9, 7, 2])
    for place, each in ((0, 9), (2, 2)):
        i = leaf == each
        used = weight[i] if weighted else None
        expected = roc_auc_score(y[i], scores[i], sample_weight=used)
        assert areas[place] == pytest.approx(expected, abs=1e-12)
        expected = log_loss(y[i], expit(scores[i]), sample_weight=used)
        assert losses[place] == pytest.approx(expected, abs=1e-12)
    assert np.isnan([areas[1], losses[1]]).all()


def test_the_area_of_a_leaf_of_light_rows_does_not_drown_in_a_leaf_of_heavy_ones():
    scores, y = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]), np.array([0, 1, 0, 0, 1, 0])
    weight = np.array([1e20, 1e20, 3e20, 1.0, 1.0, 3.0])
    cells = Cells.of_rows(scores, y, np.array([1, 1, 1, 2, 2, 2]), weight)
    assert leaf_areas(cells, [1, 2]) == pytest.approx([0.25, 0.25])


def test_a_leaf_without_test_rows_has_no_measures_and_no_contribution(rows):
    empty = evaluated(rows).leaves.set_index("leaf").loc[4]
    assert empty[["rows", "positives", "contribution"]].tolist() == [0, 0, 0]
    assert empty[["auc_before", "lift", "log_loss_before", "log_loss_after"]].isna().all()


def test_one_class_leaves_the_lift_open_but_not_the_loss(rows):
    rows["y"] = np.ones(900, dtype=int)
    result = evaluated(rows)
    assert np.isnan(astuple(result.lift)).all()
    assert result.leaves["contribution"].isna().all()
    assert np.isfinite(result.after.log_loss)
