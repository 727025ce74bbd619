"""The two built-in examples, and their files to download."""

import streamlit as st

from hetcal.data.demo import DEMO_NETWORK, demo_table, toy_table
from hetcal.data.table import Roles
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring
from pages.shared.display.widgets import downloads
from pages.shared.flow.flow import current_flow
from pages.shared.jobs import start_scoring_job
from pages.shared.state import TableFile, keep_file, start, update

TOY_ROWS = 40_000


def demo_buttons() -> None:
    """Offer the two examples, an own table and a saved artifact."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run the demo",
            type="primary",
            icon=":material/play_circle:",
            on_click=_start_demo,
            help="16,000 synthetic customers and a small network trained for too many epochs",
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
            "customers.keras": DEMO_NETWORK.read_bytes,
            "toy.csv": _toy_csv,
        }
    )


@st.cache_data(show_spinner=False)
def _demo_csv() -> bytes:
    return demo_table().to_csv(index=False).encode()


@st.cache_data(show_spinner=False)
def _toy_csv() -> bytes:
    return toy_table(TOY_ROWS).to_csv(index=False).encode()


def _start_demo() -> None:
    path = keep_file(_demo_csv())
    start(TableFile(path, "customers.csv", path.name))
    update(roles=Roles(label="churned", positive="yes", split="split"))
    model = inspect_model(DEMO_NETWORK)
    inputs = suggest_inputs(model, list(current_flow().source.frame.columns))
    update(scoring=ModelScoring(model, inputs), model=model)
    flow = current_flow()
    start_scoring_job(flow.table, flow.rows_digest, flow.workspace.scoring)


def _start_toy() -> None:
    path = keep_file(_toy_csv())
    start(TableFile(path, "toy.csv", path.name))
    update(
        roles=Roles(label="y", positive="1", split="split", score="score"),
        scoring=ColumnScoring(("score",), "logit"),
    )
