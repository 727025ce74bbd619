"""Errors written for the person at the screen."""


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
