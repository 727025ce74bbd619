"""The tables of the benchmark: one for every model, then one over all of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from hetcal.benchmarks.contenders import AUTO, NETWORK, UNIT
from hetcal.benchmarks.speed_table import short_number, table_row
from hetcal.errors import HetcalError
from hetcal.strict_json import Fields, JsonError, parse_object


@dataclass(frozen=True)
class ContenderResult:
    """One contender on the test rows of one model.

    Parameters
    ----------
    name : str
        The contender.
    auc, log_loss : float
        Of the test rows.
    z : float
        Paired DeLong test against the network.
    seconds : float
        Time to fit and to score the test rows.
    """

    name: str
    auc: float
    log_loss: float
    z: float
    seconds: float


@dataclass(frozen=True)
class ModelResult:
    """All contenders on one model; `training_seconds` is None if it was not trained here."""

    model: str
    test_rows: int
    training_seconds: float | None
    contenders: tuple[ContenderResult, ...]

    def contender(self, name: str) -> ContenderResult | None:
        """Return the contender of this name, None if it was not measured."""
        return next((each for each in self.contenders if each.name == name), None)


def read_results(path: Path) -> dict[str, ModelResult]:
    """Read saved results by model; the last line of a model counts, an incomplete line does not."""
    found: dict[str, ModelResult] = {}
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            result = _parse(parse_object(line))
        except JsonError as error:
            raise HetcalError(
                f"Line {number:,} of '{path}' is not a result of the benchmark: {error}.",
                "A file that is continued may hold nothing else.",
                "Name another file, or remove the line.",
            ) from error
        found[result.model] = result
    return found


def append_result(path: Path, result: ModelResult) -> None:
    """Add a line to saved results, in place of an incomplete one."""
    with path.open("ab") as file:
        file.truncate(path.read_bytes().rfind(b"\n") + 1)
        fields = asdict(result)
        fields["ways"] = fields.pop("contenders")  # their name in files since the first one
        file.write(json.dumps(fields).encode() + b"\n")


def _parse(fields: Fields) -> ModelResult:
    seconds = None
    if not fields.is_null("training_seconds"):
        seconds = fields.number("training_seconds", 0)
    contenders = tuple(
        ContenderResult(
            each.text("name"),
            auc=each.number("auc", 0, 1),
            log_loss=each.number("log_loss", 0),
            z=each.number("z"),
            seconds=each.number("seconds", 0),
        )
        for each in fields.objects("ways")
    )
    rows = fields.integer("test_rows", 1, 2**62)
    return ModelResult(fields.text("model"), rows, seconds, contenders)


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
