"""How scores should change according to a calibration slope, in words."""

import math

SURE = 2.0
"""Standard errors from which a difference counts as significant."""

RIGHT = (0.8, 1.25)
"""Where the whole interval of a slope has to lie for the scores to be called about right."""

NEAR = 0.05
"""Difference from 1, or from a slope that has a name, not worth a word."""

CHANGES = {
    0.1: "shrunk to {}a tenth",
    0.125: "shrunk to {}an eighth",
    1 / 6: "shrunk to {}a sixth",
    0.2: "shrunk to {}a fifth",
    0.25: "shrunk to {}a quarter",
    1 / 3: "shrunk to {}a third",
    0.4: "shrunk to {}two fifths",
    0.5: "{}halved",
    0.6: "shrunk to {}three fifths",
    2 / 3: "shrunk by {}a third",
    0.75: "shrunk by {}a quarter",
    0.8: "shrunk by {}a fifth",
    0.9: "shrunk by {}a tenth",
    1.1: "stretched by {}a tenth",
    1.2: "stretched by {}a fifth",
    1.25: "stretched by {}a quarter",
    4 / 3: "stretched by {}a third",
    1.5: "stretched by {}a half",
    1.75: "stretched by {}three quarters",
    2.0: "{}doubled",
    2.5: "multiplied by {}two and a half",
    3.0: "{}tripled",
}


def scale_words(slope: float, se: float, shift: float = 0.0) -> str:
    """Say how the scores should change, given the map that calibrates them.

    Two standard errors to either side make an interval. An interval that contains 1 but
    reaches beyond 0.8 or 1.25 leaves open whether the scores are right.

    Parameters
    ----------
    slope, se : float
        The slope and its standard error.
    shift : float, optional
        What is added after that; 0 where it is not significant.

    Examples
    --------
    >>> scale_words(0.5, 0.03)
    'test scores should be halved'
    >>> scale_words(0.97, 0.05)
    'test scores are about right'
    >>> scale_words(2.1, 0.1)
    'test scores should be doubled (under-confident)'
    >>> scale_words(2.0, 0.1, -3.68)
    'test scores should be doubled and lowered (by 3.7)'
    """
    if slope < -SURE * se:
        return "test scores rank the rows the wrong way round"
    if is_right(slope, se):
        return "test scores are about right"
    if abs(slope - 1) <= SURE * se:
        return "too few test rows to judge the size of the scores"
    if slope <= SURE * se:
        return "test scores show no reliable relation to the label"
    if shift:
        note = f" and {'raised' if shift > 0 else 'lowered'} (by {abs(shift):.2g})"
    else:
        note = " (under-confident)" if slope > 1 else ""
    return f"test scores should be {_change(slope)}{note}"


def in_brief(advice: str) -> str:
    """Shorten advice for where it is clear that it is about test scores, without its remarks.

    >>> in_brief("test scores should be doubled (under-confident)")
    'should be doubled'
    """
    return advice.partition(" (")[0].removeprefix("test scores ")


def is_right(slope: float, se: float) -> bool:
    """Whether the slope may be 1, or nearly is, and lies between 0.8 and 1.25 for sure."""
    low, high = slope - SURE * se, slope + SURE * se
    return RIGHT[0] <= low and high <= RIGHT[1] and (low <= 1 <= high or abs(slope - 1) <= NEAR)


def _change(slope: float) -> str:
    """Name the change nearest to a positive slope."""
    if slope < 0.09:
        return "shrunk to less than a tenth"
    if slope > 3.25:
        return f"multiplied by {slope:.2g}"
    nearest = min(CHANGES, key=lambda each: abs(math.log(slope / each)))
    close = abs(math.log(slope / nearest)) <= NEAR
    return CHANGES[nearest].format("" if close else "roughly ")
