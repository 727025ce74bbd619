import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

from hetcal.benchmarks import contenders
from hetcal.benchmarks.data import DATA_SETS, BenchmarkTable
from hetcal.benchmarks.networks import BenchmarkRows, ScoredModel, rows_of
from hetcal.data.scores import make_scores
from hetcal.data.splits import split_by_fraction
from hetcal.data.table import Roles, make_table
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.benchmarks.benchmark_files import bank_frame, bank_logit


@pytest.fixture(scope="module")
def bank():
    frame = bank_frame()
    y = (frame["y"] == "yes").to_numpy().astype(np.int64)
    rng = np.random.default_rng(3)
    scores = 2 * bank_logit(frame.assign(balance=0)).to_numpy() + rng.normal(size=len(frame))
    model = ScoredModel("m", scores, split_by_fraction(y, (0.4, 0.1, 0.25, 0.25), 0))
    return BenchmarkTable(DATA_SETS[0], frame.drop(columns="y"), y), model


@pytest.fixture(scope="module")
def rows(bank) -> BenchmarkRows:
    return rows_of(*bank)


@pytest.fixture(scope="module")
def spoiled(rows):
    """What no scheme may read is changed; one object, for which schemes are tried once."""
    test = replace(rows.test, y=1 - rows.test.y)
    train = replace(rows.train, scores=np.full(len(rows.train.y), np.nan))
    return replace(rows, test=test, train=train)


@pytest.fixture(scope="module")
def turned(bank):
    """The rows with labels that depend on a column which the network does not see."""
    table, model = bank
    y = np.where(table.X["balance"] > 60, 1 - table.y, table.y)
    return rows_of(replace(table, y=y), model)


def test_every_role_has_its_rows(bank, rows):
    table, model = bank
    for role in ("train", "validation", "calibration", "test"):
        part, numbers = getattr(rows, role), model.split.of(role)
        assert part.y.tolist() == table.y[numbers].tolist()
        assert part.scores.tolist() == model.scores[numbers].tolist()
        assert part.X["age"].tolist() == table.X["age"].iloc[numbers].tolist()


def test_the_network_stays_as_it_is(rows):
    assert contenders.network(rows) is rows.test.scores


def test_pooled_is_a_logistic_regression_on_the_logit(rows):
    model = LogisticRegression(C=np.inf, tol=1e-10)
    model.fit(rows.calibration.scores[:, None], rows.calibration.y)
    expected = model.decision_function(rows.test.scores[:, None])
    np.testing.assert_allclose(contenders.pooled(rows), expected, atol=1e-5)


def test_tree_is_what_a_run_of_algorithm_1_gives(bank, rows):
    table, model = bank
    names = model.split.names(len(table.y))
    frame = table.X.assign(label=table.y, split=names)
    given = make_table(frame, Roles("label", positive="1", split="split"), "digest")
    finished = run(given, make_scores(model.scores, "", digest=""), Settings())
    expected = finished.after[model.split.test]
    np.testing.assert_allclose(contenders.tree(rows), expected, rtol=1e-9)


@pytest.mark.parametrize("name", contenders.SCHEMES)
def test_no_scheme_reads_test_labels_or_the_memorised_scores_of_training_rows(rows, spoiled, name):
    contender = contenders.SCHEMES[name]
    assert contender(spoiled).tolist() == contender(rows).tolist()


@pytest.mark.parametrize(
    "name", ["Algorithm 1", "tree by CV", "pruned tree", "forest", "additive", "stacked", "auto"]
)
def test_trees_use_a_column_that_the_network_does_not_see(turned, name):
    test, after = turned.test, contenders.SCHEMES[name](turned)
    assert roc_auc_score(test.y, after) > roc_auc_score(test.y, test.scores) + 0.05


