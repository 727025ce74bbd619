"""Grow the one partition that the settings ask for, each on the rows that it may read."""

from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.choices import KINDS, Kind, optional_name
from hetcal.data.scores import Scores
from hetcal.data.splits import Split, draw_folds
from hetcal.data.table import Table, require_features
from hetcal.errors import PartitionError, did_you_mean
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.columns import ColumnsPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.layer import LayerPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition
from hetcal.progress import Keep, Progress, anew, silent
from hetcal.runs.settings import CHOOSING, FOR_CLASSES, READ_SCORES, Settings
from hetcal.schemes.candidates import STRENGTHS, Candidate, Growth, GrowthSettings
from hetcal.schemes.choice import (
    ALLOWED,
    MAX_HELD,
    MAX_TRAINING,
    Choice,
    choose_scheme,
    fit_scheme,
)
from hetcal.schemes.parts import GrownLeavesPart, PooledPart
from hetcal.schemes.rows import SchemeRows, drawn


def _by_gain(X: pd.DataFrame, y: Ints, scores: Floats, weight: Floats | None) -> Partition:
    return AucGainPartition().fit(X, y, scores, weight).partition_


def _by_instability(X: pd.DataFrame, y: Ints, scores: Floats, weight: Floats | None) -> Partition:
    return InstabilityPartition().fit(X, y, scores, weight).partition_


def score_trees() -> list[Candidate]:
    """Return candidates whose trees read scores, so that each fit grows them on its own rows."""
    grown = {
        "auc-gain": ("a tree that splits where AUC is gained", _by_gain),
        "instability": ("a tree that splits where the map differs", _by_instability),
    }
    return [
        Candidate(name, words, "calibration", (PooledPart(), GrownLeavesPart(grow)), STRENGTHS[1:2])
        for name, (words, grow) in grown.items()
    ]


def fit_ensemble(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    progress: Progress = silent,
    tree: Partition | None = None,
    growth: Growth | None = None,
) -> Choice:
    """Fit the scheme of many trees or terms of the settings, or choose one.

    Parameters
    ----------
    table, scores, split, settings
        What the run was given, and the roles of the rows.
    tree : Partition, optional
        The tree whose leaves get maps, in place of one grown on a sample of the training rows.
    progress : callable, optional
        Called with the share that is done and a text; what it raises ends the work.
    growth : Growth, optional
        From `start_growth`; it is of no use if rows without a score were among its rows.
    """
    held = held_out(split, settings)
    if growth is not None and not (scores.usable[split.train].all() and scores.usable[held].all()):
        growth.stop()
        growth = None
    roles = ensemble_rows(table, scores, split, settings, tree)
    return fit_roles(settings, *roles, None, progress, tree, growth)


def ensemble_rows(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    tree: Partition | None = None,
) -> tuple[SchemeRows, SchemeRows]:
    """Draw the training rows and the held-out rows of a scheme, at most so many of each.

    With a `tree` no training rows are needed.
    """
    require_features(table.roles)
    held = held_out(split, settings)
    most = held.size if table.classes else MAX_HELD  # maps of classes are fitted on all rows
    grown_on = split.train if tree is None else split.train[:0]
    training = _rows(table, scores, grown_on, MAX_TRAINING, settings.seed)
    return training, _rows(table, scores, held, most, settings.seed)


def held_out(split: Split, settings: Settings) -> Ints:
    """Return the rows on which schemes are fitted and compared."""
    if not settings.use_validation:
        return split.calibration
    return np.concatenate([split.calibration, split.validation])


def start_growth(
    table: Table, split: Split, settings: Settings, keep: Keep = anew
) -> Growth | None:
    """Begin to grow what needs no scores, as if every row had one; None if that is little work."""
    if settings.partition not in CHOOSING or table.classes:
        return None
    training = _rows(table, None, split.train, MAX_TRAINING, settings.seed)
    held = _rows(table, None, held_out(split, settings), MAX_HELD, settings.seed)
    return Growth(training, held, None, growth_settings(settings), keep)


def growth_settings(settings: Settings) -> GrowthSettings:
    """Return what decides the trees and terms of schemes."""
    terms = settings.pairs, settings.increasing, settings.decreasing
    return GrowthSettings(settings.seed, *terms)


