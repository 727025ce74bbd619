"""Scored rows as files: CSV that a spreadsheet does not run, and Parquet."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from hetcal.artifacts.report import table_bytes
from hetcal.data.columns import counted
from hetcal.errors import ExportError
from hetcal.exports.about import EXAMPLES
from hetcal.exports.proof import MOST_DIFFERENCE, ROWS, Parity, in_fresh_process
from hetcal.exports.recipe import Document

CSV, PARQUET, ABOUT = "scored.csv", "scored.parquet", "scored.json"
USE = (
    f"frame = pandas.read_parquet('{PARQUET}')  # or read_csv('{CSV}')",
    "frame['after'] is the calibrated probability of each row, frame['leaf'] its leaf.",
    f"{ABOUT} says of which table, model and partition they are.",
)
CANNOT = (
    "It scores no other rows.",
    "In the CSV file, text and names that begin like a formula have an apostrophe before them.",
)


def table_files(scored: pd.DataFrame, about: Document) -> dict[str, bytes]:
    """Write scored rows in both formats, and what they are of; Parquet has that in itself, too."""
    said = json.dumps(about, indent=1, default=str)
    table = pa.Table.from_pandas(scored, preserve_index=False)
    known = {**(table.schema.metadata or {}), b"hetcal": said.encode()}
    packed = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(known), packed)
    return {
        CSV: table_bytes(scored, CSV),
        PARQUET: packed.getvalue(),
        ABOUT: said.encode(),
    }


def first_examples(scored: pd.DataFrame, carried: Sequence[str]) -> list[Document]:
    """Describe the first rows that have a probability."""
    after = [name for name in scored if str(name) == "after" or str(name).startswith("after_")]
    shown = scored[scored[after].notna().all(axis=1)][:EXAMPLES]
    return [
        {
            "row": {name: each[name] for name in ("row", *carried)},
            "leaf": each["leaf"],
            **{str(name): each[name] for name in after},
        }
        for each in shown.astype(object).to_dict("records")
    ]


IN_CSV = f"""
import csv, json
names = json.load(open("names.json"))
rows = csv.DictReader(open("{CSV}", encoding="utf-8", newline=""))
found = [[float(row[name] or "nan") for name in names] for row in rows]
print(json.dumps([[None if each != each else each for each in row] for row in found]))
"""
IN_PARQUET = f"""
import json
import numpy as np
import pyarrow.parquet as pq
names = json.load(open("names.json"))
table = pq.read_table("{PARQUET}", columns=names)
found = np.stack([table[name].to_numpy().astype(float) for name in names], axis=1)
print(json.dumps([[None if each != each else each for each in row] for row in found.tolist()]))
"""


def check(scored: pd.DataFrame, about: Document) -> Parity:
    """Read the first rows back from both formats in fresh processes, and compare the numbers."""
    first = scored[:ROWS]
    numbers = first.select_dtypes("number")
    files = table_files(first, about)
    files["names.json"] = json.dumps([str(name) for name in numbers]).encode()
    known, largest = numbers.to_numpy(dtype=np.float64), 0.0
    for script, flags in ((IN_CSV, ("-S",)), (IN_PARQUET, ())):
        read = in_fresh_process(script, files, *flags)
        found = np.array(read, dtype=np.float64).reshape(known.shape)
        apart = np.abs(np.where(np.isnan(found) & np.isnan(known), 0.0, found - known))
        if not (apart <= MOST_DIFFERENCE).all():
            raise ExportError(
                f"{counted(int((~(apart <= MOST_DIFFERENCE)).sum()), 'number')} that were written "
                "are not read back as they were.",
                "A table is given out only if it holds what the artifact gives.",
                "Score with the artifact (`hetcal score`), and report this.",
            )
        largest = max(largest, float(apart.max(initial=0.0)))
    return Parity(len(first), largest, "reading both files back")
