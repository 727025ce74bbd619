"""Errors written for the person at the screen."""

from collections.abc import Sequence
from difflib import get_close_matches
from unicodedata import bidirectional, category

DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def near_names(name: str, names: Sequence[str]) -> list[str]:
    """Return up to three of `names` that are most similar to `name`, ignoring case and spaces.

    >>> near_names(" incme", ["age", "Income"]), near_names("age", ["usage_8"])
    (['Income'], [])
    """
    lower = {each.lower(): each for each in reversed(names)}
    found = get_close_matches(name.strip().lower(), list(lower), n=3, cutoff=0.65)
    return [lower[each] for each in found]


def did_you_mean(name: str, names: Sequence[str], otherwise: str = "Choose one of these.") -> str:
    """Ask for the most similar of `names`, or say something else where none is similar.

    >>> did_you_mean("pp", ["age", "p"]), did_you_mean("pp", ["age"])
    ("Did you mean 'p'?", 'Choose one of these.')
    """
    near = near_names(name, names)
    return f"Did you mean '{near[0]}'?" if near else otherwise


def without_controls(text: str) -> str:
    r"""Write out the characters that a screen obeys: controls, and changes of direction.

    >>> print(without_controls("a\x1b[31m\u202eb"))
    a\x1b[31m\u202eb
    """
    if text.isprintable():
        return text
    return "".join(
        repr(each)[1:-1] if each not in "\n\t" and _is_control(each) else each for each in text
    )


def _is_control(sign: str) -> bool:
    return category(sign) == "Cc" or bidirectional(sign) in DIRECTIONS


class HetcalError(ValueError):
    """Something the user can put right.

    Parameters
    ----------
    wrong : str
        What is wrong, naming the user's own column, value or file.
    needed : str
        What is needed instead.
    remedy : str
        What to do next.
    """

    def __init__(self, wrong: str, needed: str, remedy: str) -> None:
        super().__init__(f"{wrong} {needed} {remedy}")
        self.wrong = wrong
        self.needed = needed
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["HetcalError"], tuple[str, str, str]]:
        """Let errors pass between processes."""
        return type(self), (self.wrong, self.needed, self.remedy)


class TableError(HetcalError):
    """A table cannot be read, or its columns cannot play their roles."""


class SplitError(HetcalError):
    """The rows cannot be divided into train, validation, calibration and test."""


class ScoreError(HetcalError):
    """The scores cannot be used as logits."""


class ModelError(HetcalError):
    """A model file is refused, or the model cannot score the rows."""


class PartitionError(HetcalError):
    """A partition cannot be grown, loaded or applied."""


class CalibrationError(HetcalError):
    """The scores of the calibration rows cannot be calibrated."""


class ArtifactError(HetcalError):
    """A saved artifact cannot be opened."""


class JobError(HetcalError):
    """Work in another process ended without a result."""


class StoreError(HetcalError):
    """The folder of runs cannot be read or written, or has no such run."""


class ExportError(HetcalError):
    """A format cannot hold a calibration, or what was made is not equal to it."""