def allowed_kinds(settings: Settings) -> tuple[Kind, ...]:
    """Return the kinds of schemes that may be chosen."""
    if settings.only == "calibration":
        return ("none", "calibration")
    return KINDS if settings.partition == "best" else ALLOWED


def chosen_among(tried: Choice, settings: Settings) -> Choice:
    """Choose as the settings say from what was tried for `auto`, or keep what they name."""
    kinds, best = allowed_kinds(settings), settings.partition == "best"
    same = settings.partition not in CHOOSING or kinds == ALLOWED
    return tried if same else tried.among(kinds, best=best)


def take_rung(found: Choice, name: str | None) -> Choice:
    """Take a rung; one that was named for another label, with other rungs, is left out."""
    if name is None or name not in found.candidates["name"].tolist():
        return found
    return found.take(name)


def fit_roles(
    settings: Settings,
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None,
    progress: Progress = silent,
    tree: Partition | None = None,
    growth: Growth | None = None,
) -> Choice:
    """Fit the scheme that the settings name on rows by role; `auto` and `best` choose."""
    roles, growing = (training, calibration, validation), growth_settings(settings)
    if settings.partition not in CHOOSING:
        return fit_scheme(settings.partition, *roles, settings=growing, progress=progress)
    choice = choose_scheme(
        *roles,
        tree=tree,
        more=score_trees(),
        kinds=allowed_kinds(settings),
        best=settings.partition == "best",
        settings=growing,
        progress=progress,
        growth=growth,
    )
    return choice if settings.take is None else choice.take(settings.take)


def sample_note(table: Table, split: Split, settings: Settings) -> str | None:
    """Say how many rows of a large table the scheme was fitted on; None if it was on all."""
    held, parts = held_out(split, settings), []
    role_names = f"{'validation and ' if settings.use_validation else ''}calibration"
    for rows, most, role in (
        (split.train, MAX_TRAINING, "train"),
        (held, MAX_HELD, role_names),
    ):
        weight = table.weight_of(rows)
        count = rows.size if weight is None else int((weight > 0).sum())
        if count > most:
            parts.append(f"{most:,} of {count:,} {role} rows")
    return f"Schemes were fitted on a random sample: {' and '.join(parts)}." if parts else None


def _rows(table: Table, scores: Scores | None, rows: Ints, most: int, seed: int) -> SchemeRows:
    """Draw rows before their columns are copied: a large table is not copied as a whole."""
    use = np.ones(rows.size, dtype=np.bool_) if scores is None else scores.usable[rows]
    if table.weight is not None:
        use &= table.weight[rows] > 0
    rows = rows[drawn(use, most, seed)]
    weight = table.weight_of(rows)
    y = np.asarray(table.y[rows], dtype=np.int64)
    logits = None if scores is None else scores.logit[rows]
    group, time = table.group(rows), table.time(rows)
    return SchemeRows(table.X.iloc[rows], y, logits, weight, group, time)


def grow_partition(
    table: Table,
    split: Split,
    settings: Settings,
    scores: Scores | None = None,
    progress: Progress = silent,
) -> Partition:
    """Grow the partition; that of an ensemble is the one tree that stands for it on the pages.

    Parameters
    ----------
    table, split, settings
        The rows, their roles, and how to divide them.
    scores : Scores, optional
        Needed by partitions that read scores or a layer.
    progress : callable, optional
        Called with the share that is done and a text.
    """
    progress(0.0, "Growing the partition")
    _refuse_for_classes(table, settings)
    if settings.partition == "columns":
        return _grow_segments(table, split.train, settings)
    if settings.partition == "layer":
        return _grow_on_layer(table, split.train, settings, scores)
    require_features(table.roles)
    if settings.partition in READ_SCORES:
        return _grow_on_scores(table, split.validation, settings, scores)
    return _grow_tree(table, split.train, settings, progress)


def _refuse_for_classes(table: Table, settings: Settings) -> None:
    if not table.classes:
        return
    if settings.partition not in FOR_CLASSES:
        raise PartitionError(
            f"The partition '{optional_name(settings.partition)}' is for two classes.",
            f"With more classes it is one of {', '.join(FOR_CLASSES)}.",
            "Choose one of these, or name a positive value to set it against all others.",
        )
    if settings.tree_size != "given":
        raise PartitionError(
            "The size of the tree is to be chosen by cross-validation, and the label has "
            f"{len(table.classes)} values.",
            "That is for two classes.",
            "Give the size, or name a positive value to set it against all others.",
        )


