"""Every figure of a run by its name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.artifacts.artifact import Artifact
from hetcal.artifacts.saved_run import SavedRun
from hetcal.artifacts.summary import ladder_of
from hetcal.data.columns import value_text
from hetcal.errors import ArtifactError, CalibrationError, HetcalError, did_you_mean
from hetcal.figures.calibration import maps_figure, slope_intercept_figure
from hetcal.figures.ladder import ladder_figure
from hetcal.figures.overconfidence import (
    leaf_histogram_figure,
    leaf_multiples_figure,
    overconfidence_figure,
)
from hetcal.figures.results import (
    by_class,
    change_figure,
    class_lift_figure,
    leaf_lift_figure,
    pair_gain_figure,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
    top_label_figure,
)
from hetcal.figures.rows import applied_map_figure, applied_multiples_figure, waterfall_figure
from hetcal.figures.terms import curve_figure, curves_figure, logit_span, pair_figure
from hetcal.figures.thresholds import cost_figure
from hetcal.figures.tree import tree_figure
from hetcal.metrics.thresholds import Costs, cost_curve
from hetcal.partitions.terms import Curve, Pair, Terms
from hetcal.results.applied import Applied, applied_to_leaves
from hetcal.results.contributions import pair_gains
from hetcal.results.curves import Curves, inside_leaves, leaf_curves, result_curves
from hetcal.results.histograms import ScoreHistograms, score_histograms
from hetcal.results.overconfidence import diagnose
from hetcal.results.term_words import term_table
from hetcal.runs.rows import chosen_rows, explain_row, listed_rows, typical_of
from hetcal.runs.run import Run
from hetcal.schemes.stages import AdditiveStage

MULTIPLES_BINS = 24


@dataclass(frozen=True)
class Shown:
    """What a figure is to show of a run; parameters as in `FinishedRun.figure`."""

    whole: Run | SavedRun
    name: str
    leaf: int | None = None
    of: Any = None
    row: int | None = None
    term: str | None = None
    artifact: Artifact | None = None  # of a run that was reopened

    @property
    def run(self) -> Run | SavedRun:
        """The run of two classes: the one that is named against all others, if there are more."""
        classes = self.whole.classes
        if not classes:
            return self.whole
        if self.of is None:
            raise HetcalError(
                f"The figure '{self.name}' shows two classes, and the label has {len(classes)}.",
                "One class can be set against all others.",
                f"Name it: figure('{self.name}', of='{classes[0]}').",
            )
        name = value_text(self.of)
        if name not in classes:
            raise HetcalError(
                f"There is no class '{name}'.",
                f"The classes are {', '.join(classes)}.",
                did_you_mean(name, classes),
            )
        number = classes.index(name)
        if isinstance(self.whole, SavedRun):
            return self.whole.view(number, 0 if self.artifact is None else self.artifact.min_rows)
        return self.whole.view(number)

    @property
    def curves(self) -> Curves:
        """The curves of all test rows, or of those of the leaf."""
        run = self.run
        if self.leaf is None:
            return result_curves(run.comparison, run.evaluation)
        return leaf_curves(run.comparison, [self.leaf])

    @property
    def marked(self) -> tuple[int, ...]:
        """The leaf that stands out, if one is named."""
        return () if self.leaf is None else (self.leaf,)

    def histograms(self, bins: int = 40) -> ScoreHistograms:
        """Count the scores of train and test rows."""
        cells, leaves = self.run.role_cells, [each.id for each in self.whole.partition.leaves]
        return score_histograms(cells.train, cells.test, leaves, bins=bins)

    @property
    def names(self) -> dict[int, str]:
        """Short names of the leaves."""
        return self.whole.partition.names

    @property
    def applied(self) -> Applied:
        """What is done to the test rows of every leaf."""
        compared, leaves = self.run.comparison, [each.id for each in self.whole.partition.leaves]
        return applied_to_leaves(compared.before, compared.after, leaves)

    @property
    def pairs(self) -> pd.DataFrame:
        """What each pair of leaves gained on the test rows."""
        compared, leaves = self.run.comparison, [each.id for each in self.whole.partition.leaves]
        return pair_gains(compared.before, compared.after, leaves)

    @property
    def with_maps(self) -> Run | SavedRun:
        """The run, if the maps of its leaves are what is applied."""
        if self.whole.classes or not self.whole.applied:
            raise CalibrationError(
                f"There is no figure '{self.name}' of this run: no leaf has one map of the score.",
                "It shows the maps of a tree or of segments, for two classes.",
                "Draw what is applied in place of maps: figure('applied_map').",
            )
        return self.whole

    @property
    def terms(self) -> Terms:
        """The curves and pairs of a correction."""
        made = self.whole.choice if isinstance(self.whole, Run) else self.artifact
        stages = () if made is None or made.scheme is None else made.scheme.stages
        found = next((each.terms for each in stages if isinstance(each, AdditiveStage)), None)
        if found is None:
            raise CalibrationError(
                f"There is no figure '{self.name}' of this run: it adds no curves to the score.",
                "It shows the scheme 'additive', a correction.",
                "Calibrate with partition='additive', or take='additive'.",
            )
        return found

    def term_of(self, kind: type[Curve] | type[Pair]) -> Any:
        """Return the term that is named, or the most important one of this kind."""
        names = [each.name for each in self.terms.terms if isinstance(each, kind)]
        by_share = [each for each in term_table(self.terms)["term"] if each in names]
        name = self.term if self.term is not None else next(iter(by_share), "")
        if name not in names:
            raise CalibrationError(
                f"The correction has no term '{name}' for the figure '{self.name}'.",
                f"It has {', '.join(by_share[:12]) or 'none'}.",
                did_you_mean(name, by_share, "Choose one of these, or another figure."),
            )
        return next(each for each in self.terms.terms if each.name == name)


def draw(run: Run | SavedRun, name: str, **shown: Any) -> go.Figure:
    """Draw the figure of this name, or say which there are; see `Shown`."""
    if name not in FIGURES:
        raise HetcalError(
            f"There is no figure '{name}'.",
            f"The figures are {', '.join(FIGURES)}.",
            did_you_mean(str(name), list(FIGURES)),
        )
    wanted = Shown(run, name, **shown)
    leaves = [each.id for each in run.partition.leaves]
    if wanted.leaf is not None and wanted.leaf not in leaves:
        raise HetcalError(
            f"There is no leaf {wanted.leaf}.",
            f"The leaves are {leaves[0]} to {leaves[-1]}.",
            "Choose one of these, or none for all rows.",
        )
    return FIGURES[name](wanted)


def _ladder(shown: Shown) -> go.Figure:
    measure = "macro AUC" if shown.whole.classes else "AUC"
    return ladder_figure(ladder_of(shown.whole), measure)


def _roc(shown: Shown) -> go.Figure:
    return roc_figure(_both_classes(shown).roc)


def _precision_recall(shown: Shown) -> go.Figure:
    return precision_recall_figure(_both_classes(shown).precision_recall)


def _both_classes(shown: Shown) -> Curves:
    curves = shown.curves
    if not curves.roc:
        raise CalibrationError(
            f"The test rows of leaf {shown.leaf} are of one class, or there are none.",
            f"The figure '{shown.name}' needs rows of both classes.",
            "Choose another leaf, or none for all rows.",
        )
    return curves


def _cost(shown: Shown) -> go.Figure:
    compared, costs = shown.run.comparison, Costs()
    if shown.leaf is not None:
        compared = inside_leaves(compared, [shown.leaf])
    named = {"before": compared.before, "after": compared.after}
    if not compared.before.rows.sum():
        raise CalibrationError(
            f"Leaf {shown.leaf} has no test rows.",
            "The figure 'cost' counts errors on test rows.",
            "Choose another leaf, or none for all rows.",
        )
    return cost_figure([cost_curve(*each, costs) for each in named.items()], costs.threshold)


def _overconfidence(shown: Shown) -> go.Figure:
    cells, leaves = shown.run.role_cells, shown.whole.partition.leaves
    return overconfidence_figure(
        diagnose(cells.train, cells.test, leaves), shown.marked, shown.names
    )


def _maps(shown: Shown) -> go.Figure:
    run, edges = shown.with_maps, shown.histograms().edges
    maps, ends = run.leaf_maps, (float(edges[0]), float(edges[-1]))
    if not run.divided:  # all leaves have the same map
        return maps_figure(replace(maps.maps_[0], leaf=0), [], (), ends)
    return maps_figure(maps.pooled_, maps.maps_, shown.marked, ends)


def _slope_intercept(shown: Shown) -> go.Figure:
    maps = shown.with_maps.leaf_maps
    return slope_intercept_figure(maps.pooled_, maps.maps_, shown.marked)


def _applied_map(shown: Shown) -> go.Figure:
    maps = shown.applied.maps
    if (shown.leaf or 0) not in maps:
        raise CalibrationError(
            f"Leaf {shown.leaf} has no test rows.",
            "The figure 'applied_map' shows what was done to test rows.",
            "Choose another leaf, or none for all rows.",
        )
    return applied_map_figure(maps[shown.leaf or 0])


def _waterfall(shown: Shown) -> go.Figure:
    run = shown.run
    if isinstance(run, SavedRun):
        raise ArtifactError(
            "A saved run has no rows to explain.",
            "Its artifact holds sketches of the scores, not the table.",
            "Calibrate the table again.",
        )
    row = shown.row
    if row is None:
        row = int(chosen_rows(listed_rows(run), "most changed")["row"].iloc[0])
    if not 0 <= row < run.table.rows:
        raise HetcalError(
            f"There is no row {row}.",
            f"The rows of the table are 0 to {run.table.rows - 1}.",
            "Choose one of these.",
        )
    return waterfall_figure(explain_row(run, row, typical_of(run)))


def _of_classes(drawn: Callable[[Shown], go.Figure]) -> Callable[[Shown], go.Figure]:
    """Refuse two classes for a figure of more."""

    def checked(shown: Shown) -> go.Figure:
        if not shown.whole.classes:
            raise HetcalError(
                f"There is no figure '{shown.name}' of two classes.",
                "It compares the classes of a label that has more than two.",
                "Draw figure('change') or figure('reliability').",
            )
        return drawn(shown)

    return checked


FIGURES: dict[str, Callable[[Shown], go.Figure]] = {
    "change": lambda shown: change_figure(
        (shown.whole if shown.of is None else shown.run).evaluation
    ),
    "ladder": _ladder,
    "roc": _roc,
    "precision_recall": _precision_recall,
    "reliability": lambda shown: reliability_figure(shown.curves.reliability),
    "cost": _cost,
    "leaf_lift": lambda shown: leaf_lift_figure(
        shown.run.evaluation.leaves, shown.marked, shown.names
    ),
    "pair_gain": lambda shown: pair_gain_figure(shown.pairs, shown.names, shown.marked),
    "class_lift": _of_classes(
        lambda shown: class_lift_figure(
            shown.whole.evaluation, None if shown.of is None else value_text(shown.of)
        )
    ),
    "top_label": _of_classes(
        lambda shown: top_label_figure(by_class(shown.whole.evaluation).top_label)
    ),
    "tree": lambda shown: tree_figure(shown.run.partition, shown.leaf),
    "overconfidence": _overconfidence,
    "leaf_histogram": lambda shown: leaf_histogram_figure(shown.histograms(), shown.leaf or 0),
    "leaf_multiples": lambda shown: leaf_multiples_figure(
        shown.histograms(MULTIPLES_BINS), names=shown.names, selected=shown.marked
    ),
    "maps": _maps,
    "slope_intercept": _slope_intercept,
    "applied_map": _applied_map,
    "applied_multiples": lambda shown: applied_multiples_figure(
        shown.applied.maps, shown.marked, shown.names
    ),
    "curves": lambda shown: curves_figure(shown.terms),
    "curve": lambda shown: curve_figure(shown.term_of(Curve), logit_span(shown.terms)),
    "pair": lambda shown: pair_figure(shown.term_of(Pair), logit_span(Terms(shown.terms.pairs))),
    "waterfall": _waterfall,
}
"""Names as in `hetcal.figures`; only the progress of training is no figure of a run."""
