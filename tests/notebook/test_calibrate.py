"""What people hand to `hetcal.calibrate`, and what it makes of it."""

from dataclasses import fields

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import hetcal
from hetcal.errors import HetcalError, ScoreError, SplitError, TableError
from hetcal.notebook.calibrate import READ_BY


def tree(*given, **more):
    return hetcal.calibrate(*given, **{"partition": "tree", "split": "split"} | more)


def after(run):
    return run.scored()["after"].to_numpy()


def columns(frame):
    return frame[["segment", "age"]]


GIVEN = {
    "names of columns": lambda f: tree(f, "churned", "p"),
    "columns that were taken out": lambda f: tree(f, f["churned"], f["p"]),
    "columns beside the others": lambda f: tree(columns(f), f["churned"], f["p"], split=f["split"]),
    "arrays": lambda f: tree(
        columns(f), f["churned"].to_numpy(), f["p"].to_numpy(), split=f["split"].to_numpy()
    ),
    "lists": lambda f: tree(columns(f), f["churned"].tolist(), f["p"].tolist(), split=f["split"]),
    "another index": lambda f: tree(f.set_index(f.index[::-1]), f["churned"], f["p"]),
    "a column of an array": lambda f: tree(f, "churned", f["p"].to_numpy()[:, None], ignore="p"),
    "a frame of one column": lambda f: tree(f, f[["churned"]], f[["p"]]),
    "logits": lambda f: tree(f, "churned", logit(f["p"].to_numpy()), ignore="p"),
    "both classes": lambda f: tree(
        columns(f), f["churned"], np.column_stack([1 - f["p"], f["p"]]), split=f["split"]
    ),
    "both classes in another order": lambda f: tree(
        columns(f),
        f["churned"],
        np.column_stack([f["p"], 1 - f["p"]]),
        split=f["split"],
        classes=("yes", "no"),
    ),
    "logits of both classes": lambda f: tree(
        columns(f), f["churned"], np.log(np.column_stack([1 - f["p"], f["p"]])), split=f["split"]
    ),
    "a column of lists, which is left out": lambda f: tree(
        f.assign(lists=[[1, 2]] * len(f)), "churned", "p"
    ),
    "a dict": lambda f: tree(dict(f.items()), "churned", "p"),
    "an Arrow table": lambda f: tree(pa.Table.from_pandas(f), "churned", "p"),
    "Arrow columns": lambda f: tree(
        pa.Table.from_pandas(columns(f)),
        pa.array(f["churned"]),
        pa.chunked_array([f["p"].to_numpy()]),
        split=pa.array(f["split"]).dictionary_encode(),
    ),
    "Arrow's views of text, in categories": lambda f: tree(
        pa.Table.from_pandas(f)
        .set_column(0, "segment", pa.array(f["segment"]).dictionary_encode())
        .cast(
            pa.Table.from_pandas(f)
            .schema.set(0, pa.field("segment", pa.dictionary(pa.int32(), pa.string_view())))
            .set(3, pa.field("churned", pa.string_view()))
        ),
        "churned",
        "p",
    ),
    "Arrow's types in pandas": lambda f: tree(
        f.convert_dtypes(dtype_backend="pyarrow"), "churned", "p"
    ),
    "another library that speaks Arrow": lambda f: tree(Stream(f), "churned", "p"),
    "another library that knows pandas": lambda f: tree(Convertible(f), "churned", "p"),
}


class Stream:
    def __init__(self, frame):
        self.table = pa.Table.from_pandas(frame)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Convertible:
    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


@pytest.mark.parametrize("given", GIVEN)
def test_whatever_form_rows_have_the_run_is_the_one_made_by_hand(given, customers, by_hand):
    found = GIVEN[given](customers)
    assert found.table.roles.features == ("segment", "age")
    expected = by_hand.after[by_hand.split.test]
    assert logit(after(found))[by_hand.split.test] == pytest.approx(expected, abs=1e-6)
    assert found.verdict == by_hand.verdict


def test_a_polars_frame_gives_the_same_run(customers, by_hand):
    found = tree(polars.from_pandas(customers), "churned", "p")
    assert logit(after(found)) == pytest.approx(by_hand.after)


