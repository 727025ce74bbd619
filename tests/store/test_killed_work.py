"""A process that is killed while it works for a run: nothing half is kept, and all can go on."""

import time

import numpy as np
import pytest

from hetcal.errors import JobError
from hetcal.jobs.jobs import Jobs
from hetcal.store.store import Store
from hetcal.store.work import kept_call
from tests.jobs.work import many_numbers

COUNT = 3_000_000
MOMENTS = 10


@pytest.fixture
def jobs():
    queue = Jobs(1)
    yield queue
    queue.close()


def asked(jobs, run, key):
    return jobs.ask(key, "Counting", run.id, kept_call(run, key, many_numbers, COUNT))


def test_work_that_is_killed_at_any_moment_keeps_all_or_nothing_and_begins_again(jobs, tmp_path):
    store = Store(tmp_path)
    run = store.new("run")
    started = time.monotonic()
    asked(jobs, run, "whole").wait()
    longest = time.monotonic() - started
    moments, ends = np.random.default_rng(13).uniform(0, longest, MOMENTS), []
    for number, moment in enumerate(moments):
        work = kept_call(run, f"key{number}", many_numbers, COUNT)
        job = jobs.ask(f"key{number}", "Counting", run.id, work)
        time.sleep(moment)
        if work._process is not None:
            work._process.kill()
        job.wait()
        ends.append(job.state)
        found = Store(tmp_path).get(run.id).result(f"key{number}")
        if job.state == "failed":
            assert isinstance(job.error, JobError)
            assert found is None or found.size == COUNT
        else:
            assert found.size == COUNT
    assert "failed" in ends
    assert Store(tmp_path).find("run").id == run.id
    again = ends.index("failed")
    asked(jobs, run, f"key{again}").wait()
    assert np.array_equal(run.result(f"key{again}"), np.arange(COUNT))
    assert np.array_equal(run.result("whole"), np.arange(COUNT))


def test_work_for_a_run_that_was_deleted_meanwhile_leaves_no_folder(jobs, tmp_path):
    store = Store(tmp_path)
    run = store.new("run")
    job = asked(jobs, run, "key")
    store.delete(run.id)
    job.wait()
    assert not run.folder.exists()
    assert Store(tmp_path).all() == []
