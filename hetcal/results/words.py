"""What a lift means, in words."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd

from hetcal.choices import KINDS, Kind, plain_name
from hetcal.data.checks import Finding
from hetcal.data.columns import counted
from hetcal.metrics.delong import DETECTED, Lift
from hetcal.results.evaluation import Evaluation

DEFINITIONS = {
    "AUC": "Area under the ROC curve: the probability that a random positive row scores higher "
    "than a random negative one, where a tie counts one half. 0.5 is random ranking, 1 is perfect. "
    "Higher is better.",
    "Lift": "AUC after minus AUC before on the same rows: test rows, or on the ladder those of "
    "cross-fitting. With DeLong's 95 % confidence interval for paired scores, which allows for few "
    "rows; there is none with fewer than 12 rows of a class, or where fewer than three rows "
    "decide. In percent: 100 · (AUC after / AUC before − 1).",
    "Smallest detectable lift": "The lift that would be told from zero in four of five samples of "
    "as many test rows: 2.8 paired standard errors.",
    "Stability index": "Population stability index: the sum over leaves, tenths of the scores or "
    "kinds of values of (new share − old share) · log(new share / old share). By the usual rule of "
    "thumb rows have moved from 0.1 on, and far from 0.25 on; here only if p is below 5 %, too.",
    "Corrected p-value": "By Holm's method: if nothing has changed, the smallest of all p-values "
    "is below 5 % in one of twenty checks.",
    "Interval": "The 95 % interval that a paired bootstrap of 2,000 replicates gives: test rows, "
    "or whole groups, are drawn again, the same ones before and after. The maps stay as they are. "
    "Changes of AUC and log-loss have the intervals of DeLong's and of the paired t-test. There is "
    "none with fewer than 12 rows of a class.",
    "Precision and recall": "Precision: the share of the rows called positive that are. Recall: "
    "the share of the positive rows that are called so.",
    "Expected cost": "False alarms times the cost of one, plus misses times the cost of one, "
    "divided by the number of rows. A false alarm is a negative row that is called positive, a "
    "miss a positive row that is not.",
    "Without the model": "The same scheme fitted and applied with a constant score: what the "
    "columns reach on their own. For maps of leaves it is the tree alone, where every row has the "
    "rate of its leaf.",
    "What the model adds": "AUC of the scheme minus its AUC without the model, on the same test "
    "rows, with the 95 % confidence interval for paired scores. If the interval includes zero, the "
    "columns do the work.",
    "Share of the model": "Share of the variance of the final logit that is the model's: the "
    "covariance of the logit with what the row's own score, in place of the mean score, adds to "
    "it. 1 where the score alone decides, 0 where the columns do.",
    "p-value": "The probability of a lift at least this far from zero if calibration did not "
    "change the AUC (DeLong's paired test, two-sided).",
    "Share of the lift": "The part of the lift that comes from a leaf: the pairs of a positive and "
    "a negative row that calibration put in the right order, minus those that it put in the wrong "
    "order. A pair counts half for the leaf of each of its rows, so the shares add up to the lift.",
    "TPR and FPR at (T, q)": "Rows with t(s) above the threshold T are called positive, and so is "
    "a random share q of the rows with t(s) = T. The true and the false positive rate are the "
    "shares of positive and of negative rows called positive. The ROC curve shows both for every "
    "(T, q).",
    "Average precision": "Mean over the positive rows of the precision at their own score, where "
    "precision is the share of positive rows among those called positive. It depends on the base "
    "rate. Higher is better.",
    "Class-balanced PR-AUC": "As the paper defines it: the area under TPR / (TPR + FPR) against "
    "recall (TPR). This is precision with both classes weighted equally, so it does not depend on "
    "the base rate. 0.5 is random ranking. Higher is better.",
    "Log-loss": "Mean of −log p, where p is the predicted probability of the true label. Given the "
    "partition, perfect calibration in every leaf gives the lowest possible log-loss. Lower is "
    "better.",
    "Brier score": "Mean squared difference between predicted probability and label, "
    "mean (p − y)². Lower is better.",
    "Calibration error": "The paper's expected calibration error: the root mean squared gap "
    "between predicted probability and observed positive rate, over 15 bins of equal mass. "
    "It need not fall when leaves are calibrated separately, and a useless score can have an error "
    "of zero. Lower is better.",
    "Calibration error, debiased": "The calibration error without the bias of sampling noise: in "
    "every bin the variance of the observed rate is subtracted from the squared gap (Kumar, Liang "
    "and Ma, 2019). It is 0 where sampling noise explains the gaps. An error near 0 can be missed "
    "on one side only, so its interval holds it more often than in 95 % of samples.",
    "Smooth calibration error": "Calibration error without bins (smECE, Błasiok and Nakkiran, "
    "2023): gaps of label and probability are averaged by a Gaussian kernel along the probability, "
    "and the absolute averages are added up. The kernel is as wide as the error is large. Lower is "
    "better.",
    "Cumulative difference": "Labels minus probabilities, added up in order of the probability: "
    "the range of these sums, divided by the number of rows (ECCE, Arrieta-Ibarra and others, "
    "2022). Of calibrated rows it is that of a random walk, which gives the p-value. It needs no "
    "bins.",
    "Is it calibrated? (p)": "The p-value of the hypothesis that the probabilities of the leaf are "
    "right, by its cumulative differences on test rows. Below 0.05 the leaf is miscalibrated. "
    "Corrected for the number of leaves by Holm's method; that of all rows is not.",
    "Is the gap real? (p)": "The p-value of the hypothesis that the log-loss is the same on train "
    "and on test rows of the leaf (Welch's test). Below 0.05 the gap is more than chance. "
    "Corrected for the number of leaves by Holm's method; that of all rows is not.",
    "Calibration part of the log-loss": "How much the best increasing map of the score would lower "
    "the log-loss, by isotonic regression on the test rows themselves. On few rows it is above 0 "
    "by chance. Lower is better.",
    "Refinement part of the log-loss": "The log-loss that is left after the best increasing map of "
    "the score. No map of all rows lowers it; separate maps in the leaves can. Both parts add up "
    "to the log-loss. Lower is better.",
    "Over-confident": "On rows that the model was not trained on, its logits have to be multiplied "
    "by less than 1, the slope of the Platt map of the test rows. Above 1 it is under-confident.",
    "Log-loss gap": "Log-loss on test rows minus log-loss on train rows. The larger it is, the "
    "more the model over-fits.",
    "Slope and intercept": "The Platt map t(s) = σ(slope · s + intercept) that fits the labels "
    "best. Slope 1 and intercept 0 leave the score unchanged, slope 0.5 halves the logit, and "
    "slope 0 ignores the score: every row of the leaf gets the same probability.",
    "Slope needed": "The factor by which the logits of test rows should be multiplied, that of the "
    "Platt map that fits these rows best. Before calibration it says whether the model is "
    "over-confident (below 1), after it what is still needed (about 1 where nothing is). It is "
    "only a diagnosis: no map that is applied is fitted on test rows.",
    "Fitted slope": "The slope of a map that was fitted on held-out rows, to be applied to others, "
    "so it differs a little from the slope needed on test rows. The pooled map is the one map of "
    "all calibration rows: leaves with too few rows, or whose own map does not rise, take its "
    "slope, and shrinkage pulls the maps of leaves towards it.",
    "Applied slope": "What was done to the logits of test rows, as a straight line of least "
    "squares through the logits after against before. In a leaf with one Platt map it is the slope "
    "of that map. Of all rows together it also holds what maps of other leaves and columns do.",
    "Without the network": "The same scheme on the same rows, fitted with a constant score: the "
    "tree, the curves or the boosted trees alone.",
    "Network adds": "AUC of the scheme minus that of the same scheme without the network, with its "
    "paired 95 % interval. If the interval includes zero, the columns do the work.",
    "Rung": "A scheme on the ladder, which goes from leaving the model as it is to a second model, "
    "the fewest numbers first. The rung in use is what every page shows and what is exported; "
    "another one can be taken without comparing them again.",
    "Cross-fitted": "The held-out rows are divided into parts, and every part is scored by fits "
    "that have seen only the other parts. So each row is judged by fits that do not know its "
    "label, and test rows have no part in the comparison.",
    "Numbers and time": "Numbers: how many were fitted and decide, such as slopes, intercepts and "
    "the heights of curves, but not where leaves and steps begin. The fewer, the easier a scheme "
    "is to read and to check. Time: what it took to fit and compare the scheme here, not to score "
    "rows.",
    "Kinds of schemes": "Calibration: within a leaf, only an increasing map of the score decides. "
    "Correction: the score plus terms of the columns that one can read. Second model: the score "
    "beside boosted trees.",
    "Heterogeneous calibration": "In every leaf of a small tree the score is calibrated on its "
    "own. So rows of different leaves get into the right order, which one map for all rows cannot "
    "do.",
    "Standard error": "Typical sampling error; about 95 % of estimates lie within two standard "
    "errors of the truth.",
}


BACKWARDS = 0.45  # an AUC between this and one half may be that of a random ranking
Outcome = Literal["backwards", "gain", "columns", "ranking", "harm", "same", "unclear"]
LEAST_P = 1e-300  # smaller p-values underflow
SCORE_FINDINGS = ("constant-score", "noise-score", "saturated-score", "reversed-score")
"""Codes of findings that say what a score is, before any lift is told."""

WHAT_HELPS: dict[Kind, str] = {
    "none": "Heterogeneous calibration",
    "calibration": "Heterogeneous calibration",
    "correction": "A correction by readable terms of the columns",
    "second model": "A second model beside yours",
}
REACHED: dict[Kind, str] = {
    "calibration": "Calibration alone",
    "correction": "A readable correction",
    "second model": "A second model",
}


def outcome(evaluation: Evaluation) -> Outcome:
    """Say what calibration did, where something is significant if its 95 % interval excludes zero.

    `gain`: the ranking is better, the probabilities are not worse, and the model has a part in it,
    or it is not known whether it has.
    `columns`: the ranking is better, but the same scheme is as good without the model. `ranking`:
    it is better, and the probabilities are worse. `harm`: it is worse. `same`: no pair of rows
    changed its order. `unclear`: neither better nor worse. `backwards`: the AUC of the model is
    well below one half, and reversing it is no lift.
    """
    lift, adds = evaluation.lift, evaluation.network_adds
    if lift.before < BACKWARDS:
        return "backwards"
    if lift.low > 0:
        if adds is not None and adds.low <= 0:
            return "columns"
        return "ranking" if evaluation.loss.high < 0 else "gain"
    if same_order(lift):
        return "same"
    return "harm" if lift.high < 0 else "unclear"


def same_order(lift: Lift) -> bool:
    """Return whether calibration kept the order of all pairs of rows."""
    return lift.auc == 0 and lift.se == 0


def verdict(
    evaluation: Evaluation,
    kind: Kind = "calibration",
    ladder: pd.DataFrame | None = None,
    findings: Sequence[Finding] = (),
    *,
    one_map: bool = False,
) -> str:
    """Advise the user what to do with their model, and say how certain that is.

    A score that is noise, constant, reversed or saturated is named first. Then comes what the
    scheme did to the ranking and to the probabilities of the test rows, what the model has to do
    with it, and what schemes of other kinds would reach.

    Parameters
    ----------
    evaluation : Evaluation
        The test rows before and after.
    kind : Kind
        What the scheme does to the score.
    ladder : DataFrame, optional
        The schemes that were compared by cross-fitting, see
        `hetcal.schemes.choice.candidate_table`.
    findings : sequence of Finding
        What was found out about the scores.
    one_map : bool, default=False
        Whether all rows share one map of all classes, which can change the ranking of one class.
    """
    about_score = [each.message for each in findings if each.code in SCORE_FINDINGS]
    named = [f"{each.split('. ')[0].rstrip('.')}." for each in about_score]
    what = "One map for all rows" if one_map else WHAT_HELPS[kind]
    found, others = outcome(evaluation), []
    ways: dict[Outcome, Callable[[Evaluation], list[str]]] = {
        "backwards": _backwards,
        "gain": partial(_gain, what=what, kind=kind),
        "columns": _columns,
        "ranking": _ranking,
        "harm": _harm,
        "same": _same,
        "unclear": _unclear,
    }
    said = ways[found](evaluation)
    if ladder is not None and found != "backwards":
        others = other_kinds(ladder, evaluation, kind)
        if found in ("same", "harm"):
            said[0] = _against_ladder(said[0], found, ladder)
        if found == "same":
            said[1:1] = _best_untold(ladder)
    return " ".join([*named, *said, *others])


def _backwards(evaluation: Evaluation) -> list[str]:
    check = "Check the positive value of the label and the sign of the score"
    if evaluation.by_class is not None:
        check = "Check the order of the classes"
    return [f"{check}: the model ranks the test rows backwards.", _measured(evaluation)]


def _gain(evaluation: Evaluation, what: str, kind: Kind) -> list[str]:
    adds = evaluation.network_adds
    if adds is None or math.isnan(adds.low):
        part = "How much of this your model adds to the same scheme without it was not saved."
        if adds is not None:
            part = (
                f"The same scheme without your model reaches {adds.before:.4f}; whether your model "
                f"has a part in this is not known: {adds.auc:+.4f}, {interval_in_words(adds)}."
            )
        return ["The ranking gets better.", _measured(evaluation), loss_in_words(evaluation), part]
    kept = "Your model is worth keeping"
    if kind == "calibration":
        kept = "Your model stays in charge"
    part = f"{kept}: it adds {_with_interval(adds)} to what the same scheme reaches without it, "
    measured = _measured(evaluation), loss_in_words(evaluation)
    return [f"{what} helps.", *measured, f"{part}{adds.before:.4f}."]


def _columns(evaluation: Evaluation) -> list[str]:
    adds = evaluation.network_adds
    if adds is None:
        raise TypeError("without what the model adds, nothing is known of the columns")
    return [
        "The columns do the work, not your model: consider replacing it.",
        _measured(evaluation),
        f"The same scheme without your model reaches {adds.before:.4f}; your model adds "
        f"{_with_interval(adds)}.",
        loss_in_words(evaluation),
    ]


def _ranking(evaluation: Evaluation) -> list[str]:
    return [
        "Your model ranks better after calibration, but its probabilities are worse.",
        _measured(evaluation),
        loss_in_words(evaluation),
        "Use it to rank rows, not for its probabilities, unless you can calibrate on rows that are "
        "like the test rows.",
    ]


def _harm(evaluation: Evaluation) -> list[str]:
    said = "Leave your model as it is: this calibration makes its ranking worse."
    return [said, _measured(evaluation), loss_in_words(evaluation)]


def _same(evaluation: Evaluation) -> list[str]:
    measure = _measure(evaluation)
    where = measured_on(evaluation.rows, evaluation.groups)
    unchanged = f"{measure} {evaluation.lift.before:.4f} on {where}, before and after."
    loss = evaluation.loss
    if loss.fall == 0 and loss.se == 0:
        said = "Leave your model as it is: nothing that may be chosen improves it significantly."
        return [said, unchanged]
    ranking = "Keep the ranking of your model: nothing that may be chosen ranks the rows better."
    return [ranking, unchanged, loss_in_words(evaluation)]


def _unclear(evaluation: Evaluation) -> list[str]:
    lift, better = evaluation.lift, evaluation.loss.low > 0
    unless = ", unless you need calibrated probabilities" if better else ""
    where = measured_on(evaluation.rows, evaluation.groups)
    found = f"the lift cannot be told from zero with {where}"
    if math.isnan(lift.low):
        found = "whether the ranking gets better is not known"
    if not math.isnan(lift.detectable):
        found += f"; lifts under {lift.detectable:.4f} would not have been detectable"
    said = f"Leave your model as it is{unless}: {found}."
    return [said, _measured(evaluation), loss_in_words(evaluation)]


def _against_ladder(said: str, found: Outcome, ladder: pd.DataFrame) -> str:
    """Say where test rows, or what the user took, and cross-fitting do not agree."""
    own = ladder.loc[ladder["chosen"]].iloc[0]
    if found == "harm":
        if not own["low"] > 0:
            return said
        return (
            f"{said.removesuffix('.')}, though it gained {_gained(own)} by cross-fitting. The "
            "artifact applies it all the same: take 'leave it' (--take identity) to keep the "
            "model as it is."
        )
    clear = ladder["allowed"] & (ladder["low"] > 0) & (ladder["loss_fall"] > 2 * ladder["loss_se"])
    if not clear.any():
        return said
    best = ladder.loc[ladder.loc[clear, "lift"].idxmax()]
    return (
        f"The ranking is left as it is, though '{plain_name(best['name'])}' gains "
        f"{_gained(best)} by cross-fitting."
    )


def _best_untold(ladder: pd.DataFrame) -> list[str]:
    """Say what the best rung gains where that may be zero, and what could have been told."""
    rungs = ladder[ladder["allowed"] & (ladder["se"] > 0)]
    if rungs.empty or (rungs["low"] > 0).any():
        return []
    best = rungs.loc[rungs["lift"].idxmax()]
    return [
        f"The best, '{plain_name(best['name'])}', gains {_gained(best)} by cross-fitting; lifts "
        f"under {DETECTED * best['se']:.4f} would not have been detectable."
    ]


def _gained(rung: "pd.Series[Any]") -> str:
    return f"{rung['lift']:+.4f} ({rung['low']:+.4f} to {rung['high']:+.4f})"


def loss_in_words(evaluation: Evaluation) -> str:
    """Say how the log-loss changed, with its interval."""
    loss = evaluation.loss
    before, after = evaluation.before.log_loss, evaluation.after.log_loss
    if math.isnan(loss.fall):
        return f"Log-loss {before:.4f} before and {after:.4f} after."
    found = "does not change significantly"
    if loss.low > 0:
        found = "falls: the probabilities are better"
    elif loss.high < 0:
        found = "rises: the probabilities are worse"
    interval = ""
    if not math.isnan(loss.low):
        interval = f", 95 % interval of the change {-loss.high:+.4f} to {-loss.low:+.4f}"
    return f"The log-loss {found}, {before:.4f} before and {after:.4f} after{interval}."


def other_kinds(ladder: pd.DataFrame, evaluation: Evaluation, kind: Kind) -> list[str]:
    """Say what the best schemes of other kinds reach, if they are better than the model.

    Of a second model it is always said what it reaches without the model. All is measured by
    cross-fitting, and so are the model and the scheme beside it: the AUC on test rows differs.
    """
    used = ladder.loc[ladder["chosen"]].iloc[0]
    this = "" if used["kind"] == "none" else f" and this scheme {used['auc']:.4f}"
    before = float(used["auc"] - used["lift"])
    said = [f"By cross-fitting, your model has {_measure(evaluation)} {before:.4f}{this}."]
    for each, name in REACHED.items():
        of_kind = ladder[ladder["kind"] == each]
        if each == kind or of_kind.empty:
            continue
        best = of_kind.loc[of_kind["lift"].idxmax()]
        reached = f"{name} ({plain_name(best['name'])})"
        if best["low"] > 0:
            reached += f" reaches {best['auc']:.4f}"
        price = float(used["lift"] - best["lift"])
        if each == "second model":
            useless = best["low"] > 0 and not best["adds_low"] > 0
            said_already = outcome(evaluation) == "columns"
            advice = ": consider replacing it." if useless and not said_already else "."
            alone = f"{before + best['without']:.4f} without your model"
            joined = ", and" if best["low"] > 0 else " reaches"
            interval = f"({best['adds_low']:+.4f} to {best['adds_high']:+.4f})"
            added = f"your model adds {best['adds']:+.4f} {interval}"
            said.append(f"{reached}{joined} {alone}; {added}{advice}")
        elif best["low"] > 0 and price > 0 and KINDS.index(each) < KINDS.index(kind):
            said.append(f"{reached}, {price:.4f} less.")
        elif best["low"] > 0:
            said.append(f"{reached}.")
    return said if len(said) > 1 else []


def _measure(evaluation: Evaluation) -> str:
    return "AUC" if evaluation.by_class is None else "Macro AUC"


def _measured(evaluation: Evaluation) -> str:
    lift, where = evaluation.lift, measured_on(evaluation.rows, evaluation.groups)
    return (
        f"{_measure(evaluation)} {lift.before:.4f} before and {lift.after:.4f} after on {where}: "
        f"{lift.auc:+.4f}, {interval_in_words(lift)}."
    )


def _with_interval(lift: Lift) -> str:
    if math.isnan(lift.low):
        return f"{lift.auc:+.4f}"
    return f"{lift.auc:+.4f} ({lift.low:+.4f} to {lift.high:+.4f})"


def measured_on(rows: int, groups: int | None = None) -> str:
    """Say on how many rows something was measured.

    Examples
    --------
    >>> measured_on(1200), measured_on(1200, 1)
    ('1,200 test rows', '1,200 test rows of 1 group')
    """
    of_groups = "" if groups is None else f" of {counted(groups, 'group')}"
    return f"{counted(rows, 'test row')}{of_groups}"


def p_in_words(p: float) -> str:
    """Write a p-value, which is never 0; one that is not defined is a dash.

    >>> p_in_words(0.0312), p_in_words(2e-17), p_in_words(0.0), p_in_words(float("nan"))
    ('0.031', '2e-17', '< 1e-300', '–')
    """
    if math.isnan(p):
        return "–"
    return f"{p:.2g}" if p >= LEAST_P else f"< {LEAST_P:g}"


def interval_in_words(lift: Lift) -> str:
    """Write the 95 % interval of a lift, or why there is none."""
    if math.isnan(lift.low):
        return "without an interval, because it rests on too few rows or groups"
    return f"95 % interval {lift.low:+.4f} to {lift.high:+.4f}"
