"""The benchmark: every scheme and its rivals on real data and trained networks."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from hetcal.benchmarks.contenders import NETWORK, Contender, all_contenders
from hetcal.benchmarks.data import BenchmarkTable, DataSet, data_sets, fetch_data_set, read_data_set
from hetcal.benchmarks.networks import (
    BenchmarkRows,
    Job,
    ScoredModel,
    rows_of,
    saved_jobs,
    training_jobs,
)
from hetcal.benchmarks.tables import ContenderResult, ModelResult, append_result, read_results
from hetcal.data.scores import to_logits
from hetcal.errors import ScoreError
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import log_loss

FEW_MODELS = 2


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Parameters
    ----------
    data : Path or None
        Folder of the data sets; None fetches them from OpenML.
    names : tuple of str
        The data sets; empty means all.
    models : int or None
        Networks of each data set; None means two, or all that were saved.
    seed : int
        Seed of the first training, and of every contender.
    scores : Path or None
        Folder of saved scores, in place of training networks.
    save : Path or None
        File of results; those in it are not measured again.
    """

    data: Path | None
    names: tuple[str, ...] = ()
    models: int | None = None
    seed: int = 0
    scores: Path | None = None
    save: Path | None = None


def run_benchmark(
    plan: Plan, contenders: Mapping[str, Contender] | None = None
) -> Iterator[ModelResult]:
    """Yield the results of some contenders, or of all, model by model; saved ones come at once."""
    contenders = all_contenders() if contenders is None else contenders
    known = {} if plan.save is None else read_results(plan.save)
    found = 0
    for data_set in data_sets(plan.names):
        table = None
        for job in _jobs(data_set, plan):
            found += 1
            if all(name in known and _has_all(known[name], contenders) for name in job.names):
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
        raise _no_scores(plan)


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


def _has_all(result: ModelResult, contenders: Mapping[str, Contender]) -> bool:
    return {each.name for each in result.contenders} >= set(contenders)


def _measure(name: str, contender: Contender, rows: BenchmarkRows) -> ContenderResult:
    started = time.perf_counter()
    after = np.asarray(contender(rows), dtype=np.float64)
    seconds = time.perf_counter() - started
    lift = paired_delong(rows.test.y, rows.test.scores, after)
    # Some contenders give probabilities, which are clipped; so the others are clipped as well.
    loss = log_loss(rows.test.y, to_logits(expit(after)))
    return ContenderResult(name, auc=lift.after, log_loss=float(loss), z=lift.z, seconds=seconds)


def _load(data_set: DataSet, folder: Path | None) -> BenchmarkTable:
    return fetch_data_set(data_set) if folder is None else read_data_set(data_set, folder)


def _jobs(data_set: DataSet, plan: Plan) -> Iterator[Job]:
    if plan.scores is not None:
        return saved_jobs(data_set.name, plan.scores, plan.models)
    first = data_sets().index(data_set)
    return training_jobs(data_set.name, first, plan.models or FEW_MODELS, plan.seed)


def _no_scores(plan: Plan) -> ScoreError:
    return ScoreError(
        f"The folder '{plan.scores}' has no scores of {', '.join(plan.names) or 'any data set'}.",
        "Saved scores are files such as higgs-w1-none-std-lr0.001-best-s0.npz, whose name begins "
        "with that of the data set.",
        "Check the folder, or leave the option out to train networks.",
    )
