import sys
from textwrap import dedent

import pytest

from tests.walk import following, main, modules_entered

PACKAGE = {
    "__init__": "",
    "start": """
        from threading import Thread
        from small import called, only_imported

        def begin():
            called.answer()
            thread = Thread(target=lambda: __import__("small.late").late.answer())
            thread.start()
            thread.join()
        """,
    "called": """
        def answer():
            from small import deep
            return deep.Deep().answer()
        """,
    "deep": """
        class Deep:
            def answer(self):
                return 42
        """,
    "late": """
        from small.used_while_importing import double
        FOUR = [double(each) for each in (2,)]

        def answer():
            return FOUR
        """,
    "used_while_importing": """
        def double(number):
            return 2 * number
        """,
    "only_imported": """
        class Unused:
            values = [each for each in range(3)]

        def never():
            return 0
        """,
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A package of which some modules are entered and others only imported."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "small"]:
        del sys.modules[name]


@pytest.mark.usefixtures("small")
def test_modules_count_where_a_function_is_called_and_not_where_they_are_imported():
    with following("small") as entered:
        from small.start import begin

        begin()
    assert list(entered) == ["small.start", "small.called", "small.deep", "small.late"]


@pytest.mark.usefixtures("small")
def test_nothing_is_counted_after_the_block_or_in_a_package_whose_name_begins_alike():
    from small.start import begin

    before = sys.getprofile()
    with following("smal") as others:
        begin()
    with following("small.called") as one:
        begin()
    with following("small") as none:
        pass
    begin()
    assert sys.getprofile() is before
    assert [list(each) for each in (others, one, none)] == [[], ["small.called"], []]


@pytest.fixture(scope="module")
def walks():
    return modules_entered()


def test_the_walk_of_a_command_begins_at_the_command_line_and_is_printed(
    walks, monkeypatch, capsys
):
    walk = walks["score"]
    assert len(set(walk)) == len(walk) <= 30
    monkeypatch.setattr("tests.walk.modules_entered", lambda classes: walks)
    monkeypatch.setattr(sys, "argv", ["walk", "score"])
    main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"score, 2 classes: {len(walk)} modules"
    assert [line.split() for line in lines] == [[str(i), name] for i, name in enumerate(walk, 1)]
    assert walk[0].startswith("hetcal.")


def test_a_simple_run_enters_few_modules(walks):
    assert len(walks["run"]) <= 54
