"""Find what the demo shows, for the first page: ``python -m tests.pages.runs.demo_example``.

Writes the ladder and the verdict of the demo's over-trained network into the file that the first
page draws before anything was pressed.
"""

import json
from typing import Any

import pandas as pd

from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.data.table import Roles, make_table
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import start_scoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from pages.shared.display.example import EXAMPLE


def found() -> dict[str, Any]:
    """Run the demo, and return its ladder and its verdict as JSON."""
    frame = demo_table()
    table = make_table(frame, Roles(label="churned", positive="yes", split="split"), "demo")
    model = inspect_model(next(iter(DEMO_NETWORKS.values())).file)
    scores = start_scoring(model, frame, suggest_inputs(model, list(frame.columns))).result()
    done = run(table, scores, Settings(partition="auto"))
    rungs: pd.DataFrame = done.choice.candidates
    ladder = json.loads(rungs.to_json(orient="split", index=False, double_precision=6))
    lift = done.evaluation.lift
    return {
        "verdict": done.verdict.partition(". ")[0],
        "before": round(lift.before, 4),
        "after": round(lift.after, 4),
        "ladder": ladder,
    }


if __name__ == "__main__":
    EXAMPLE.write_text(json.dumps(found(), indent=1) + "\n", encoding="utf-8")
