"""Heterogeneous calibration: make an over-confident classifier better after it was trained.

A tree divides the feature space into leaves, the score is calibrated in every leaf on its
own, and so the order between leaves becomes right. The words are those of the paper
(Durfee, Gupta, Basu: Heterogeneous Calibration).
"""

from hetcal.algorithm import Run, Settings, run
from hetcal.artifact_reading import open_artifact
from hetcal.artifacts import Artifact, artifact_bytes, score_with_artifact
from hetcal.calibrators import PlattCalibrator
from hetcal.errors import HetcalError
from hetcal.evaluation import Evaluation, evaluate
from hetcal.heterogeneous import HeterogeneousCalibrator
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.model_file import inspect_model
from hetcal.model_scores import InputColumns, score_model
from hetcal.partition import Partition
from hetcal.scores import Scores, scores_from_column
from hetcal.sources import from_path
from hetcal.table import Roles, Table, make_table
from hetcal.tree_partition import TreePartition
from hetcal.verdict import verdict
from hetcal.version import __version__

__all__ = [
    "Artifact",
    "Evaluation",
    "HetcalError",
    "HeterogeneousCalibrator",
    "InputColumns",
    "LeafCalibrator",
    "Partition",
    "PlattCalibrator",
    "Roles",
    "Run",
    "Scores",
    "Settings",
    "Table",
    "TreePartition",
    "__version__",
    "artifact_bytes",
    "evaluate",
    "from_path",
    "inspect_model",
    "make_table",
    "open_artifact",
    "run",
    "score_model",
    "score_with_artifact",
    "scores_from_column",
    "verdict",
]
