"""Check scores for what would make their calibration misleading."""

from collections.abc import Iterator

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.compiled import sigmoid
from hetcal.data.checks import Finding
from hetcal.data.columns import row_count
from hetcal.data.scores import Scores
from hetcal.data.splits import Split
from hetcal.data.table import Roles, Table, positive_rate
from hetcal.metrics.classes import macro_lift, top_label
from hetcal.metrics.delong import Lift, error_of, paired_delong
from hetcal.metrics.metrics import loss_of_rows

MAX_ROWS = 100_000
"""More rows are sampled: an AUC of 0.51 differs from 0.5 on far fewer."""

LARGEST_PERCENTAGE = 100
NEARLY_ALL = 0.99  # of the rows share a score that is constant in effect
NEGLIGIBLE = 1e-3  # difference of two logits
RANKING = 0.55  # least AUC of a score that ranks, however few its values
SATURATED = 10.0  # logit of a probability of 0.99995
SATURATED_SHARE = 0.9
BETTER = 2.24  # standard errors: one of two comparisons is beyond it by chance in 2.5 %
CLEAR_AUC = 0.6  # an interval that reaches it does not show that the score is noise


def check_scores(table: Table, scores: Scores, split: Split) -> tuple[Finding, ...]:
    """Look for scores that are constant, saturated, noise or reversed, and for percentages.

    They are judged by validation, calibration and test rows: a model knows its training rows.
    """
    rows = _sample(scores, np.concatenate([split.validation, split.calibration, split.test]))
    if not rows.size:
        return ()
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    ranking = _ranking(table, scores, rows)
    known = table.roles.split is not None
    where = f"on {row_count(rows.size)} "
    where += "the model was not trained on" if known else "of validation, calibration and test"
    found = *_constant(table, logits, ranking, where), *_saturated(table, logits, y, where)
    if not any(each.code == "constant-score" for each in found):
        found = *found, *_no_ranking(table, ranking, where)
    return *found, *_percentages(table, scores)


def _sample(scores: Scores, rows: Ints) -> Ints:
    """Draw rows with a score."""
    rows = rows[scores.usable[rows]]
    if rows.size <= MAX_ROWS:
        return rows
    return np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False)


def _ranking(table: Table, scores: Scores, rows: Ints) -> Lift:
    """Compare the AUC of the scores with that of a constant, 0.5."""
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    compare = macro_lift if table.classes else paired_delong
    weight, group = table.weight_of(rows), table.group(rows)
    return compare(y, np.zeros_like(logits), logits, weight=weight, group=group)


def _constant(table: Table, logits: Floats, ranking: Lift, where: str) -> Iterator[Finding]:
    """Look for a score that hardly differs between rows, unless the few that differ rank."""
    columns = np.sort(logits.reshape(len(logits), -1), axis=0)
    apart = min(int(np.ceil(NEARLY_ALL * len(columns))), len(columns) - 1)
    close = columns[apart:] - columns[: len(columns) - apart] < NEGLIGIBLE
    all_close = bool((columns[-1] - columns[0] < NEGLIGIBLE).all())
    if all_close or (close.any(axis=0).all() and not 0.5 + ranking.low > RANKING):
        likely = "" if table.classes else f" ({np.median(logits):.4g})"
        yield Finding(
            table.roles.score,
            f"The score is constant in effect: {where}, {'all' if all_close else '99 %'} have the "
            f"same logit{likely}, give or take {NEGLIGIBLE:g}. It ranks nothing. Check that the "
            "right score column or model output was chosen, and that the model's inputs are the "
            "columns it was trained on.",
            "warning",
            "constant-score",
        )


def _saturated(table: Table, logits: Floats, y: Ints, where: str) -> Iterator[Finding]:
    """Look for probabilities so close to 0 or 1 that they are wrong far more often than they say.

    Rare classes, or classes that a model separates, may have such probabilities rightly.
    """
    if table.classes:
        right, sure = top_label(y, logits)
        wrong: Bools = right == 0
    else:
        sure, wrong = np.abs(logits), (logits > 0) != (y == 1)
    beyond = sure > SATURATED
    share, expected = float(beyond.mean()), float(sigmoid(-sure[beyond]).sum())
    mistakes = int((wrong & beyond).sum())
    if share >= SATURATED_SHARE and mistakes > 3 * expected + 3:
        yield Finding(
            table.roles.score,
            f"The score is saturated: {where}, {share:.1%} have a probability within 0.00005 of 0 "
            f"or 1, and {mistakes:,} of these are wrong. The model's columns were probably scaled "
            "in training, and it is given unscaled ones. Scale them as in training and score the "
            "rows again.",
            "warning",
            "saturated-score",
        )


