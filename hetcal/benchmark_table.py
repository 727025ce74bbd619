"""The tables of the benchmark: one for every model, then one over all of them."""

from collections.abc import Sequence

import numpy as np

from hetcal.benchmark_results import ContenderResult, ModelResult
from hetcal.benchmark_ways import AUTO, NETWORK, UNIT
from hetcal.speed_table import short_number, table_row

HARM = -1.96
AS_GOOD = 0.0005
HEADINGS = ("scheme", "AUC", "lift", "z", "log loss", "time")
WIDTHS = (17, 8, 9, 7, 9, 9)
SUMMARY_HEADINGS = ("scheme", "models", "median lift", "harmed", "helped", "auto as good", "time")
SUMMARY_WIDTHS = (17, 7, 12, 7, 7, 13, 9)
NOTES = (
    "AUC, log loss: on the test rows. lift: AUC minus AUC of the network; z: paired DeLong test.",
    f"harmed, helped: models with z below {HARM} and above {-HARM}.",
    f"auto as good: share of models where the AUC of auto is at least that of the scheme, within "
    f"{AS_GOOD}.",
    f"time: to fit and to score the test rows, as a multiple of the {UNIT}; that of the first",
    "  model includes compiling the kernels.",
)


def model_table(result: ModelResult) -> str:
    """Return the table of one model."""
    rows = [table_row(HEADINGS, WIDTHS)]
    rows += [table_row(_cells(each, result), WIDTHS) for each in result.contenders]
    return "\n".join([f"\n{result.model}: {_facts(result)}", *rows])


def summary_table(results: Sequence[ModelResult]) -> str:
    """Return the table over all models, a line for each contender."""
    names = list(dict.fromkeys(each.name for result in results for each in result.contenders))
    counted = "1 model" if len(results) == 1 else f"{len(results):,} models"
    lines = [table_row(_summary(name, results), SUMMARY_WIDTHS) for name in names]
    return "\n".join([f"\n{counted}", table_row(SUMMARY_HEADINGS, SUMMARY_WIDTHS), *lines, *NOTES])


def _facts(result: ModelResult) -> str:
    facts = [f"{result.test_rows:,} test rows"]
    unit = result.contender(UNIT)
    if result.training_seconds is not None and unit is not None:
        facts.append(f"trained in {_times(result.training_seconds, unit)}")
    return ", ".join(facts)


def _cells(one: ContenderResult, result: ModelResult) -> tuple[str, ...]:
    network = result.contender(NETWORK)
    compared = ("", "")
    if network is not None and one.name != NETWORK:
        compared = (f"{one.auc - network.auc:+.4f}", f"{one.z:+.1f}")
    time = "" if one.name == NETWORK else _times(one.seconds, result.contender(UNIT))
    return one.name, f"{one.auc:.4f}", *compared, f"{one.log_loss:.4f}", time


def _summary(name: str, results: Sequence[ModelResult]) -> tuple[str, ...]:
    pairs = [(one, each) for each in results if (one := each.contender(name)) is not None]
    lifts = [
        one.auc - net.auc for one, each in pairs if (net := each.contender(NETWORK)) is not None
    ]
    autos = [
        auto.auc - one.auc for one, each in pairs if (auto := each.contender(AUTO)) is not None
    ]
    units = [one.seconds / unit.seconds for one, each in pairs if (unit := each.contender(UNIT))]
    alone = name == NETWORK
    return (
        name,
        f"{len(pairs):,}",
        "" if alone or not lifts else f"{np.median(lifts):+.4f}",
        "" if alone else f"{sum(one.z < HARM for one, _ in pairs):,}",
        "" if alone else f"{sum(one.z > -HARM for one, _ in pairs):,}",
        "" if name == AUTO or not autos else _share(autos),
        "" if alone or not units else f"{short_number(float(np.median(units)))} ×",
    )


def _share(differences: Sequence[float]) -> str:
    # An AUC is a fraction of pairs: beyond twelve digits there is rounding only.
    good = np.mean(np.array(differences) >= -AS_GOOD - 1e-12)
    return f"{100 * good:.0f} %"


def _times(seconds: float, unit: ContenderResult | None) -> str:
    return "" if unit is None else f"{short_number(seconds / unit.seconds)} ×"
