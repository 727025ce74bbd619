"""Which settings a result depends on, so that a change of the others does not recompute it."""

from dataclasses import replace

from hetcal.choices import ClassMethod
from hetcal.runs.settings import CHOOSING, FOR_CLASSES, READ_SCORES, Settings

NEED_SCORES = (*READ_SCORES, "layer")
"""Partitions that cannot be grown before the scores are there."""


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
    }[kind]
    chosen = _only(settings, "fractions", "seed", "use_validation", *kept)
    return replace(chosen, partition=kind, calibrator=method)


def _only(settings: Settings, *names: str) -> Settings:
    return replace(Settings(), **{name: getattr(settings, name) for name in names})
