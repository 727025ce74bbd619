"""Heterogeneous calibration: make an over-confident classifier better after it was trained.

A tree divides the feature space into leaves, the score is calibrated in every leaf on its
own, and so the order between leaves becomes right. The words are those of the paper
(Durfee, Gupta, Basu: Heterogeneous Calibration).

The core stands on one idea, weighted cells
-------------------------------------------
A *cell* (`hetcal.cells.Cells`) stands for rows of one leaf and one label whose scores lie
close together: their mean score, the interval that holds them, their number, and the sums of
their weights and squared weights. A row is a cell of its own. Whatever takes rows takes
cells, so there is one path for exact and for sketched data.

1. **One pass over the rows** (`role_cells`): every row gets its leaf (`Partition.apply`). Up
   to 200,000 rows become cells themselves. More rows can be *sketched* (`sketch`): counted in
   4,096 logit bins per leaf and label, a few MB at any number of rows; sketches of parts of
   the data add up to the sketch of the whole.
2. **Maps** (`platt`, `leaf_calibrator`): Newton's method from slope 0 fits the Platt maps of
   all leaves at once on cells; `platt.polish` then takes a step over the rows, so that slopes
   and intercepts are the exact maximum likelihood.
   Maps of other kinds (`leaf_methods`) are fitted on cells, too, and `map_families` shrinks those
   with parameters towards the pooled map, as strongly as `shrinkage` finds best.
3. **Ranks** (`rank_statistics`): the values of each class are sorted, never the rows. One
   sort gives AUC, average precision, the paper's PR-AUC and DeLong's variance, ties exact.
   Cells are ranked by the middle of their interval and summed by their mean score.
4. **Sketch or all rows**: numbers from a sketch follow a moved control at once, and are nearly
   those of all rows (`python -m tests.sketch_error` prints how nearly). Pages compute them on all
   rows on demand; `run` and the command line always do. Rows that belong to
   groups, and scores that crowd into few bins, are never sketched (`role_cells`).
   Cells do not change, so that what the raw scores say is worked out once (`Cells.once`).
5. **The tree** (`histogram_tree`): bins of every column are counted per node; a bin is looked
   into only if the best cut could lie inside, so the tree is scikit-learn's, split for split,
   wherever no two splits tie.

Schemes of many trees
---------------------
A `Scheme` is a sequence of stages, each of which turns a logit and a row's columns into a better
logit: one map for all rows, the maps of one partition, their mean over a forest, or nested maps
along boosted trees; for more than two classes, maps of all log-probabilities. `choice` tries
schemes on rows that they were not fitted on and keeps the simplest that is as good as the best,
or none. Their logits are not those of a leaf and a bin, so rows stay rows there. Where a scheme
has one partition, its stages amount to one map per leaf (`composed_maps`), which is then shown.

numpy is the reference. Where numba is installed the passes over rows are compiled, with equal
results; the variable HETCAL_COMPILED=0 switches that off.
"""

from hetcal.algorithm import run
from hetcal.artifact_reading import open_artifact
from hetcal.artifacts import Artifact, artifact_bytes, score_with_artifact
from hetcal.auc_gain_partition import AucGainPartition
from hetcal.boosted_partition import BoostedPartition
from hetcal.calibrators import (
    BayesianBinningCalibrator,
    BetaCalibrator,
    BiasCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    ScalingBinningCalibrator,
    TemperatureCalibrator,
)
from hetcal.choice import Choice, choose_scheme
from hetcal.class_calibrator import ClassCalibrator
from hetcal.columns_partition import ColumnsPartition
from hetcal.errors import HetcalError
from hetcal.evaluation import Evaluation, evaluate
from hetcal.finished_run import Run
from hetcal.forest_partition import ForestPartition
from hetcal.heterogeneous import HeterogeneousCalibrator
from hetcal.instability_partition import InstabilityPartition
from hetcal.layer_partition import LayerPartition
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.model_file import inspect_model
from hetcal.model_scores import InputColumns, score_model
from hetcal.partition import Partition
from hetcal.scheme import Scheme
from hetcal.scheme_rows import SchemeRows
from hetcal.scores import Scores, scores_from_column, scores_from_columns
from hetcal.settings import Settings
from hetcal.sources import from_path
from hetcal.table import Roles, Table, make_table
from hetcal.tree_partition import TreePartition
from hetcal.tree_selection import SelectedTreePartition
from hetcal.verdict import verdict
from hetcal.version import __version__

__all__ = [
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
    "choose_scheme",
    "evaluate",
    "from_path",
    "inspect_model",
    "make_table",
    "open_artifact",
    "run",
    "score_model",
    "score_with_artifact",
    "scores_from_column",
    "scores_from_columns",
    "verdict",
]
