"""From upload to download: the app, the command line and a reopened artifact agree."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.data.demo import write_demo
from tests.browser.server import ROOT
from tests.browser.visitor import MENU
from tests.models.model_files import draw_truth, model_files

pytestmark = [pytest.mark.browser, pytest.mark.network]

ROWS = 6_000
MODEL_ORDER = ("age", "fee", "use")
SCORED = ["row", "leaf", "score", "before", "after"]
LEAF_PAGES = MENU[3:7]


def logits(x):
    """What the network in sigmoid.keras says, in plain numpy."""
    w1, b1, w2, b2 = (draw_truth()[name].astype(float) for name in ("W1", "b1", "W2", "b2"))
    return (np.maximum(x @ w1 + b1, 0) @ w2 + b2)[:, 0]


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """A table in which the network is too confident and blind to the segment."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(ROWS, 3)).round(3)
    segment = rng.choice(["new", "old", "lost"], ROWS)
    shift = pd.Series(segment).map({"new": 1.5, "old": -1.5, "lost": 0.0})
    bought = rng.uniform(size=ROWS) < expit(0.4 * logits(x) + shift)
    frame = pd.DataFrame(dict(zip(MODEL_ORDER, x.T, strict=True)))[["use", "age", "fee"]]
    frame = frame.assign(segment=segment, bought=np.where(bought, "yes", "no"))
    path = tmp_path_factory.mktemp("customers") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


def upload(visitor, table, model):
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.page.get_by_role("radio", name="A Keras model").click()
    visitor.upload("Keras model", model)


def confirm_columns(visitor):
    """Nothing can be scored before the person has said which columns, in which order."""
    score = visitor.page.get_by_role("button", name="Score the rows")
    expect(score).to_be_disabled()
    visitor.choose_many("Input 'x': 3 columns", MODEL_ORDER)
    expect(score).to_be_disabled()
    visitor.page.get_by_text("The model was trained on these columns, in this order").click()
    expect(score).to_be_enabled()


def score(visitor):
    visitor.press("Score the rows")
    expect(visitor.page.get_by_test_id("stAlert").filter(has_text="sigmoid")).to_be_visible()
    visitor.settle()


def choose_by_picture(visitor, index):
    visitor.grow_one_tree()
    visitor.click_marker(visitor.page.locator(".js-plotly-plot").last, index)
    visitor.expect_leaf(index + 1)


def choose_by_row(visitor, index):
    visitor.walk_to("Partition")
    visitor.click_row(visitor.page.get_by_test_id("stDataFrame").last, index)
    visitor.expect_leaf(index + 1)


def see_at(visitor, name, leaf):
    visitor.walk_to(name)
    visitor.expect_leaf(leaf)


def download(visitor, directory):
    """Download the artifact and the scored table."""
    visitor.walk_to("Export")
    return [visitor.download(name, directory) for name in ("artifact.zip", "scored.parquet")]


def score_by_command_line(artifact, table, directory):
    out = directory / "by_command_line.parquet"
    command = [sys.executable, "-m", "hetcal", "score", artifact, table, "--out", out]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def score_reopened(visitor, artifact, table, directory):
    visitor.page.get_by_role("tab", name="Reopen an artifact").click()
    visitor.upload("Artifact (zip)", artifact)
    visitor.upload("Table (CSV", table)
    expect(visitor.page.get_by_text(f"rows of {table.name} scored")).to_be_visible()
    reopened = directory / "reopened"
    reopened.mkdir()
    return visitor.download("scored.parquet", reopened)


def bits(path):
    frame = pd.read_parquet(path)
    return {name: frame[name].to_numpy().tobytes() for name in SCORED}


def test_the_app_the_command_line_and_the_reopened_artifact_agree_bit_for_bit(
    visitor, customers, tmp_path
):
    upload(visitor, customers, model_files() / "sigmoid.keras")
    confirm_columns(visitor)
    score(visitor)
    choose_by_picture(visitor, 1)
    for name in LEAF_PAGES:
        see_at(visitor, name, 2)
    choose_by_row(visitor, 2)
    see_at(visitor, "Results", 3)
    auc = [float(visitor.metric(name)) for name in ("AUC before", "AUC after")]
    artifact, scored = download(visitor, tmp_path)

    by_command_line = score_by_command_line(artifact, customers, tmp_path)
    reopened = score_reopened(visitor, artifact, customers, tmp_path)
    assert bits(scored) == bits(by_command_line)
    assert reopened.read_bytes() == by_command_line.read_bytes()

    frame = pd.read_parquet(scored)
    truth = logits(pd.read_csv(customers)[list(MODEL_ORDER)].to_numpy())
    np.testing.assert_allclose(frame["score"], truth, atol=1e-4)
    test = frame[frame["role"] == "test"]
    y = test["label"] == "yes"
    assert auc == pytest.approx(
        [roc_auc_score(y, test["before"]), roc_auc_score(y, test["after"])], abs=5.1e-5
    )
    assert auc[1] > auc[0] + 0.02


def test_named_inputs_find_their_columns_and_results_come_where_they_are_waited_for(
    visitor, tmp_path
):
    table, model, *_ = write_demo(tmp_path / "demo")
    upload(visitor, table, model)
    expect(visitor.page.get_by_text("inputs has the name of a column")).to_be_visible()
    visitor.press("Score the rows")
    visitor.walk_to("Results")
    expect(visitor.page.get_by_text("Heterogeneous calibration helps")).to_be_visible()
    expect(visitor.page.get_by_role("heading", name="Results", level=1)).to_be_visible()
    artifact, scored = download(visitor, tmp_path)
    assert bits(scored) == bits(score_by_command_line(artifact, table, tmp_path))
