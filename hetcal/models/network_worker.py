"""Inside the child: train the network, report every epoch, keep the best weights."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.errors import ModelError
from hetcal.metrics.metrics import auc, log_loss
from hetcal.models.child import Report
from hetcal.models.network import (
    NetworkSettings,
    Preparation,
    build_core,
    fit_preparation,
    join,
    prepare,
    read_rows,
    settle,
)

# Training rows on which AUC and log-loss are measured each epoch, at most.
SHOWN_ROWS = 100_000
_AT_ONCE = 8192
_PAUSE = 0.3


@dataclass(frozen=True)
class _Part:
    """Rows on which the network is measured."""

    inputs: list[Any]
    y: Any
    weight: Floats | None


@dataclass
class Watch:
    """Measures and reports every epoch, keeps the best weights and stops when cancelled."""

    model: Any
    train: _Part
    validation: _Part
    steps: int
    epochs: int
    report: Report
    cancelled: Callable[[], bool]
    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_weights: Any = None
    last_weights: Any = None
    started: float = 0.0
    reported: float = 0.0
    epoch_started: float = 0.0

    def begin(self, epoch: int, logs: Any = None) -> None:
        """Start the clock of an epoch."""
        self.epoch_started = time.monotonic()

    def step(self, batch: int, logs: Any = None) -> None:
        """Report now and then inside an epoch, and stop when cancelled."""
        now = time.monotonic()
        epoch = len(self.history)
        if epoch == batch == 0:
            self.started = now  # the first step builds the graph and takes longer
        elif now - self.reported > _PAUSE:
            self.reported = now
            self.model.stop_training = self.cancelled()
            self._report_share((epoch + (batch + 1) / self.steps) / self.epochs)

    def end(self, epoch: int, logs: Any = None) -> None:
        """Measure the network and keep its weights if it is the best so far."""
        done: dict[str, float] = {}
        for role, part in (("train", self.train), ("validation", self.validation)):
            done[f"{role}_auc"], done[f"{role}_loss"] = _measure(self.model, part)
        done["seconds"] = time.monotonic() - self.epoch_started
        earlier = (each["validation_auc"] for each in self.history)
        if done["validation_auc"] > max(earlier, default=-1):
            self.best_epoch, self.best_weights = epoch + 1, self.model.get_weights()
        diverged = not np.isfinite(done["validation_loss"])
        self.model.stop_training = diverged or self.cancelled()
        if not diverged:
            self.last_weights = self.model.get_weights()
            self.history.append(done)
            self.report({"done": done})
            self._report_share((epoch + 1) / self.epochs)

    def _report_share(self, fraction: float) -> None:
        left = (time.monotonic() - self.started) * (1 - fraction) / fraction
        self.report({"fraction": fraction, "seconds_left": left})


def train_network(request: dict[str, Any], report: Report, cancelled: Callable[[], bool]) -> None:
    """Train on the rows in the current directory; write `network.keras` and `history.json`.

    If the settings keep it, the network of the last epoch is written to `last.keras`.
    """
    import keras

    settings = NetworkSettings(**request["settings"])
    keras.utils.set_random_seed(settings.seed)
    raw = read_rows(Path())
    train: int = request["train_rows"]
    names = (request["numbers"], request["texts"])
    preparation = fit_preparation(raw, train, names, settings.embed, settings.standardise)
    whole = _Part(prepare(raw, preparation), np.asarray(raw.y), raw.weight)
    core = build_core(preparation, settings)
    watch = Watch(
        core,
        train=_some(whole, _sample(train, settings.seed)),
        validation=_some(whole, slice(train, None)),
        steps=-(-train // settings.batch_size),
        epochs=settings.epochs,
        report=report,
        cancelled=cancelled,
    )
    _fit(watch, _some(whole, slice(train)), settings)
    _save(watch, preparation, settings)


def _fit(watch: Watch, rows: _Part, settings: NetworkSettings) -> None:
    import keras

    watch.model.compile(
        optimizer=keras.optimizers.Adam(settings.learning_rate),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=False,
    )
    callback = keras.callbacks.LambdaCallback(
        on_epoch_begin=watch.begin, on_train_batch_end=watch.step, on_epoch_end=watch.end
    )
    watch.model.fit(
        rows.inputs,
        rows.y.astype(np.float32)[:, None],
        sample_weight=rows.weight,
        batch_size=settings.batch_size,
        epochs=settings.epochs,
        callbacks=[callback],
        verbose=0,
    )


def _measure(model: Any, part: _Part) -> tuple[float, float]:
    """AUC and log-loss; not a number once the network has diverged."""
    logits = model.predict(part.inputs, batch_size=_AT_ONCE, verbose=0)[:, 0].astype(np.float64)
    if not np.isfinite(logits).all():
        return np.nan, np.nan
    return auc(part.y, logits, part.weight), log_loss(part.y, logits, part.weight)


def _save(watch: Watch, preparation: Preparation, settings: NetworkSettings) -> None:
    if watch.best_weights is None:
        raise ModelError(
            "The training diverged: the network's output is no longer a finite number.",
            "A smaller learning rate is needed.",
            "Divide the learning rate by ten and train again.",
        )
    _write(watch.best_weights, preparation, settings, Path("network.keras"))
    if settings.keep_last:
        _write(watch.last_weights, preparation, settings, Path("last.keras"))
    history = {"best_epoch": watch.best_epoch, "epochs": watch.history}
    Path("history.json").write_text(json.dumps(history), encoding="utf-8")


def _write(weights: Any, preparation: Preparation, settings: NetworkSettings, path: Path) -> None:
    core = build_core(preparation, settings)  # anew: without the optimizer's state
    core.set_weights(weights)
    join(preparation, core).save(path)
    settle(path)


def _some(part: _Part, rows: Ints | slice) -> _Part:
    weight = None if part.weight is None else part.weight[rows]
    return _Part([each[rows] for each in part.inputs], part.y[rows], weight)


def _sample(train: int, seed: int) -> Ints | slice:
    if train <= SHOWN_ROWS:
        return slice(train)
    return np.sort(np.random.default_rng(seed).choice(train, SHOWN_ROWS, replace=False))
