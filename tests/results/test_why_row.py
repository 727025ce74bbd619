import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.calibrators.class_map import ClassMap
from hetcal.errors import CalibrationError
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.nodes import Feature
from hetcal.partitions.terms import Axis, Curve, Pair, Terms
from hetcal.partitions.tree import TreePartition
from hetcal.results.why import map_steps, typical_row, why_row
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import (
    AdditiveStage,
    ClassMapsStage,
    ForestStage,
    LeafMapsStage,
    NestedStage,
    PooledStage,
)


def table(seed=0, rows=1_200):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "b": rng.choice([*"xyz"], rows, p=[0.5, 0.3, 0.2]),
            "c": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 9, rows)),
        }
    )
    noise = rng.normal(size=rows)
    y = (X["a"] + (X["b"] == "x") + 0.2 * X["c"].fillna(0) + noise > 1).to_numpy().astype(np.int64)
    return X, y


X, Y = table()
TYPICAL = typical_row(X)
POOLED = PooledStage(-2.0, 2.5, 0.9, 0.1)


def numbers(count, seed=1):
    return np.random.default_rng(seed).normal(1, 0.1, (2, count))


def leaf_maps():
    tree = TreePartition(2, min_samples_leaf=100).fit(X, Y).partition_
    return LeafMapsStage(tree, *numbers(len(tree.leaves)))


def forest():
    trees = ForestPartition(5, max_depth=3).fit(X, Y).ensemble_
    return ForestStage(trees, *numbers(trees.leaves))


def nested():
    trees = ForestPartition(4, max_depth=2).fit(X, Y).ensemble_
    return NestedStage(trees, *numbers(trees.leaves, seed=2))


def additive():
    a = Axis(Feature("a", "number"), np.array([-0.5, 0.5]), np.array([], dtype=int))
    b = Axis(Feature("b", "category", ("x", "y")), np.array([]), np.array([0, 1]))
    curve = Curve(a, np.array([-0.4, 0.1, 0.7, 0.05]), np.zeros(4), np.ones(4, dtype=int))
    values = np.arange(16.0).reshape(4, 4) / 10
    both = Pair(a, b, values, np.zeros((4, 4)), np.ones((4, 4), dtype=int))
    return AdditiveStage(Terms((curve, both)), 0.25, -0.5)


SCHEMES = {
    "nothing": (),
    "one map": (POOLED,),
    "a map per leaf": (leaf_maps(),),
    "forest": (POOLED, forest()),
    "trees one after another": (nested(),),
    "terms": (additive(),),
    "all": (POOLED, nested(), leaf_maps(), forest(), additive()),
}


@pytest.mark.parametrize("row", range(12))
@pytest.mark.parametrize("stages", SCHEMES.values(), ids=SCHEMES.keys())
def test_changes_add_up_to_the_logit_after(stages, row):
    scheme, one, score = Scheme(stages), X.iloc[[row]], 0.3 * row - 2.0
    steps = why_row(scheme, score, one, TYPICAL)
    after = scheme.logit(np.array([score]), one)[0]
    assert steps["change"].sum() == pytest.approx(after, abs=1e-9)
    assert steps["logit"].iloc[-1] == pytest.approx(after, abs=1e-9)
    assert steps["probability"].iloc[-1] == pytest.approx(expit(after), abs=1e-9)
    assert (steps["logit"].iloc[0], steps["change"].iloc[0]) == (score, score)
    assert (steps["name"].iloc[0], steps["name"].iloc[-1]) == ("score before", "after")


def test_the_map_of_a_leaf_is_named_by_the_rule():
    stage, one = leaf_maps(), X.iloc[[3]]
    leaf = stage.partition.leaves[stage.partition.apply(one)[0] - 1]
    step = why_row(Scheme((stage,)), 1.0, one, TYPICAL).iloc[1]
    assert step["name"] == f"map of leaf {leaf.id}"
    assert step["value"].startswith(f"{leaf.rule}: slope ")