def lend_rows(
    split: Split, y: Labels, seed: int, group: Groups | None = None, *, use_validation: bool = True
) -> Split:
    """Give half of the calibration rows to validation, unless it has half as many already.

    A partition that reads scores is grown on validation rows: the model fits its
    training rows too well, and the maps need calibration rows that the partition has not seen.
    Rows of one `group`, which is that of each calibration row, stay together where they can.
    Without `use_validation` the validation rows get no role, and half of the others take theirs.
    """
    rows = split.calibration
    if not use_validation:
        split = replace(split, validation=split.validation[:0])
    if 2 * split.validation.size >= rows.size:
        return split
    half = draw_folds(y[rows], 2, seed, group)
    if half is None:
        half = draw_folds(y[rows], 2, seed)
    grown_on = np.sort(np.append(split.validation, rows[half == 0]))
    return Split(split.train, grown_on, rows[half == 1], split.test)


def _grow_tree(table: Table, rows: Ints, settings: Settings, progress: Progress) -> Partition:
    tree, weight = _tree(settings, rows.size), table.weight_of(rows)
    if settings.tree_size == "given":
        return tree.fit_rows(table.X, rows, table.y[rows], weight, progress).partition_
    groups = _groups(table, rows, settings)
    return tree.fit(table.X.iloc[rows], table.y[rows], weight, **groups).partition_


def _tree(settings: Settings, rows: int) -> TreePartition:
    fewest = None if settings.min_leaf is None else min(settings.min_leaf, rows)
    if settings.tree_size == "given":
        return TreePartition(settings.max_depth, min_samples_leaf=fewest)
    return SelectedTreePartition(
        min_samples_leaf=fewest, select=settings.tree_size, random_state=settings.seed
    )


def _grow_segments(table: Table, rows: Ints, settings: Settings) -> Partition:
    if not settings.segments:
        raise PartitionError(
            "No columns are named to divide the rows by.",
            "A partition by columns needs at least one.",
            "Name the columns of your segments (--columns on the command line).",
        )
    names = list(settings.segments)
    for name in names:
        if name not in table.frame:
            raise PartitionError(
                f"The table has no column '{name}' to divide the rows by.",
                "Segments are columns of the table.",
                did_you_mean(name, list(table.frame.columns), "Choose one of them."),
            )
    segments = ColumnsPartition(names, bins=settings.bins)
    y = (table.view(0) if table.classes else table).y[rows]
    return segments.fit(table.frame[names].iloc[rows], y, table.weight_of(rows)).partition_


def _grow_on_layer(
    table: Table, rows: Ints, settings: Settings, scores: Scores | None
) -> Partition:
    if scores is None or scores.activations is None:
        raise PartitionError(
            "The partition 'layer' reads a layer of the model, and none was computed.",
            "The scores have to come from a Keras model, with the layer named.",
            "Score the rows with a model and choose one of its layers (--model and --layer on the "
            "command line), or choose another partition.",
        )
    layer = scores.activations
    tree = LayerPartition(layer.layer, tree=_tree(settings, rows.size))
    parts = layer.values[rows], table.y[rows], table.weight_of(rows)
    return tree.fit(*parts, **_groups(table, rows, settings)).partition_


def _grow_on_scores(
    table: Table, rows: Ints, settings: Settings, scores: Scores | None
) -> Partition:
    if scores is None:
        raise PartitionError(
            f"The partition '{optional_name(settings.partition)}' reads scores; there are none.",
            "It is grown on the scores of rows that the model was not trained on.",
            "Choose the scores first, or another partition.",
        )
    rows = rows[scores.usable[rows]]
    kind = AucGainPartition if settings.partition == "auc-gain" else InstabilityPartition
    fewest = None if settings.min_leaf is None else min(settings.min_leaf, rows.size)
    tree = kind(settings.max_depth, min_samples_leaf=fewest)
    parts = table.X.iloc[rows], table.y[rows], scores.logit[rows], table.weight_of(rows)
    return tree.fit(*parts).partition_


def _groups(table: Table, rows: Ints, settings: Settings) -> dict[str, Groups]:
    """Return what keeps the groups together where cross-validation chooses the tree."""
    group = table.group(rows)
    return {} if group is None or settings.tree_size == "given" else {"groups": group}
