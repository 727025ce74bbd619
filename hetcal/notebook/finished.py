"""A finished run as people use it in Python: what it says, its pictures, new rows, a file."""

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.artifacts.artifact import (
    Artifact,
    artifact_bytes,
    new_row_notes,
    open_artifact,
    score_with_artifact,
)
from hetcal.artifacts.report import scored_table, scored_with
from hetcal.artifacts.saved_run import SavedRun, saved_run
from hetcal.artifacts.summary import ladder_of, summary_table
from hetcal.choices import DIALECTS
from hetcal.data.checks import Finding
from hetcal.data.columns import counted
from hetcal.data.table import Table
from hetcal.errors import ArtifactError, HetcalError, ScoreError
from hetcal.exports.estimator import ScoreCalibrator, open_estimator
from hetcal.exports.export import Export, make_exports
from hetcal.files import write_file, write_files
from hetcal.models.scoring import ColumnScoring, Scoring
from hetcal.notebook.frames import one_of, to_frame, to_scores
from hetcal.notebook.page import notebook_page
from hetcal.results.evaluation import Evaluation
from hetcal.runs.run import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

ARTIFACT = "artifact.zip"  # in the folder that the command line writes


class FinishedRun:
    """A run that `calibrate` made, or that `open` reopened.

    At the end of a cell a notebook shows the verdict, a picture and the numbers. The picture is an
    image inside the page, without any script: so it is there in Jupyter, in VS Code and in an
    exported page, also without a connection and in a notebook that nobody has trusted yet, and an
    output has a few kilobytes. `figure` returns interactive figures, which Plotly shows in its
    own way; for pages that are exported, `plotly.io.renderers.default = "notebook"`.

    Parameters
    ----------
    run : Run, SavedRun or None
        What was computed; None takes up what the artifact has.
    packed : callable
        Returns the bytes of the artifact.
    """

    def __init__(self, run: Run | SavedRun | None, packed: Callable[[], bytes]) -> None:
        self._run = run
        self._packed = packed

    @classmethod
    def of(cls, run: Run, scoring: Scoring) -> "FinishedRun":
        """Wrap a run whose scores came from there."""
        return cls(run, partial(artifact_bytes, run, scoring))

    @cached_property
    def run(self) -> Run | SavedRun:
        """Everything that was computed; of a reopened run what was saved of it."""
        if self._run is not None:
            return self._run
        return saved_run(self.artifact, self.artifact.min_rows)

    @property
    def table(self) -> Table:
        """The rows with the roles of their columns."""
        return self._with_rows("table").table

    @cached_property
    def artifact(self) -> Artifact:
        """What scores new rows, as it is saved."""
        folder = tempfile.mkdtemp(prefix="hetcal-")  # a model in the artifact is unpacked there
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return open_artifact(self._data, Path(folder))

    @cached_property
    def _data(self) -> bytes:
        return self._packed()

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label, where there are more than two."""
        return self.run.classes

    @property
    def evaluation(self) -> Evaluation:
        """All measures of the test rows before and after."""
        return self.run.evaluation

    @property
    def verdict(self) -> str:
        """What to do with the model, in sentences."""
        return self.run.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings and notes about the table, its split and its scores."""
        return self.run.findings

    def summary(self) -> pd.DataFrame:
        """Return the measures of the test rows; columns as in `summary_table`."""
        return summary_table(self.run)

    @property
    def ladder(self) -> pd.DataFrame:
        """The schemes that were compared, one row each; the columns are those of `Run.ladder`."""
        return ladder_of(self.run)

    def scored(self) -> pd.DataFrame:
        """Return every row with its role, leaf and probabilities before and after.

        Columns as in `hetcal.artifacts.report.scored_table`.
        """
        return scored_table(self._with_rows("rows"))

    def figure(
        self,
        name: str = "change",
        *,
        leaf: int | None = None,
        of: Any = None,
        row: int | None = None,
        term: str | None = None,
    ) -> "go.Figure":
        """Draw one of the figures of `hetcal.figures`.

        Parameters
        ----------
        name : str, default="change"
            Its function there without `_figure`, such as "roc", "reliability", "ladder", "tree",
            "overconfidence", "maps" or "waterfall"; an unknown name is answered with all of them.
        leaf : int, optional
            The leaf that is shown or stands out.
        of : optional
            With more than two classes, the one that is set against all others.
        row : int, optional
            The row that "waterfall" explains, from 0; by default the test row that changed most.
        term : str, optional
            The column, or the pair, of "curve" and "pair"; by default the most important one.
        """
        if find_spec("plotly") is None:
            raise HetcalError(
                "Plotly is not installed.",
                "Figures are drawn by Plotly.",
                'Install it: pip install -e ".[app]" in the folder of hetcal.',
            )
        from hetcal.figures.named import draw  # Plotly takes long to load

        artifact = self.artifact if isinstance(self.run, SavedRun) else None
        return draw(self.run, name, leaf=leaf, of=of, row=row, term=term, artifact=artifact)

    def score(
        self, rows: Any, score: Any = None, *, names: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Calibrate the scores of new rows.

        Parameters
        ----------
        rows : frame or array
            With the columns that `calibrate` was given; they need no label.
        score : array, str or list of str, optional
            As in `calibrate`, and of the same kind. None takes the columns that were named there,
            or a model that was saved with the run.
        names : sequence of str, optional
            Names for the columns of `rows`.

        Returns
        -------
        DataFrame
            Columns as in `hetcal.artifacts.report.scored_rows`: `row`, `leaf`, and of two classes
            `score`, `before` and `after`. `attrs["notes"]` says what was missing or unseen.
        """
        frame = to_frame(rows, names, "The table of new rows")
        scoring = self.artifact.scoring
        if score is not None and isinstance(scoring, ColumnScoring):
            frame = _with_scores(frame, to_scores(frame, score), scoring)
        elif score is not None:
            raise ScoreError(
                "A score is given, but a model was saved with the run.",
                "The model scores new rows itself.",
                "Leave the score out.",
            )
        scored = score_with_artifact(self.artifact, frame)
        scored.attrs["notes"] = new_row_notes(self.artifact, frame, scored)
        return scored

    def predict(
        self, rows: Any, score: Any = None, *, names: Sequence[str] | None = None
    ) -> Floats:
        """Return the calibrated probability of new rows; parameters as in `score`.

        It is that of the positive value, or one column for each of more than two classes.
        """
        scored, classes = self.score(rows, score, names=names), self.artifact.classes
        names = [f"after_{each}" for each in classes] if classes else "after"
        return np.asarray(scored[names], dtype=np.float64)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the artifact, which `hetcal.open`, the app and the command line take.

        It is a zip of JSON and plain numbers and holds no row of the table.
        """
        target = _path(path)
        if target.is_dir() or not target.parent.is_dir():
            place = "is a folder" if target.is_dir() else "lies in a folder that does not exist"
            raise ArtifactError(
                f"The path '{target}' {place}.",
                "The artifact is one file, in a folder that exists.",
                f"Choose a path such as '{ARTIFACT}'.",
            )
        write_file(target, self._data)
        return target

    def export(
        self,
        to: str | Sequence[str],
        path: str | PathLike[str],
        *,
        dialect: str | Sequence[str] = DIALECTS[0],
        carry: Sequence[str] = (),
    ) -> tuple[Export, ...]:
        """Write the calibrated model in formats of other systems.

        Every file is compared with the artifact in a fresh process before it is written.

        Parameters
        ----------
        to : str or sequence of str
            Formats, some of `hetcal.choices.EXPORTS`.
        path : str or path
            The folder of the files; it is made if there is none.
        dialect : str or sequence of str, default="ansi"
            Dialects of SQL, some of `hetcal.choices.DIALECTS`.
        carry : sequence of str, default=()
            Columns of the table that go into the format 'table', which has the rows of this run.

        Returns
        -------
        tuple of Export
            `name`, `content`, `parity` (the largest difference from the artifact) and lines of
            `use` of each file.
        """
        formats, dialects = ([each] if isinstance(each, str) else each for each in (to, dialect))
        scored = scored_with(self._with_rows("rows"), carry) if "table" in formats else None
        made = make_exports(self.artifact, formats, dialects, scored=scored, carried=carry)
        folder = _path(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_files({folder / each.name: each.content for each in made})
        return made

    def _with_rows(self, what: str) -> Run:
        if isinstance(self.run, Run):
            return self.run
        raise ArtifactError(
            f"A saved run has no {what}.",
            "Its artifact holds sketches of the scores, not the table.",
            "Calibrate the table again, or score its rows with `score`.",
        )

    @property
    def _numbers_only(self) -> bool:
        """Whether an old artifact was opened, of which nothing else can be shown."""
        return self._run is None and not self.artifact.cells

    @property
    def _headline(self) -> str:
        """What came out, in one line."""
        if self._numbers_only:
            opened = self.artifact
            before, after, said = opened.auc_before, opened.auc_after, ""
        else:
            lift = self.evaluation.lift
            before, after = lift.before, lift.after
            said = f"{self.verdict.partition('. ')[0]}. "
        several = self.artifact.classes if self._run is None else self.classes
        measure = "Macro AUC" if several else "AUC"
        return f"{said}{measure} {before:.4f} before, {after:.4f} after"

    def __repr__(self) -> str:
        return f"<hetcal run: {self._headline}>"

    def _repr_html_(self) -> str:
        if self._numbers_only:
            return notebook_page(self._headline)
        return notebook_page(self.verdict, self.summary(), self.evaluation, self.findings)


def _with_scores(frame: pd.DataFrame, found: pd.DataFrame, scoring: ColumnScoring) -> pd.DataFrame:
    """Give the scores of new rows the names that they had when the run was made."""
    columns = scoring.columns
    if found.shape[1] == len(columns):
        return frame.assign(**{name: found.iloc[:, i].to_numpy() for i, name in enumerate(columns)})
    unit = re.fullmatch(r"score\[(\d+)\]_*", columns[0])
    if len(columns) > 1 or unit is None or int(unit[1]) >= found.shape[1]:
        raise ScoreError(
            f"The new rows have {counted(found.shape[1], 'score')} each, and the run was made "
            f"with {len(columns)}.",
            "New rows need scores of the same kind.",
            "Give what the model says of them in the same way as to `calibrate`.",
        )
    return frame.assign(**{columns[0]: one_of(found, int(unit[1]), scoring.kind)})


def _path(given: str | PathLike[str]) -> Path:
    if not isinstance(given, str | PathLike):
        raise ArtifactError(
            f"The path is of the type {type(given).__name__}.",
            "A file or a folder is named by a text or a path.",
            f"Give one such as '{ARTIFACT}'.",
        )
    return Path(given).expanduser()


def open(path: str | PathLike[str]) -> FinishedRun | ScoreCalibrator:
    """Reopen a run that was saved, or an export for scikit-learn.

    Parameters
    ----------
    path : str or path
        An artifact that `FinishedRun.save`, the app or the command line wrote, or the folder of
        the command line; or the file that `export("sklearn", …)` wrote.

    Returns
    -------
    FinishedRun or ScoreCalibrator
        The latter is a fitted classifier, of an export for scikit-learn. A run scores new rows
        exactly as before. Measures and curves of two classes come from sketches of the scores and
        may differ in the fourth digit; the rows are not there.

    Raises
    ------
    ArtifactError
        When there is no such file, or it is no artifact that this version can read.
    """
    file = _path(path)
    file = file / ARTIFACT if file.is_dir() else file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"There is no artifact '{file}' that can be read.",
            f"An artifact is the file that `save` wrote, or {ARTIFACT} of the command line.",
            "Check the path for a spelling mistake, and the file's permissions.",
        ) from error
    if data.lstrip()[:1] == b"{":  # JSON: an artifact is a zip
        return open_estimator(data)
    opened = FinishedRun(None, lambda: data)
    _ = opened.artifact  # so that a file that is none is refused here
    return opened
