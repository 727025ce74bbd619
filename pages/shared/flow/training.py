"""The network that is trained for a run: asked for, taken when it is ready, offered or in use."""

from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.network import NetworkSettings
from hetcal.models.scoring import ModelScoring
from hetcal.models.training import TrainedNetwork
from hetcal.store.work import TrainNetwork
from pages.shared.flow.flow import Flow
from pages.shared.jobs import TRAINING, ask, forget, training_job
from pages.shared.state import current_run, keep_file, told_next, update, workspace


def train_network(flow: Flow, settings: NetworkSettings) -> None:
    """Train the paper's network on the rows of a flow."""
    run, given = current_run(), (flow.table, flow.split, settings)
    forget(f"{run.id} {TRAINING}")
    run.forget_result(TRAINING)
    ask(TRAINING, "Training a network", lambda kept: TrainNetwork(kept, TRAINING, *given), run)


def collect_network() -> None:
    """Take a network that is ready; its scores replace no others unless the user says so.

    It waits in the folder of the run, where a server that was restarted finds it, too. A whole run
    of a page does this, not the fragment that looks at the job: while a fragment is busy, its next
    look can undo a click on the menu.
    """
    run, job = current_run(), training_job()
    if job is not None and job.state == "done":
        forget(job.key)
    elif run is None or job is not None or not run.has_result(TRAINING):
        return
    network: TrainedNetwork | None = run.result(TRAINING)
    if network is None:
        return
    update(network=network)
    if workspace().network is not network:
        return  # it could not be kept, and waits
    run.forget_result(TRAINING)
    if workspace().scoring is None:
        use_network()


@told_next()
def use_network() -> None:
    """Score the rows with the network that was trained here."""
    path = keep_file(workspace().network.content, ".keras")
    model = inspect_model(path, name="the trained network")
    inputs = suggest_inputs(model, [each.name for each in model.inputs])
    update(model=model, scoring=ModelScoring(model, inputs))
