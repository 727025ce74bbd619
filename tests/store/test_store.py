import errno
import json
import multiprocessing
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from hetcal.errors import StoreError
from hetcal.store import store
from hetcal.store.finished import found_before
from hetcal.store.store import Store, default_folder
from hetcal.version import __version__

ROOT = Path(__file__).parents[2]


def with_state(**fields):
    return lambda run: replace(run, state={**run.state, **fields})


def test_a_run_is_there_again_with_its_state_files_and_results(tmp_path):
    run = Store(tmp_path).new("first", {"label": "y"})
    path = run.keep_file(b"rows", ".csv")
    run.keep_result("key", {"auc": 0.75})
    again = Store(tmp_path).get(run.id)
    assert again == run
    assert again.state == {"label": "y"}
    assert (path.read_bytes(), path.parent) == (b"rows", again.files)
    assert again.result("key") == {"auc": 0.75}
    assert again.result("another key") is None
    content = [each.read_bytes() for each in run.folder.rglob("*") if each.is_file()]
    assert again.size == sum(map(len, content))


def test_runs_are_listed_with_the_latest_change_first_and_found_by_name(tmp_path):
    kept = Store(tmp_path)
    first, second = kept.new("same"), kept.new("same")
    assert [each.id for each in kept.all()] == [second.id, first.id]
    kept.change(first.id, None, with_state(a=1))
    assert [each.id for each in kept.all()] == [first.id, second.id]
    with pytest.raises(StoreError, match="2 runs are called 'same'"):
        kept.find("same")
    assert kept.find(second.id).id == second.id
    with pytest.raises(StoreError, match="no run called 'none'"):
        kept.find("none")


def test_changes_count_and_those_with_a_name_can_be_undone(tmp_path):
    kept = Store(tmp_path)
    run = kept.new("r", {"label": "y", "leaf": 0})
    run = kept.change(run.id, "replaced the label", with_state(label="z"))
    run = kept.change(run.id, None, with_state(leaf=3))
    assert (run.revision, run.state) == (2, {"label": "z", "leaf": 3})
    assert kept.change(run.id, None, lambda same: same).revision == 2
    back = kept.undo(run.id)
    assert (back.state, back.past, back.revision) == ({"label": "y", "leaf": 0}, (), 3)
    assert kept.undo(run.id).state == back.state


@pytest.mark.parametrize("number", ["../other", "", "a/b", "..", "x" * 300, "none"])
def test_what_is_no_run_of_the_folder_is_refused(tmp_path, number):
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(StoreError, match="There is no run"):
        Store(tmp_path / "store").get(number)


def test_only_the_owner_can_read(tmp_path):
    kept = Store(tmp_path / "store")
    run = kept.new("r")
    run.keep_file(b"x")
    for each in [kept.folder, *kept.folder.rglob("*")]:
        assert stat.S_IMODE(each.stat().st_mode) & 0o077 == 0, each


def test_a_deleted_run_is_gone_with_its_folder(tmp_path):
    kept = Store(tmp_path)
    run = kept.new("r")
    kept.delete(run.id)
    assert kept.all() == []
    assert not run.folder.exists()
    with pytest.raises(StoreError):
        kept.get(run.id)


def test_the_index_is_made_anew_from_the_folders_when_it_is_lost_or_broken(tmp_path):
    runs = [Store(tmp_path).new(name) for name in "ab"]
    unreadable = tmp_path / "runs" / ("0" * 20)
    unreadable.mkdir()
    (unreadable / "state.json").write_text("{}")
    for content in (None, b"not an index", b"SQLite format 3\0" + bytes(100)):
        (tmp_path / "index.sqlite").unlink()
        if content is not None:
            (tmp_path / "index.sqlite").write_bytes(content)
        assert {each.id for each in Store(tmp_path).all()} == {each.id for each in runs}


def test_a_run_whose_folder_is_gone_is_listed_no_more(tmp_path):
    run = Store(tmp_path).new("r")
    (run.folder / "state.json").unlink()
    assert Store(tmp_path).all() == []


def test_what_another_version_has_found_is_found_again(tmp_path, monkeypatch):
    run = Store(tmp_path).new("r")
    run.keep_result("key", 1)
    monkeypatch.setattr(store, "__version__", "99")
    assert run.result("key") is None
    run.forget_old_results()
    assert not list((run.folder / "results").glob("*"))


def test_facts_that_another_version_has_found_are_not_listed(tmp_path, monkeypatch):
    run = Store(tmp_path).new("r")
    facts = {"table": "rows.csv", "lift": 0.1, "verdict": "It helps", "found_by": __version__}
    run = Store(tmp_path).change(run.id, None, lambda old: replace(old, about=facts))
    assert Store(tmp_path).all()[0].about == Store(tmp_path).get(run.id).about == facts
    monkeypatch.setattr(store, "__version__", "99")
    (listed,) = Store(tmp_path).all()
    assert listed.about == {"table": "rows.csv", "found_by": __version__}
    assert (
        found_before(listed)
        == f"its results are of hetcal {__version__}: open it to find them again"
    )
    opened = replace(run, about={**facts, "saved": "artifact.zip"})
    assert Store(tmp_path).change(run.id, None, lambda _: opened).about["lift"] == 0.1
    assert Store(tmp_path).get(run.id).about["lift"] == 0.1


