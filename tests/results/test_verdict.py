import math
from dataclasses import replace

import pandas as pd
import pytest

from hetcal.data.checks import Finding
from hetcal.metrics.delong import Lift, lift_between
from hetcal.metrics.metrics import LossChange, Metrics
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.results.words import outcome, p_in_words, verdict

BETTER, WORSE = LossChange(0.04, 0.01, 0.02, 0.06), LossChange(-0.04, 0.01, -0.06, -0.02)
UNCLEAR, UNCHANGED = LossChange(0.01, 0.01, -0.01, 0.03), LossChange(0.0, 0.0, 0.0, 0.0)
PART, NO_PART = (0.05, 0.07), (-0.001, 0.002)
CLASSES = ByClass(pd.DataFrame(), ())


def lift(low, high, before=0.8):
    middle = (low + high) / 2
    return Lift(
        before=before, after=before + middle, auc=middle, percent=125 * middle,
        se=(high - low) / 3.92, z=0.0, p=0.5, low=low, high=high,
    )  # fmt: skip


def found(low, high, *, before=0.8, loss=BETTER, adds=PART, groups=None, by_class=None):
    """500 test rows whose log-loss was 0.5, and the model adds so much to the scheme."""
    change = lift(low, high, before)
    of_model = None if adds is None else lift(*adds, before=change.after - sum(adds) / 2)
    measured = [
        Metrics(area, 0.5, 0.5, log_loss, 0.2, 0.0, 0.0)
        for area, log_loss in ((before, 0.5), (change.after, 0.5 - loss.fall))
    ]
    return Evaluation(
        measured[0], measured[0], None, measured[1], change, pd.DataFrame(), 500,
        groups=groups, by_class=by_class, network_adds=of_model, loss=loss,
    )  # fmt: skip


LADDER = pd.DataFrame(
    [
        ("identity", "none", 0.0, 0.0, -0.3, 0.3, 0.28, 0.32),
        ("tree", "calibration", 0.011, 0.001, 0.001, 0.01, 0.005, 0.015),
        ("additive", "correction", 0.020, 0.010, 0.018, 0.002, 0.001, 0.003),
        ("stacked", "second model", 0.025, 0.015, 0.0247, 0.0003, -0.0008, 0.0014),
    ],
    columns=["name", "kind", "lift", "low", "without", "adds", "adds_low", "adds_high"],
).assign(
    high=lambda rungs: 2 * rungs["lift"] - rungs["low"],
    se=lambda rungs: (rungs["lift"] - rungs["low"]) / 1.96,
    auc=lambda rungs: 0.7 + rungs["lift"],
    loss_fall=0.03,
    loss_se=0.01,
)


def ladder(chosen):
    allowed = LADDER["kind"] != "second model"
    return LADDER.assign(chosen=LADDER["name"] == chosen, allowed=allowed)


@pytest.mark.parametrize(
    ("low", "high", "expected", "words"),
    [
        (0.001, 0.021, "gain", "Heterogeneous calibration helps. AUC 0.8000 before and 0.8110"),
        (-0.02, -0.001, "harm", "Leave your model as it is: this calibration makes its ranking"),
        (-0.01, 0.02, "unclear", "Leave your model as it is, unless you need calibrated"),
    ],
)
def test_only_an_interval_clear_of_zero_is_a_gain_or_a_harm(low, high, expected, words):
    assert outcome(found(low, high)) == expected
    assert verdict(found(low, high)).startswith(words)
    assert "500 test rows" in verdict(found(low, high))


def test_helps_needs_a_better_ranking_sound_probabilities_and_a_part_of_the_model():
    for loss in (BETTER, UNCLEAR, WORSE):
        for adds in (PART, NO_PART):
            for low in (0.001, -0.01):
                said = verdict(found(low, 0.021, loss=loss, adds=adds))
                all_three = low > 0 and loss is not WORSE and adds is PART
                assert ("helps" in said) == all_three


def test_a_model_without_a_part_is_told_what_the_columns_reach():
    evaluation = found(0.3, 0.5, before=0.5014, adds=NO_PART)
    assert outcome(evaluation) == "columns"
    said = verdict(evaluation)
    assert said.startswith(
        "The columns do the work, not your model: consider replacing it. AUC 0.5014 before"
    )
    assert "without your model reaches 0.9009; your model adds +0.0005" in said
    assert "(-0.0010 to +0.0020)." in said


