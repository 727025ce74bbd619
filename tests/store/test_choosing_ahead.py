"""A choice that begins before the scores are there: it is the same, and it ends with their job."""

import time

import pandas as pd
import pytest

from hetcal import Roles, Settings, make_table, scores_from_column
from hetcal.data.demo import toy_table
from hetcal.errors import ScoreError
from hetcal.jobs.jobs import Jobs
from hetcal.runs.fitting import ensemble_rows
from hetcal.runs.run import split_table
from hetcal.store.keys import scheme_key
from hetcal.store.store import Store
from hetcal.store.work import ChooseAhead, KeptParts, LateParts, ahead_call, find_scheme

AUTO = Settings(partition="auto")
PATIENCE = 300.0


class Model:
    """Work that waits until it is told what becomes of it."""

    fate = None

    def __call__(self, progress):
        while self.fate is None:
            time.sleep(0.01)
        if isinstance(self.fate, Exception):
            raise self.fate


@pytest.fixture
def jobs():
    queue = Jobs(2)
    yield queue
    queue.close()


@pytest.fixture
def table():
    roles = Roles(label="y", positive="1", split="split", score="score")
    return make_table(toy_table(1_000), roles, "toy")


def waits(job):
    """Wait until the job has grown trees for scores that are not there."""
    latest = time.monotonic() + PATIENCE
    while job.doing != "Growing trees until the rows are scored" and time.monotonic() < latest:
        time.sleep(0.01)
    assert job.open


def begin(jobs, run, table):
    model = Model()
    scoring = jobs.ask("scores", "Scoring", run.id, model)
    work = ChooseAhead(scoring, ahead_call(run, "scores", table, AUTO))
    choosing = jobs.ask("ahead", "Choosing", run.id, work)
    waits(choosing)
    return model, scoring, choosing


def test_a_choice_that_began_before_the_scores_is_the_choice_that_follows_them(
    jobs, table, tmp_path
):
    run = Store(tmp_path).new("run")
    model, _, choosing = begin(jobs, run, table)
    scores = scores_from_column(table.frame["score"], "logit")
    run.keep_result("scores", scores)
    model.fate = "done"
    choosing.wait(PATIENCE)
    rows = ensemble_rows(table, scores, split_table(table, AUTO), AUTO, None)
    expected, found = (
        find_scheme(AUTO, *rows, None),
        run.result(scheme_key(table, scores, AUTO, None)),
    )
    assert found.digest == expected.digest
    ladders = [each.candidates.drop(columns="seconds") for each in (found, expected)]
    pd.testing.assert_frame_equal(*ladders)


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
def test_a_choice_ends_when_there_will_be_no_scores(jobs, table, tmp_path, how):
    run = Store(tmp_path).new("run")
    model, scoring, choosing = begin(jobs, run, table)
    if how == "fails":
        model.fate = ScoreError("The model failed.", "It must not.", "Try again.")
    else:
        scoring.cancel()
    choosing.wait(PATIENCE)
    assert choosing.state == "cancelled"
    assert not choosing.cancelled, "nobody has cancelled the choice itself: it may begin again"
    assert run.kept_results("scheme") == []
    model.fate = model.fate or "done"


def test_parts_that_were_found_before_the_scores_are_kept_once_the_choice_is_known(tmp_path):
    run, late = Store(tmp_path).new("run"), LateParts()
    assert late("trees", lambda: [1]) == [1]
    assert run.kept_results("part") == []
    late.begin_to_keep(KeptParts(run, "scheme"))
    assert late("curves", lambda: [2]) == [2]
    kept = KeptParts(run, "scheme")
    assert [kept(name, lambda: "anew") for name in ("trees", "curves", "tried")] == [
        [1],
        [2],
        "anew",
    ]
