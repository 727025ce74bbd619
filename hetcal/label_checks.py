"""Look over the values of a label for what was typed in several ways."""

from collections.abc import Iterator

import numpy as np

from hetcal.columns import column_kind, row_count, value_codes
from hetcal.finding import Finding
from hetcal.labels import alike_values
from hetcal.table import Table


def label_findings(table: Table) -> Iterator[Finding]:
    """Look for values of the label that seem to be one, typed in several ways."""
    column, positive = table.frame[table.roles.label], table.roles.positive
    if column_kind(column) != "category":
        return
    codes, values = value_codes(column)
    rows = dict(zip(values, np.bincount(codes, minlength=len(values)), strict=True))
    for alike in alike_values(values):
        counts = ", ".join(f"'{value}' in {row_count(rows[value])}" for value in alike)
        used = "Each counts as a class of its own."
        if positive is not None:
            used = (
                f"Only '{positive}' counts as positive, the rest as negative."
                if positive in alike
                else "All of them count as negative."
            )
        yield Finding(
            "note" if positive is not None and positive not in alike else "warning",
            table.roles.label,
            f"The label column '{table.roles.label}' has values that differ only in case or "
            f"spaces: {counts}. {used} If they mean the same, write them alike in the file.",
        )
