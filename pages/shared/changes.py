"""What a change of the workspace replaces, in words; the name of a run that has none."""

from hetcal.models.scoring import ModelScoring, Scoring
from hetcal.store.workspace import Workspace

SPLIT = ("split", "time", "group", "assume_group")


def automatic_name(here: Workspace) -> str:
    """Name a run by its files and its label, until the user does.

    >>> automatic_name(Workspace())
    'empty'
    """
    if here.saved is not None:
        return here.saved.name
    names = ", ".join(each.name for each in here.files) or "empty"
    label = None if here.roles is None else here.roles.label
    return names if label is None else f"{names} · {label}"


def replaced(before: Workspace, after: Workspace) -> str | None:
    """Say what was replaced, which the user may want back; None if nothing was."""
    if before.files and before.files != after.files:
        return f"replaced the table {_files(before)}"
    if _replaced_label(before, after):
        return f"replaced the label {_label(before)} by {_label(after)}"
    if before.scoring is not None and before.scoring != after.scoring:
        return f"replaced the scores of {_scores(before.scoring)}"
    if before.model is not None and before.model != after.model:
        return f"replaced the model {before.model.name}"
    if _replaced_split(before, after):
        return "replaced the split"
    if before.partition is not None and before.partition is not after.partition:
        return "replaced the loaded partition"
    return None


def _files(here: Workspace) -> str:
    return ", ".join(each.name for each in here.files)


def _label(here: Workspace) -> str:
    roles = here.roles
    if roles is None:
        return "nothing"
    return roles.label if roles.positive is None else f"{roles.label} = {roles.positive}"


def _replaced_label(before: Workspace, after: Workspace) -> bool:
    old, new = before.roles, after.roles
    if old is None or new is None:
        return False
    # A positive value that was missing is filled in.
    return old.label != new.label or old.positive not in (None, new.positive)


def _scores(scoring: Scoring) -> str:
    if isinstance(scoring, ModelScoring):
        return scoring.model.name
    return ", ".join(scoring.columns)


def _replaced_split(before: Workspace, after: Workspace) -> bool:
    old, new = before.roles, after.roles
    if old is None or new is None:
        return False
    divided = any(getattr(old, name) != getattr(new, name) for name in SPLIT)
    shares = ("fractions", "seed")
    return divided or any(
        getattr(before.settings, name) != getattr(after.settings, name) for name in shares
    )
