"""What every number means: the one text for pages and tooltips.

s is the score (logit) of a row and t(s) its calibrated probability; before calibration t is the
sigmoid σ.
"""

DEFINITIONS = {
    "AUC": "Area under the ROC curve: the probability that a random positive row scores higher "
    "than a random negative one, where a tie counts one half. 0.5 is random ranking, 1 is perfect. "
    "Higher is better.",
    "Lift": "AUC after minus AUC before on the same test rows, with DeLong's 95 % confidence "
    "interval for paired scores. In percent: 100 · (AUC after / AUC before − 1).",
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
    "PR-AUC": "As the paper defines it: the area under TPR / (TPR + FPR) against recall (TPR). "
    "This is precision with both classes weighted equally, so it does not depend on the base rate. "
    "0.5 is random ranking. Higher is better.",
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
    "and Ma, 2019). It is 0 where sampling noise explains the gaps.",
    "Over-confidence": "Mean predicted probability of the predicted class minus accuracy. Above "
    "zero, the model is more confident than it is accurate.",
    "Log-loss gap": "Log-loss on test rows minus log-loss on train rows. The larger it is, the "
    "more the model over-fits.",
    "Slope and intercept": "The Platt map t(s) = σ(slope · s + intercept) that fits the labels "
    "best. Slope 1 and intercept 0 leave the score unchanged, slope 0.5 halves the logit, and "
    "slope 0 ignores the score: every row of the leaf gets the same probability.",
    "Standard error": "Typical sampling error; about 95 % of estimates lie within two standard "
    "errors of the truth.",
}
