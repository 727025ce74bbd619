"""The demo: one click loads it, and its files can be downloaded to see what to upload."""

import streamlit as st

from hetcal.data.demo import DEMO_NETWORK, demo_table, toy_table
from hetcal.data.table import Roles
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring
from pages.shared.controls.files import keep
from pages.shared.flow.flow import current_flow
from pages.shared.jobs import start_scoring_job
from pages.shared.state import TableFile, start, update

TOY_ROWS = 40_000


def demo_buttons() -> None:
    """Offer the two built-in examples and the way to one's own data."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run the demo",
            type="primary",
            icon=":material/play_circle:",
            on_click=_start_demo,
            help="16,000 made-up customers and a small network that was trained too long",
        )
        st.button(
            "The paper's example",
            icon=":material/menu_book:",
            on_click=_start_toy,
            help="Section 3 of the paper: one added feature that the model under-uses",
        )
        st.page_link("pages/data.py", label="Use my own table", icon=":material/upload_file:")
        st.page_link("pages/export.py", label="Reopen an artifact", icon=":material/folder_open:")


def demo_files() -> None:
    """Offer the demo's files, so that a newcomer sees what to upload."""
    st.subheader("What to bring", anchor=False)
    st.markdown(
        "- a **table** with a label column, and rows the model was *not* trained on;\n"
        "- a trained **Keras model** (`.keras`, `.h5`), or a column with its scores. "
        "You can also train the paper's network here."
    )
    st.caption("These are the demo's own files: upload them to walk the whole way by hand.")
    files = (
        ("customers.csv", _demo_csv, "text/csv"),
        ("customers.keras", DEMO_NETWORK.read_bytes, "application/octet-stream"),
        ("toy.csv", _toy_csv, "text/csv"),
    )
    with st.container(horizontal=True):
        for name, make, mime in files:
            st.download_button(
                name, make, name, mime, on_click="ignore", icon=":material/download:"
            )


@st.cache_data(show_spinner=False)
def _demo_csv() -> bytes:
    return demo_table().to_csv(index=False).encode()


@st.cache_data(show_spinner=False)
def _toy_csv() -> bytes:
    return toy_table(TOY_ROWS).to_csv(index=False).encode()


def _start_demo() -> None:
    path = keep(_demo_csv())
    start(TableFile(path, "customers.csv", path.name))
    update(roles=Roles(label="churned", positive="yes", split="split"))
    model = inspect_model(DEMO_NETWORK)
    inputs = suggest_inputs(model, list(current_flow().source.frame.columns))
    update(scoring=ModelScoring(model, inputs), model=model)
    flow = current_flow()
    start_scoring_job(flow.table, flow.rows_digest, flow.workspace.scoring)


def _start_toy() -> None:
    path = keep(_toy_csv())
    start(TableFile(path, "toy.csv", path.name))
    update(
        roles=Roles(label="y", positive="1", split="split", score="score"),
        scoring=ColumnScoring(("score",), "logit"),
    )