def test_measures_are_those_of_scikit_learn(customers, finished):
    test = customers["split"] == "test"
    y, scored = customers["churned"][test] == "yes", finished.scored()[test.to_numpy()]
    found = finished.summary()
    for name, measure in (("AUC", roc_auc_score), ("log-loss", log_loss)):
        before, now = measure(y, customers["p"][test]), measure(y, scored["after"])
        assert found.loc[name, ["before", "after"]].tolist() == pytest.approx([before, now])
        assert found.at[name, "change"] == pytest.approx(now - before)
        assert found.at[name, "low"] < now - before < found.at[name, "high"]
        for what, value in (("before", before), ("after", now)):
            assert found.at[name, f"{what}_low"] < value < found.at[name, f"{what}_high"]
    rate = (
        customers[customers["split"] == "calibration"]
        .groupby("segment")["churned"]
        .agg(lambda each: (each == "yes").mean())
    )
    alone = customers["segment"][test].map(rate)
    assert found.at["AUC", "without"] == pytest.approx(roc_auc_score(y, alone), abs=0.02)


def test_the_output_of_a_classifier_is_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    y = rng.uniform(size=3_000) < 1 / (1 + np.exp(-2 * np.abs(X[:, 0]) + 1 - X[:, 1]))
    model = LogisticRegression().fit(X[:1_000], y[:1_000])
    found = hetcal.calibrate(X, y, model.predict_proba(X))
    test = found.run.split.test
    assert found.summary().at["AUC", "before"] == pytest.approx(
        roc_auc_score(y[test], model.predict_proba(X[test])[:, 1])
    )
    assert found.summary().at["AUC", "low"] > 0
    counts = [each.size for each in (found.run.split.train, test)]
    assert counts == [pytest.approx(0.65 * 3_000, abs=2), pytest.approx(0.1155 * 3_000, abs=2)]
    assert found.table.roles.features == ("x0", "x1")
    assert "unknown-training-rows" in [each.code for each in found.findings]


def test_fractions_seed_and_settings_are_those_of_a_run(customers):
    shares = 0.5, 0.0, 0.25, 0.25
    frame = customers.drop(columns="split")
    found = tree(frame, "churned", "p", split=shares, seed=3, max_depth=1, ignore=["age"])
    roles = hetcal.Roles("churned", score="p", ignore=("age",))
    table = hetcal.make_table(frame, roles)
    scores = hetcal.scores_from_column(table.frame["p"], "probability")
    settings = hetcal.Settings(fractions=shares, seed=3, max_depth=1)
    expected = hetcal.run(table, scores, settings)
    assert np.array_equal(found.run.split.test, expected.split.test)
    assert np.array_equal(found.run.after, expected.after)


def test_every_setting_is_a_keyword():
    own = {"fractions", "partition", "seed"}  # `split` and two parameters
    assert set(READ_BY) == {each.name for each in fields(hetcal.Settings)} - own


def test_a_partition_is_used_as_it_is(customers, by_hand):
    found = tree(customers, "churned", "p", partition=by_hand.partition)
    assert np.array_equal(found.run.after, by_hand.after)


def test_group_weight_and_time_have_their_roles(customers):
    n = len(customers)
    rng = np.random.default_rng(1)
    group, weight = rng.integers(0, 300, n), rng.uniform(0.5, 2, n)
    found = tree(customers, "churned", "p", group=group, weight=weight)
    roles = found.table.roles
    assert (roles.group, roles.weight, roles.features) == ("group", "weight", ("segment", "age"))
    test = found.run.split.test
    assert found.evaluation.groups == len(np.unique(group[test]))
    y = (customers["churned"] == "yes").to_numpy()[test]
    assert found.summary().at["AUC", "before"] == pytest.approx(
        roc_auc_score(y, customers["p"].to_numpy()[test], sample_weight=weight[test])
    )
    when = rng.permutation(n)
    late = tree(columns(customers), customers["churned"], customers["p"], split=None, time=when)
    assert when[late.run.split.test].min() > when[late.run.split.calibration].max()


def test_a_column_that_repeats_like_an_id_is_no_group_if_that_is_said(customers):
    rng, number = np.random.default_rng(2), np.arange(len(customers)) // 3
    home, size = rng.normal(size=(2, 1_000)).round(3)
    frame = customers.assign(customer=rng.permutation(1_000)[number], home=home[number])
    frame["size"] = size[number]
    assert tree(frame, "churned", "p").table.roles.group == "customer"
    assert tree(frame, "churned", "p", group=False).table.roles.group is None


