"""Work beside the pages: it is left and found again, cancelled, asked for once, and never mixed."""

from dataclasses import replace
from threading import Event

import pytest
import streamlit as st

from hetcal.data.demo import DEMO_NETWORKS
from hetcal.errors import TableError
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.scoring import ColumnScoring, ModelScoring, score_rows
from hetcal.runs.fitting import ensemble_rows
from hetcal.store import work
from hetcal.store.store import Store
from hetcal.store.workspace import remember, workspace_of
from pages.shared import jobs
from pages.shared.flow import compute
from tests.pages.visit import (
    PATIENCE,
    button,
    calm,
    go,
    metrics,
    open_page,
    press,
    said,
    the_error,
    the_run,
    upload,
    wait_for_jobs,
    wait_until,
    with_scores,
    with_table,
)
from tests.schemes.chosen import chosen

pytestmark = pytest.mark.recommended


class Held:
    """Takes the place of a choice: it goes on until it is let go, or its progress ends it."""

    def __init__(self):
        self.calls, self.go_on, self.begun, self.error = [], Event(), Event(), None

    def __call__(self, *given):
        self.calls.append(given)
        report = given[-1]
        while not self.go_on.wait(0.01):
            report(0.3, "Trying: forest")
            self.begun.set()
        if self.error is not None:
            raise self.error
        return chosen("tree")(*given)


class HeldScores:
    """Takes the place of a model: it ends when it is let go, whoever cancels it meanwhile."""

    def __init__(self):
        self.calls, self.go_on, self.begun = 0, Event(), Event()

    def __call__(self, run, key, table, scoring):
        def work(progress):
            self.calls += 1
            self.begun.set()
            assert self.go_on.wait(PATIENCE)
            column = ColumnScoring(("score",), "logit")
            run.keep_result(key, score_rows(table.frame, column, table.classes, "model"))

        return work


@pytest.fixture
def scoring(monkeypatch):
    work = HeldScores()
    monkeypatch.setattr(compute, "ScoreRows", work)
    yield work
    work.go_on.set()


@pytest.fixture
def held(monkeypatch):
    work = Held()
    monkeypatch.setattr(compute, "find_scheme", work)
    monkeypatch.setattr(jobs, "SOON", 0.2)
    yield work
    work.go_on.set()


def bars(app):
    return [each.text for each in app.get("progress")]


def cancelled(app):
    return any(
        "was cancelled. All that you entered is kept, and what was finished." in each
        for each in said(app.markdown)
    )


def listed(app):
    """The names of the jobs in the sidebar."""
    lines = [each.value for each in app.sidebar.markdown if "  \n" in each.value]
    return [each.split("]")[0].removeprefix(":small[") for each in lines]


def with_choice(frame, work):
    """A visit that waits for a choice on the Partition page."""
    app = calm(go(with_scores(frame), "pages/partition.py"))
    assert work.begun.wait(PATIENCE)
    return calm(app.run())


def test_a_job_goes_on_when_its_page_is_left_and_is_found_again_from_any_page(segments, held):
    app = with_choice(segments, held)
    assert bars(app) == ["Trying\\: forest … 30%"]
    assert listed(app) == ["Choosing a scheme"]
    app = calm(go(app, "pages/data.py"))
    assert listed(app) == ["Choosing a scheme"]
    assert not bars(app)
    for page in ("app.py", "pages/results.py", "pages/export.py"):
        app = calm(go(app, page))
        assert bars(app) == ["Trying\\: forest … 30%"], page
    held.go_on.set()
    app = calm(wait_for_jobs(app))
    assert not listed(app)
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))
    assert len(held.calls) == 1


def test_a_cancelled_choice_waits_on_every_page_until_it_is_asked_for(segments, held):
    app = with_choice(segments, held)
    app = calm(wait_for_jobs(press(app, "Cancel")))
    for page in ("partition", "overconfidence", "calibration", "results", "export"):
        app = calm(go(app, f"pages/{page}.py"))
        assert cancelled(app), page
        assert not bars(app)
        assert not listed(app)
    assert len(held.calls) == 1
    held.go_on.set()
    app = calm(wait_for_jobs(press(app, "Start again")))
    assert not cancelled(app)
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))


