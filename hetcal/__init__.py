"""Heterogeneous calibration: make an over-confident classifier better after it was trained.

A tree divides the feature space into leaves, the score is calibrated in every leaf on its
own, and so the order between leaves becomes right. The words are those of the paper
(Durfee, Gupta, Basu: Heterogeneous Calibration).

The core stands on one idea, weighted cells
-------------------------------------------
A *cell* (`hetcal.cells.cells.Cells`) stands for rows of one leaf and one label whose scores lie
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
   Cells do not change, so that what the raw scores say is worked out once (`Cells.cached`).
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

from hetcal.artifacts.artifact import Artifact, artifact_bytes, open_artifact, score_with_artifact
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
from hetcal.data.scores import Scores, scores_from_column, scores_from_columns
from hetcal.data.table import Roles, Table, make_table
from hetcal.errors import HetcalError
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import score_model
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.columns import ColumnsPartition
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.layer import LayerPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition
from hetcal.results.evaluation import Evaluation, evaluate
from hetcal.results.words import verdict
from hetcal.runs.heterogeneous import HeterogeneousCalibrator
from hetcal.runs.run import Run, run
from hetcal.runs.settings import Settings
from hetcal.schemes.choice import Choice, choose_scheme
from hetcal.schemes.rows import SchemeRows
from hetcal.schemes.scheme import Scheme
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
