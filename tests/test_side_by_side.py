import threading
import time

import pytest

from hetcal import parallel as module
from hetcal.parallel import side_by_side

SOON = 30.0  # seconds after which a test that hangs fails


def test_results_come_in_the_order_of_the_parts():
    first_is_last = threading.Event()

    def slow(report):
        return first_is_last.wait(SOON) and "slow"

    def quick(report):
        first_is_last.set()
        return "quick"

    assert side_by_side([quick, slow], "Working") == ["quick", "slow"]


def test_no_parts_give_no_results():
    assert side_by_side([], "Working") == []


def test_progress_is_the_mean_share_told_where_it_was_asked_for(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.001)
    seen, half = [], threading.Event()

    def hear(done, doing):
        seen.append((done, doing, threading.current_thread()))
        if done == 0.25:
            half.set()

    def part(report):
        report(0.5)
        assert half.wait(SOON)

    side_by_side([part, lambda report: report(0.0) or half.wait(SOON)], "Working", hear)
    assert (seen[0][0], seen[-1][0]) == (0.0, 1.0)
    assert 0.25 in [done for done, _, _ in seen]
    assert {(doing, thread) for _, doing, thread in seen} == {
        ("Working", threading.current_thread())
    }


@pytest.mark.parametrize("who", ["progress", "part"])
def test_an_exception_ends_all_parts(who, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.001)
    steps, end = [], time.monotonic() + SOON

    def endless(report):
        while time.monotonic() < end:
            steps.append(1)
            report(0.5)

    def fails(report):
        if who == "part":
            raise ZeroDivisionError
        endless(report)

    def hear(done, doing):
        if who == "progress" and done > 0:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side([fails, endless], "Working", hear)
    assert time.monotonic() < end
    here = len(steps)
    time.sleep(0.02)
    assert len(steps) == here


def test_parts_that_have_not_begun_do_not_begin_after_an_exception(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 1)
    begun = []

    def fails(report):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side([fails, *[lambda report: begun.append(time.sleep(0.05))] * 50], "Working")
    assert len(begun) < 50