def test_boosted_trees_do_not_depend_on_how_categories_are_coded(rows):
    names = contenders.category_columns(rows.train.X)
    encoder = OrdinalEncoder().fit(rows.train.X[names])
    train, test = (
        part.X.assign(**dict(zip(names, encoder.transform(part.X[names]).T, strict=True)))
        for part in (rows.train, rows.test)
    )
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=names)
    model.fit(train, rows.train.y)
    expected = model.decision_function(test)
    np.testing.assert_allclose(contenders.boosted_trees(rows), expected)


@pytest.mark.parametrize("grow", [contenders._sklearn_trees, contenders._lightgbm_trees])
def test_rivals_on_the_same_rows_stack_the_score_by_a_logistic_regression(rows, grow):
    alone = contenders.same_rows(grow, False, rows)
    both = contenders.same_rows(grow, True, rows)
    design = np.column_stack([np.ones(alone.size), rows.test.scores, alone])
    _, residual, *_ = np.linalg.lstsq(design, both, rcond=None)
    assert residual.item() < 1e-16 * alone.size  # a weighted sum of both, and nothing else
    assert np.ptp(both - alone) > 0.1


def test_a_rung_without_the_network_does_not_read_the_scores_of_test_rows(rows):
    other = replace(rows, test=replace(rows.test, scores=-rows.test.scores))
    for name in contenders.RUNGS:
        alone = contenders.rung_alone(name, rows)
        assert alone.tolist() == contenders.rung_alone(name, other).tolist()
        assert np.ptp(alone) > 0.1


def test_boosted_trees_take_a_category_of_test_rows_alone_as_missing(rows):
    def with_job(job):
        X = rows.test.X.assign(job=pd.Series([job] * len(rows.test.X), dtype="str"))
        return contenders.boosted_trees(replace(rows, test=replace(rows.test, X=X)))

    assert with_job("astronaut").tolist() == with_job(None).tolist()


def test_isotonic_is_that_of_the_calibration_rows(rows):
    steps = IsotonicRegression(out_of_bounds="clip")
    steps.fit(rows.calibration.scores, rows.calibration.y)
    expected = np.clip(steps.predict(rows.test.scores), 1e-7, 1 - 1e-7)
    np.testing.assert_allclose(expit(contenders.calibrated("isotonic", rows)), expected)


def test_the_sigmoid_keeps_the_order_of_the_network(rows):
    after = contenders.calibrated("sigmoid", rows)
    assert np.argsort(after).tolist() == np.argsort(rows.test.scores).tolist()
    bare, calibrated = (np.abs(expit(s) - rows.test.y).mean() for s in (rows.test.scores, after))
    assert bare != pytest.approx(calibrated)


class FakeMCGrad:
    """Learns the share of positives, and records what it was given."""

    given = SimpleNamespace()

    def fit(self, frame, label_column_name, **columns):
        self.share = frame[label_column_name].mean()
        self.given.columns, self.given.rows = columns, len(frame)
        return self

    def predict(self, frame, **columns):
        assert columns == self.given.columns
        return frame[columns["prediction_column_name"]] * self.share


def test_mcgrad_is_fitted_on_calibration_rows_where_it_is_installed(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcgrad", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "mcgrad.methods", SimpleNamespace(MCGrad=FakeMCGrad))
    found = expit(contenders.multicalibrated(rows))
    expected = expit(rows.test.scores) * rows.calibration.y.mean()
    np.testing.assert_allclose(found, np.maximum(expected, 1e-7))
    given = FakeMCGrad.given
    assert given.rows == len(rows.calibration.y)
    names = given.columns["numerical_feature_column_names"]
    assert "age" in names
    assert "job" in given.columns["categorical_feature_column_names"]
    assert {*names, *given.columns["categorical_feature_column_names"]} == set(rows.test.X.columns)


@pytest.mark.parametrize("installed", [True, False])
def test_mcgrad_is_a_contender_where_it_is_installed(installed, monkeypatch):
    monkeypatch.setattr(contenders, "find_spec", lambda name: installed or None)
    assert ("MCGrad" in contenders.all_contenders()) == installed