def test_a_model_with_a_part_stays_in_charge_of_maps_and_is_worth_keeping_beside_others():
    said = verdict(found(0.001, 0.021))
    assert "Your model stays in charge: it adds +0.0600 (+0.0500 to +0.0700)" in said
    assert "without it, 0.7510." in said  # 0.8110 less 0.0600
    for kind, what in (("correction", "A correction"), ("second model", "A second model")):
        said = verdict(found(0.001, 0.021), kind)
        assert said.startswith(what)
        assert "Your model is worth keeping: it adds" in said


def test_a_better_ranking_with_worse_probabilities_is_an_outcome_of_its_own():
    evaluation = found(0.001, 0.021, loss=WORSE)
    assert outcome(evaluation) == "ranking"
    said = verdict(evaluation)
    assert "ranks better after calibration, but its probabilities are worse" in said
    assert "rises: the probabilities are worse, 0.5000 before and 0.5400 after" in said
    assert "95 % interval of the change +0.0200 to +0.0600" in said


def test_probabilities_are_told_beside_the_ranking():
    assert "falls: the probabilities are better, 0.5000 before and 0.4600" in verdict(
        found(-0.01, 0.02)
    )
    unclear = verdict(found(-0.01, 0.02, loss=UNCLEAR))
    # 2.8 standard errors, of which 3.92 are between the ends of the interval.
    assert unclear.startswith(
        "Leave your model as it is: the lift cannot be told from zero with 500 test rows; lifts "
        "under 0.0214 would not have been detectable. AUC 0.8000 before"
    )
    assert "does not change significantly, 0.5000 before and 0.4900 after" in unclear


def test_no_difference_at_all_leaves_the_model_or_at_least_its_ranking_as_it_is():
    for loss, said in (
        (UNCHANGED, "Leave your model as it is: nothing"),
        (BETTER, "Keep the rank"),
    ):
        evaluation = found(0.0, 0.0, loss=loss)
        assert outcome(evaluation) == "same"
        assert verdict(evaluation).startswith(said)


def test_a_model_that_is_left_alone_is_told_which_lifts_would_have_shown():
    evaluation = found(0.0, 0.0, loss=UNCHANGED)
    said = verdict(evaluation, "none", ladder("identity").assign(low=-0.01, se=0.01))
    # The second model gains more, but may not be chosen.
    assert "The best, 'curves', gains +0.0200 (-0.0100" in said
    assert "lifts under 0.0280 would not have been detectable" in said
    assert "detectable" not in verdict(evaluation, "none", ladder("identity"))


def test_a_score_that_ranks_backwards_is_no_gain():
    turned = found(0.55, 0.65, before=0.2)
    assert outcome(turned) == "backwards"
    assert "Check the positive value" in verdict(turned)
    assert "replacing" not in verdict(turned, ladder=ladder("tree"))


def test_an_auc_just_below_one_half_is_chance_and_not_backwards():
    assert outcome(found(0.01, 0.03, before=0.49)) == "gain"
    assert outcome(found(-0.01, 0.03, before=0.48)) == "unclear"


@pytest.mark.parametrize(
    "code", ["noise-score", "constant-score", "reversed-score", "saturated-score"]
)
def test_what_is_wrong_with_a_score_comes_first(code):
    about = Finding("p", "The score is odd: its AUC is 0.5. Check it.", "warning", code)
    other = Finding("x", "Column 'x' is odd.", "warning", "identifier")
    plain = verdict(found(0.001, 0.021))
    assert verdict(found(0.001, 0.021), findings=[other]) == plain
    said = verdict(found(0.001, 0.021), findings=[other, about])
    assert said == f"The score is odd: its AUC is 0.5. {plain}"


def test_other_kinds_are_told_with_what_they_would_reach_and_the_price():
    said = verdict(found(0.001, 0.021), "calibration", ladder("tree"))
    # By cross-fitting the model has 0.7000; one tree lifts that by 0.011, others by 0.020, 0.025.
    assert "By cross-fitting, your model has AUC 0.7000 and this scheme 0.7110." in said
    assert "A readable correction (curves) reaches 0.7200." in said
    assert (
        "A second model (boosted trees beside the score) reaches 0.7250, and 0.7247 without your "
        "model; your model adds +0.0003 (-0.0008 to +0.0014): consider replacing it." in said
    )
    said = verdict(found(0.01, 0.03), "correction", ladder("additive"))
    assert "Calibration alone (one tree) reaches 0.7110, 0.0090 less." in said


