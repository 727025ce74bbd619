import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.artifacts.artifact import artifact_bytes, open_artifact, score_with_artifact
from hetcal.artifacts.report import result_json
from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table
from hetcal.errors import CalibrationError
from hetcal.models.scoring import ColumnScoring
from hetcal.results.words import outcome
from hetcal.runs import fitting as ensembles
from hetcal.runs.fitting import fit_ensemble, sample_note
from hetcal.runs.run import run, split_table
from hetcal.runs.settings import Settings
from hetcal.schemes.candidates import MANY_TREES
from hetcal.schemes.rows import SchemeRows, joined, sampled

SHARES = (0.4, 0.1, 0.25, 0.25)


def drawn(blind):
    """Labels that depend on two columns and a score that knows both, or only one."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 6_000))
    truth = 1.5 * z + np.where(x > 0, 1.5, -1.5)
    y = (rng.random(6_000) < expit(truth)).astype(int)
    score = 3.0 * z if blind else truth
    frame = pd.DataFrame({"x": x, "z": z, "y": y, "score": score})
    table = make_table(frame, Roles("y", score="score"), "digest")
    return table, make_scores(score, "made up", digest=f"scores {blind}")


@pytest.fixture(scope="module")
def chosen():
    return run(*drawn(blind=True), Settings(fractions=SHARES, partition="auto"))


def test_auto_lifts_a_model_that_is_blind_to_a_column(chosen):
    assert chosen.choice.chosen not in ("identity", "pooled")
    assert chosen.evaluation.lift.low > 0.05


def test_the_numbers_of_a_scheme_are_those_of_its_logits(chosen):
    rows = chosen.split.test
    logits = chosen.choice.scheme.logit(chosen.scores.logit, chosen.table.X)
    assert np.array_equal(logits, chosen.after)
    assert chosen.evaluation.after.auc == pytest.approx(
        roc_auc_score(chosen.table.y[rows], logits[rows]), abs=1e-12
    )


def test_auto_leaves_a_model_alone_that_knows_everything():
    finished = run(*drawn(blind=False), Settings(fractions=SHARES, partition="auto"))
    assert finished.choice.chosen in ("identity", "pooled")
    assert outcome(finished.evaluation) == "same"


@pytest.mark.parametrize("name", MANY_TREES)
def test_a_scheme_can_be_asked_for_by_name(name):
    finished = run(*drawn(blind=True), Settings(fractions=SHARES, partition=name))
    assert finished.choice.chosen == name
    assert finished.choice.candidates["name"].tolist() == ["identity", "pooled", name]
    assert finished.evaluation.lift.low > 0.05


def test_test_rows_do_not_change_the_scheme(chosen):
    table, scores = drawn(blind=True)
    y = table.y.copy()
    y[chosen.split.test] = 1 - y[chosen.split.test]
    roles = chosen.split.names(table.rows)
    frame = table.frame.assign(y=y, split=roles)
    other = make_table(frame, Roles("y", score="score", split="split"), "other")
    again = run(other, scores, Settings(partition="auto"))
    assert again.choice.scheme.digest == chosen.choice.scheme.digest


@pytest.mark.parametrize("name", ["forest", "auc-gain"])
def test_validation_rows_that_are_not_used_change_nothing(name):
    table, scores = drawn(blind=True)
    role = np.repeat(["train", "validation", "calibration", "test"], 1_500)
    shuffled = np.random.default_rng(1).permutation(table.y)
    shuffled = np.where(role == "validation", shuffled, table.y)
    found = {}
    for used in (True, False):
        for label, y in (("given", table.y), ("shuffled", shuffled)):
            frame = table.frame.assign(y=y, role=role)
            other = make_table(frame, Roles("y", score="score", split="role"), label)
            finished = run(other, scores, Settings(partition=name, use_validation=used))
            found[used, label] = finished.after
            told = [each.code for each in finished.findings]
            assert ("validation-reused" in told) == used
    assert np.array_equal(found[False, "given"], found[False, "shuffled"])
    assert not np.array_equal(found[True, "given"], found[True, "shuffled"])


def test_what_needs_no_scores_grows_ahead_on_the_same_rows():
    table, scores = drawn(blind=True)
    role = np.repeat(["train", "validation", "calibration", "test"], 1_500)
    table = make_table(table.frame.assign(role=role), replace(table.roles, split="role"), "")
    settings = Settings(partition="auto", use_validation=False)
    direct, ahead = (run(table, each, settings) for each in (scores, lambda _: scores))
    assert np.array_equal(direct.after, ahead.after)


def test_an_artifact_scores_new_rows_bit_for_bit(chosen, tmp_path):
    data = artifact_bytes(chosen, ColumnScoring(("score",), "logit"))
    artifact = open_artifact(data, tmp_path)
    scored = score_with_artifact(artifact, chosen.table.frame, "digest")
    assert np.array_equal(scored["after"], expit(chosen.after))
    assert set(artifact.kinds) >= chosen.choice.scheme.column_names


@pytest.mark.parametrize(
    ("training", "held", "told"),
    [
        (10_000, 10_000, None),
        (2_000, 10_000, "sample: 2,000 of {train:,} train rows"),
        (10_000, 500, "sample: 500 of {held:,} validation and calibration rows"),
        (2_000, 500, "sample: 2,000 of {train:,} train rows and 500 of {held:,} validation and"),
    ],
)
def test_a_run_says_how_many_rows_of_a_large_table_its_scheme_read(
    chosen, monkeypatch, training, held, told
):
    monkeypatch.setattr(ensembles, "MAX_TRAINING", training)
    monkeypatch.setattr(ensembles, "MAX_HELD", held)
    notes = [each for each in chosen.notes if "random sample" in each]
    assert len(notes) == (told is not None)
    counts = chosen.split.counts
    held = counts["validation"] + counts["calibration"]
    assert told is None or told.format(train=counts["train"], held=held) in notes[0]
    assert json.loads(result_json(chosen))["notes"] == list(chosen.notes)


def test_rows_without_weight_are_not_counted_among_those_to_draw_from(monkeypatch):
    table, _ = drawn(blind=True)
    weighted = make_table(
        table.frame.assign(w=np.arange(table.rows) % 2.0), replace(table.roles, weight="w"), ""
    )
    split = split_table(weighted, Settings(fractions=SHARES))
    count = int((weighted.weight[split.train] > 0).sum())
    monkeypatch.setattr(ensembles, "MAX_TRAINING", count)
    assert sample_note(weighted, split, Settings()) is None
    monkeypatch.setattr(ensembles, "MAX_TRAINING", count - 1)
    assert f"{count - 1:,} of {count:,} train rows" in sample_note(weighted, split, Settings())


def test_rows_are_drawn_as_from_copies_of_all_roles(monkeypatch):
    """The columns are copied after the draw; the rows are those of a draw from all of them."""
    table, scores = drawn(blind=True)
    logit = scores.logit.copy()
    logit[::7] = np.nan
    scores = make_scores(logit, "made up", digest="gaps")
    settings = Settings(fractions=SHARES, partition="forest", seed=3)
    split = split_table(table, settings)
    for name, most in (("MAX_TRAINING", 500), ("MAX_HELD", 300)):
        monkeypatch.setattr(ensembles, name, most)
    given = []
    monkeypatch.setattr(ensembles, "fit_roles", lambda *args: given.extend(args))
    fit_ensemble(table, scores, split, settings)

    def role(rows):
        rows = rows[np.isfinite(logit[rows])]
        return SchemeRows(table.X.iloc[rows], table.y[rows], logit[rows])

    held = joined(role(split.calibration), role(split.validation))
    expected = sampled(role(split.train), 500, 3), sampled(held, 300, 3)
    for found, its in zip(given[1:3], expected, strict=True):
        assert np.array_equal(found.X.to_numpy(), its.X.to_numpy())
        assert np.array_equal(found.y, its.y)
        assert np.array_equal(found.scores, its.scores)
    assert given[3] is None


@pytest.mark.parametrize("name", ["auto", "forest", "boosted"])
def test_schemes_are_tried_on_groups_that_they_were_not_fitted_on(name):
    table, scores = drawn(blind=True)
    frame = table.frame.assign(group=np.arange(6_000) % 30, split="calibration")
    frame.loc[frame["group"] < 10, "split"] = "train"
    frame.loc[frame["group"] > 20, "split"] = "test"
    roles = Roles("y", score="score", group="group", split="split")
    table, settings = make_table(frame, roles, "digest"), Settings(partition=name)
    assert run(table, scores, settings).choice.chosen
    one = make_table(frame.assign(group=frame["split"]), roles, "digest")
    with pytest.raises(CalibrationError, match="cannot be divided in two"):
        run(one, scores, settings)
