"""What a result depends on, and the key under which a run keeps it.

A change of other settings does not find it again.
"""

from collections.abc import Sequence
from dataclasses import replace

from hetcal.choices import ClassMethod
from hetcal.data.scores import Scores
from hetcal.data.table import Roles, Table
from hetcal.digests import text_digest
from hetcal.models.scoring import ModelScoring
from hetcal.partitions.partition import Partition
from hetcal.runs.settings import CHOOSING, FOR_CLASSES, READ_SCORES, Settings

NEED_SCORES = (*READ_SCORES, "layer")
"""Partitions that cannot be grown before the scores are there."""


def key_of(kind: str, *parts: object) -> str:
    """Return a key that changes with all that a result depends on."""
    return f"{kind}-{text_digest(repr(parts))}"


def table_key(files: Sequence[object], texts: Sequence[str] = ()) -> str:
    """Return the key of the table of these files, see `TableFile`; `texts` as in `read_source`."""
    return key_of("table", tuple(files), *texts)


def rows_key(source_digest: str, roles: Roles, classes: int) -> str:
    """Return what changes with the rows or the number of classes, not with other roles."""
    return f"{source_digest} {roles.label if roles.drop_unlabelled else ''} {classes or ''}"


def scores_key(rows_digest: str, scoring: ModelScoring) -> str:
    """Return the key of the scores of a model."""
    how = scoring.inputs, scoring.output, scoring.positive_unit, scoring.layer
    return key_of("scores", rows_digest, scoring.model.digest, *how)


def scheme_key(table: Table, scores: Scores, settings: Settings, tree: Partition | None) -> str:
    """Return the key of the schemes that were compared or fitted, of settings as in `trial`."""
    about_tree = None if tree is None else tree.digest
    return key_of("scheme", table.digest, scores.digest, settings, about_tree)


def partition_key(table: Table, scores: Scores | None, settings: Settings) -> str:
    """Return the key of a partition that was grown, of settings as in `growth`."""
    return key_of("partition", table.digest, scores and scores.digest, settings)


def division(settings: Settings) -> Settings:
    """Keep what the roles of the rows depend on."""
    kind = ("partition", "use_validation") if settings.partition in READ_SCORES else ()
    return _only(settings, "fractions", "seed", *kind)


def growth(settings: Settings) -> Settings:
    """Keep what one partition depends on."""
    size = ("max_depth", "min_leaf", "tree_size")
    others = "partition", "use_validation", "segments", "bins"
    return _only(settings, "fractions", "seed", *others, *size)


def ensemble(settings: Settings) -> Settings:
    """Keep what a scheme depends on."""
    terms = ("pairs", "increasing", "decreasing")
    named = {"additive": terms, **dict.fromkeys(CHOOSING, (*terms, "only", "take"))}
    kept = "partition", "use_validation", *named.get(settings.partition, ())
    return _only(settings, "fractions", "seed", *kept)


def trial(settings: Settings) -> Settings:
    """Keep what the comparison of all schemes depends on, but not what is chosen from it."""
    if settings.partition not in CHOOSING:
        return settings
    return replace(settings, partition="auto", only=None, take=None)


def maps(settings: Settings) -> Settings:
    """Keep what the maps of the leaves depend on, once their rows are known."""
    kept = division(settings)
    return replace(kept, calibrator=settings.calibrator, shrinkage=settings.shrinkage)


def for_classes(settings: Settings, method: ClassMethod) -> Settings:
    """Keep what a run on more than two classes depends on; `auto` takes the place of the rest."""
    kind = settings.partition if settings.partition in FOR_CLASSES else "auto"
    kind = "auto" if kind in CHOOSING else kind  # no second model is tried
    kept = {
        "auto": ("take",),
        "columns": ("segments", "bins"),
        "tree": ("max_depth", "min_leaf"),
        "layer": ("max_depth", "min_leaf"),
    }[kind]
    chosen = _only(settings, "fractions", "seed", "use_validation", *kept)
    return replace(chosen, partition=kind, calibrator=method)


def _only(settings: Settings, *names: str) -> Settings:
    return replace(Settings(), **{name: getattr(settings, name) for name in names})