def test_a_job_is_cancelled_from_the_sidebar_of_another_page(segments, held):
    app = go(with_choice(segments, held), "pages/data.py")
    app = next(e for e in app.sidebar.button if e.key.startswith("cancel ")).click().run()
    app = calm(wait_for_jobs(go(app, "pages/results.py")))
    assert cancelled(app)


def with_scoring(frame, scoring, *expected):
    """A visit that waits for a model on Results; the choice of a scheme comes next."""
    app = with_table(frame)
    model = inspect_model(DEMO_NETWORKS["over-trained"].file)
    stored = the_run(app)
    here = replace(workspace_of(stored), model=model, scoring=ModelScoring(model, InputColumns(())))
    Store().change(stored.id, None, lambda latest: remember(latest, here))
    app = calm(go(app, "pages/results.py"))
    assert scoring.begun.wait(PATIENCE)
    app = calm(app.run())
    assert listed(app) == list(expected or ["Scoring the rows"])
    return app


def end(scoring, app):
    """Let the model end, unseen by the page."""
    scoring.go_on.set()
    (job,) = (each for each in jobs.jobs().of(the_run(app).id) if each.name == "Scoring the rows")
    job.wait(PATIENCE)


def says_cancelled(app, name):
    shown = said(app.markdown)
    return f"{name} was cancelled. All that you entered is kept, and what was finished." in shown


def test_nothing_follows_a_model_that_ends_although_it_was_cancelled(segments, held, scoring):
    app = press(with_scoring(segments, scoring), "Cancel")
    end(scoring, app)
    for page in ("results", "partition", "export"):
        app = calm(go(app, f"pages/{page}.py"))
        assert says_cancelled(app, "Scoring the rows"), page
        assert not listed(app)
    assert not held.calls
    held.go_on.set()
    app = calm(wait_for_jobs(press(app, "Start again")))
    assert (scoring.calls, len(held.calls)) == (1, 1)
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))


def test_a_click_on_cancel_that_comes_when_the_model_has_ended_stops_what_follows(
    segments, held, scoring
):
    app = with_scoring(segments, scoring)
    end(scoring, app)
    app = calm(press(app, "Cancel"))
    assert says_cancelled(app, "Scoring the rows")
    assert not held.calls


def test_a_click_on_cancel_that_comes_when_the_choice_has_begun_stops_the_choice(
    segments, held, scoring, become
):
    become("first")
    first = with_scoring(segments, scoring)
    end(scoring, first)
    become("second")
    second = calm(open_page("pages/results.py", run=the_run(first).id))
    assert held.begun.wait(PATIENCE)
    become("first")
    first = calm(wait_for_jobs(press(first, "Cancel")))
    assert says_cancelled(first, "Choosing a scheme")
    held.go_on.set()
    become("second")
    assert says_cancelled(calm(second.run()), "Choosing a scheme")
    second = calm(wait_for_jobs(press(second, "Start again")))
    assert "AUC after" in metrics(second)


@pytest.fixture
def ahead(held, monkeypatch):
    """Let a choice begin while the model scores; `held` holds what follows the scores."""
    monkeypatch.setattr(compute, "begin_ahead", jobs.begin_ahead)
    monkeypatch.setattr(compute, "ChooseAhead", lambda scoring, call: call)

    def choose(table, scores, split, settings, progress, growth):
        rows = ensemble_rows(table, scores, split, settings)
        return held(settings, *rows, None, progress)

    monkeypatch.setattr(work, "fit_ensemble", choose)
    return held


def test_a_choice_begins_while_the_model_scores_and_is_made_once(segments, ahead, scoring):
    app = with_scoring(segments, scoring, "Scoring the rows", "Choosing a scheme")
    assert not ahead.calls
    ahead.go_on.set()
    end(scoring, app)
    app = calm(wait_for_jobs(app))
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))
    assert len(ahead.calls) == 1


def test_a_choice_that_was_cancelled_before_the_scores_were_there_begins_when_asked_for(
    segments, ahead, scoring
):
    app = with_scoring(segments, scoring, "Scoring the rows", "Choosing a scheme")
    next(e for e in app.sidebar.button if "ahead" in e.key).click().run()
    end(scoring, app)
    app = calm(wait_for_jobs(go(app, "pages/results.py")))
    assert says_cancelled(app, "Choosing a scheme")
    ahead.go_on.set()
    app = calm(wait_for_jobs(press(app, "Start again")))
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))


