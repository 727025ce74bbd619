"""The real tables that a few tests need, in a folder that the variable HETCAL_DATA names.

The folder has `data/` (five tables), `cases/` (scores of trained networks) and `paper/`; it is
not part of the repository. Tests that need it are skipped where the variable is not set.
"""

import os
from pathlib import Path

import pytest

VARIABLE = "HETCAL_DATA"
FOLDERS = ("data", "cases", "paper")
NOT_NAMED = f"the variable {VARIABLE} names no folder with the real tables"

needs_data = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=NOT_NAMED)


def shared_data() -> Path:
    """Return the folder that the variable names."""
    return Path(os.environ[VARIABLE])


def refuse_wrong_folder() -> None:
    """Say at once that the variable names something else, before a test stumbles over it."""
    if not os.environ.get(VARIABLE):
        return
    missing = [name for name in FOLDERS if not (shared_data() / name).is_dir()]
    if missing:
        raise pytest.UsageError(
            f"{VARIABLE} is {shared_data()}, which has no folder {', '.join(missing)}. Needed is "
            "the folder that holds data, cases and paper. Correct the variable, or unset it to "
            "skip the tests that need real tables."
        )
