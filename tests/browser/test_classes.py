"""A label of three values, from the upload to the artifact that is opened again."""

import pandas as pd
import pytest
from playwright.sync_api import expect

from hetcal.cli.main import main

pytestmark = pytest.mark.browser


def test_three_classes_go_the_whole_way(visitor, kinds, tmp_path):
    table = tmp_path / "kinds.csv"
    kinds.to_csv(table, index=False)
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.press("Use these columns")
    expect(visitor.page.get_by_text("Next: Partition")).to_be_visible()
    visitor.walk_to("Results")
    assert float(visitor.metric("Macro AUC after")) > float(visitor.metric("Macro AUC before"))
    visitor.choose("Class shown on every page", "cow")
    expect(visitor.page.get_by_role("heading", name="Class cow against all others")).to_be_visible()
    visitor.walk_to("Over-confidence")
    expect(visitor.sidebar.get_by_role("combobox", name="Class shown")).to_have_value("cow")

    visitor.walk_to("Export")
    artifact = visitor.download("artifact.zip", tmp_path)
    scored = pd.read_parquet(visitor.download("scored.parquet", tmp_path))
    again = tmp_path / "again.parquet"
    assert main(["score", str(artifact), str(table), "--out", str(again)]) == 0
    found = pd.read_parquet(again)
    pd.testing.assert_frame_equal(found, scored[list(found.columns)], check_exact=True)
