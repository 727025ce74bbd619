"""Look a table with more than two classes over for what would make its results misleading."""

from collections.abc import Iterator

import numpy as np

from hetcal.checks import (
    MIN_CLASS_ROWS,
    MIN_ROWS,
    leak,
    row_findings,
    separating_columns,
)
from hetcal.class_table import ClassTable
from hetcal.columns import counted
from hetcal.finding import Finding, warnings_first
from hetcal.label_checks import label_findings
from hetcal.progress import Progress, silent
from hetcal.splits import Split

LOOKED_AT = 10  # classes, the most common ones


def check_classes(
    table: ClassTable, split: Split, progress: Progress = silent
) -> tuple[Finding, ...]:
    """Look for what `hetcal.checks.check_table` looks for, class by class."""
    labels = label_findings(table.table, None)
    found = *labels, *_small_classes(table, split), *_leaks(table, split)
    return warnings_first((*found, *row_findings(table.table, split, progress)))


def _small_classes(table: ClassTable, split: Split) -> Iterator[Finding]:
    for role, rows in split.counts.items():
        if role == "validation":
            continue  # needed only by a network trained here
        of_class = np.bincount(table.y[split.of(role)], minlength=len(table.classes))
        fewest = int(of_class.argmin())
        if rows < MIN_ROWS or of_class[fewest] < MIN_CLASS_ROWS:
            yield Finding(
                "warning",
                None,
                f"There {'is' if rows == 1 else 'are'} only {counted(rows, f'{role} row')}, "
                f"{of_class[fewest]:,} of them of the class '{table.classes[fewest]}'. At least "
                f"{MIN_ROWS} rows and {MIN_CLASS_ROWS} of each class are needed for steady "
                f"results. Give {role} more rows, or join rare classes.",
            )


def _leaks(table: ClassTable, split: Split) -> Iterator[Finding]:
    rows = np.bincount(table.y[split.train], minlength=len(table.classes))
    told = set()
    for number in np.argsort(-rows, kind="stable")[:LOOKED_AT].tolist():
        view = table.view(number)
        for name, auc in separating_columns(view, split):
            if name not in told:
                told.add(name)
                yield leak(name, f"the class '{table.classes[number]}' from the others", auc)