def _no_ranking(table: Table, ranking: Lift, where: str) -> Iterator[Finding]:
    """Look for a score that ranks no better than chance, or worse."""
    low, high = 0.5 + ranking.low, 0.5 + ranking.high
    what = "macro AUC" if table.classes else "AUC"
    measured = f"{where} its {what} is {ranking.after:.4f} ({low:.3f} to {high:.3f})"
    if high < 0.5:
        yield Finding(
            table.roles.score,
            f"The score is reversed: {measured}, so it ranks negative rows above positive ones. "
            + (
                "Check the order of the classes."
                if table.classes
                else "Check which value of the label is positive, and which output of the model "
                "stands for it."
            ),
            "warning",
            "reversed-score",
        )
    elif low <= 0.5:
        unclear = high > CLEAR_AUC
        yield Finding(
            table.roles.score,
            f"The score {'cannot be told from' if unclear else 'is'} noise: {measured}. "
            + (
                "More rows would show whether it ranks at all."
                if unclear
                else "Any gain comes from the columns, not from the model. Check that the right "
                "score column or model was chosen, and that the scores belong to these rows."
            ),
            "warning",
            "noise-score",
        )


def _percentages(table: Table, scores: Scores) -> Iterator[Finding]:
    """Look for percentages that were mistaken for the logits of two classes."""
    if table.classes:
        return
    rows = scores.usable
    logits, rate = scores.logit[rows], positive_rate(table.y[rows])
    if not logits.size or logits.min() < 0 or logits.max() > LARGEST_PERCENTAGE:
        return
    if float(np.mean(sigmoid(logits))) > rate:
        yield Finding(
            table.roles.score,
            f"No logit is below 0: the model would call all {logits.size:,} rows more likely "
            f"positive than not, of which {rate:.1%} are. The scores go from {logits.min():.3g} "
            f"to {logits.max():.3g}; if they are percentages, divide them by 100 and say that "
            "they are probabilities.",
            "warning",
            "percent-score",
        )


def check_validation(table: Table, scores: Scores, split: Split) -> tuple[Finding, ...]:
    """Say that schemes read validation rows; warn if the model looks better on them.

    They may have chosen the epoch of the network. Its AUC and its log-loss there are compared
    with those on calibration rows.
    """
    roles = [_sample(scores, rows) for rows in (split.validation, split.calibration)]
    if min(each.size for each in roles) < 2:
        return ()
    what = "macro AUC" if table.classes else "AUC"
    areas = [_ranking(table, scores, rows) for rows in roles]
    losses = [_loss(table, scores, rows) for rows in roles]
    more = (areas[0].after - areas[1].after) / np.hypot(areas[0].se, areas[1].se)
    less = (losses[1][0] - losses[0][0]) / np.hypot(losses[0][1], losses[1][1])
    better = bool(more > BETTER or less > BETTER)
    measured = (
        f"its {what} is {areas[0].after:.4f} on them and {areas[1].after:.4f} on calibration rows, "
        f"its log-loss {losses[0][0]:.4f} and {losses[1][0]:.4f}"
    )
    return (
        Finding(
            None,
            (
                f"The model looks better on validation rows than on others: {measured}. They "
                "probably chose its epoch, and schemes that are fitted on them trust it too much. "
                "Fit the schemes without them (--no-validation)."
            )
            if better
            else (
                f"Schemes are fitted and compared on the {split.validation.size:,} validation "
                "rows, too. If these chose the network's epoch, it looks better on them than on "
                f"new rows, but not significantly so here: {measured}. --no-validation leaves "
                "them out."
            ),
            "warning" if better else "note",
            "validation-reused",
        ),
    )


def _loss(table: Table, scores: Scores, rows: Ints) -> tuple[float, float]:
    """Return the log-loss of some rows and its standard error."""
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    losses = -logits[np.arange(y.size), y] if table.classes else loss_of_rows(y, logits)
    weight, group = table.weight_of(rows), table.group(rows)
    w = np.ones(y.size) if weight is None else weight
    mean = float(np.average(losses, weights=w))
    return mean, error_of(w * (losses - mean) / w.sum(), group)


def check_training(roles: Roles) -> tuple[Finding, ...]:
    """Warn where no split column says which rows the model was trained on."""
    if roles.split is not None:
        return ()
    how = "at random" if roles.time is None else "by time"
    return (
        Finding(
            None,
            f"The rows were split {how}, and it is unknown which of them the model was trained on. "
            "If it was trained on test or calibration rows, it looks better there than it is, "
            "and the lift is not that of new rows. Name a split column that says which rows it was "
            "trained on.",
            "warning",
            "unknown-training-rows",
        ),
    )