def state(app):
    """What the Runs page says of its one run."""
    (text,) = (each for each in said(calm(app).caption) if "· changed " in each)
    return text.partition(" · changed ")[0]


def test_a_run_is_listed_with_its_verdict_though_nobody_has_looked_at_it(segments, held):
    left = with_choice(segments, held)
    other = open_page("pages/runs.py")
    assert state(other) == "Choosing a scheme: Trying: forest … 30%"
    held.go_on.set()
    (job,) = jobs.jobs().of(the_run(left).id)
    job.wait(PATIENCE)
    assert "verdict" not in the_run(left).about
    other = wait_until(other.run(), lambda: "AUC" in state(other))
    about = the_run(left).about
    assert state(other).startswith(f"{about['verdict']}: AUC {about['before']:.3f} → ")
    shown = metrics(calm(go(left, "pages/results.py")))
    assert f"{about['after']:.4f}" == shown["AUC after"]
    assert len(held.calls) == 1


def test_a_run_that_is_cancelled_or_fails_is_listed_so(segments, held):
    app = wait_for_jobs(press(with_choice(segments, held), "Cancel"))
    assert state(go(app, "pages/runs.py")) == "Choosing a scheme was cancelled"
    held.error = TableError("It went wrong.", "It is needed.", "Do that.")
    held.go_on.set()
    app = wait_for_jobs(press(go(app, "pages/results.py"), "Start again"))
    app = go(app, "pages/runs.py")
    assert state(app) == "Choosing a scheme failed: It went wrong."
    assert "verdict" not in the_run(app).about


def test_a_run_that_waits_for_others_is_listed_so(segments, held, become, monkeypatch):
    monkeypatch.setenv("HETCAL_JOBS", "1")
    become("first")
    with_choice(segments, held)
    become("second")
    second = go(go(with_scores(segments), "pages/results.py"), "pages/runs.py")
    states = [each.partition(" · ")[0] for each in said(second.caption) if " · changed " in each]
    assert states == [
        "Choosing a scheme: Waiting for 1 other job …",
        "Choosing a scheme: Trying: forest … 30%",
    ]


def test_a_run_without_scores_is_listed_as_not_finished(segments):
    assert state(go(with_table(segments), "pages/runs.py")) == "not finished"


def test_one_tree_takes_the_place_of_a_cancelled_choice(segments, held):
    app = wait_for_jobs(press(with_choice(segments, held), "Cancel"))
    app = calm(press(app, "Use the paper's one tree instead"))
    assert app.selectbox(key="setting_partition").value == "tree"
    assert "AUC after" in metrics(calm(go(app, "pages/results.py")))
    assert len(held.calls) == 1


def test_other_settings_end_what_they_no_longer_ask_for(segments, held):
    app = with_choice(segments, held)
    app = calm(app.selectbox(key="setting_partition").select("forest").run())
    app = calm(app.run())  # as the list does by itself
    assert listed(app) == ["Fitting the scheme"]
    held.go_on.set()
    app = calm(wait_for_jobs(app))
    assert [each[0].partition for each in held.calls] == ["auto", "forest"]


def test_a_failed_job_says_why_and_can_be_tried_again(segments, held):
    held.error = TableError("It went wrong.", "It is needed.", "Do that.")
    held.go_on.set()
    app = wait_for_jobs(go(with_scores(segments), "pages/results.py"))
    assert the_error(app) == "It went wrong. It is needed. Do that."
    held.error = None
    app = calm(wait_for_jobs(press(app, "Try again")))
    assert "AUC after" in metrics(app)


def test_two_tabs_on_one_run_ask_once(segments, held, become):
    become("first")
    first = with_choice(segments, held)
    become("second")
    second = open_page("pages/results.py", run=the_run(first).id)
    assert bars(calm(second)) == ["Trying\\: forest … 30%"]
    held.go_on.set()
    second = calm(wait_for_jobs(second))
    become("first")
    first = calm(wait_for_jobs(first))
    assert len(held.calls) == 1
    assert metrics(go(first, "pages/results.py")) == metrics(second)


