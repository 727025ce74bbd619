"""What every number means, in the paper's words; s is the logit, t the calibration."""

DEFINITIONS = {
    "AUC": "The chance that a positive row, drawn at random, scores above a negative one; a tie "
    "counts one half. Higher is better; 0.5 ranks like a coin.",
    "Lift": "AUC after minus AUC before, on the same test rows. Its interval and p-value are "
    "DeLong's for two scores of the same rows. In percent: AUC after over AUC before, minus one.",
    "TPR and FPR at (T, q)": "Rows that score above the threshold T are called positive, and a "
    "share q of those that score exactly T. The true and the false positive rate are the shares "
    "of positive and of negative rows called positive. The ROC curve shows all (T, q).",
    "Average precision": "Precision, the share of positive rows among those called positive, "
    "averaged over the positive rows. It depends on how common they are. Higher is better.",
    "PR-AUC": "The paper's: the area under TPR / (TPR + FPR) against the TPR. This precision is "
    "that of classes of equal weight, so it does not depend on how common positive rows are. "
    "Higher is better.",
    "Log-loss": "Mean of −log of the probability that was given to the label that came true. "
    "Lower is better.",
    "Brier score": "Mean squared difference of probability and label. Lower is better.",
    "Calibration error": "The paper's L2 error: the root of the mean squared gap of predicted and "
    "observed rate, over 15 bins of equal mass. It need not fall when leaves are calibrated "
    "apart. Lower is better.",
    "Calibration error, debiased": "The same without what chance alone adds: in every bin the "
    "variance of the observed rate is taken off the squared gap. It is 0 where chance explains "
    "the gaps.",
    "Over-confidence": "Mean probability of the predicted class minus the share of right "
    "predictions. Above zero, the model is surer than it is right.",
    "Slope and intercept": "The map t(s) = σ(slope · s + intercept) that the labels ask for. "
    "Slope 1 and intercept 0 leave the score as it is; slope 0.5 halves it, and slope 0 is the "
    "tree alone.",
}
