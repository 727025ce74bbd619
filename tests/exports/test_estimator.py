"""The export for scikit-learn: JSON becomes a fitted classifier that keeps the contract."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import hetcal
from hetcal.artifacts.artifact import score_with_artifact
from hetcal.errors import ArtifactError
from hetcal.exports.about import about, examples_of, inputs_of
from hetcal.exports.estimator import (
    CANNOT,
    USE,
    ScoreCalibrator,
    estimator_file,
    open_estimator,
)
from hetcal.exports.export import make_exports
from hetcal.exports.proof import difficult_rows, expected_rows
from hetcal.exports.recipe import recipe
from tests.exports.artifacts import CITY, SIZE, artifact, people
from tests.runs.test_heterogeneous import expected_failures

SCHEMES = [{"partition": "tree", "calibrator": "isotonic"}, {"partition": "stacked"}]
SCHEMES += [{"partition": "additive", "kind": "probability"}, {"partition": "forest"}]


@cache
def written(partition="tree"):
    """The file, as it is before it is compared."""
    opened = artifact(partition=partition)
    document = recipe(opened)
    rows = difficult_rows(document, 50)
    examples = examples_of(rows, expected_rows(opened, document, rows))
    said = about(opened, inputs_of(document), examples, USE, CANNOT)
    return estimator_file(opened, document, said)


@parametrize_with_checks(
    [ScoreCalibrator()], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("settings", SCHEMES, ids=lambda each: " ".join(each.values()))
def test_difficult_rows_have_the_same_leaf_and_probability(settings):
    (made,) = make_exports(artifact(**settings), ["sklearn"], rows=3_000)
    assert made.parity.rows == 3_000
    assert made.parity.difference < 1e-12


def test_it_is_opened_by_hetcal_and_goes_into_a_pipeline(tmp_path):
    opened = artifact(partition="tree")
    (tmp_path / "model.json").write_bytes(written())
    model = hetcal.open(tmp_path / "model.json")
    assert model.feature_names_in_.tolist() == ["score", *sorted([SIZE, "age", CITY], key=order)]
    frame = people()[model.feature_names_in_]
    expected = score_with_artifact(opened, people())
    found = make_pipeline("passthrough", model).predict_proba(frame)
    assert found[:, 1] == pytest.approx(expected["after"], abs=1e-12, nan_ok=True)
    assert (model.apply(frame) == expected["leaf"]).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))


def order(name):
    opened = artifact(partition="tree")
    return [each.name for each in opened.partition.features].index(name)


def test_a_clone_is_fitted_to_other_rows():
    model = open_estimator(written("forest"))
    assert model.scheme_ is not None
    frame, y = people()[model.feature_names_in_], (people()["label"] == "yes").astype(int)
    again = clone(model).fit(frame, y)
    assert again.scheme_ is None
    assert np.abs(again.predict_proba(frame) - model.predict_proba(frame)).max() > 0.01


def test_a_row_without_a_score_has_no_probability():
    model = open_estimator(written())
    frame = people()[model.feature_names_in_][:2].assign(score=[np.nan, 1.0])
    assert np.isnan(model.predict_proba(frame)[:, 1]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hetcal_estimator": 99}, "newer hetcal"),
        ({"score": {"column": "s", "kind": "odds"}}, "kind of its scores"),
        ({"partition": {}}, "no estimator that can be opened"),
    ],
)
def test_a_damaged_file_is_refused_in_words(change, words):
    changed = json.dumps(json.loads(written()) | change).encode()
    with pytest.raises(ArtifactError, match=words):
        open_estimator(changed)


def test_rows_may_be_a_frame_of_any_index():
    model = open_estimator(written("additive"))
    frame = people()[model.feature_names_in_][:6]
    moved = frame.set_axis(pd.Index(list("abcdef")), axis=0)
    assert np.array_equal(model.predict_proba(frame), model.predict_proba(moved))
