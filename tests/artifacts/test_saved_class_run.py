"""A saved run on more than two classes: explored without its rows."""

import contextlib
import io
import json
import random
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from hetcal.artifacts import archive as saved_cells
from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.artifacts.saved_run import saved_run
from hetcal.data.scores import scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.errors import ArtifactError, HetcalError
from hetcal.metrics.metrics import measure_cells
from hetcal.models.scoring import ColumnScoring
from hetcal.results.curves import result_curves
from hetcal.results.histograms import score_histograms
from hetcal.results.overconfidence import diagnose
from hetcal.runs.run import maps_in_words
from hetcal.runs.run import run as run_table
from hetcal.runs.settings import Settings
from tests.artifacts.repacked import changed

CLASSES = ("ant", "bee", "cow")
COLUMNS = tuple(f"p_{name}" for name in CLASSES)
SCORING = ColumnScoring(COLUMNS, "probability")
ROLES = ("train", "calibration", "test")
SETTINGS = Settings(max_depth=2)
OF_THE_MODEL = ("without", "network_adds", "network_share", "loss")
EIGHT = [{"id": each} for each in range(1, 9)]


def finished(frame, settings=SETTINGS, **roles):
    roles = Roles("kind", split="split", class_scores=COLUMNS, **roles)
    scores = scores_from_columns(frame, COLUMNS, "probability", "digest")
    return run_table(make_table(frame, roles, "digest"), scores, settings)


def reopened(run, directory):
    return saved_run(open_artifact(artifact_bytes(run, SCORING), directory), 50)


