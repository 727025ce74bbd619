"""A saved run on more than two classes on the pages: as live as it was, without its table."""

import pandas as pd
import pytest

from hetcal.artifacts.artifact import artifact_bytes
from hetcal.data.scores import scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from tests.artifacts.test_old_artifacts import DATA
from tests.artifacts.test_saved_class_run import without
from tests.pages.runs.test_saved_run import banner, explore
from tests.pages.test_classes import COLUMNS, show_class, with_class_scores
from tests.pages.visit import calm, figure, go, metrics, open_page, press, said, table_with, upload

SCORING = ColumnScoring(COLUMNS, "probability")


def packed(frame, **settings):
    table = make_table(frame, Roles("kind", split="split", class_scores=COLUMNS), "")
    scores = scores_from_columns(frame, COLUMNS, "probability", "")
    return artifact_bytes(run(table, scores, Settings(**settings)), SCORING)


@pytest.fixture(scope="module")
def artifact(kinds):
    return packed(kinds)


@pytest.fixture
def app(artifact):
    return explore(open_page("app.py"), artifact)


def shown(app):
    """The numbers, verdicts and tables of a page."""
    words = metrics(app), said(app.success), said(app.info)
    return words, [each.value for each in app.dataframe]


def first_numbers(table, names):
    return [float(each.split()[0]) for name in names for each in table[name]]


@pytest.mark.parametrize("page", ["app.py", "pages/results.py"])
def test_a_saved_run_has_the_numbers_and_tables_of_the_run_at_hand(kinds, app, page):
    live = show_class(calm(go(with_class_scores(kinds), page)), "cow")
    saved = show_class(calm(go(app, page)), "cow")
    (expected, tables), (found, others) = shown(calm(live)), shown(calm(saved))
    assert found == expected
    assert len(tables) == len(others)
    for one, other in zip(others, tables, strict=True):
        if "measure" in one:  # intervals come from the sketch
            one, other = (first_numbers(each, ["before", "after"]) for each in (one, other))
            assert one == pytest.approx(other, abs=0.01)
        else:
            pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)


def test_a_saved_run_says_that_it_is_one_on_every_page(app):
    for page in ("app.py", "pages/results.py", "pages/calibration.py", "pages/overconfidence.py"):
        assert "run.zip" in banner(calm(go(app, page)))[0].replace("\\", "")
    words = said(go(app, "pages/results.py").caption)
    assert any("Computed on all rows before the run was saved" in each for each in words)


def test_the_class_is_chosen_in_the_sidebar_and_stays_across_pages(kinds, app):
    app = show_class(go(app, "pages/results.py"), "bee")
    assert "Class bee against all others" in [each.value for each in calm(app).subheader]
    lifts = figure(app, "classes_lift")["layout"]["yaxis"]["ticktext"]
    assert lifts == ["<b>all classes</b>", "ant", "<b>bee</b>", "cow"]
    app = calm(go(app, "pages/overconfidence.py"))
    found = table_with(app, "auc_train").set_index("leaf")
    live = show_class(go(with_class_scores(kinds), "pages/overconfidence.py"), "bee")
    expected = table_with(calm(live), "auc_train").set_index("leaf")
    assert found["rows_train"].tolist() == expected["rows_train"].tolist()
    off = (found["auc_test"] - expected["auc_test"]).abs()
    assert off.max() < 0.01


def test_the_maps_of_all_classes_and_of_the_one_are_those_of_the_run(kinds, app):
    live = show_class(calm(go(with_class_scores(kinds), "pages/calibration.py")), "cow")
    app = show_class(calm(go(app, "pages/calibration.py")), "cow")
    assert "Map of all classes in the saved run: Vector." in said(calm(app).markdown)
    assert "class_method" not in [each.key for each in app.segmented_control]
    pd.testing.assert_frame_equal(
        table_with(app, "weight"), table_with(live, "weight"), check_exact=True
    )
    found, expected = (table_with(each, "explained") for each in (app, live))
    tests = ["p_gap", "p_before", "p_after"]
    pd.testing.assert_frame_equal(
        found.drop(columns=tests), expected.drop(columns=tests), rtol=0.02
    )
    assert found[tests].to_numpy() == pytest.approx(
        expected[tests].to_numpy(), abs=0.1, nan_ok=True
    )
    assert said(app.info) == said(live.info)


def test_a_choice_is_named_with_its_reason(kinds):
    app = explore(open_page("app.py"), packed(kinds, partition="auto"))
    in_use = "In use until the model is replaced"  # the columns are as good without it
    chosen = [each for each in said(app.markdown) if each.startswith(f"{in_use}: tree vector – a ")]
    assert len(chosen) == 1
    assert "The lift of 'tree vector'" in chosen[0]
    assert table_with(app, "top_label_error")["scheme"].iloc[-1] == "chosen: tree vector"
    app = calm(go(app, "pages/calibration.py"))
    assert "Map of all classes in the saved run: tree vector." in said(app.markdown)


def test_a_class_that_cannot_be_shown_leaves_the_choice_of_another(kinds):
    app = upload(
        open_page("pages/export.py"),
        "reopen_artifact",
        "run.zip",
        packed(without(kinds, "ant", "calibration")),
    )
    app = press(app, "Explore this run")
    assert said(app.error)[0].startswith("The class 'ant' cannot be compared with all others.")
    app = calm(show_class(go(app, "pages/results.py"), "cow"))
    assert "Class cow against all others" in [each.value for each in app.subheader]


def test_an_older_artifact_says_that_it_cannot_be_explored():
    app = open_page("pages/export.py")
    old = (DATA / "three_classes_format_1.zip").read_bytes()
    upload(app, "reopen_artifact", "old.zip", old)
    assert "Explore this run" not in [each.label for each in calm(app).button]
    assert any("cannot be explored" in each.value for each in app.caption)
    assert metrics(app)["Classes"] == "3"
