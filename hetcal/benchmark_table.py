"""The benchmark in words and columns: a table for every model, then one over all of them."""

from collections.abc import Sequence

import numpy as np

from hetcal.benchmark_results import ModelResult, WayResult
from hetcal.benchmark_ways import AUTO, NETWORK, UNIT

HARM = -1.96
AS_GOOD = 0.0005
HEADINGS = ("way", "AUC", "lift", "z", "log loss", "time")
WIDTHS = (17, 8, 9, 7, 9, 9)
SUMMARY_HEADINGS = ("way", "models", "median lift", "harmed", "helped", "auto as good", "time")
SUMMARY_WIDTHS = (17, 7, 12, 7, 7, 13, 9)
NOTES = (
    "AUC, log loss: of the test rows. lift: AUC less that of the network; z: paired DeLong test.",
    f"harmed, helped: models with z below {HARM} and above {-HARM}.",
    f"auto as good: share of models where the AUC of auto is at least that of the way, within "
    f"{AS_GOOD}.",
    f"time: to fit and to score the test rows, as a multiple of the {UNIT}; where kernels are",
    "  compiled, that happens in the first model.",
)


def model_table(result: ModelResult) -> str:
    """Return the table of one model."""
    rows = [_joined(HEADINGS, WIDTHS)]
    rows += [_joined(_cells(each, result), WIDTHS) for each in result.ways]
    return "\n".join([f"\n{result.model}: {_facts(result)}", *rows])


def summary_table(results: Sequence[ModelResult]) -> str:
    """Return the table over all models, a line for each way."""
    names = list(dict.fromkeys(each.name for result in results for each in result.ways))
    counted = "1 model" if len(results) == 1 else f"{len(results):,} models"
    lines = [_joined(_summary(name, results), SUMMARY_WIDTHS) for name in names]
    return "\n".join([f"\n{counted}", _joined(SUMMARY_HEADINGS, SUMMARY_WIDTHS), *lines, *NOTES])


def _facts(result: ModelResult) -> str:
    facts = [f"{result.test_rows:,} test rows"]
    unit = result.way(UNIT)
    if result.training_seconds is not None and unit is not None:
        facts.append(f"trained in {_times(result.training_seconds, unit)}")
    return ", ".join(facts)


def _cells(way: WayResult, result: ModelResult) -> tuple[str, ...]:
    network = result.way(NETWORK)
    compared = ("", "")
    if network is not None and way.name != NETWORK:
        compared = (f"{way.auc - network.auc:+.4f}", f"{way.z:+.1f}")
    time = "" if way.name == NETWORK else _times(way.seconds, result.way(UNIT))
    return way.name, f"{way.auc:.4f}", *compared, f"{way.log_loss:.4f}", time


def _summary(name: str, results: Sequence[ModelResult]) -> tuple[str, ...]:
    pairs = [(way, each) for each in results if (way := each.way(name)) is not None]
    lifts = [way.auc - net.auc for way, each in pairs if (net := each.way(NETWORK)) is not None]
    autos = [auto.auc - way.auc for way, each in pairs if (auto := each.way(AUTO)) is not None]
    units = [way.seconds / unit.seconds for way, each in pairs if (unit := each.way(UNIT))]
    alone = name == NETWORK
    return (
        name,
        f"{len(pairs):,}",
        "" if alone or not lifts else f"{np.median(lifts):+.4f}",
        "" if alone else f"{sum(way.z < HARM for way, _ in pairs):,}",
        "" if alone else f"{sum(way.z > -HARM for way, _ in pairs):,}",
        "" if name == AUTO or not autos else _share(autos),
        "" if alone or not units else f"{_short(float(np.median(units)))} ×",
    )


def _share(differences: Sequence[float]) -> str:
    # An AUC is a fraction of pairs: beyond twelve digits there is rounding only.
    good = np.mean(np.array(differences) >= -AS_GOOD - 1e-12)
    return f"{100 * good:.0f} %"


def _times(seconds: float, unit: WayResult | None) -> str:
    return "" if unit is None else f"{_short(seconds / unit.seconds)} ×"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _joined(texts: Sequence[str], widths: Sequence[int]) -> str:
    words = zip(texts, widths, strict=True)
    return "  ".join(
        text.rjust(width) if place else text.ljust(width)
        for place, (text, width) in enumerate(words)
    ).rstrip()
