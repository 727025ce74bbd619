"""Heterogeneous calibration: make an over-confident classifier better after it was trained.

A partition divides the feature space into leaves, the score is calibrated in every leaf on its
own, and so the order between leaves becomes right. The words are those of the paper
(Durfee, Gupta, Basu: Heterogeneous Calibration).

Where things are
----------------
A package imports from itself and from those above it in this list:

- modules of `hetcal` itself: errors, `choices` (names of calibrators), progress, compiled loops
- `cells`: rows of one leaf and one label with close scores, summed up; sketches of many rows
- `metrics`: AUC, log-loss, calibration error and curves, with their standard errors
- `data`: from a file to a table whose columns have roles; splits, scores, checks
- `models`: everything Keras; a model runs in a child process with limits
- `trees`: growing a tree fast, on labels or on scores
- `calibrators`: maps of the score, and how they are fitted in one leaf, in all, or for all rows
- `partitions`: what sends a row to its leaf: trees, forests, boosted trees, own segments
- `schemes`: sequences of maps, and the choice among them by cross-fitting
- `results`: what calibration changed on the test rows, in numbers and in words
- `runs`: Algorithm 1 from table to result
- `artifacts`: a run as bytes and back; the report and the scored tables
- `figures`: results as Plotly figures
- `exports`: the calibrated model in formats of others, each compared with its artifact
- `jobs`: work in processes of their own, a few at a time, with progress
- `store`: a folder of runs that last: what they were given, and their results
- `notebook`: `calibrate` and `open`: a run in one statement, shown in a notebook
- `benchmarks`: how good and how fast hetcal is next to others
- `cli`: the command line; the app is beside this package, in `app.py` and `pages`

How the data flow: file, `Table`, `Split`, `Scores`, `Partition`, `Cells`, calibrator or
`Scheme`, `Evaluation`, and from these the artifact, the words and the figures.

Cells and sketches
------------------
A row is a cell of its own; whatever takes cells is exact for rows. A sketch counts rows in 4,096
bins of the logit per leaf and label, so that pages follow a control at once at any number of
rows. `run` and the command line always compute on all rows.

Schemes
-------
A `Scheme` is a sequence of stages, each of which turns a logit and a row's columns into a better
logit. `choose_scheme` tries schemes on rows that they were not fitted on, and keeps the simplest
that is as good as the best, or none.

Compiled loops
--------------
numpy is the reference. Where numba is installed, passes over rows are compiled, with equal
results; HETCAL_COMPILED=0 switches that off.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hetcal.version import __version__

if TYPE_CHECKING:
    from hetcal.artifacts.artifact import (
        Artifact,
        artifact_bytes,
        open_artifact,
        score_with_artifact,
    )
    from hetcal.calibrators.class_calibrator import ClassCalibrator
    from hetcal.calibrators.leaf_calibrator import LeafCalibrator
    from hetcal.calibrators.single import (
        BayesianBinningCalibrator,
        BetaCalibrator,
        BiasCalibrator,
        HistogramCalibrator,
        IsotonicCalibrator,
        PlattCalibrator,
        ScalingBinningCalibrator,
        TemperatureCalibrator,
    )
    from hetcal.data.reading import from_path
    from hetcal.data.scores import (
        Scores,
        scores_from_column,
        scores_from_columns,
    )
    from hetcal.data.table import (
        Roles,
        Table,
        make_table,
    )
    from hetcal.errors import HetcalError
    from hetcal.models.file import inspect_model
    from hetcal.models.inputs import InputColumns
    from hetcal.models.scoring import score_model
    from hetcal.notebook.calibrate import calibrate
    from hetcal.notebook.finished import (
        FinishedRun,
        open,
    )
    from hetcal.partitions.additive import AdditiveTerms
    from hetcal.partitions.auc_gain import AucGainPartition
    from hetcal.partitions.boosted import BoostedPartition
    from hetcal.partitions.columns import ColumnsPartition
    from hetcal.partitions.forest import ForestPartition
    from hetcal.partitions.instability import InstabilityPartition
    from hetcal.partitions.layer import LayerPartition
    from hetcal.partitions.partition import Partition
    from hetcal.partitions.selection import SelectedTreePartition
    from hetcal.partitions.tree import TreePartition
    from hetcal.results.evaluation import (
        Evaluation,
        evaluate,
    )
    from hetcal.results.words import verdict
    from hetcal.runs.heterogeneous import HeterogeneousCalibrator
    from hetcal.runs.run import (
        Run,
        run,
    )
    from hetcal.runs.settings import Settings
    from hetcal.schemes.choice import (
        Choice,
        choose_scheme,
    )
    from hetcal.schemes.rows import SchemeRows
    from hetcal.schemes.scheme import Scheme

_NAMES = {
    "artifacts.artifact": "Artifact artifact_bytes open_artifact score_with_artifact",
    "calibrators.class_calibrator": "ClassCalibrator",
    "calibrators.leaf_calibrator": "LeafCalibrator",
    "calibrators.single": "BayesianBinningCalibrator BetaCalibrator BiasCalibrator "
    "HistogramCalibrator IsotonicCalibrator PlattCalibrator ScalingBinningCalibrator "
    "TemperatureCalibrator",
    "data.reading": "from_path",
    "data.scores": "Scores scores_from_column scores_from_columns",
    "data.table": "Roles Table make_table",
    "errors": "HetcalError",
    "models.file": "inspect_model",
    "models.inputs": "InputColumns",
    "models.scoring": "score_model",
    "notebook.calibrate": "calibrate",
    "notebook.finished": "FinishedRun open",
    "partitions.additive": "AdditiveTerms",
    "partitions.auc_gain": "AucGainPartition",
    "partitions.boosted": "BoostedPartition",
    "partitions.columns": "ColumnsPartition",
    "partitions.forest": "ForestPartition",
    "partitions.instability": "InstabilityPartition",
    "partitions.layer": "LayerPartition",
    "partitions.partition": "Partition",
    "partitions.selection": "SelectedTreePartition",
    "partitions.tree": "TreePartition",
    "results.evaluation": "Evaluation evaluate",
    "results.words": "verdict",
    "runs.heterogeneous": "HeterogeneousCalibrator",
    "runs.run": "Run run",
    "runs.settings": "Settings",
    "schemes.choice": "Choice choose_scheme",
    "schemes.rows": "SchemeRows",
    "schemes.scheme": "Scheme",
}
"""Public names by module; a module is imported when one of its names is first used."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AdditiveTerms",
    "Artifact",
    "AucGainPartition",
    "BayesianBinningCalibrator",
    "BetaCalibrator",
    "BiasCalibrator",
    "BoostedPartition",
    "Choice",
    "ClassCalibrator",
    "ColumnsPartition",
    "Evaluation",
    "FinishedRun",
    "ForestPartition",
    "HetcalError",
    "HeterogeneousCalibrator",
    "HistogramCalibrator",
    "InputColumns",
    "InstabilityPartition",
    "IsotonicCalibrator",
    "LayerPartition",
    "LeafCalibrator",
    "Partition",
    "PlattCalibrator",
    "Roles",
    "Run",
    "ScalingBinningCalibrator",
    "Scheme",
    "SchemeRows",
    "Scores",
    "SelectedTreePartition",
    "Settings",
    "Table",
    "TemperatureCalibrator",
    "TreePartition",
    "__version__",
    "artifact_bytes",
    "calibrate",
    "choose_scheme",
    "evaluate",
    "from_path",
    "inspect_model",
    "make_table",
    "open",
    "open_artifact",
    "run",
    "score_model",
    "score_with_artifact",
    "scores_from_column",
    "scores_from_columns",
    "verdict",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'hetcal' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"hetcal.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
