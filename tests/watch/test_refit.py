import hashlib
import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hetcal.artifacts.artifact import open_artifact, score_with_artifact
from hetcal.artifacts.saved_run import saved_run
from hetcal.data.splits import draw_folds
from hetcal.errors import ArtifactError, CalibrationError
from hetcal.watch.check import check_rows
from hetcal.watch.refit import refit_maps
from hetcal.watch.rows import read_new_rows
from tests.watch.streams import Change, artifact_of, draw_rows

RNG = np.random.default_rng
CHANGE = Change("plus", 0.7)


def refit(data, artifact, frame, **more):
    return refit_maps(data, artifact, read_new_rows(artifact, frame, "newer"), **more)


def documents(data):
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {
            name: json.loads(archive.read(name))
            for name in archive.namelist()
            if name.endswith(".json")
        }


@pytest.fixture(scope="module")
def newer():
    return draw_rows(6_000, RNG(20), CHANGE)


def test_maps_are_those_of_logistic_regression_on_one_half_and_judged_on_the_other(
    tree, tree_bytes, newer, tmp_path
):
    refitted = refit(tree_bytes, tree, newer)
    opened = open_artifact(refitted.content, tmp_path)
    y = (newer["label"] == "yes").to_numpy().astype(np.int64)
    fitted, leaf = draw_folds(y, 2, 0) == 0, opened.partition.apply(newer)
    for own in opened.calibrator.maps_:
        inside = fitted & (leaf == own.leaf)
        assert (own.rows, own.positives) == (inside.sum(), y[inside].sum())
        if own.fallback is not None:
            continue
        line = LogisticRegression(C=np.inf, tol=1e-10).fit(newer.loc[inside, ["score"]], y[inside])
        assert own.slope == pytest.approx(line.coef_[0, 0], rel=1e-5)
        assert own.intercept == pytest.approx(line.intercept_[0], abs=1e-5)
    assert sum(each.fallback is None for each in opened.calibrator.maps_) > 4
    after = score_with_artifact(opened, newer)["after"]
    auc = roc_auc_score(y[~fitted], after[~fitted])
    assert refitted.evaluation.after.auc == pytest.approx(auc, abs=1e-12)
    assert saved_run(opened, 0).role_cells.test.rows.sum() == (~fitted).sum()


@pytest.mark.parametrize("name", ["tree", "curves"])
def test_a_refitted_artifact_holds_on_rows_like_those_it_was_fitted_on(
    name, newer, request, tmp_path
):
    data, artifact = (request.getfixturevalue(each) for each in (f"{name}_bytes", name))
    assert not check_rows(artifact, newer).passed
    refitted = refit(data, artifact, newer)
    opened = open_artifact(refitted.content, tmp_path)
    more = draw_rows(6_000, RNG(21), CHANGE)
    assert check_rows(opened, more).passed
    assert opened.partition == artifact.partition
    losses = []
    for each in (artifact, opened):
        p = score_with_artifact(each, more)["after"].to_numpy()
        losses.append(-np.log(np.where(more["label"] == "yes", p, 1 - p)).mean())
    assert losses[1] < losses[0]
    assert refitted.evaluation.after.log_loss == pytest.approx(losses[1], abs=0.02)
    found = documents(refitted.content)["metrics.json"]
    assert found["after"]["log_loss"] == refitted.evaluation.after.log_loss
    assert found["rows"]["test"] == 3_000
    assert saved_run(opened, opened.min_rows).evaluation.after.auc == pytest.approx(
        refitted.evaluation.after.auc, abs=1e-3
    )


@pytest.mark.parametrize("name", ["tree", "curves"])
def test_the_ancestry_names_every_artifact_before(name, newer, request, tmp_path):
    data, artifact = (request.getfixturevalue(each) for each in (f"{name}_bytes", name))
    once = refit(data, artifact, newer).content
    child = open_artifact(once, tmp_path)
    twice = refit(once, child, draw_rows(4_000, RNG(22))).content
    grandchild = open_artifact(twice, tmp_path)
    assert [each.artifact for each in grandchild.ancestry] == [
        hashlib.sha256(each).hexdigest() for each in (data, once)
    ]
    assert [each.table for each in grandchild.ancestry] == [artifact.table_digest, "newer"]
    assert artifact.ancestry == ()
    if artifact.scheme is not None:
        first, *later = (len(each.scheme.stages) for each in (artifact, child, grandchild))
        assert later == [first + 1, first + 1]


def test_a_refit_can_be_signed_and_equal_ones_give_equal_bytes(tree, tree_bytes, newer, tmp_path):
    signed = refit(tree_bytes, tree, newer, key=b"k" * 32).content
    assert open_artifact(signed, tmp_path, b"k" * 32).ancestry
    with pytest.raises(ArtifactError, match="another key"):
        open_artifact(signed, tmp_path, b"o" * 32)
    assert signed == refit(tree_bytes, tree, newer, key=b"k" * 32).content


def test_whole_groups_are_in_one_half(newer, tmp_path):
    group = np.repeat(np.arange(1_500), 4)
    data = artifact_of(draw_rows(6_000, RNG(23)).assign(group=group), group="group")
    artifact = open_artifact(data, tmp_path)
    refitted = refit(data, artifact, newer.assign(group=group))
    assert refitted.evaluation.groups * 4 == refitted.evaluation.rows


def test_too_few_labelled_rows_are_refused(tree, tree_bytes, newer):
    with pytest.raises(CalibrationError, match="There are 30 rows with labels, too few"):
        refit(tree_bytes, tree, newer.head(30))
    with pytest.raises(CalibrationError, match="There are 0 rows with labels"):
        refit(tree_bytes, tree, newer.drop(columns="label"))
