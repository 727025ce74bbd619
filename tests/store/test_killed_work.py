"""A process that is killed while it works for a run: nothing half is kept, and all can go on."""

import time

import numpy as np
import pandas as pd
import pytest

from hetcal import Roles, Settings, make_table, scores_from_column
from hetcal.data.demo import toy_table
from hetcal.errors import JobError
from hetcal.jobs.jobs import Jobs
from hetcal.jobs.process import Call, Cancelled
from hetcal.runs.fitting import ensemble_rows
from hetcal.runs.run import split_table
from hetcal.store.store import Store
from hetcal.store.work import KeptParts, find_scheme, kept_call, kept_in_parts, with_limits
from tests.jobs.work import endless, many_numbers

ROWS = 1_000
MOMENTS = 10
AUTO = Settings(partition="auto")


@pytest.fixture
def jobs():
    queue = Jobs(1)
    yield queue
    queue.close()


@pytest.fixture
def rows():
    """Rows of the paper's example, as the choice of a scheme is given them."""
    frame = toy_table(ROWS)
    table = make_table(frame, Roles(label="y", positive="1", split="split", score="score"), "toy")
    scores = scores_from_column(table.frame["score"], "logit")
    return ensemble_rows(table, scores, split_table(table, AUTO), AUTO, None)


def choosing(run, key, rows):
    return kept_in_parts(run, key, find_scheme, AUTO, *rows, None)


def kill_at(share, job, work):
    """Kill the process of a job once so much is done; return whether it was still at work."""
    while job.open and not (job.doing and job.done >= share):
        time.sleep(0.005)
    if job.open:
        work._process.kill()
    job.wait()
    return job.state == "failed"


def same(found, expected):
    assert found.digest == expected.digest
    ladders = [each.candidates.drop(columns="seconds") for each in (found, expected)]
    pd.testing.assert_frame_equal(*ladders)


def test_a_choice_that_is_killed_at_ten_moments_keeps_all_or_nothing_and_begins_again(
    jobs, rows, tmp_path
):
    expected = find_scheme(AUTO, *rows, None)
    run = Store(tmp_path).new("run")
    run.keep_result("before", expected)
    shares = np.sort(np.random.default_rng(13).uniform(size=MOMENTS))
    killed = []
    for number, share in enumerate(shares):
        work = choosing(run, f"key{number}", rows)
        job = jobs.ask(f"key{number}", "Choosing", run.id, work)
        if kill_at(share, job, work):
            killed.append(f"key{number}")
            assert isinstance(job.error, JobError)
        again = Store(tmp_path).find("run")
        found = again.result(f"key{number}")
        assert found is not None or job.state == "failed"
        for each in (found, again.result("before")):
            if each is not None:
                same(each, expected)
    assert len(killed) > MOMENTS / 2
    latest = jobs.ask(killed[-1], "Choosing", run.id, choosing(run, killed[-1], rows))
    latest.wait()
    assert latest.state == "done"
    same(Store(tmp_path).find("run").result(killed[-1]), expected)


def test_a_choice_that_was_cancelled_goes_on_with_the_parts_that_it_had_finished(rows, tmp_path):
    run, told = Store(tmp_path).new("run"), []

    def cancel(done, doing):
        if doing == "Trying: curves":
            raise Cancelled

    with pytest.raises(Cancelled):
        find_scheme(AUTO, *rows, None, KeptParts(run, "key"), cancel)
    assert {"part-key-trees", "part-key-tried"} <= set(run.kept_results("part"))
    parts = KeptParts(Store(tmp_path).find("run"), "key")
    found = find_scheme(AUTO, *rows, None, parts, lambda done, doing: told.append(doing))
    same(found, find_scheme(AUTO, *rows, None))
    assert "Trying: curves" in told
    assert "Trying: forest" not in told
    parts.forget()
    assert run.kept_results("part") == []


def test_work_for_a_run_that_was_deleted_meanwhile_leaves_no_folder(jobs, tmp_path):
    store = Store(tmp_path)
    run = store.new("run")
    job = jobs.ask("key", "Counting", run.id, kept_call(run, "key", many_numbers, 1_000))
    store.delete(run.id)
    job.wait()
    assert not run.folder.exists()
    assert Store(tmp_path).all() == []


def test_a_process_that_opens_a_file_without_end_is_ended_in_its_time(tmp_path):
    call = Call(with_limits, 2, endless, (tmp_path / "seen",))
    with pytest.raises(JobError, match="out of memory or time"):
        call(lambda done, words: None)
    assert (tmp_path / "seen").exists()
