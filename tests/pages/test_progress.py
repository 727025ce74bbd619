"""The bar of long passes: drawn while they last, and never again."""

import pytest
from streamlit.delta_generator import DeltaGenerator

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from pages.shared.display import progress
from tests.pages.visit import (
    calm,
    go,
    open_page,
    said,
    the_error,
    upload,
    with_scores,
    with_table,
)


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


def test_scoring_with_an_artifact_has_its_bar_until_it_is_done(segments, drawn):
    roles = Roles(label="label", positive="yes", split="split", score="score")
    scores = scores_from_column(segments["score"], "logit", "")
    finished = run(make_table(segments, roles, ""), scores, Settings(max_depth=2))
    artifact = artifact_bytes(finished, ColumnScoring(("score",), "logit"))
    app = upload(open_page("pages/export.py"), "reopen_artifact", "run.zip", artifact)
    assert not drawn
    upload(app, "reopen_table", "new.csv", segments)
    assert begins(drawn, "Reading")
    assert begins(drawn, "Finding the leaf of every row")
    assert said(calm(app).success) == ["2,400 rows of new.csv scored."]
    assert not app.get("progress")


def test_many_trees_that_score_all_rows_have_their_bar_once(segments, drawn):
    app = go(with_scores(segments), "pages/partition.py")
    app.selectbox(key="setting_partition").select("forest").run()
    app = calm(go(app, "pages/results.py"))
    drawn.clear()
    app = calm(go(app, "pages/export.py"))
    assert begins(drawn, "Sending rows through the trees")
    drawn.clear()
    calm(go(go(app, "pages/results.py"), "pages/export.py"))
    assert not drawn


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
