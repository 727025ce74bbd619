"""Exports that prove themselves: made from an artifact, compared with it, then given out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec

import pandas as pd

from hetcal.artifacts.artifact import Artifact
from hetcal.choices import (
    DIALECTS,
    EXPORTS,
    MANY_TREES,
    OF_ANY_RUN,
    OF_FEW_TREES,
    RUNGS,
    plain_name,
)
from hetcal.errors import ExportError, did_you_mean
from hetcal.exports import (
    estimator,
    keras_file,
    mlflow_folder,
    python_file,
    runtimes,
    saved_model,
    scorecard,
    scored_file,
    sql,
)
from hetcal.exports.about import about, examples_of, inputs_of, kinds_of
from hetcal.exports.fused import layer_names
from hetcal.exports.proof import ROWS, Parity, difficult_rows, expected_rows, missing
from hetcal.exports.recipe import Document, layer_of, recipe, trees_of
from hetcal.progress import Progress, silent

FEW_TREES = tuple(name for name in RUNGS if name not in MANY_TREES)
FEW_ROWS = 200  # of which a report shows examples
MOST_BYTES = {"python": 64 * 2**20, "sql": 1_000_000}  # what people and databases can open


@dataclass(frozen=True)
class Export:
    """One file that was compared with the artifact it is made of."""

    format: str
    name: str  # of the file
    content: bytes
    parity: Parity
    use: tuple[str, ...]  # lines

    @property
    def size_words(self) -> str:
        """The size of the file for a person."""
        kilobytes = len(self.content) / 1_000
        return f"{kilobytes:,.0f} kB" if kilobytes < 10_000 else f"{kilobytes / 1_000:,.0f} MB"


@dataclass(frozen=True)
class _Material:
    """What every format is made of; rows are drawn, and scored, when a format first needs them."""

    artifact: Artifact
    many: int  # rows that are compared
    scored: pd.DataFrame | None = None
    carried: Sequence[str] = ()

    @cached_property
    def document(self) -> Document:
        return recipe(self.artifact)

    @cached_property
    def rows(self) -> pd.DataFrame:
        return difficult_rows(self.document, self.many)

    @cached_property
    def expected(self) -> pd.DataFrame:
        return expected_rows(self.artifact, self.document, self.rows)

    @property
    def examples(self) -> list[Document]:
        return examples_of(self.rows, self.expected)

    def about(self, use: Sequence[str], cannot: Sequence[str]) -> Document:
        return about(self.artifact, inputs_of(self.document), self.examples, use, cannot)

    def trial(self, *, single: bool = False) -> keras_file.Trial:
        return keras_file.trial(self.artifact, self.document, self.rows, single=single)

    def about_file(
        self, trial: keras_file.Trial, use: Sequence[str], cannot: Sequence[str]
    ) -> Document:
        """Say of a file with the network in it what it takes, by the names of its inputs."""
        inputs = keras_file.inputs_of_file(self.artifact, self.document, trial)
        examples = examples_of(keras_file.rows_of_inputs(trial), trial.expected)
        return about(self.artifact, inputs, examples, use, cannot)


def make_exports(
    artifact: Artifact,
    formats: Sequence[str],
    dialects: Sequence[str] = DIALECTS[:1],
    progress: Progress = silent,
    rows: int = ROWS,
    scored: pd.DataFrame | None = None,
    carried: Sequence[str] = (),
) -> tuple[Export, ...]:
    """Make files of these formats, each compared with the artifact in a fresh process.

    Parameters
    ----------
    artifact : Artifact
        What is exported.
    formats : sequence of str
        Some of `hetcal.choices.EXPORTS`.
    dialects : sequence of str
        Some of `hetcal.choices.DIALECTS`: a file of SQL is written for each.
    rows : int
        How many rows are compared.
    scored : DataFrame, optional
        The rows of the format 'table', as the artifact scored them.
    carried : sequence of str, default=()
        Which of its columns are the table's own.

    Raises
    ------
    ExportError
        When a format cannot hold the calibration, or would not give the same probabilities.
    """
    material = _Material(artifact, rows, scored, carried)
    if "sql" in formats:
        _require_dialects(dialects)
    for each in formats:
        _require_known(each)
        _refuse(material, each)
    made = []
    for i, each in enumerate(formats):
        progress(i / len(formats), f"Making and checking {each}")
        made += _sql(material, dialects) if each == "sql" else MAKERS[each](material)
    return tuple(made)


def _require_known(format: str) -> None:
    if format not in EXPORTS:
        raise ExportError(
            f"There is no export called '{format}'.",
            f"It has to be one of {', '.join(EXPORTS)}.",
            did_you_mean(format, EXPORTS),
        )


def _refuse(material: _Material, format: str) -> None:
    """Raise `ExportError` where a format cannot hold the calibration of an artifact."""
    artifact = material.artifact
    layer = layer_of(artifact)
    if format == "table" and material.scored is None:
        raise ExportError(
            "A scored table needs rows, and an artifact holds none.",
            "The rows of a table are scored, and written with the columns that are named.",
            "Name the table: --rows TABLE, and --id or --carry for its columns.",
        )
    if format in OF_ANY_RUN:
        return
    if layer is not None:
        raise ExportError(
            f"The leaves of this run are made of units of the network's layer '{layer}'.",
            f"The format '{format}' reads columns, and does not run the network.",
            "Score with the artifact (`hetcal score`), or divide the rows by columns.",
        )
    trees, steps = len(trees_of(material.document)), len(material.document["steps"])
    if format in OF_FEW_TREES and trees > steps:
        raise ExportError(
            f"The scheme sends every row through {trees:,} trees.",
            f"The format '{format}' holds one map, one tree, or curves.",
            rung_that_fits(artifact),
        )
    if format == "scorecard" and not scorecard.is_scorecard(material.document):
        raise ExportError(
            "The scheme is not curves.",
            "A scorecard holds curves and pairs of columns beside the score.",
            rung_that_fits(artifact, ["additive"]),
        )


def rung_that_fits(artifact: Artifact, rungs: Sequence[str] = FEW_TREES) -> str:
    """Name the best of these rungs of the ladder, and what it costs, in a sentence."""
    ladder = None if artifact.choice is None else artifact.choice.candidates
    fits = None if ladder is None else ladder[ladder["name"].isin(rungs)]
    if ladder is None or fits is None or fits.empty:
        return f"Choose {' or '.join(map(plain_name, rungs[-2:]))} as the scheme."
    fits = fits.sort_values("lift", kind="stable")
    best, used = fits.iloc[-1], ladder[ladder["chosen"]].iloc[0]
    price = used["lift"] - best["lift"]
    return (
        f"Take the rung '{plain_name(best['name'])}' (--take {best['name']!r}): its lift was "
        f"{best['lift']:+.4f}, {abs(price):.4f} {'less' if price > 0 else 'more'} than this."
    )


def _python(material: _Material) -> list[Export]:
    use = python_file.use(material.document)
    content = python_file.python_file(material.document, material.about(use, python_file.CANNOT))
    _require_size(content, "python", material.artifact)
    parity = python_file.check(content, material.document, material.rows, material.expected)
    return [Export("python", python_file.NAME, content, parity, tuple(use))]


def _sql(material: _Material, dialects: Sequence[str]) -> list[Export]:
    made = []
    for dialect in dialects:
        use = sql.use(dialect)
        content = sql.sql_file(material.document, material.about(use, sql.CANNOT), dialect)
        _require_size(content, "sql", material.artifact)
        given = material.document, dialect, material.rows, material.expected
        parity = sql.check(content, *given)
        made.append(Export("sql", f"calibrated_{dialect}.sql", content, parity, tuple(use)))
    return made


def _keras(material: _Material) -> list[Export]:
    given, trial = (material.artifact, material.document), material.trial()
    use = keras_file.use(keras_file.names(*given))
    carried = material.about_file(trial, use, keras_file.CANNOT)
    content = keras_file.keras_file(*given, carried)
    parity = keras_file.check(content, trial)
    return [Export("keras", keras_file.NAME, content, parity, tuple(use))]


def _saved_model(material: _Material) -> list[Export]:
    given, trial = (material.artifact, material.document), material.trial()
    carried = material.about_file(trial, saved_model.USE, keras_file.CANNOT)
    carried["signature"] = layer_names(keras_file.names(*given))
    content = saved_model.saved_model(keras_file.keras_file(*given, carried), carried, trial)
    parity = saved_model.check(content, trial)
    return [Export("savedmodel", saved_model.NAME, content, parity, saved_model.USE)]


def _onnx(material: _Material) -> list[Export]:
    given, trial = (material.artifact, material.document), material.trial()
    use = runtimes.ONNX_USE
    carried = material.about_file(trial, use, runtimes.ONNX_CANNOT)
    content = runtimes.onnx_file(*given, carried)
    parity = runtimes.check_onnx(content, trial)
    return [Export("onnx", runtimes.ONNX_NAME, content, parity, use)]


def _tflite(material: _Material) -> list[Export]:
    runtimes.require_parametric(material.document)
    given, trial = (material.artifact, material.document), material.trial(single=True)
    use = runtimes.LITE_USE
    carried = material.about_file(trial, use, runtimes.LITE_CANNOT)
    content = runtimes.lite_file(*given, carried)
    parity = runtimes.check_lite(content, trial)
    return [Export("tflite", runtimes.LITE_NAME, content, parity, use)]


def _scorecard(material: _Material) -> list[Export]:
    document, use = material.document, scorecard.USE
    table = scorecard.csv_file(document)
    parity = scorecard.check(table, material.rows, material.expected)
    page = scorecard.html_file(document, material.about(use, scorecard.CANNOT))
    files = {scorecard.CSV: table, scorecard.HTML: page}
    return [Export("scorecard", name, each, parity, use) for name, each in files.items()]


def _sklearn(material: _Material) -> list[Export]:
    carried = material.about(estimator.USE, estimator.CANNOT)
    content = estimator.estimator_file(material.artifact, material.document, carried)
    parity = estimator.check(content, material.rows, material.expected)
    return [Export("sklearn", estimator.NAME, content, parity, estimator.USE)]


def _mlflow(material: _Material) -> list[Export]:
    document, use = material.document, mlflow_folder.USE
    carried = material.about(use, mlflow_folder.CANNOT)
    python = python_file.python_file(document, carried)
    _require_size(python, "python", material.artifact)
    content = mlflow_folder.mlflow_folder(document, carried, python)
    parity = mlflow_folder.check(content, document, material.rows, material.expected)
    return [Export("mlflow", mlflow_folder.NAME, content, parity, use)]


def _report(material: _Material) -> list[Export]:
    if find_spec("plotly") is None:
        raise missing("plotly", "app", "The charts of a report are drawn by Plotly")
    from hetcal.exports import report_page  # Plotly takes long to load

    artifact, made_up = material.artifact, []
    if not artifact.classes and layer_of(artifact) is None:
        made_up = replace(material, many=FEW_ROWS).examples
    carried = about(artifact, kinds_of(artifact), made_up, report_page.USE, report_page.CANNOT)
    content = report_page.report_page(artifact, carried)
    parity = report_page.check(content, artifact)
    return [Export("report", report_page.NAME, content, parity, report_page.USE)]


def _table(material: _Material) -> list[Export]:
    scored, artifact = material.scored, material.artifact
    if scored is None:
        raise TypeError("it was refused before")
    examples = scored_file.first_examples(scored, material.carried)
    use, cannot = scored_file.USE, scored_file.CANNOT
    carried = about(artifact, kinds_of(artifact), examples, use, cannot)
    parity = scored_file.check(scored, carried)
    files = scored_file.table_files(scored, carried)
    return [Export("table", name, each, parity, use) for name, each in files.items()]


MAKERS = {
    "python": _python,
    "keras": _keras,
    "savedmodel": _saved_model,
    "onnx": _onnx,
    "tflite": _tflite,
    "scorecard": _scorecard,
    "sklearn": _sklearn,
    "mlflow": _mlflow,
    "report": _report,
    "table": _table,
}


def _require_dialects(dialects: Sequence[str]) -> None:
    for each in dialects:
        if each not in DIALECTS:
            raise ExportError(
                f"There is no dialect of SQL called '{each}'.",
                f"It has to be one of {', '.join(DIALECTS)}.",
                did_you_mean(each, DIALECTS),
            )


def _require_size(content: bytes, format: str, artifact: Artifact) -> None:
    most = MOST_BYTES[format]
    if len(content) > most:
        raise ExportError(
            f"The file would have {len(content) / 1e6:,.1f} MB.",
            f"A file of the format '{format}' has at most {most / 1e6:,.0f} MB.",
            rung_that_fits(artifact),
        )
