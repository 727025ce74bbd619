"""The check of roles: whether rows that judge the model have been seen before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hetcal.data.checks import Finding


@dataclass(frozen=True)
class RoleCheck:
    """One thing that rows must not do, whether they do, and why that matters."""

    words: str
    level: Literal["holds", "open", "fails"]
    reason: str


def check_roles(
    findings: Sequence[Finding], group: str | None, *, loaded: bool
) -> tuple[RoleCheck, ...]:
    """Sum up what is known of rows that have more than one role.

    Parameters
    ----------
    findings : sequence of Finding
        Of the run.
    group : str or None
        The column whose rows belong together, if there is one.
    loaded : bool
        Whether the partition comes from a file, so that nobody knows which rows it was fitted on.
    """
    about = {each.code: each for each in findings}

    def checked(code: str, wrong: str, right: str, reason: str) -> RoleCheck:
        found = about.get(code)
        if found is None:
            return RoleCheck(right, "holds", reason)
        return RoleCheck(wrong, "fails" if found.level == "warning" else "open", found.message)

    no_group = "No column is named as the group: rows count as independent."
    return (
        checked(
            "repeated-rows",
            "rows repeat across roles",
            "no row has two roles",
            "No row is equal to one of another role in every column.",
        ),
        checked(
            "divided-groups",
            "groups have several roles",
            "no groups" if group is None else "groups have one role",
            no_group if group is None else f"No group of '{group}' has rows in two roles.",
        ),
        checked(
            "validation-reused",
            "validation rows reused",
            "validation rows not reused",
            "Nothing was fitted on validation rows, which may have chosen the network's epoch.",
        ),
        checked(
            "unknown-training-rows",
            "training rows unknown",
            "training rows known",
            "The split says which rows the model was trained on.",
        ),
        RoleCheck(
            "leaves from a file",
            "open",
            "The partition was loaded: if it was fitted on test rows, the lift looks too good.",
        )
        if loaded
        else RoleCheck(
            "leaves not fitted on test rows",
            "holds",
            "The partition and all maps were fitted on other rows than the test rows.",
        ),
    )
