"""What every export carries beside the calculation: what it is of, what it takes, examples."""

import json
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from hetcal.artifacts.archive import library_versions
from hetcal.artifacts.artifact import Artifact
from hetcal.choices import plain_name
from hetcal.exports.recipe import Document
from hetcal.models.scoring import ModelScoring
from hetcal.version import __version__

FORMAT = 1  # of what exports carry and of the recipe; raise it when a reader would misread it
EXAMPLES = 5
OUTPUTS = {
    "leaf": "number of the leaf",
    "score": "logit before",
    "before": "probability before",
    "after": "calibrated probability",
}


def about(
    artifact: Artifact,
    inputs: Sequence[Document],
    examples: Sequence[Document],
    use: Sequence[str],
    cannot: Sequence[str],
) -> Document:
    """Describe an export by what it is of, what it takes, examples, and words on its use."""
    scoring, choice = artifact.scoring, artifact.choice
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    scheme = None if artifact.scheme is None else artifact.scheme.digest
    table = artifact.table_digest or None
    return {
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": library_versions(),
        "artifact_written_by": f"hetcal {artifact.version}",
        "scheme": "maps of the leaves" if choice is None else plain_name(choice.chosen),
        "digests": {
            "table": table,
            "model": model,
            "partition": artifact.partition.digest,
            "scheme": scheme,
        },
        "inputs": list(inputs),
        "outputs": OUTPUTS,
        "examples": list(examples),
        "use": list(use),
        "cannot": list(cannot),
    }


def about_lines(of: Document) -> list[str]:
    """Write what an export carries as lines of text, for comments."""
    digests = (f"{name} {each}" for name, each in of["digests"].items() if each is not None)
    inputs = (f"  {each['name']!r}: {_kind_words(each)}" for each in of["inputs"])
    libraries = ", ".join(f"{name} {each}" for name, each in of["libraries"].items())
    return [
        f"Made by hetcal {of['hetcal']} (export format {of['format']}) from an artifact of "
        f"{of['artifact_written_by']}.",
        f"Libraries: {libraries}.",
        f"Scheme: {of['scheme']}.",
        *(f"Digest of the {each}" for each in digests),
        "Columns that it reads:",
        *inputs,
        "How to use it:",
        *(f"  {each}" for each in of["use"]),
        "What it cannot do:",
        *(f"  {each}" for each in of["cannot"]),
    ]


def _kind_words(column: Document) -> str:
    """Write the kind of a column, and the categories that are known."""
    known = (json.dumps(each, ensure_ascii=False) for each in column.get("categories", ()))
    return ", ".join([column["kind"], *known])


def inputs_of(document: Document) -> list[Document]:
    """Return name, kind and categories of the columns that a recipe reads, the score first."""
    score = document["score"]
    columns = document["columns"]
    named = [
        {key: each[key] for key in ("name", "kind", "categories") if each[key]} for each in columns
    ]
    return [{"name": score["column"], "kind": score["kind"]}, *named]


def kinds_of(artifact: Artifact) -> list[Document]:
    """Return name and kind of the columns that the artifact itself reads, and known categories."""
    known = {each.name: list(each.categories) for each in artifact.features if each.categories}
    return [
        {"name": name, "kind": kind} | ({"categories": known[name]} if name in known else {})
        for name, kind in artifact.kinds.items()
    ]


def examples_of(rows: pd.DataFrame, expected: pd.DataFrame) -> list[Document]:
    """Describe the first rows that have a score and are finite throughout, or missing."""
    plain = rows.select_dtypes("number").abs().max(axis=1) < math.inf
    chosen = rows.index[plain & expected["after"].notna()][:EXAMPLES]
    return [
        {
            "row": {str(name): _cell(rows.at[at, name]) for name in rows},
            "leaf": int(expected.at[at, "leaf"]),
            "after": float(expected.at[at, "after"]),
        }
        for at in chosen
    ]


def _cell(value: object) -> object:
    """Return a value for JSON: None if it is missing."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if plain is None or plain != plain else plain
