"""A file that cannot be used is named in words, and the page goes on working."""

import pytest
from playwright.sync_api import expect

from hetcal.data.demo import toy_table

pytestmark = pytest.mark.browser


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "toy.csv"
    toy_table(2_000).to_csv(path, index=False)
    return path


def test_an_empty_table_is_refused_and_another_one_taken(visitor, table, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.touch()
    visitor.open()
    visitor.walk_to("Data")
    visitor.upload("Table (CSV", empty)
    expect(visitor.alert("empty.csv")).to_be_visible()
    expect(visitor.exceptions).to_have_count(0)

    visitor.upload("Table (CSV", table)
    expect(visitor.page.get_by_text("2,000 rows, 4 columns")).to_be_visible()

    visitor.upload("Table (CSV", empty)
    expect(visitor.alert("empty.csv")).to_be_visible()
    expect(visitor.page.get_by_text("2,000 rows, 4 columns")).to_be_visible()
    visitor.page.reload()
    expect(visitor.page.get_by_text("2,000 rows, 4 columns")).to_be_visible()


def test_a_text_file_named_keras_is_refused_and_a_column_taken(visitor, table, tmp_path):
    text = tmp_path / "notes.keras"
    text.write_text("layers: three, activation: relu\n" * 20)
    visitor.open()
    visitor.upload_table(table)
    visitor.walk_to("Scores")
    visitor.page.get_by_role("radio", name="A Keras model").click()
    visitor.upload("Keras model", text)
    expect(visitor.alert("notes.keras")).to_be_visible()
    expect(visitor.exceptions).to_have_count(0)

    visitor.page.get_by_role("radio", name="A column of the table").click()
    visitor.choose("Score column", "score")
    visitor.grow_one_tree()
    visitor.walk_to("Results")
    assert float(visitor.metric("AUC after")) > float(visitor.metric("AUC before"))
