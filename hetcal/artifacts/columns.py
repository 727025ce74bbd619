"""What columns hold that a partition does not know: missing values and other categories."""

import zipfile
from collections.abc import Iterable

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.artifacts.archive import read_entry
from hetcal.artifacts.report import to_json
from hetcal.data.columns import category_codes
from hetcal.partitions.nodes import Feature
from hetcal.strict_json import JsonError, parse_object

COLUMNS = "columns.json"
COUNTS = ("rows", "missing", "unknown")


def count_columns(
    features: Iterable[Feature], frame: pd.DataFrame, rows: Ints | None = None
) -> pd.DataFrame:
    """Count the values of some rows, or of all; units of a layer are no columns of a table.

    Columns: `column`, `kind`, `rows`, `missing`, and `unknown`, the rows with a category that was
    rare or unseen in training.
    """
    found = []
    for each in features:
        if each.name not in frame:
            continue
        column = frame[each.name] if rows is None else frame[each.name].iloc[rows]
        missing, unknown = int(column.isna().sum()), 0
        if each.kind == "category":
            unknown = int(np.count_nonzero(category_codes(column, each.categories) < 0)) - missing
        found.append((each.name, each.kind, len(column), missing, unknown))
    return pd.DataFrame(found, columns=["column", "kind", *COUNTS])


def columns_json(counts: pd.DataFrame) -> str:
    """Write what `count_columns` found."""
    return to_json({"columns": counts.to_dict("records")})


def read_columns(archive: zipfile.ZipFile) -> pd.DataFrame | None:
    """Read what `columns_json` wrote; None where there is none, before format 4."""
    if COLUMNS not in archive.namelist():
        return None
    found = parse_object(read_entry(archive, COLUMNS)).objects("columns")
    counts = [[each.integer(name, 0, 2**53) for name in COUNTS] for each in found]
    if any(missing + unknown > rows for rows, missing, unknown in counts):
        raise JsonError("a column has more missing values than rows")
    table = pd.DataFrame(counts, columns=list(COUNTS))
    for at, name in enumerate(("column", "kind")):
        table.insert(at, name, [each.text(name) for each in found])
    return table
