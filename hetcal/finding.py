"""What the checks of a table find."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Something the user should know about the table.

    Parameters
    ----------
    level : {"warning", "note"}
        A warning puts the results in doubt.
    column : str or None
        The column it is about.
    message : str
        Full sentences that name the column and say what to do.
    """

    level: Literal["warning", "note"]
    column: str | None
    message: str


def warnings_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put what casts doubt on the results before what is good to know."""
    return tuple(sorted(found, key=lambda finding: finding.level != "warning"))
