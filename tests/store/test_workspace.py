from dataclasses import replace

import pandas as pd
import pytest

from hetcal.data.demo import DEMO_NETWORKS
from hetcal.data.table import Roles
from hetcal.data.text import Dialect
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import ColumnScoring, ModelScoring
from hetcal.models.steps import ColumnStep, InputSteps
from hetcal.models.training import TrainedNetwork
from hetcal.partitions.tree import TreePartition
from hetcal.runs.settings import Settings
from hetcal.store import workspace
from hetcal.store.store import Store
from hetcal.store.workspace import TableFile, Workspace, about, remember, workspace_of


def again(store, run, workspace):
    """Keep a workspace, and read it as another process would."""
    store.change(run.id, None, lambda old: remember(old, workspace))
    return workspace_of(Store(store.folder).get(run.id))


def test_a_new_run_has_an_empty_workspace(tmp_path):
    assert workspace_of(Store(tmp_path).new("r")) == Workspace()


def test_all_that_the_user_gave_and_chose_is_read_as_it_was(tmp_path):
    store = Store(tmp_path)
    run = store.new("r")
    path = run.keep_file(b"a;y\n1;0\n")
    given = Workspace(
        files=(TableFile(path, "rows.csv", path.name, "train", Dialect(";", decimal=",")),),
        roles=Roles("y", "1", ("a", "b"), ignore=("c",), class_scores=("p", "q"), time="t"),
        guessed=(("label", "y"),),
        settings=Settings(partition="additive", increasing=("a",), shrinkage="cv", take="tree"),
        scoring=ColumnScoring(("p", "q"), "probability"),
        leaf=3,
        classes=("u", "v", "w"),
        class_shown="v",
        class_method="matrix",
        all_rows=True,
    )
    assert again(store, run, given) == given


def test_files_move_with_the_folder_of_the_store(tmp_path):
    store = Store(tmp_path / "here")
    run = store.new("r")
    path = run.keep_file(b"rows")
    given = Workspace((TableFile(path, "rows.csv", path.name),))
    store.change(run.id, None, lambda old: remember(old, given))
    (tmp_path / "here").rename(tmp_path / "there")
    moved = workspace_of(Store(tmp_path / "there").get(run.id)).files[0].path
    assert moved.read_bytes() == b"rows"
    assert moved.is_relative_to(tmp_path / "there")


def test_a_model_and_a_network_that_was_trained_are_read_as_they_were(tmp_path):
    store = Store(tmp_path)
    run = store.new("r")
    content = next(iter(DEMO_NETWORKS.values())).content()
    model = inspect_model(run.keep_file(content, ".keras"), name="mine.keras")
    steps = InputSteps((ColumnStep("income", "standardise", 1 / 3, 2e4), ColumnStep("age", "log")))
    inputs = InputColumns(tuple((each.name, (each.name,)) for each in model.inputs), steps)
    history = pd.DataFrame({"epoch": [1, 2], "train_auc": [0.5, 0.75]})
    given = Workspace(
        model=model,
        scoring=ModelScoring(model, inputs, positive_unit=0),
        network=TrainedNetwork(content, history, 2),
    )
    found = again(store, run, given)
    assert replace(found, network=None) == replace(given, network=None)
    assert (found.network.content, found.network.best_epoch) == (content, 2)
    pd.testing.assert_frame_equal(found.network.history, history)


@pytest.mark.parametrize("same", [True, False])
def test_a_model_is_looked_into_again_only_if_its_file_has_changed(tmp_path, monkeypatch, same):
    store = Store(tmp_path)
    run = store.new("r")
    content = next(iter(DEMO_NETWORKS.values())).content()
    model = inspect_model(run.keep_file(content, ".keras"), name="mine.keras")
    looked = []
    monkeypatch.setattr(workspace, "inspect_model", lambda path, name: looked.append(path) or model)
    if not same:
        model = replace(model, digest="of another content")
    assert again(store, run, Workspace(model=model)).model == model
    assert looked == ([] if same else [model.path])


def test_a_loaded_partition_is_read_as_it_was(tmp_path):
    store = Store(tmp_path)
    X = pd.DataFrame({"a": range(100)})
    partition = TreePartition(1).fit(X, [0] * 50 + [1] * 50).partition_
    found = again(store, store.new("r"), Workspace(partition=partition))
    assert found.partition.digest == partition.digest


def test_fields_that_a_later_version_no_longer_has_are_left_out(tmp_path):
    store = Store(tmp_path)
    run = store.new("r")
    run = store.change(run.id, None, lambda old: remember(old, Workspace(roles=Roles("y"))))
    run.state["settings"]["gone"] = 1
    assert workspace_of(run) == Workspace(roles=Roles("y"))


@pytest.mark.parametrize(
    ("scoring", "model"), [(None, None), (ColumnScoring(("p",), "logit"), "p")]
)
def test_a_run_is_listed_by_its_table_its_scores_and_its_label(tmp_path, scoring, model):
    file = TableFile(tmp_path / "x", "rows.csv", "x")
    given = Workspace((file,), roles=Roles("y", "1"), scoring=scoring)
    assert about(given) == {
        "table": "rows.csv",
        "saved": None,
        "model": model,
        "label": "y",
        "positive": "1",
        "scheme": "auto",
    }
