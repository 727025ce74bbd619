"""The command line: the same core as the app, without Streamlit."""

import errno
import signal
import sys
from collections.abc import Sequence

from hetcal.cli.options import parse_options
from hetcal.cli.output import say
from hetcal.errors import HetcalError

BAD_INPUT = 2
STOPPED = 130  # what shells give after Ctrl+C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; bad input ends with exit code 2 and one message, a failed check with 1."""
    if arguments is None:
        # One that is told to end leaves no folders behind, either.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options = parse_options(None if arguments is None else list(arguments))
        from hetcal.cli.commands import COMMANDS  # what takes time to load waits until here

        return COMMANDS[options.command](options) or 0
    except HetcalError as error:
        say(f"hetcal: {error}", sys.stderr)
        return BAD_INPUT
    except (OSError, MemoryError) as error:
        say(f"hetcal: {refusal(error)}", sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        say("hetcal: stopped.", sys.stderr)
        return STOPPED


def refusal(error: OSError | MemoryError) -> HetcalError:
    """Put what the system refuses into words."""
    if isinstance(error, MemoryError):
        return HetcalError(
            "There is not enough memory for this work.",
            "All rows that are used have to fit into memory.",
            "Use fewer rows or columns, or a machine with more memory.",
        )
    name = f"'{error.filename}'" if error.filename else "A file"
    if error.errno == errno.ENOSPC:
        return HetcalError(
            "The disk is full.",
            "There is no space for the results.",
            "Free some space, or choose another place.",
        )
    reason = error.strerror or str(error) or type(error).__name__
    return HetcalError(
        f"{name} cannot be read or written: {reason}.",
        "A command must be able to read the files that it is given, and to write its output.",
        "Check the path, and the permissions of the file and of its folder.",
    )
