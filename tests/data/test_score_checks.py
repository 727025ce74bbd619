"""Scores that cannot be calibrated in earnest are named for what they are."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import mannwhitneyu
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.data import checks
from hetcal.data.checks import check_scores, check_training, check_validation
from hetcal.data.scores import make_scores
from hetcal.data.splits import Split
from hetcal.data.table import Roles, make_table

ROWS = 4000


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def codes(scores, y, **roles):
    return [finding.code for finding in findings(scores, y, **roles)]


def findings(scores, y, train=0, **roles):
    """Check scores of rows of which the first are training rows, in the order of the roles."""
    frame = pd.DataFrame({"y": y, "x": np.arange(len(y)) % 7, "part": "test"})
    table = make_table(frame, Roles("y", **{"split": "part", **roles}), "")
    rows = np.arange(train, len(y))
    split = Split(np.arange(train), rows[::3], rows[1::3], rows[2::3])
    return check_scores(table, make_scores(np.asarray(scores, float), "", digest=""), split)


def informative(rng, rows=ROWS):
    scores = rng.normal(size=rows)
    return scores, rng.binomial(1, expit(2 * scores))


def test_a_good_score_gives_no_findings(rng):
    assert findings(*informative(rng)) == ()


def test_random_numbers_are_called_noise_with_their_auc(rng):
    scores, y = rng.normal(size=ROWS), rng.binomial(1, 0.3, ROWS)
    (finding,) = findings(scores, y)
    assert (finding.code, finding.level) == ("noise-score", "warning")
    area = roc_auc_score(y, scores)
    assert (
        f"The score is noise: on {ROWS:,} rows that the model was not trained on" in finding.message
    )
    assert f"its AUC is {area:.4f}" in finding.message
    # The interval has the standard error of the rank sum of independent scores.
    low, high = map(float, re.search(r"\(([0-9.]+) to ([0-9.]+)\)", finding.message).groups())
    positives = y.sum()
    error = np.sqrt((ROWS + 1) / (12 * positives * (ROWS - positives)))
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.03)


def test_noise_and_its_opposites_agree_with_a_rank_test(rng):
    for strength in np.linspace(-0.2, 0.2, 9):
        scores = rng.normal(size=ROWS)
        y = rng.binomial(1, expit(strength * scores))
        p = mannwhitneyu(scores[y == 1], scores[y == 0]).pvalue
        if not 0.04 < p < 0.06:
            area = roc_auc_score(y, scores)
            told = "reversed-score" if area < 0.5 else None
            assert codes(scores, y) == [
                code for code in ["noise-score" if p > 0.05 else told] if code
            ]


def test_a_score_that_only_training_rows_obey_is_noise(rng):
    scores, y = informative(rng)
    y[1000:] = rng.permutation(y[1000:])
    assert codes(scores, y, train=1000) == ["noise-score"]


def test_few_rows_leave_open_whether_a_score_is_noise(rng):
    y = np.arange(40) % 2
    (finding,) = findings(rng.permutation(40) / 40 - 0.5, y)
    assert finding.code == "noise-score"
    assert "cannot be told from noise" in finding.message


def test_a_reversed_score_is_named(rng):
    scores, y = informative(rng)
    (finding,) = findings(-scores, y)
    assert finding.code == "reversed-score"
    assert finding.message.startswith("The score is reversed: ")


@pytest.mark.parametrize("spread", [1e-9, 3e-4])
def test_a_negligible_spread_is_constant_in_effect(rng, spread):
    scores, y = informative(rng)
    (finding,) = findings(-1 + spread * expit(scores), y)
    assert finding.code == "constant-score"
    assert finding.message.startswith("The score is constant in effect: ")


def test_a_score_that_nearly_all_rows_share_is_constant_in_effect(rng):
    scores, y = informative(rng)
    shared = np.where(np.arange(ROWS) % 200 == 0, scores, 0.3)
    assert codes(shared, y) == ["constant-score"]


def test_a_flag_that_marks_the_few_positives_is_not_constant():
    y = (np.arange(ROWS) % 250 == 0).astype(int)
    assert codes(np.where(y == 1, 2.0, -6.0), y) == []


def test_saturated_scores_point_at_unscaled_columns(rng):
    scores, y = informative(rng)
    (finding,) = findings(400 * scores, y)
    assert finding.code == "saturated-score"
    assert "given unscaled ones" in finding.message
    wrong = ((scores > 0) != (y == 1))[np.abs(400 * scores) > 10].sum()
    assert f"{wrong:,} of these are wrong" in finding.message


def test_logits_without_end_in_a_few_rows_point_at_unscaled_columns(rng):
    scores, y = informative(rng)
    logits = np.where(np.arange(ROWS) % 5 == 0, 1e5 * scores, scores)
    (finding,) = findings(logits, y)
    assert finding.message.startswith("The inputs do not look like those the model was trained on")
    assert f"{logits.max():,.0f}" in finding.message


def test_probabilities_near_0_of_a_rare_class_are_not_saturated(rng):
    y = (np.arange(ROWS) == 17).astype(int)
    scores = np.where(y == 1, 1.0, rng.normal(-12, 0.5, ROWS))
    assert codes(scores, y) == []


def test_groups_widen_the_interval_by_which_noise_is_told():
    """Forty groups of a hundred equal rows are forty observations."""
    group = np.repeat(np.arange(40), 100)
    scores = np.random.default_rng(1).normal(size=40)
    y = (scores + 4 * np.random.default_rng(8).normal(size=40) > 0).astype(int)
    area = roc_auc_score(y, scores)
    error = np.sqrt(41 / (12 * y.sum() * (40 - y.sum())))
    assert abs(area - 0.5) < 1.5 * error  # noise, seen by group
    frame = pd.DataFrame({"y": y[group], "g": group, "x": 1, "part": "test"})
    rows = np.arange(len(frame))
    split = Split(rows[:0], rows[::3], rows[1::3], rows[2::3])
    given = make_scores(scores[group], "", digest="")
    for name, told in (("g", ["noise-score"]), (None, ["reversed-score"] if area < 0.5 else [])):
        table = make_table(frame, Roles("y", split="part", group=name), "")
        assert [each.code for each in check_scores(table, given, split)] == told


def test_large_tables_are_sampled(rng, monkeypatch):
    monkeypatch.setattr(checks, "MAX_ROWS", 1000)
    (finding,) = findings(rng.normal(size=ROWS), rng.binomial(1, 0.3, ROWS))
    assert "on 1,000 rows" in finding.message


def class_logits(rng, strength):
    y = rng.integers(0, 3, ROWS)
    return strength * np.eye(3)[y] + rng.normal(size=(ROWS, 3)), y


@pytest.mark.parametrize(
    ("strength", "scale", "told"),
    [
        (1, 1, []),
        (0, 1, ["noise-score"]),
        (-1, 1, ["reversed-score"]),
        (1, 1e-6, ["constant-score"]),
        (1, 400, ["saturated-score"]),
    ],
)
def test_scores_of_several_classes_are_judged_alike(rng, strength, scale, told):
    logits, y = class_logits(rng, strength)
    assert codes(scale * logits, y) == told


def percentages(scores, positives=0.2):
    """Return what is said of percentages."""
    y = np.arange(len(scores)) < positives * len(scores)
    return [each for each in findings(scores, y.astype(int)) if each.code == "percent-score"]


def test_percentages_that_were_taken_for_logits_are_pointed_out():
    (finding,) = percentages(np.linspace(0.4, 99.5, 100))
    assert finding.level == "warning"
    assert "all 100 rows more likely positive than not, of which 20.0% are" in finding.message
    assert "from 0.4 to 99.5; if they are percentages, divide them by 100" in finding.message


@pytest.mark.parametrize(
    ("scores", "positives"),
    [
        (np.linspace(-0.1, 60, 100), 0.2),  # a logit below 0
        (np.linspace(0, 1e3, 100), 0.2),  # no percentages
        (np.linspace(0, 0.5, 100), 0.9),  # as rare negatives would have it
        (np.full(100, np.nan), 0.2),
    ],
)
def test_other_scores_are_not(scores, positives):
    assert percentages(scores, positives) == []


def test_a_random_division_leaves_open_what_the_model_was_trained_on():
    (finding,) = check_training(Roles("y"))
    assert finding.level == "warning"
    assert "unknown which of them the model was trained" in finding.message
    assert check_training(Roles("y", split="part")) == ()


def reused(rng, sharper, rows=ROWS):
    """Return what is said of validation rows, half of all, and their labels and logits."""
    scores, y = informative(rng, rows)
    logits = 2 * scores
    logits[: rows // 2] += sharper * (2 * y[: rows // 2] - 1)
    frame = pd.DataFrame({"y": y, "x": 1})
    half = np.arange(rows // 2)
    split = Split(half[:0], half, half + rows // 2, half[:0])
    given = make_scores(logits, "", digest="")
    (finding,) = check_validation(make_table(frame, Roles("y"), ""), given, split)
    return finding, y, logits


def test_a_model_that_looks_better_on_validation_rows_is_warned_of(rng):
    finding, y, logits = reused(rng, 0.5)
    assert (finding.code, finding.level) == ("validation-reused", "warning")
    for part in (slice(0, ROWS // 2), slice(ROWS // 2, None)):
        assert f"{roc_auc_score(y[part], logits[part]):.4f} on" in finding.message
        assert f"{log_loss(y[part], expit(logits[part])):.4f}" in finding.message


def test_validation_rows_like_all_others_are_a_note(rng):
    levels = [reused(rng, 0.0, 400)[0].level for _ in range(200)]
    assert set(levels) == {"note", "warning"}
    assert levels.count("warning") <= 12  # 2.5 % or so, by chance


def test_nothing_is_said_of_validation_rows_that_are_not_there(rng):
    scores, y = informative(rng)
    rows = np.arange(ROWS)
    table = make_table(pd.DataFrame({"y": y, "x": 1}), Roles("y"), "")
    split = Split(rows[:0], rows[:0], rows, rows[:0])
    assert check_validation(table, make_scores(scores, "", digest=""), split) == ()