def test_rows_without_a_label_are_left_out_if_that_is_said(customers):
    unknown = customers.assign(churned=customers["churned"].where(customers.index >= 9))
    found = tree(unknown, "churned", "p", drop_unlabelled=True)
    assert np.array_equal(after(found), after(tree(customers.iloc[9:], "churned", "p")))


def test_the_order_of_classes_is_that_of_the_columns_of_a_frame(animals, of_animals):
    X, y, p = animals
    turned = pd.DataFrame(p, columns=["ant", "bee", "cow"])[["cow", "ant", "bee"]]
    found = hetcal.calibrate(X, y, turned, split=(0.4, 0.1, 0.25, 0.25), partition="tree")
    assert found.classes == ("cow", "ant", "bee")
    assert found.evaluation.before.macro_auc == pytest.approx(
        of_animals.evaluation.before.macro_auc
    )
    test = of_animals.run.split.test
    assert of_animals.evaluation.before.accuracy == pytest.approx(
        (np.array(["ant", "bee", "cow"])[p[test].argmax(axis=1)] == y[test]).mean()
    )


def test_one_of_many_classes_is_set_against_all_others_by_its_own_score(animals):
    X, y, p = animals
    for given in (p, np.log(p) + 3):
        found = hetcal.calibrate(
            X, y, given, positive="bee", split=(0.4, 0.1, 0.25, 0.25), partition="tree"
        )
        test = found.run.split.test
        assert found.evaluation.before.log_loss == pytest.approx(
            log_loss(y[test] == "bee", p[test, 1])
        )


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"y": None}, TableError, "No label is given"),
        ({"score": None}, ScoreError, "No score is given"),
        ({"y": np.zeros(10)}, TableError, "3,000 rows, and the label 10 rows"),
        ({"score": np.zeros(2_999)}, TableError, "3,000 rows, and the score 2,999 rows"),
        ({"score": "pp"}, TableError, "no column 'pp' .* Did you mean 'p'?"),
        ({"y": "churn"}, TableError, "no column 'churn' .* Did you mean 'churned'?"),
        ({"split": "splits"}, TableError, "Did you mean 'split'?"),
        ({"features": "agee"}, TableError, "Did you mean 'age'?"),
        ({"partition": "treee"}, HetcalError, "Did you mean 'tree'?"),
        ({"max_dept": 2}, HetcalError, "Did you mean 'max_depth'?"),
        ({"partition": "auto", "max_depth": 2}, HetcalError, "no effect .* partition is auto"),
        ({"partition": "auto", "take": "treee"}, HetcalError, "Did you mean 'tree'?"),
        ({"weights": "age"}, HetcalError, "Did you mean 'weight'?"),
        ({"positive": "yess"}, TableError, "Did you mean 'yes'?"),
        ({"y": np.ones(3_000)}, TableError, "a single value"),
        ({"y": np.full(3_000, np.nan)}, TableError, "label"),
        ({"y": np.repeat([0, 1, np.nan], 1_000)}, TableError, "empty in 1,000 of 3,000 rows"),
        ({"split": (0.5, 0.5)}, SplitError, "2 fractions"),
        ({"split": np.arange(3_000)}, SplitError, "name no role"),
        ({"score": np.repeat([0, 1], 1_500)}, ScoreError, "nothing but '0' and '1': classes"),
        ({"score": "churned"}, ScoreError, "nothing but 'yes' and 'no': classes"),
        ({"score": LogisticRegression()}, ScoreError, "LogisticRegression: a model"),
        ({"score": np.zeros((3_000, 3))}, ScoreError, "2 values .* 3 score columns"),
        ({"score": [[1.0], [2.0, 3.0]]}, TableError, "type list"),
        ({"X": np.zeros((2, 2, 2))}, TableError, r"shape \(2, 2, 2\)"),
        ({"X": 5}, TableError, "type int"),
        ({"X": pd.DataFrame({"a": [[1]] * 3_000})}, TableError, "'a' holds nested values"),
        ({"names": ["a"]}, TableError, "1 name for 5 columns"),
        ({"classes": ["no", "maybe"], "score": np.full((3_000, 2), 0.5)}, TableError, "'yes'"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_three_sentences(customers, changed, error, words):
    given = {"X": customers, "y": "churned", "score": "p", "split": "split", "partition": "tree"}
    with pytest.raises(error, match=words) as told:
        hetcal.calibrate(**given | changed)
    assert all(part.strip()[-1] in ".?" for part in (told.value.wrong, told.value.needed))
