"""A damaged file gives a result or a named error; `python -m tests.mutations` tries many more."""

import multiprocessing
import os
import random

import pytest

from tests.mutations import mutants
from tests.mutations.mutants import DOORS, mutate, outcome, sound_files, tried


@pytest.fixture(scope="module")
def sound():
    return sound_files()


@pytest.mark.parametrize("kind", DOORS)
def test_damaged_files_give_a_result_or_a_named_error(sound, kind, tmp_path):
    path = tmp_path / "sound"
    path.write_bytes(sound[kind])
    assert outcome(kind, path) == "result"
    found = tried(kind, sound[kind], 0, range(300))
    assert len(found) == 300
    assert set(found.values()) == {"result", "refused"}


@pytest.mark.parametrize("kind", ["csv", "keras"])
def test_every_mutant_has_its_seed_and_differs(sound, kind):
    first, again, other = (mutate(sound[kind], random.Random(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sound[kind] not in (first, other)


def test_whatever_is_no_named_error_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(mutants.DOORS, "csv", lambda path: {}[path.name])
    assert outcome("csv", tmp_path / "x") == "KeyError: 'x'"


def test_a_file_that_ends_its_process_is_told():
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=os._exit, args=(3,))
    child.start()
    theirs.close()
    assert mutants._watched(ours, child, range(7, 9)) == {7: "ended its process (3)"}
