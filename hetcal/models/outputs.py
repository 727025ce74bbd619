"""From a model's output to the logit before the sigmoid."""

from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats, Singles
from hetcal.data.scores import CLIP, to_logits
from hetcal.errors import ModelError
from hetcal.metrics.classes import one_against_rest

# float32 outputs agree with the sigmoid of their logit to about 1e-7; a larger gap
# means that the removed activation was not the model's last step.
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ModelOutput:
    """The output of a model for every row; arrays have one row per row, one column per unit."""

    own: Singles
    stripped: Singles | None  # without the last sigmoid or softmax, where it ends in one
    activation: str | None  # the last one; None when the last layer has none


@dataclass(frozen=True)
class Logits:
    """Logits per row, or per row and class, and how they were obtained."""

    logit: Floats  # not finite where the model's output is not
    how: str  # one sentence
    clipped: int = 0  # number of probabilities that were clipped near 0 or 1
    largest_difference: float | None = None  # own probability against the logit's sigmoid


def to_logit(
    own: Singles,
    stripped: Singles | None,
    activation: str | None,
    positive_unit: int | None = None,
) -> Logits:
    """Take the logit of the positive unit from a model's output of shape (rows, units).

    Of two units of a softmax the second is positive by default. Of more, the logit is that of
    the positive one against all others.
    """
    if own.shape[1] > 2:
        return _one_of_many(ModelOutput(own, stripped, activation), positive_unit)
    unit = 0 if own.shape[1] == 1 else 1 if positive_unit is None else positive_unit
    output = own[:, unit].astype(np.float64)
    if stripped is not None:
        exact = _exact(output, stripped.astype(np.float64), activation, unit)
        if exact is not None:
            return exact
    elif activation == "log_softmax":
        return _log_softmax(own.astype(np.float64), unit)
    elif own.shape[1] == 2 and positive_unit is None and not _are_probabilities(own):
        raise _ask_about_two(own)
    elif activation == "linear":
        return _linear(own.astype(np.float64), unit)
    return _inverted(output, activation)


def _one_of_many(given: ModelOutput, positive_unit: int | None) -> Logits:
    from scipy.special import log_softmax

    assert positive_unit is not None  # the child refuses more than two units without it
    found = to_class_logits(given)
    logs = np.full(found.logit.shape, np.nan)
    usable = np.isfinite(found.logit).all(axis=1)
    logs[usable] = log_softmax(found.logit[usable], axis=1)
    how = f"{found.how} The score is the logit of unit {positive_unit} against all others."
    return Logits(one_against_rest(logs, positive_unit), how)


def _ask_about_two(own: Singles) -> ModelError:
    first, second = own[0]
    return ModelError(
        f"The model ends in two numbers without a softmax, such as {first:.6g} and {second:.6g}.",
        "They give a score only if they are the logits of the two values of the label; those of "
        "a regression with two targets do not.",
        "If they are logits, say which unit is that of the positive value (--positive-unit on the "
        "command line); if not, use a model with one output, or a score column.",
    )


def _exact(output: Floats, stripped: Floats, activation: str | None, unit: int) -> Logits | None:
    if activation == "softmax" and stripped.shape[1] == 1:
        raise _single_softmax()
    if activation == "softmax":
        logit = stripped[:, unit] - stripped[:, 1 - unit]
        how = "The softmax over two units was removed; the logit is the difference of the two."
    else:
        logit = stripped[:, unit]
        how = "The final sigmoid was removed exactly; its input is the logit."
    largest = _largest_difference(output, logit) or 0.0
    return Logits(logit, how, 0, largest) if largest <= _TOLERANCE else None


def _largest_difference(output: Floats, logit: Floats) -> float | None:
    """Compare the output with the sigmoid of the logit; None where nothing is finite."""
    from scipy.special import expit

    both = np.isfinite(logit) & np.isfinite(output)
    gap = np.abs(output[both] - expit(logit[both]))
    return float(gap.max()) if gap.size else None


def _log_softmax(own: Floats, unit: int) -> Logits:
    if own.shape[1] == 1:
        raise _single_softmax()
    how = "The model gives two logarithms of probabilities; the logit is their difference."
    return Logits(own[:, unit] - own[:, 1 - unit], how)


def _single_softmax() -> ModelError:
    return ModelError(
        "The model ends in a softmax over a single unit, which is the same for every row.",
        "A single unit needs a sigmoid or no activation; a softmax needs two units.",
        "Correct the model's last layer, or use a score column instead.",
    )


def _linear(own: Floats, unit: int) -> Logits:
    if own.shape[1] == 2:
        how = "The output is linear with two units; the logit is the difference of the two."
        return Logits(own[:, unit] - own[:, 1 - unit], how)
    return Logits(own[:, 0], "The model's output is linear, so it is the logit itself.")


def _inverted(output: Floats, activation: str | None) -> Logits:
    finite = output[np.isfinite(output)]
    outside = finite[(finite < 0) | (finite > 1)]
    if outside.size and activation is None:
        how = "The last layer has no activation and gives values outside 0 to 1: used as logits."
        return Logits(output, how)
    if outside.size:
        raise ModelError(
            f"The model ends in the activation '{activation}' and gives values outside 0 to 1, "
            f"such as {outside[0]:.6g}.",
            "The output must be a probability (sigmoid, softmax) or a logit (linear).",
            "Change the last layer's activation, or use a score column instead.",
        )
    clipped = int(((finite < CLIP) | (finite > 1 - CLIP)).sum())
    logit = np.where(np.isfinite(output), to_logits(output), np.nan)
    how = (
        "The model's probability was turned into a logit, log(p / (1 − p)), with p kept between "
        f"{CLIP:g} and 1 − {CLIP:g}."
    )
    return Logits(logit, how, clipped, _largest_difference(output, logit))


def to_class_logits(given: ModelOutput) -> Logits:
    """Take the logits of more than two classes."""
    from scipy.special import softmax

    own = given.own.astype(np.float64)
    if given.stripped is not None and given.activation == "softmax":
        stripped = given.stripped.astype(np.float64)
        usable = np.isfinite(stripped).all(axis=1) & np.isfinite(own).all(axis=1)
        gap = np.abs(own[usable] - softmax(stripped[usable], axis=1))
        if gap.max(initial=0.0) <= _TOLERANCE:
            how = "The final softmax was removed exactly; its inputs are the logits."
            return Logits(stripped, how)
    if given.activation == "log_softmax":
        return Logits(own, "The model's outputs are logarithms of probabilities, used as they are.")
    if given.activation in ("linear", None) and not _are_probabilities(own):
        return Logits(own, "The model's outputs are linear, so they are the logits themselves.")
    if not _are_probabilities(own):
        raise ModelError(
            f"The model ends in the activation '{given.activation}', and its {own.shape[1]} "
            "outputs for a row do not add up to 1.",
            "One probability per class (softmax) or one logit per class (linear) is needed.",
            "Change the last layer's activation, or use score columns instead.",
        )
    how = f"The model's probabilities, kept above {CLIP:g}, were turned into logarithms."
    return Logits(np.log(np.maximum(own, CLIP)), how)


def _are_probabilities(own: Floats | Singles) -> bool:
    finite = own[np.isfinite(own).all(axis=1)]
    inside = bool(((finite >= 0) & (finite <= 1)).all())
    return inside and bool((np.abs(finite.sum(axis=1) - 1) <= _TOLERANCE).all())
