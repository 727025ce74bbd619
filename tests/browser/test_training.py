"""The paper's network is trained while the person watches, and stops on a click."""

import re

import pytest
from playwright.sync_api import expect

from hetcal.data.demo import demo_table
from hetcal.models.file import inspect_model

pytestmark = [pytest.mark.browser, pytest.mark.network]

EPOCHS = 500


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "customers.csv"
    demo_table(3_000).to_csv(path, index=False)
    return path


def start(visitor, table):
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.page.get_by_role("radio", name="Train the paper's network").click()
    epochs = visitor.page.get_by_role("spinbutton", name="Epochs")
    epochs.fill(str(EPOCHS))
    epochs.press("Tab")
    visitor.press("Train")


def test_a_stopped_training_keeps_its_best_epoch(visitor, table, tmp_path):
    start(visitor, table)
    expect(visitor.page.get_by_text(re.compile(rf"\d+ of {EPOCHS} epochs done"))).to_be_visible()
    # A chart that is being replaced stays for a moment, out of sight.
    expect(visitor.page.locator(".js-plotly-plot").first).to_be_visible()
    visitor.press("Stop and keep the best epoch so far")

    kept = visitor.page.get_by_text("has the best validation AUC and is kept")
    expect(kept).to_be_visible()
    best = int(re.search(r"Epoch (\d+) has", kept.inner_text())[1])
    assert 1 <= best < EPOCHS
    expect(visitor.page.get_by_text("Rows with a score")).to_be_visible()
    model = visitor.download("Download the trained model (.keras)", tmp_path)
    names = {each.name for each in inspect_model(model).inputs}
    assert {"contract", "tenure_months", "usage_1"} <= names
    visitor.grow_one_tree()
    visitor.walk_to("Results")
    assert 0.5 < float(visitor.metric("AUC before")) < 1
