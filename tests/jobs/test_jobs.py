import os
import pickle
import time
from functools import partial
from threading import Event

import pytest

from hetcal.errors import HetcalError, JobError, TableError
from hetcal.jobs import process, worker
from hetcal.jobs.jobs import Jobs
from hetcal.jobs.process import Call, Cancelled, end_ready, keep_ready
from hetcal.jobs.worker import NICENESS
from tests.jobs.work import (
    doubled,
    ended_from_outside,
    endless,
    priority,
    put_aside,
    refused,
)

PATIENCE = 300.0  # seconds after which a test that hangs fails, on however busy a machine


@pytest.fixture
def jobs():
    queue = Jobs(1)
    yield queue
    queue.close()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def gone(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def blocking(event, progress):
    while not event.wait(0.01):
        progress(0.0, "Waiting")
    return "done"


def test_a_function_is_called_in_another_process_and_its_progress_and_result_come_back():
    told = []
    assert Call(doubled, 21)(lambda *each: told.append(each)) == 42
    assert told == [(0.5, "Doubling")]


@pytest.mark.skipif(not hasattr(os, "nice"), reason="this system has no niceness")
def test_a_process_and_its_session_leave_the_processors_to_the_pages():
    own, of_session = Call(priority)(lambda *_: None)
    assert own == NICENESS
    assert of_session in (None, str(NICENESS))


def test_a_session_gives_way_though_another_one_has_just_done_so(monkeypatch):
    written = []

    class Session:
        def write_bytes(self, content):
            written.append(content)
            if len(written) < 3:
                raise BlockingIOError

    monkeypatch.setattr(worker, "SESSION", Session())
    monkeypatch.setattr(worker, "PAUSE", 0)
    monkeypatch.setattr(os, "nice", lambda more: more, raising=False)
    worker._give_way()
    assert written == [str(NICENESS).encode()] * 3


def test_an_error_of_the_function_comes_back_with_its_three_sentences():
    with pytest.raises(TableError) as raised:
        Call(refused)(lambda *_: None)
    assert (raised.value.wrong, raised.value.remedy) == ("It is wrong.", "Do that.")


def test_a_process_that_ends_from_outside_is_told_as_an_error():
    with pytest.raises(JobError, match="ended unexpectedly"):
        Call(ended_from_outside)(lambda *_: None)


def test_every_kind_of_error_survives_pickling():
    for kind in [HetcalError, *HetcalError.__subclasses__()]:
        error = pickle.loads(pickle.dumps(kind("a", "b", "c")))
        assert (type(error), error.wrong, error.needed, error.remedy) == (kind, "a", "b", "c")


def test_a_ready_process_serves_one_call_and_is_replaced():
    keep_ready()
    try:
        first = process._spare._waiting
        assert Call(doubled, 1)(lambda *_: None) == 2
        assert first.poll() is not None
        second = process._spare._waiting
        assert second.pid != first.pid
        second.kill()
        second.wait()
        assert Call(doubled, 2)(lambda *_: None) == 4
    finally:
        end_ready()
    assert process._spare._waiting is None


def test_cancelling_ends_the_process_at_once(jobs, tmp_path):
    seen = tmp_path / "seen"
    job = jobs.ask("k", "Long work", "run", Call(endless, str(seen)))
    until(lambda: seen.exists() and seen.read_text() and job.done == 0.1)
    assert (job.state, job.doing) == ("running", "Going on")
    job.cancel()
    until(lambda: job.state == "cancelled")
    until(lambda: gone(int(seen.read_text())))


def test_a_process_ends_with_its_caller(tmp_path):
    seen = tmp_path / "seen"
    call = Call(endless, str(seen))
    queue = Jobs(1)
    queue.ask("k", "Long work", "run", call)
    until(lambda: seen.exists() and seen.read_text())
    call._process.stdin.close()  # as when the caller is killed
    until(lambda: gone(int(seen.read_text())) or call._process.poll() is not None)
    queue.close()


def test_equal_work_runs_once_and_waits_its_turn(jobs):
    event = Event()
    first = jobs.ask("a", "First", "run", partial(blocking, event))
    second = jobs.ask("b", "Second", "other run", partial(blocking, event))
    third = jobs.ask("c", "Third", "run", partial(blocking, event))
    until(lambda: first.state == "running")
    assert jobs.ask("a", "First", "run", partial(blocking, event)) is first
    assert [second.state, third.state] == ["queued", "queued"]
    assert [jobs.before(second), jobs.before(third)] == [[first], [first, second]]
    assert jobs.of("run") == [first, third]
    third.cancel()
    assert third.state == "cancelled"
    event.set()
    second.wait()
    assert [first.state, second.state] == ["done", "done"]
    assert jobs.ask("a", "First", "run", partial(blocking, event)) is first


def test_cancelled_and_failed_work_can_begin_again(jobs):
    event = Event()
    job = jobs.ask("a", "Work", "run", partial(blocking, event))
    until(lambda: job.state == "running")
    job.cancel()
    until(lambda: job.state == "cancelled")
    event.set()
    again = jobs.ask("a", "Work", "run", partial(blocking, event))
    again.wait()
    assert (again.state, again.result) == ("done", "done")

    def refuse(progress):
        raise TableError("a", "b", "c")

    failed = jobs.ask("f", "Work", "run", refuse)
    failed.wait()
    assert (failed.state, failed.error.wrong) == ("failed", "a")
    assert jobs.ask("f", "Work", "run", partial(blocking, event)) is not failed


def test_a_call_that_was_cancelled_before_it_began_starts_no_process():
    call = Call(doubled, 1)
    call.stop()
    with pytest.raises(Cancelled):
        call(lambda *_: None)
    assert call._process is None


def test_an_error_that_nobody_expected_is_told_in_words_and_the_work_is_let_go(jobs, caplog):
    def broken(progress):
        raise ZeroDivisionError("by nothing")

    job = jobs.ask("a", "Counting", "run", broken)
    job.wait()
    assert (job.state, job.error.wrong[:16]) == ("failed", "Counting failed:")
    assert "by nothing" in caplog.text
    assert job.work is not broken


def test_a_job_that_is_forgotten_while_it_runs_is_cancelled(jobs):
    event = Event()
    job = jobs.ask("a", "Work", "run", partial(blocking, event))
    until(lambda: job.state == "running")
    jobs.forget("a")
    assert jobs.find("a") is None
    until(lambda: job.state == "cancelled")


def test_one_user_never_takes_all_places():
    queue, free, seen = Jobs(2, each=1), Event(), []

    def noted(name, progress):
        seen.append(name)
        return blocking(free, progress)

    asked = [queue.ask(each, each, each, partial(noted, each), each[0]) for each in ("a1", "a2")]
    until(lambda: seen == ["a1"])
    asked.append(queue.ask("b1", "b1", "b1", partial(noted, "b1"), "b"))
    until(lambda: seen == ["a1", "b1"])  # the second place was kept for another user
    assert asked[1].state == "queued"
    free.set()
    for each in asked:
        each.wait()
    assert seen == ["a1", "b1", "a2"]
    queue.close()


def test_what_a_process_put_aside_goes_with_it_also_when_it_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    call = Call(put_aside)
    queue = Jobs(1)
    job = queue.ask("key", "Waiting", "me", call)
    until(lambda: list(tmp_path.glob("*/kept/file")))
    job.cancel()
    job.wait()
    assert list(tmp_path.iterdir()) == []
    queue.close()
