"""The table of a command, read as its options say."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from hetcal.columns import Kinds
from hetcal.command_options import given
from hetcal.dialect import Dialect, detect_dialect
from hetcal.errors import HetcalError
from hetcal.progress import Progress, silent
from hetcal.sources import Source, from_path, table_files
from hetcal.text_file import is_parquet, is_readable


def read_table(
    options: argparse.Namespace, kinds: Kinds | None = None, progress: Progress = silent
) -> Source:
    """Read the table that a command names."""
    return from_path(options.table, _dialect(options), kinds, progress)


def _dialect(options: argparse.Namespace) -> Dialect | None:
    """Change what is detected as the options say; None if they say nothing."""
    changes = given(
        delimiter="\t" if options.delimiter in ("tab", "\\t") else options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        header=False if options.no_header else None,
        skip_bad_rows=True if options.skip_bad_rows else None,
    )
    path = Path(os.path.expanduser(options.table))
    files = [each for each in table_files(path) if is_readable(each)]
    if not changes or not files:  # what cannot be read is refused where it is read
        return None
    text = next((each for each in files if not is_parquet(each)), None)
    if text is None:
        raise HetcalError(
            f"The table '{options.table}' is Parquet, and an option says how to read text.",
            "Every option must mean something.",
            "Leave out --delimiter, --encoding, --decimal, --no-header and --skip-bad-rows.",
        )
    return replace(detect_dialect(text), **changes)
