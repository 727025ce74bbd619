"""The built-in examples: the demo with one of its networks, the paper's toy; their files."""

from contextlib import suppress
from functools import cache
from threading import Timer

import streamlit as st

from hetcal.data.demo import DEMO_NETWORKS, TOY_ROWS, demo_table, toy_table
from hetcal.data.table import Roles
from hetcal.errors import ModelError
from hetcal.models.file import ModelFile, inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring
from hetcal.notebook.calibrate import calibrate
from hetcal.store.workspace import workspace_of
from pages.shared.display.widgets import downloads
from pages.shared.flow.flow import current_flow
from pages.shared.links import page_link
from pages.shared.state import (
    TableFile,
    Workspace,
    accepted,
    bound,
    current_run,
    open_run,
    opened_here,
    rename,
    started,
    store,
    told_next,
    update,
    workspace,
)

AT_EASE = 2.0  # seconds after the first page was asked for, when it is there
REHEARSED = 2_000  # rows


@st.cache_resource(show_spinner=False)
def prepare_demo() -> Timer:
    """Get ready for the first run, once per server, while somebody reads the first page."""
    later = Timer(AT_EASE, _make_ready)
    later.daemon = True
    later.start()
    return later


def _make_ready() -> None:
    # A first run loads libraries and compiled functions.
    toy = toy_table(REHEARSED)
    calibrate(toy, "y", "score", split="split", positive=1, partition="tree")
    _demo_csv()
    with suppress(ModelError):  # whoever runs the demo is told
        _demo_model(next(iter(DEMO_NETWORKS)))


def begin_buttons() -> None:
    """Offer the two examples, an own table and a saved artifact."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run the demo",
            type="secondary" if started() else "primary",
            icon=":material/play_circle:",
            on_click=_start_demo,
            args=(next(iter(DEMO_NETWORKS)),),
            help="16,000 synthetic customers and a small network trained for too many epochs",
        )
        st.button(
            "The paper's example",
            icon=":material/menu_book:",
            on_click=_start_toy,
            help="Section 3 of the paper: one added feature that the model under-uses",
        )
        page_link("pages/data.py", "Use my own table", ":material/upload_file:")
        page_link("pages/export.py", "Reopen an artifact", ":material/folder_open:")
    prepare_demo()


def demo_networks() -> None:
    """Offer the demo's networks, one of which may be shown now; with an own table, nothing."""
    used = _network_of(workspace())
    if used or not started():
        st.radio(
            "The demo's customers, scored by a network that is",
            list(DEMO_NETWORKS),
            index=None,
            captions=None if used else [each.words for each in DEMO_NETWORKS.values()],
            horizontal=True,
            **bound("demo_network", used, _start_demo),
        )


def demo_files() -> None:
    """Say what the user needs, with the files of the examples."""
    st.subheader("What you need", anchor=False)
    st.markdown(
        "- a **table** with a label column and rows that the model was *not* trained on;\n"
        "- a trained **Keras model** (`.keras`, `.h5`), or a column with its scores. "
        "You can also train the paper's network here."
    )
    st.caption("The files of the examples. Upload them to try every step yourself.")
    downloads(
        {
            "customers.csv": _demo_csv,
            **{each.file.name: each.content for each in DEMO_NETWORKS.values()},
            "toy.csv": _toy_csv,
        }
    )


@cache
def _demo_csv() -> bytes:
    return demo_table().to_csv(index=False).encode()


@cache
def _demo_model(name: str) -> ModelFile:
    return inspect_model(DEMO_NETWORKS[name].file)


@cache
def _toy_csv() -> bytes:
    return toy_table(TOY_ROWS).to_csv(index=False).encode()


@told_next()
def _start_demo(name: str) -> None:
    """Take up the run of one of the demo's networks, or begin it: each has a run of its own."""
    for run in store().all():
        if run.id in opened_here() and _network_of(workspace_of(run)) == name:
            open_run(run.id)
            return
    _begin("customers.csv", _demo_csv())
    rename(current_run().id, f"Demo, {name} network")
    update(roles=Roles(label="churned", positive="yes", split="split"))
    model = _demo_model(name)
    inputs = suggest_inputs(model, list(current_flow().source.frame.columns))
    update(scoring=ModelScoring(model, inputs), model=model)


def _begin(name: str, content: bytes) -> None:
    run = store().new(name)
    path = run.keep_file(content)
    here = Workspace((TableFile(path, name, path.name),))
    accepted(run, here, rows=content.count(b"\n") - 1)


def _network_of(here: Workspace) -> str | None:
    """Return the name of the demo's network that scores a table, if one does."""
    scoring = here.scoring
    used = scoring.model.path if isinstance(scoring, ModelScoring) else None
    return next((name for name, each in DEMO_NETWORKS.items() if each.file == used), None)


@told_next()
def _start_toy() -> None:
    _begin("toy.csv", _toy_csv())
    update(
        roles=Roles(label="y", positive="1", split="split", score="score"),
        scoring=ColumnScoring(("score",), "logit"),
    )