def test_rungs_that_are_no_better_are_no_reason_to_replace_the_model():
    poor = ladder("tree").assign(low=-0.001)
    plain = verdict(found(0.001, 0.021))
    said = verdict(found(0.001, 0.021), "calibration", poor)
    assert said.removeprefix(plain) == (
        " By cross-fitting, your model has AUC 0.7000 and this scheme 0.7110. A second model "
        "(boosted trees beside the score) reaches 0.7247 without your model; your model adds "
        "+0.0003 (-0.0008 to +0.0014)."
    )


def test_a_model_that_the_user_left_alone_is_not_called_beyond_help():
    said = verdict(found(0.0, 0.0, loss=UNCHANGED), "none", ladder("identity"))
    assert said.startswith("The ranking is left as it is, though 'curves' gains +0.0200 (")
    nothing = ladder("identity").assign(low=-0.001)
    said = verdict(found(0.0, 0.0, loss=UNCHANGED), "none", nothing)
    assert said.startswith("Leave your model as it is: nothing that may be chosen")


def test_where_test_rows_contradict_cross_fitting_both_are_told():
    said = verdict(found(-0.02, -0.001), "calibration", ladder("tree"))
    assert said.startswith(
        "Leave your model as it is: this calibration makes its ranking worse, th"
    )
    assert "take 'leave it' (--take identity) to keep the model" in said


def test_replacing_the_model_is_advised_once():
    said = verdict(found(0.3, 0.5, before=0.5, adds=NO_PART), "correction", ladder("additive"))
    assert said.count("consider replacing it") == 1


def test_the_verdict_on_classes_speaks_of_the_macro_auc_and_the_order_of_classes():
    def advice(low, high, **more):
        return verdict(found(low, high, by_class=CLASSES, **more))

    assert "helps. Macro AUC 0.8000 before" in advice(0.001, 0.021)
    assert advice(-0.02, -0.001).startswith("Leave your model as it is")
    assert "Check the order of the classes" in advice(0.5, 0.6, before=0.2)
    assert "cannot be told from zero" in advice(-0.01, 0.02)
    one_map = verdict(found(0.001, 0.021, by_class=CLASSES), one_map=True)
    assert one_map.startswith("One map for all rows helps. Macro AUC")


def test_the_verdict_names_the_groups_that_the_interval_counts():
    assert "on 500 test rows of 40 groups: +0.0110" in verdict(found(0.001, 0.021, groups=40))
    assert "500 test rows of 1 group, before" in verdict(found(0.0, 0.0, groups=1))


def test_without_an_interval_there_is_none_to_read():
    unknown = found(0.001, 0.021, groups=1)
    without = replace(unknown.lift, se=math.nan, low=math.nan, high=math.nan)
    advice = verdict(replace(unknown, lift=without))
    assert advice.startswith("Leave your model as it is, unless")
    assert ": whether the ranking gets better is not known. AUC" in advice
    assert "+0.0110, without an interval, because it rests on too few rows or groups." in advice


def test_without_an_interval_of_what_the_model_adds_it_is_neither_praised_nor_dismissed():
    evaluation = found(0.001, 0.021)
    adds = replace(evaluation.network_adds, low=math.nan, high=math.nan)
    said = verdict(replace(evaluation, network_adds=adds))
    assert said.startswith("The ranking gets better. AUC 0.8000 before")
    assert "is not known: +0.0600, without an interval, because it rests on too few" in said
    assert "helps" not in said
    assert "replacing" not in said


def test_what_an_old_artifact_does_not_say_is_not_called_help():
    said = verdict(found(0.001, 0.021, adds=None))
    assert said.startswith("The ranking gets better. AUC 0.8000 before")
    assert said.endswith("was not saved.")


@pytest.mark.parametrize("distance", [10, 37.6, 38.4, 1e6, float("inf")])
def test_a_p_value_is_never_written_as_zero(distance):
    p = lift_between(0.7, 0.8, 0.1 / distance).p
    assert (p < 1e-300) == (distance > 37.1)  # twice the tail of the normal distribution
    words = p_in_words(p)
    assert words == "< 1e-300" if distance > 37.1 else float(words) == pytest.approx(p, rel=0.05)
