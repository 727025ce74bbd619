"""The benchmark: every scheme and its rivals on real data and trained networks."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from hetcal.benchmarks.contenders import NETWORK, Contender, all_contenders
from hetcal.benchmarks.data import (
    DATA_SETS,
    BenchmarkTable,
    DataSet,
    data_sets,
    fetch_data_set,
    read_data_set,
)
from hetcal.benchmarks.networks import (
    BenchmarkRows,
    Job,
    ScoredModel,
    rows_of,
    saved_jobs,
    training_jobs,
)
from hetcal.data.scores import to_logits
from hetcal.errors import HetcalError, ScoreError
from hetcal.files import write_file
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import log_loss
from hetcal.strict_json import Fields, JsonError, parse_object

FEW_MODELS = 2


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    data: Path | None  # folder of the data sets; None fetches them from OpenML
    names: tuple[str, ...] = ()  # the data sets; empty means all
    models: int | None = None  # networks of each data set; None means two, or all that were saved
    seed: int = 0  # of the first training, and of every contender
    scores: Path | None = None  # folder of saved scores, in place of training networks
    save: Path | None = None  # file of results; those in it are not measured again


@dataclass(frozen=True)
class ContenderResult:
    """One contender on the test rows of one model."""

    name: str
    auc: float
    log_loss: float
    z: float  # paired DeLong test against the network
    seconds: float  # to fit and to score the test rows


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


def run_benchmark(
    plan: Plan, contenders: Mapping[str, Contender] | None = None
) -> Iterator[ModelResult]:
    """Yield the results of some contenders, or of all, model by model; saved ones come at once."""
    contenders = all_contenders() if contenders is None else contenders
    known = {} if plan.save is None else read_results(plan.save)
    complete = {name for name, each in known.items() if all(map(each.contender, contenders))}
    found = 0
    for data_set in data_sets(plan.names):
        table = None
        for job in _jobs(data_set, plan):
            found += 1
            if complete.issuperset(job.names):
                yield from (known[name] for name in job.names)
                continue
            table = table or _load(data_set, plan.data)
            for model in job.work(table):
                rows = rows_of(table, model, plan.seed)
                result = measure(model, rows, contenders, known.get(model.name))
                if plan.save is not None:
                    append_result(plan.save, result)
                yield result
    if not found:
        wanted = ", ".join(plan.names) or "any data set"
        raise ScoreError(
            f"The folder '{plan.scores}' has no scores of {wanted}.",
            "Saved scores are files such as higgs-w1-none-std-lr0.001-best-s0.npz, whose name "
            "begins with that of the data set.",
            "Check the folder, or leave the option out to train networks.",
        )


def _load(data_set: DataSet, folder: Path | None) -> BenchmarkTable:
    return fetch_data_set(data_set) if folder is None else read_data_set(data_set, folder)


def _jobs(data_set: DataSet, plan: Plan) -> Iterator[Job]:
    if plan.scores is not None:
        return saved_jobs(data_set.name, plan.scores, plan.models)
    first = DATA_SETS.index(data_set)
    return training_jobs(data_set.name, first, plan.models or FEW_MODELS, plan.seed)


def measure(
    model: ScoredModel,
    rows: BenchmarkRows,
    contenders: Mapping[str, Contender],
    before: ModelResult | None = None,
) -> ModelResult:
    """Measure all contenders on a model but those that were measured before."""
    done = {each.name: each for each in before.contenders} if before else {}
    network = _measure(NETWORK, contenders[NETWORK], rows)
    if NETWORK in done and done[NETWORK].auc != network.auc:
        done = {}  # another network of the same name
    done = {NETWORK: network, **done}
    results = [done.get(name) or _measure(name, one, rows) for name, one in contenders.items()]
    seconds = model.training_seconds
    return ModelResult(model.name, rows.test.y.size, seconds, tuple(results))


def _measure(name: str, contender: Contender, rows: BenchmarkRows) -> ContenderResult:
    started = time.perf_counter()
    after = np.asarray(contender(rows), dtype=np.float64)
    seconds = time.perf_counter() - started
    lift = paired_delong(rows.test.y, rows.test.scores, after)
    # Some contenders give probabilities, which are clipped; so the others are clipped as well.
    loss = log_loss(rows.test.y, to_logits(expit(after)))
    return ContenderResult(name, auc=lift.after, log_loss=float(loss), z=lift.z, seconds=seconds)


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
    known = path.read_bytes() if path.exists() else b""
    fields = asdict(result)
    fields["ways"] = fields.pop("contenders")  # their name in files since the first one
    whole = known[: known.rfind(b"\n") + 1]
    write_file(path, whole + json.dumps(fields).encode() + b"\n")


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