@pytest.fixture(scope="module", params=["counted", "weighted", "grouped"])
def run(request, kinds):
    if request.param == "counted":
        return finished(kinds)
    if request.param == "grouped":
        return finished(kinds.assign(g=np.arange(len(kinds)) // 2), group="g")
    weight = np.random.default_rng(1).exponential(size=len(kinds)).round(3)
    return finished(kinds.assign(w=np.where(np.arange(len(kinds)) % 7, weight, 0)), weight="w")


@pytest.fixture(scope="module")
def packed(kinds):
    return artifact_bytes(finished(kinds), SCORING)


def test_what_all_classes_were_worth_comes_back_as_it_was(run, tmp_path):
    found, expected = reopened(run, tmp_path).evaluation, run.evaluation
    for name in ("before", "pooled", "after", "lift", "rows", "groups", *OF_THE_MODEL):
        assert getattr(found, name) == getattr(expected, name)
    assert found.tree is None
    found, expected = found.by_class, expected.by_class
    pd.testing.assert_frame_equal(found.table, expected.table, check_exact=True)
    for one, other in zip(found.top_label, expected.top_label, strict=True):
        for name in ("name", "predicted", "observed", "low", "high", "count"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("number", range(3))
def test_what_a_class_was_worth_comes_back_as_it_was(run, tmp_path, number):
    saved = reopened(run, tmp_path).view(number, 50)
    found, expected = saved.evaluation, run.view(number).evaluation
    for name in ("before", "pooled", "tree", "after", "lift", "rows", "groups", *OF_THE_MODEL):
        assert getattr(found, name) == getattr(expected, name)
    pd.testing.assert_frame_equal(found.leaves, expected.leaves, check_exact=True)
    assert saved.computed_on.startswith("Computed on all rows before the run was saved")


def test_coarse_cells_have_the_auc_of_the_rows_within_a_few_percent(run, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_cells, "_filled", lambda _: 200)
    saved, rows = reopened(run, tmp_path), run.split.test
    weight = run.table.weight_of(rows)
    for number in range(3):
        compared = saved.view(number, 50).comparison
        assert compared.before.rows.size <= 200
        for cells, logs in ((compared.before, run.scores.logit), (compared.after, run.after)):
            found = measure_cells(cells).auc
            expected = roc_auc_score(
                run.table.y[rows] == number, logs[rows, number], sample_weight=weight
            )
            assert 0 < abs(found - expected) < 0.03


def test_every_row_is_counted_by_role_leaf_and_label(run, tmp_path):
    saved, leaves = reopened(run, tmp_path), [each.id for each in run.partition.leaves]
    for number in range(3):
        found, expected = (
            score_histograms(each.role_cells.train, each.role_cells.test, leaves, bins=1).rows
            for each in (saved.view(number, 50), run.view(number))
        )
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("min_rows", [10, 150, 10_000])
def test_any_least_number_of_rows_gives_the_maps_of_the_class(run, tmp_path, min_rows):
    saved = reopened(run, tmp_path)
    for number in range(3):
        expected = run.view(number, min_rows).calibrator
        assert saved.view(number, min_rows).calibrator.maps_ == expected.maps_


@pytest.mark.parametrize(
    ("settings", "sound"),
    [(SETTINGS, False), (Settings(partition="auto"), False), (Settings(partition="auto"), True)],
)
def test_the_maps_and_their_choice_are_told_in_the_words_of_the_run(
    kinds, tmp_path, settings, sound
):
    run = finished(kinds)
    if sound:  # the labels are those that the probabilities deserve
        sums = np.cumsum(kinds[list(COLUMNS)].to_numpy(), axis=1)
        drawn = np.random.default_rng(5).random((len(kinds), 1)) > sums
        run = replace(run, table=replace(run.table, y=drawn.sum(axis=1).clip(0, 2)))
    run = run_table(run.table, run.scores, settings)
    saved = reopened(run, tmp_path)
    assert (saved.classes, saved.divided) == (CLASSES, not sound)
    told = maps_in_words(saved.calibrator, saved.divided)
    assert told == maps_in_words(run.calibrator, run.divided) == run.notes[-1]
    assert (saved.kind, saved.verdict) == (run.kind, run.verdict)
    assert (saved.choice is None) == (run.choice is None)
    for name in ("chosen", "why", "divided", "measure") if run.choice is not None else ():
        assert getattr(saved.choice, name) == getattr(run.choice, name)


def test_endless_shrinkage_comes_back(kinds, tmp_path):
    run = finished(kinds)
    run.calibrator.shrinkage_ = np.inf
    told = maps_in_words(reopened(run, tmp_path).calibrator, divided=True)
    assert told.startswith("All leaves have the pooled map")


def test_a_weighted_macro_auc_that_is_rounded_past_one_comes_back(kinds, tmp_path):
    run = finished(kinds)
    past = replace(run.evaluation.before, macro_auc=1 + 2.0**-52)
    vars(run)["evaluation"] = replace(run.evaluation, before=past)
    assert open_artifact(artifact_bytes(run, SCORING), tmp_path).auc_before > 1


def without(kinds, name, role):
    return kinds[(kinds["kind"] != name) | (kinds["split"] != role)].reset_index(drop=True)


def test_a_class_without_test_rows_is_as_empty_as_it_was(kinds, tmp_path):
    run = finished(without(kinds, "bee", "test"))
    saved = reopened(run, tmp_path)
    assert saved.evaluation.by_class.table["lift"].isna().tolist() == [False, True, False]
    view = saved.view(1, 50)
    assert np.isnan(view.evaluation.lift.auc)
    pd.testing.assert_frame_equal(view.evaluation.leaves, run.view(1).evaluation.leaves)
    assert np.isnan(view.points(0.1)[1].true_positive_rate)
    assert len(result_curves(view.comparison, view.evaluation).roc) == 2
    table = diagnose(view.role_cells.train, view.role_cells.test, view.partition.leaves)
    assert table["auc_test"].isna().all()


def test_a_class_without_calibration_rows_is_not_shown_and_all_others_are(kinds, tmp_path):
    run = finished(without(kinds, "bee", "calibration"))
    saved = reopened(run, tmp_path)
    assert saved.evaluation.lift == run.evaluation.lift
    assert saved.view(2, 50).evaluation.lift == run.view(2).evaluation.lift
    with pytest.raises(ArtifactError, match="'bee' cannot be compared with all others"):
        saved.view(1, 50)


def with_fields(data, name, change):
    """The same zip with the JSON of one entry changed."""

    def rewrite(content):
        text, line, body = content.partition(b"\n") if name.endswith("sketch") else (content, *"  ")
        document = json.loads(text)
        change(document)
        return json.dumps(document).encode() + (line + body if line == b"\n" else b"")

    return changed(data, name, rewrite)


def drop(key):
    return lambda document: document.pop(key)


def put(**values):
    return lambda document: document.update(values)


def shorter_curve(document):
    document["top_label"][1]["low"].pop()


def impossible_curve(document):
    document["top_label"][0]["observed"][0] = 1.5


def unnamed_class(document):
    document["per_class"][0]["class"] = "gnu"


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("manifest.json", drop("divided"), "has no 'divided'"),
        ("manifest.json", put(divided=1), "not true or false"),
        ("manifest.json", put(sketched=[0, 3]), "whole numbers from 0 to 2"),
        ("manifest.json", put(settings={}), "has no 'min_rows'"),
        ("metrics.json", drop("top_label"), "has no 'top_label'"),
        ("metrics.json", drop("shrinkage"), "has no 'shrinkage'"),
        ("metrics.json", shorter_curve, "differ in length"),
        ("metrics.json", impossible_curve, "shares outside 0 to 1"),
        ("metrics.json", put(top_label=[]), "not those before and after"),
        ("metrics.json", unnamed_class, "not those of its classes"),
        ("metrics.json", put(lift={"before": 2, "after": 1, "se": 0}), "'before' of 'lift' is not"),
        ("class_1/evaluation.json", put(leaves=[]), "not those of its leaves"),
        ("class_1/evaluation.json", drop("tree"), "has no 'tree'"),
        ("class_1/evaluation.json", put(rows=0), "'rows' of the file is not"),
        ("class_1/maps.json", put(maps=[]), "maps"),
        ("class_2/train.sketch", put(leaves=[{"id": 9}]), "cannot be used"),
        ("class_2/train.sketch", put(bins=2**13), "do not have the same bins"),
        ("class_2/train.sketch", put(bins=2**20, leaves=EIGHT), "too many cells"),
        ("class_0/joint.sketch", put(bins=3), "cannot be used"),
    ],
)
def test_a_damaged_artifact_is_refused_in_words(packed, tmp_path, name, change, words):
    with pytest.raises(HetcalError, match=words):
        open_artifact(with_fields(packed, name, change), tmp_path)


@pytest.mark.parametrize(
    "name", ["maps.json", "train.sketch", "test.sketch", "joint.sketch", "evaluation.json"]
)
def test_a_class_without_one_of_its_entries_is_refused(packed, tmp_path, name):
    with pytest.raises(ArtifactError, match="not a zip with the right entries"):
        open_artifact(changed(packed, f"class_1/{name}", lambda _: None), tmp_path)


def test_the_rows_of_one_class_are_not_taken_for_those_of_another(packed, tmp_path):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        other = archive.read("class_1/joint.sketch")
    with pytest.raises(ArtifactError, match="not of its test rows"):
        open_artifact(changed(packed, "class_0/joint.sketch", lambda _: other), tmp_path)


def test_more_cells_than_are_ever_saved_are_refused(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_cells, "_filled", lambda _: 200)
    with pytest.raises(ArtifactError, match="too many cells"):
        open_artifact(packed, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("manifest.json", "metrics.json", "class_1/evaluation.json", "class_1/maps.json"),
        *("class_1/calibration.sketch", "class_1/joint.sketch"),
    ],
)
def test_damaged_entries_are_refused_in_words_or_can_be_explored(packed, tmp_path, name):
    chance, refused = random.Random(name), 0

    def damage(content):
        content = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        return bytes(content)

    for _ in range(25):
        # Any error but a HetcalError fails the test.
        with contextlib.suppress(HetcalError):
            opened = open_artifact(changed(packed, name, damage), tmp_path)
            view = saved_run(opened, 9).view(1, 9)
            result_curves(view.comparison, view.evaluation)
            diagnose(view.role_cells.train, view.role_cells.test, view.partition.leaves)
            continue
        refused += 1
    assert refused > 5