def test_a_broken_result_is_found_again(tmp_path):
    run = Store(tmp_path).new("r")
    run.keep_result("key", list(range(1000)))
    path = run.folder / "results" / store.__version__ / "key"
    path.write_bytes(path.read_bytes()[:100])
    assert run.result("key") is None


def test_old_and_large_runs_are_named_and_nothing_is_deleted(tmp_path):
    kept = Store(tmp_path)
    runs = [kept.new(name) for name in "abc"]
    for run, days in zip(runs, (100, 50, 1), strict=True):
        run.keep_file(bytes(1000))
        record = json.loads((run.folder / "state.json").read_text())
        record["changed"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        (run.folder / "state.json").write_text(json.dumps(record))
    (tmp_path / "index.sqlite").unlink()
    kept = Store(tmp_path)
    assert [each.name for each in kept.old()] == ["a"]
    one = kept.get(runs[0].id).size
    assert [each.name for each in kept.old(most_bytes=int(1.5 * one))] == ["b", "a"]
    assert len(kept.all()) == 3


def test_a_full_disk_leaves_the_run_as_it_was(tmp_path, monkeypatch):
    kept = Store(tmp_path)
    run = kept.new("r", {"label": "y"})

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="disk is full"):
            kept.change(run.id, "x", with_state(label="z"))
        with pytest.raises(StoreError, match="disk is full"):
            run.keep_file(b"rows")
        with pytest.raises(StoreError, match="disk is full"):
            run.keep_result("key", 1)
    assert kept.get(run.id) == run
    assert kept.all()[0].revision == 0
    assert not list(tmp_path.rglob(".writing-*"))
    assert run.result("key") is None
    assert kept.change(run.id, "x", with_state(label="z")).state == {"label": "z"}


@contextmanager
def no_file_longer_than(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_at_any_byte_of_the_index_or_of_a_file_is_told_and_undone(tmp_path):
    kept, failed = Store(tmp_path), []
    run = kept.new("r", {"n": 0})
    for size in range(0, 40_000, 1_000):
        before, after = kept.get(run.id), {"n": size, "text": "x" * 3_000}
        change = partial(kept.change, run.id, None, with_state(**after))
        for write in (change, partial(kept.new, "s")):
            with no_file_longer_than(size):
                try:
                    write()
                except StoreError:
                    failed.append(size)
        again = Store(tmp_path)
        assert again.get(run.id).state in (before.state, after)
        assert {each.id for each in again.all()} == {
            each.name for each in run.folder.parent.iterdir()
        }
    assert failed[0] == 0
    assert 1_000 < failed[-1] < size


def count_up(folder, number, times):
    kept = Store(Path(folder))
    for _ in range(times):
        kept.change(number, None, lambda run: replace(run, state={"n": run.state["n"] + 1}))


def test_two_processes_change_one_run_at_once_and_no_change_is_lost(tmp_path):
    run = Store(tmp_path).new("r", {"n": 0})
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=count_up, args=(str(tmp_path), run.id, 40)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(300)
        assert each.exitcode == 0
    found = Store(tmp_path).get(run.id)
    assert (found.state["n"], found.revision) == (80, 80)


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from hetcal.store.store import Store
kept = Store(Path(sys.argv[1]))
n = 0
while True:
    n += 1
    text = str(n) * 20000
    kept.change(sys.argv[2], "more", lambda run: replace(run, state={"n": n, "text": text}))
    kept.get(sys.argv[2]).keep_result("key", [n] * 10000)
    print(n, flush=True)
"""


def test_a_writer_that_is_killed_at_ten_moments_leaves_whole_states_and_results(tmp_path):
    run = Store(tmp_path).new("r", {"n": 0, "text": ""})
    latest = 0
    for moment in range(10):
        command = [sys.executable, "-c", WRITER, str(tmp_path), run.id]
        writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"1\n"
        time.sleep(0.013 * (moment + 1))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        kept = Store(tmp_path)
        found = kept.get(run.id)
        assert found.state["text"] == str(found.state["n"]) * 20000
        assert found.revision > latest
        latest = found.revision
        assert [each.id for each in kept.all()] == [run.id]
        result = found.result("key")
        assert (len(set(result)), len(result)) == (1, 10000)


def test_the_folder_is_chosen_by_a_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("HETCAL_HOME", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"
    monkeypatch.delenv("HETCAL_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform.startswith("linux"):
        assert default_folder() == tmp_path / "hetcal"
