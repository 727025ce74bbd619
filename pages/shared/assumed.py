"""What the columns of a new table are taken for, until the user says otherwise."""

from hetcal.role_guess import guess_roles
from hetcal.scores import guess_kind
from hetcal.scoring import ColumnScoring
from hetcal.sources import Source
from pages.shared.state import update, workspace


def assume_roles(source: Source) -> None:
    """Guess the roles of the columns, unless they are known."""
    if workspace().roles is not None:
        return
    roles = guess_roles(source.frame, source.split_column)
    update(roles=roles)
    if roles.score is not None:
        kind = guess_kind(source.frame[roles.score])
        update(scoring=ColumnScoring(roles.score, kind))