def test_terms_are_steps_with_their_entries_in_words_the_largest_first():
    one = pd.DataFrame({"a": [0.2], "b": ["new"]})
    steps = why_row(Scheme((additive(),)), 2.0, one, one)
    assert steps["name"].tolist() == [
        "score before",
        "weight of the score",
        "intercept",
        "a × b",
        "a",
        "after",
    ]
    assert steps["value"].tolist()[3:5] == ["-0.5 to 0.5 × other", "-0.5 to 0.5"]
    assert steps["change"].tolist() == pytest.approx([2.0, -1.5, -0.5, 0.6, 0.1, 0.0])


def test_many_trees_go_from_the_typical_row_to_this_one_column_by_column():
    stage, one = forest(), X.iloc[[7]]
    steps = why_row(Scheme((stage,)), 0.4, one, TYPICAL)
    assert steps["name"].iloc[1] == "the trees, for a typical row"
    case, score = TYPICAL.copy(), np.array([0.4])
    assert steps["logit"].iloc[1] == pytest.approx(stage.logit(score, case)[0], abs=1e-12)
    alone = []
    for step in steps.iloc[2:-1].itertuples():
        only = TYPICAL.assign(**{step.name: one[step.name].to_numpy()})
        alone.append(abs(stage.logit(score, only)[0] - stage.logit(score, TYPICAL)[0]))
        case = case.assign(**{step.name: one[step.name].to_numpy()})
        assert step.logit == pytest.approx(stage.logit(score, case)[0], abs=1e-12)
    assert len(alone) > 1
    assert alone == sorted(alone, reverse=True)


def test_the_typical_row_itself_has_no_column_to_change():
    steps = why_row(Scheme((forest(),)), 0.0, TYPICAL, TYPICAL)
    assert steps["name"].tolist() == ["score before", "the trees, for a typical row", "after"]


def test_a_missing_value_is_named_so():
    one = X[X["c"].isna()].iloc[[0]]
    steps = why_row(Scheme((forest(),)), 0.0, one, TYPICAL).set_index("name")
    assert steps.loc["c", "value"] == "missing"


def test_the_typical_row_has_medians_and_the_most_frequent_categories():
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3, 100],
            "text": ["u", "v", "v", None],
            "flag": [True, True, False, True],
            "none": [np.nan] * 4,
            "kind": pd.Categorical(["p", "q", "q", "q"]),
        }
    )
    (row,) = typical_row(frame).to_dict("records")
    assert row["n"] == 2
    assert (row["text"], row["flag"], row["kind"]) == ("v", True, "q")
    assert np.isnan(row["none"])


@pytest.mark.parametrize(("rows", "score"), [(2, 0.0), (0, 0.0), (1, np.nan), (1, np.inf)])
def test_steps_need_one_row_with_a_score(rows, score):
    with pytest.raises(CalibrationError, match="one row with a finite score"):
        why_row(Scheme(), score, X.iloc[:rows], TYPICAL)


def test_several_classes_have_no_steps_of_one_logit():
    stage = ClassMapsStage("temperature", ClassMap(np.eye(3), np.zeros(3)))
    with pytest.raises(CalibrationError, match="more than two classes"):
        why_row(Scheme((stage,)), 0.0, X.iloc[:1], TYPICAL)


def test_one_map_is_one_step_from_the_score_to_the_result():
    steps = map_steps(2.0, 0.5, "map of leaf 3", "a ≤ 1")
    assert steps["name"].tolist() == ["score before", "map of leaf 3", "after"]
    assert steps["change"].tolist() == [2.0, -1.5, 0.0]
    assert steps["probability"].tolist() == pytest.approx(expit([2.0, 0.5, 0.5]))
    with pytest.raises(CalibrationError, match="finite score"):
        map_steps(np.nan, 0.5, "map of leaf 3", "a ≤ 1")
