import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import Affine
from hetcal.errors import CalibrationError, PartitionError
from hetcal.partitions.tree import TreePartition
from hetcal.runs.heterogeneous import HeterogeneousCalibrator


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": (
            "rows are set aside and counted, so a row of weight 2 is not two rows"
        )
    }


@parametrize_with_checks(
    [HeterogeneousCalibrator()], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(count, seed):
    """A label that a linear model without interactions gets wrong by region."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    y = rng.binomial(1, expit(np.where(X[:, 0] > 0, 2 * X[:, 1] + 2, 0.4 * X[:, 1] - 2)))
    return X, y


def test_is_algorithm_1_step_by_step():
    X, y = rows(4_000, 0)
    X_calibration, y_calibration = rows(4_000, 1)
    X_test, y_test = rows(4_000, 2)
    fitted = HeterogeneousCalibrator(
        LogisticRegression(),
        partition=TreePartition(2, min_samples_leaf=200),
        calibrator=LeafCalibrator(min_rows=0),
    ).fit(X, y, X_calibration=X_calibration, y_calibration=y_calibration)

    network = LogisticRegression().fit(X, y)
    tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=200, random_state=0).fit(X, y)
    before = network.decision_function(X_test)
    after = np.empty(len(X_test))
    for leaf in np.unique(tree.apply(X_calibration)):
        held, new = tree.apply(X_calibration) == leaf, tree.apply(X_test) == leaf
        platt = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        platt.fit(network.decision_function(X_calibration[held])[:, None], y_calibration[held])
        after[new] = platt.decision_function(before[new][:, None])
    assert all(each.fallback is None for each in fitted.calibrator_.maps_)
    assert fitted.decision_function(X_test) == pytest.approx(after, rel=1e-6, abs=1e-6)
    assert roc_auc_score(y_test, after) > roc_auc_score(y_test, before)


def test_rows_set_aside_for_calibration_train_nothing():
    class Counting(LogisticRegression):
        def fit(self, X, y):
            self.rows_ = len(X)
            return super().fit(X, y)

    X, y = rows(1_000, 0)
    fitted = HeterogeneousCalibrator(Counting(), calibration_fraction=0.3).fit(X, y)
    assert fitted.estimator_.rows_ == 700
    assert fitted.partition_.partition_.nodes[0].rows == 700
    assert fitted.calibrator_.pooled_.rows == 300


def test_a_frozen_estimator_is_not_trained_again():
    X, y = rows(500, 0)
    trained = LogisticRegression().fit(X, y)
    before = trained.coef_.copy()
    fitted = HeterogeneousCalibrator(FrozenEstimator(trained)).fit(*rows(1_000, 1))
    assert np.array_equal(fitted.estimator_.coef_, before)


def test_a_partition_is_taken_as_it_is():
    X, y = rows(1_000, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    partition = TreePartition(1, min_samples_leaf=100).fit(frame, y).partition_
    fitted = HeterogeneousCalibrator(partition=partition).fit(frame, y)
    assert fitted.partition_ is partition
    assert np.array_equal(fitted.apply(frame), partition.apply(frame))


def test_probabilities_are_turned_into_logits():
    X, y = rows(1_000, 0)
    one_map = LeafCalibrator(shrinkage=np.inf)
    fitted = HeterogeneousCalibrator(GaussianNB(), calibrator=one_map).fit(X, y)
    scores = logit(fitted.estimator_.predict_proba(X)[:, 1])
    pooled = fitted.calibrator_.pooled_
    assert fitted.decision_function(X) == pytest.approx(pooled.slope * scores + pooled.intercept)


def test_a_partition_is_taken_as_it_is_also_for_arrays():
    X, y = rows(1_000, 0)
    partition = TreePartition(2, min_samples_leaf=100).fit(X, y).partition_
    fitted = HeterogeneousCalibrator(partition=partition).fit(X, y)
    assert fitted.partition_ is partition
    assert np.array_equal(fitted.apply(X), partition.apply(pd.DataFrame(X).add_prefix("x")))
    assert {each.leaf for each in fitted.calibrator_.maps_} == {
        leaf.id for leaf in partition.leaves
    }


def test_the_second_label_is_the_positive_one():
    X, y = rows(1_000, 0)
    named = HeterogeneousCalibrator().fit(X, np.array(["no", "yes"])[y])
    plain = HeterogeneousCalibrator().fit(X, y)
    assert named.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(named.predict(X) == "yes", plain.predict_proba(X)[:, 1] > 0.5)


def test_text_columns_reach_estimator_and_partition():
    X, y = rows(8_000, 0)
    frame = pd.DataFrame({"x": X[:, 1], "side": np.where(X[:, 0] > 0, "east", "west")})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["side"]), remainder="passthrough"),
        LogisticRegression(),
    )
    fitted = HeterogeneousCalibrator(model, partition=TreePartition(1)).fit(frame, y)
    assert {leaf.rule for leaf in fitted.partition_.leaves_} == {"side is east", "side is west"}
    east, west = (each.slope for each in fitted.calibrator_.maps_[::-1])
    assert east > 3 * west


def sides(count, seed):
    """Rows with a number and a column of text; what the side is decides how well it ranks."""
    X, y = rows(count, seed)
    return pd.DataFrame({"x": X[:, 1], "side": np.where(X[:, 0] > 0, "east", "west")}), y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["str", "category", "object"])
def test_without_an_estimator_text_is_encoded(dtype, weighted):
    frame, y = sides(4_000, 0)
    frame["side"] = frame["side"].astype(dtype)
    weight = np.where(y == 1, 2.0, 1.0) if weighted else None
    fitted = HeterogeneousCalibrator(calibration_fraction=0.25).fit(frame, y, weight)
    train, _ = train_test_split(np.arange(4_000), test_size=0.25, stratify=y, random_state=0)
    indicators = frame.assign(east=frame["side"] == "east", west=frame["side"] == "west")
    indicators = indicators[["east", "west", "x"]].astype(float)
    plain = LogisticRegression().fit(
        indicators.iloc[train], y[train], None if weight is None else weight[train]
    )
    scores = fitted.estimator_.decision_function(frame)
    assert scores == pytest.approx(plain.decision_function(indicators), abs=1e-3)
    found = fitted.predict_proba(frame)
    assert found.sum(axis=1) == pytest.approx(np.ones(4_000))
    assert roc_auc_score(y, found[:, 1]) > roc_auc_score(y, scores) - 0.01


def test_a_category_that_was_not_there_in_training_has_a_probability():
    frame, y = sides(2_000, 0)
    fitted = HeterogeneousCalibrator().fit(frame, y)
    new = pd.DataFrame({"x": [0.5, 0.5], "side": ["north", None]})
    assert np.isfinite(fitted.predict_proba(new)).all()


def test_an_estimator_that_takes_no_text_is_refused_in_words():
    frame, y = sides(500, 0)
    with pytest.raises(CalibrationError, match=r"columns of text \(side\).*OneHotEncoder"):
        HeterogeneousCalibrator(GaussianNB()).fit(frame, y)


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = rows(2_000, 0)
    weight = np.where(y == 1, 5.0, 1.0)
    piped = HeterogeneousCalibrator(make_pipeline("passthrough", LogisticRegression()))
    plain = HeterogeneousCalibrator(LogisticRegression())
    found = [each.fit(X, y, weight).predict_proba(X) for each in (piped, plain)]
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    "calibrator",
    [LeafCalibrator(method="isotonic"), LeafCalibrator(method="beta", shrinkage="cv")],
)
def test_maps_of_another_method_are_fitted_in_the_leaves(calibrator):
    X, y = rows(4_000, 0)
    fitted = HeterogeneousCalibrator(calibrator=calibrator).fit(X, y)
    plain = HeterogeneousCalibrator().fit(X, y)
    X_test, y_test = rows(4_000, 1)
    assert type(fitted.calibrator_.pooled_.shape) is not Affine
    before = log_loss(y_test, plain.predict_proba(X_test))
    assert log_loss(y_test, fitted.predict_proba(X_test)) < before + 0.02


def test_scores_that_part_the_classes_stay_as_they_are():
    X = np.linspace(-1, 1, 200)[:, None]
    y = (X[:, 0] > 0).astype(int)
    fitted = HeterogeneousCalibrator().fit(X, y)
    assert fitted.calibrator_ is None
    assert np.array_equal(fitted.decision_function(X), fitted.estimator_.decision_function(X))


def test_weights_reach_every_part():
    X, y = rows(8_000, 0)
    weight = np.where(y == 1, 5.0, 1.0)
    plain = HeterogeneousCalibrator().fit(X, y)
    weighted = HeterogeneousCalibrator().fit(X, y, sample_weight=weight)
    assert weighted.partition_.partition_.base_rate == pytest.approx(
        5 * y.mean() / (5 * y.mean() + 1 - y.mean()), abs=1e-3
    )
    assert weighted.estimator_.intercept_ > plain.estimator_.intercept_ + 1
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.2


@pytest.mark.parametrize(
    ("y", "message"), [(np.zeros(100, int), "one class"), (np.arange(100) % 3, "binary")]
)
def test_labels_need_two_classes(y, message):
    with pytest.raises(CalibrationError, match=message):
        HeterogeneousCalibrator().fit(np.zeros((100, 1)), y)


def test_a_frozen_estimator_of_other_classes_is_refused():
    X, y = rows(500, 0)
    trained = LogisticRegression().fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(CalibrationError, match="labels have the classes"):
        HeterogeneousCalibrator(FrozenEstimator(trained)).fit(X, y)


def test_an_estimator_without_classes_is_refused():
    with pytest.raises(CalibrationError, match=r"LinearRegression\(\) has no classes"):
        HeterogeneousCalibrator(LinearRegression()).fit(*rows(100, 0))


def test_calibration_labels_of_other_classes_are_refused():
    X, y = rows(500, 0)
    other = np.where(X[:, 2] > 1, 7, y)
    with pytest.raises(CalibrationError, match=r"have a value 7\. .* training rows, \[0, 1\]"):
        HeterogeneousCalibrator().fit(X, y, X_calibration=X, y_calibration=other)
    with pytest.raises(CalibrationError, match="have a value '0'"):
        HeterogeneousCalibrator().fit(X, y, X_calibration=X, y_calibration=y.astype(str))


def test_calibration_labels_without_their_rows_are_refused():
    X, y = rows(500, 0)
    with pytest.raises(CalibrationError, match="without the rows"):
        HeterogeneousCalibrator().fit(X, y, y_calibration=y)


def test_tables_that_cannot_be_divided_are_refused_in_words():
    y = np.arange(20) % 2
    with pytest.raises(PartitionError, match="The table has no columns"):
        HeterogeneousCalibrator().fit(pd.DataFrame(index=range(20)), y)
    twice = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "a"])
    with pytest.raises(PartitionError, match="several columns with one name"):
        HeterogeneousCalibrator().fit(twice, y)