def test_two_tabs_that_show_different_schemes_do_not_end_each_others_work(segments, held, become):
    become("first")
    first = with_choice(segments, held)
    become("second")
    second = calm(open_page("pages/results.py", run=the_run(first).id, scheme="forest"))
    become("first")
    first = calm(first.run())
    become("second")
    second = calm(second.run())
    held.go_on.set()
    calm(wait_for_jobs(second))
    become("first")
    calm(wait_for_jobs(first))
    assert [each[0].partition for each in held.calls] == ["auto", "forest"]


def test_other_settings_end_a_choice_that_waits_for_scores(segments, ahead, scoring):
    app = with_scoring(segments, scoring, "Scoring the rows", "Choosing a scheme")
    app = calm(go(app, "pages/partition.py"))
    app = calm(app.number_input(key="setting_pairs").set_value(3).run())
    assert listed(calm(app.run())) == ["Scoring the rows", "Choosing a scheme"]
    ahead.go_on.set()
    end(scoring, app)
    assert "AUC after" in metrics(calm(go(wait_for_jobs(app), "pages/results.py")))
    assert [each[0].pairs for each in ahead.calls] == [3]


def test_two_runs_do_not_share_what_they_find(segments, held, become):
    become("first")
    first = with_choice(segments, held)
    become("second")
    second = calm(go(with_scores(segments), "pages/results.py"))
    assert the_run(first).id != the_run(second).id
    assert listed(second) == ["Choosing a scheme"]
    second = press(second, "Cancel")
    become("first")
    assert bars(calm(first.run())) == ["Trying\\: forest … 30%"]
    held.go_on.set()
    first = calm(wait_for_jobs(first))
    become("second")
    second = wait_for_jobs(second)
    assert cancelled(second)
    found = [list((the_run(app).folder / "results").rglob("scheme-*")) for app in (first, second)]
    assert [len(each) for each in found] == [1, 0]


def test_others_that_wait_before_are_counted(segments, held, become, monkeypatch):
    monkeypatch.setenv("HETCAL_JOBS", "1")
    become("first")
    with_choice(segments, held)
    become("second")
    second = calm(go(with_scores(segments), "pages/results.py"))
    assert bars(second) == ["Waiting for 1 other job …"]
    assert "1 job of others before yours" in [each.value for each in second.sidebar.caption]
    held.go_on.set()
    assert "AUC after" in metrics(calm(wait_for_jobs(second)))


def test_a_large_file_is_read_beside_the_page(segments, monkeypatch, counted):
    monkeypatch.setattr(compute, "READ_IN_PLACE", 1000)
    monkeypatch.setattr(compute, "CHECKED_IN_PLACE", 100)
    read = counted("read_file")
    app = calm(wait_for_jobs(with_scores(segments)))
    kept = {each.name.split("-")[0] for each in (the_run(app).folder / "results").rglob("*-*")}
    assert {"table", "columns", "findings"} <= kept
    assert len(read) == 1
    upload(go(app, "pages/data.py"), "data_file", "notes.csv", b"PK\x03\x04" + bytes(2000))
    assert the_error(app).startswith("'notes.csv' is a zip archive or an Excel workbook")


def test_the_test_rows_of_a_large_table_are_evaluated_beside_the_page(
    segments, monkeypatch, counted
):
    forest = calm(go(with_scores(segments), "pages/partition.py"))
    forest = forest.selectbox(key="setting_partition").select("forest").run()
    in_place = metrics(calm(go(forest, "pages/results.py")))
    assert not the_run(forest).kept_results("evaluation")
    monkeypatch.setattr(compute, "PASSED_IN_PLACE", 1000)
    calls = counted("evaluate_rows")
    st.cache_resource.clear()  # what was computed in place
    large = calm(wait_for_jobs(open_page("pages/results.py", run=the_run(forest).id)))
    assert metrics(large) == in_place
    (found,) = the_run(forest).kept_results("evaluation")
    assert len(calls) == 1
    large = go(large, "pages/partition.py").selectbox(key="setting_partition").select("boosted")
    calm(wait_for_jobs(go(large.run(), "pages/results.py")))
    (other,) = the_run(forest).kept_results("evaluation")
    assert other != found


def test_the_button_of_a_job_can_be_pressed_once(segments, held):
    app = press(with_choice(segments, held), "Cancel")
    again = [each for each in app.button if each.label == "Cancel"]
    assert all(each.disabled for each in again)
    assert button(wait_for_jobs(app), "Start again")
