"""The paper's Section 3 in pictures that follow a slider, for the first page and for Learn."""

import streamlit as st

from hetcal.figures.example import bells_figure, weight_figure
from hetcal.results.example import (
    BEST_WEIGHT,
    Network,
    areas_by_weight,
    calibrated,
    leaf_densities,
    true_auc,
)
from pages.shared.display.widgets import chart
from pages.shared.links import page_link
from pages.shared.state import kept

TRAINED = Network()
SMALL = 300  # pixels high


def show_small_example() -> None:
    """Let a visitor who has no run yet drag the weight, and see the AUC follow."""
    with st.container(border=True):
        st.markdown(
            "**The idea in one picture.** A network that is too sure of its own score gives a "
            "useful feature *x* too little weight. Training stops at 1.8. **Drag the weight:** new "
            "rows are ranked better, up to 4.4."
        )
        network = Network(choose_weight())
        left, right = st.columns(2, gap="medium")
        with left:
            show_bells(network, "example_bells", SMALL)
        with right:
            show_weights(network, "example_weights", SMALL)
        st.markdown(
            f"Your weight ranks new rows with an AUC of **{true_auc(network):.4f}**. Calibrating "
            "the score where x = 0 and where x = 1 on their own gives "
            f"**{true_auc(calibrated(network)):.4f}**, without training again."
        )
        page_link("pages/learn.py", "Learn why", ":material/school:")


def choose_weight() -> float:
    """Offer the weight of the feature; it is the same on both pages."""
    return st.slider("Weight of the feature", 0.0, 8.0, 1.8, 0.1, **kept("learn_weight"))


def show_bells(shown: Network, key: str, height: int) -> None:
    """Draw the scores of both labels in both leaves."""
    chart(
        bells_figure(leaf_densities(shown), height),
        key=key,
        alt="Densities of the score of both labels in both leaves, on train rows and on new rows",
        how="Filled: new rows. Dotted: train rows, which overlap less and so need the feature "
        "less.",
    )


def show_weights(network: Network, key: str, height: int, after: Network | None = None) -> None:
    """Draw the AUC against the weight, with the network on the curve, and once calibrated."""
    areas = areas_by_weight(network).rename(columns={"truth": "new rows", "train": "train rows"})
    best = BEST_WEIGHT * network.scale
    largest = ("best", "quiet", best, true_auc(calibrated(network)))
    if after is not None:
        largest = ("leaves calibrated", "after", best, true_auc(after))
    marks = [
        ("training", "train", TRAINED.weight, true_auc(TRAINED)),
        largest,
        ("your weight", "before", network.weight, true_auc(network)),
    ]
    chart(
        weight_figure(areas, marks, "weight of the feature", height),
        key=key,
        alt="AUC on new rows and on train rows against the weight of the feature",
        how="Train rows (dotted) are ranked best with a small weight, new rows with a larger one.",
    )
