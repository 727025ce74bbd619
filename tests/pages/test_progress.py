"""The bar of long passes: drawn while they last, and never again."""

import pytest
from streamlit.delta_generator import DeltaGenerator

from pages.shared import progress
from tests.pages.visit import calm, go, the_error, with_scores, with_table


@pytest.fixture
def drawn(monkeypatch):
    """What bars said, if every pass is worth one."""
    texts, draw = [], DeltaGenerator.progress

    def drawing(self, value, text=None, **options):
        texts.append(text)
        return draw(self, value, text, **options)

    monkeypatch.setattr(DeltaGenerator, "progress", drawing)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    return texts


def begins(texts, words):
    return any(text.startswith(words) for text in texts)


def test_every_pass_over_the_rows_has_its_bar_and_none_stays(segments, drawn):
    app = calm(go(with_scores(segments), "pages/results.py"))
    for words in ("Reading", "Taking", "Describing", "Looking", "Growing", "Fitting"):
        assert begins(drawn, words), words
    assert not app.get("progress")


def test_what_is_known_already_needs_no_bar(segments, drawn):
    app = calm(go(with_scores(segments), "pages/results.py"))
    drawn.clear()
    for page in ("pages/data.py", "pages/partition.py", "pages/results.py"):
        calm(go(app, page))
    assert not drawn


def test_short_work_has_no_bar(segments, drawn, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    calm(go(with_scores(segments), "pages/results.py"))
    assert not drawn


def test_an_error_takes_the_place_of_the_bar(segments, drawn):
    app = with_table(segments.to_csv(index=False).encode().replace(b"\n", b",\n", 3))
    assert the_error(app)
    assert drawn
    assert not app.get("progress")
