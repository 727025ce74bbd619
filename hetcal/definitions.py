"""What every number means, in the paper's words: the one text for pages and tooltips.

s is the score (logit) of a row and t(s) what calibration makes of it; before calibration t is
the sigmoid σ.
"""

DEFINITIONS = {
    "AUC": "The chance that a positive row, drawn at random, has a higher score than a negative "
    "one; a tie counts one half. It is the area under the ROC curve. Higher is better; 0.5 ranks "
    "like a coin.",
    "Lift": "AUC after minus AUC before, on the same test rows, with DeLong's interval for two "
    "scores of the same rows. In percent: AUC after over AUC before, minus one.",
    "p-value": "The chance of a lift at least this large, up or down, if calibration changed "
    "nothing: DeLong's paired test.",
    "Share of the lift": "The pairs of a positive and a negative row that calibration put right, "
    "less those that it put wrong; a pair counts half for either row's leaf. The shares of all "
    "leaves add up to the lift.",
    "TPR and FPR at (T, q)": "Rows with t(s) above the threshold T are called positive, and of "
    "those with t(s) = T a share q, drawn at random. The true and the false positive rate are the "
    "shares of positive and of negative rows called positive. The ROC curve shows the two for "
    "every (T, q).",
    "Average precision": "Precision, the share of positive rows among those called positive, "
    "averaged over the positive rows. It depends on how common they are. Higher is better.",
    "PR-AUC": "The paper's: the area under TPR / (TPR + FPR) against the TPR, which is recall. "
    "This precision is that of classes of equal weight, so that it does not depend on how common "
    "positive rows are. Higher is better; 0.5 ranks like a coin.",
    "Log-loss": "Mean of −log of the probability that was given to the label that came true. "
    "Given the partition, perfect calibration in every leaf gives the lowest possible log-loss. "
    "Lower is better.",
    "Brier score": "Mean squared difference of probability and label. Lower is better.",
    "Calibration error": "The paper's expected calibration error: the root of the mean squared "
    "gap between t(s) and the share of positive rows with that score, here over 15 bins of equal "
    "mass. It need not fall when leaves are calibrated apart, and a useless score can have none. "
    "Lower is better.",
    "Calibration error, debiased": "The same without what chance alone adds: in every bin the "
    "variance of the observed rate is taken off the squared gap (Kumar, Liang and Ma, 2019). It "
    "is 0 where chance explains the gaps.",
    "Over-confidence": "Mean probability of the predicted class minus the share of right "
    "predictions. Above zero, the model is surer than it is right.",
    "Log-loss gap": "Log-loss on test rows minus log-loss on train rows. The larger it is, the "
    "more the model owes to rows that it has seen.",
    "Slope and intercept": "The map t(s) = σ(slope · s + intercept) that the labels ask for. "
    "Slope 1 and intercept 0 leave the score as it is; slope 0.5 halves it, and slope 0 is the "
    "tree alone.",
    "Standard error": "Typical sampling error; about 95 % of estimates lie within two standard "
    "errors of the truth.",
}
