"""What a user gave and chose for one run, as an object and as JSON."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from hetcal.choices import ClassMethod
from hetcal.data.array_files import ArrayFile
from hetcal.data.table import Roles
from hetcal.data.text import Dialect
from hetcal.digests import file_digest
from hetcal.errors import ModelError
from hetcal.models.file import ModelFile, described, inspect_model
from hetcal.models.inputs import ArrayInput, InputColumns
from hetcal.models.scoring import ColumnScoring, ModelScoring, Scoring
from hetcal.models.steps import ColumnStep, InputSteps
from hetcal.models.training import TrainedNetwork
from hetcal.partitions.partition import Partition
from hetcal.runs.settings import Settings
from hetcal.store.store import StoredRun

ALL_ROWS = 0
EMBEDDINGS = "embeddings"  # the role of a file with an array of them, beside those of the rows,
RAW_TABLE = "raw columns"  # of a second table with the columns that partitions read,
UNDONE = "steps to undo"  # and of a file that says how columns were scaled
BESIDE = (EMBEDDINGS, RAW_TABLE, UNDONE)
RECOMMENDED = Settings(partition="auto")
Plain = TypeVar("Plain", Roles, Settings, Dialect, ColumnScoring, ColumnStep)


@dataclass(frozen=True)
class TableFile:
    """A file with rows on the machine that runs hetcal."""

    path: Path  # uploads are kept under their digest
    name: str  # as the user calls it: text to show, never a path to open
    stamp: str  # changes with the content
    role: str | None = None  # of its rows, when each role has a file of its own
    dialect: Dialect | None = None  # None: detected
    key: str | None = None  # column that joins a second table; None: found, or the order of rows


@dataclass(frozen=True)
class Workspace:
    """Everything the user gave or chose; every result is a function of it."""

    files: tuple[TableFile, ...] = ()  # one, or one per role, and what stands beside them
    roles: Roles | None = None
    guessed: tuple[tuple[str, str], ...] = ()  # fields of the roles and their unconfirmed guesses
    settings: Settings = field(default_factory=lambda: RECOMMENDED)
    model: ModelFile | None = None  # uploaded or trained here
    network: TrainedNetwork | None = None  # what training here produced; its model is `model`
    scoring: Scoring | None = None
    partition: Partition | None = None  # a loaded one, in place of the tree
    leaf: int = ALL_ROWS  # shown on every page
    classes: tuple[str, ...] | None = None  # in the order of the scores; None: ascending
    class_shown: str | None = None  # against all others, on every page; None: the first
    class_method: ClassMethod = "vector"
    all_rows: bool = False  # compute on all rows of a large table instead of a sketch
    compared: tuple[int | str, ...] = ()  # leaves, branches and cohorts that stand side by side
    saved: TableFile | None = None  # an artifact whose run is explored, without a table


def state_of(workspace: Workspace, run: StoredRun) -> dict[str, Any]:
    """Return a workspace as JSON; files in the folder of its run are named by their place in it."""
    here, network = workspace, workspace.network
    state: dict[str, Any] = {
        "files": [_file_state(each, run) for each in here.files],
        "roles": None if here.roles is None else asdict(here.roles),
        "guessed": here.guessed,
        "settings": asdict(here.settings),
        "model": None if here.model is None else _model_state(here.model, run),
        "network": None if network is None else _network_state(network, run),
        "scoring": None if here.scoring is None else _scoring_state(here.scoring, run),
        "partition": None if here.partition is None else here.partition.to_json(),
        "saved": None if here.saved is None else _file_state(here.saved, run),
    }
    for name in ("leaf", "classes", "class_shown", "class_method", "all_rows", "compared"):
        state[name] = getattr(here, name)
    # As it will be read again: a tuple is a list there.
    plain: dict[str, Any] = json.loads(json.dumps(state))
    return plain


def workspace_of(run: StoredRun) -> Workspace:
    """Read the workspace of a run; a model file that has changed is inspected again."""
    state = run.state
    if not state:
        return Workspace()
    partition, network, scoring = (state[name] for name in ("partition", "network", "scoring"))
    return Workspace(
        files=tuple(_file(each, run) for each in state["files"]),
        roles=None if state["roles"] is None else _plain(Roles, state["roles"]),
        guessed=tuple((name, value) for name, value in state["guessed"]),
        settings=_plain(Settings, state["settings"]),
        model=None if state["model"] is None else _model(state["model"], run),
        network=None if network is None else _network(network, run),
        scoring=None if scoring is None else _scoring(scoring, run),
        partition=None if partition is None else Partition.from_json(partition),
        leaf=state["leaf"],
        classes=None if state["classes"] is None else tuple(state["classes"]),
        class_shown=state["class_shown"],
        class_method=state["class_method"],
        all_rows=state["all_rows"],
        compared=tuple(state.get("compared", ())),  # runs of before have none
        saved=None if state["saved"] is None else _file(state["saved"], run),
    )


def _plain(kind: type[Plain], given: Mapping[str, Any]) -> Plain:
    """Make an object of texts, numbers and tuples; a field that is no more is left out."""
    known = {each.name for each in fields(kind)}
    values = {name: _tuples(value) for name, value in given.items() if name in known}
    return kind(**values)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _place(path: Path, run: StoredRun) -> str:
    inside = path.is_relative_to(run.folder)
    return path.relative_to(run.folder).as_posix() if inside else str(path.absolute())


def _file_state(file: TableFile, run: StoredRun) -> dict[str, Any]:
    return {**asdict(file), "path": _place(file.path, run)}


def _file(state: Mapping[str, Any], run: StoredRun) -> TableFile:
    dialect = None if state["dialect"] is None else _plain(Dialect, state["dialect"])
    path = run.folder / state["path"]
    key = state.get("key")  # files of before have none
    return TableFile(path, state["name"], state["stamp"], state["role"], dialect, key)


def _model_state(model: ModelFile, run: StoredRun) -> dict[str, Any]:
    about = {"digest": model.digest, "description": asdict(model.description)}
    return {"path": _place(model.path, run), "name": model.name, **about}


def _model(state: Mapping[str, Any], run: StoredRun) -> ModelFile:
    path, name, digest = run.folder / state["path"], state["name"], state.get("digest")
    if digest is not None and file_digest(path) == digest:
        with suppress(ModelError):  # another version of hetcal described it in another way
            return described(path, name, digest, state["description"])
    return inspect_model(path, name=name)


def _network_state(network: TrainedNetwork, run: StoredRun) -> dict[str, Any]:
    path = run.keep_file(network.content, ".keras")
    history = network.history.to_dict("list")
    return {"path": _place(path, run), "history": history, "best_epoch": network.best_epoch}


def _network(state: Mapping[str, Any], run: StoredRun) -> TrainedNetwork:
    content, history = (run.folder / state["path"]).read_bytes(), pd.DataFrame(state["history"])
    return TrainedNetwork(content, history, state["best_epoch"])


def _scoring_state(scoring: Scoring, run: StoredRun) -> dict[str, Any]:
    if isinstance(scoring, ColumnScoring):
        return {"columns": scoring.columns, "kind": scoring.kind}
    return {
        "model": _model_state(scoring.model, run),
        "inputs": scoring.inputs.columns,
        "steps": [asdict(each) for each in scoring.inputs.steps.steps],
        "arrays": [_array_state(each, run) for each in scoring.inputs.arrays],
        "output": scoring.output,
        "positive_unit": scoring.positive_unit,
        "layer": scoring.layer,
    }


def _scoring(state: Mapping[str, Any], run: StoredRun) -> Scoring:
    if "columns" in state:
        return _plain(ColumnScoring, state)
    # Runs of before have no steps.
    steps = InputSteps(tuple(_plain(ColumnStep, each) for each in state.get("steps", ())))
    arrays = tuple(_array(each, run) for each in state.get("arrays", ()))
    inputs = InputColumns(_tuples(state["inputs"]), steps, arrays)
    rest = state["output"], state["positive_unit"], state["layer"]
    return ModelScoring(_model(state["model"], run), inputs, *rest)


def _array_state(array: ArrayInput, run: StoredRun) -> dict[str, Any]:
    path = None if array.file.path is None else _place(array.file.path, run)
    return {**asdict(array), "file": {**asdict(array.file), "path": path}}


def _array(state: Mapping[str, Any], run: StoredRun) -> ArrayInput:
    facts = {name: _tuples(value) for name, value in state["file"].items()}
    file = ArrayFile(**{**facts, "path": run.folder / state["file"]["path"]})
    return ArrayInput(state["input"], file, state["scale"])


def about(workspace: Workspace) -> dict[str, Any]:
    """Return a few facts to list a run by: table, model or score columns, label, scheme."""
    roles, scoring, saved = workspace.roles, workspace.scoring, workspace.saved
    model = scoring.model.name if isinstance(scoring, ModelScoring) else None
    columns = ", ".join(scoring.columns) if isinstance(scoring, ColumnScoring) else None
    return {
        "table": ", ".join(each.name for each in workspace.files) or None,
        "saved": None if saved is None else saved.name,
        "model": model or columns,
        "label": None if roles is None else roles.label,
        "positive": None if roles is None else roles.positive,
        "scheme": workspace.settings.take or workspace.settings.partition,
    }


def remember(run: StoredRun, workspace: Workspace, **facts: Any) -> StoredRun:
    """Return a run with this workspace; `facts` are listed beside those of the workspace."""
    listed = {**run.about, **about(workspace), **facts}
    return replace(run, state=state_of(workspace, run), about=listed)
