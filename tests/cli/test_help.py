import re

import pytest

from hetcal.cli.main import main
from hetcal.version import __version__

COMMANDS = ("run", "score", "check", "export", "compare", "runs", "demo", "speed", "benchmark")


def help_of(capsys, *words):
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--help"])
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"hetcal {__version__}\n"


def test_every_command_is_listed(capsys):
    listed = re.findall(r"^    (\w+)\b", help_of(capsys), re.MULTILINE)
    assert tuple(listed) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_narrow_terminal_and_every_option_says_what_it_is_without(command, capsys):
    text = help_of(capsys, command)
    assert max(map(len, text.splitlines())) <= 80
    assert f"Example: hetcal {command} " in " ".join(text.split())
    options = re.split(r"^  (?=--)", text, flags=re.MULTILINE)[1:]
    for option in options:
        words = option.split("\n\n")[0]
        assert re.search(r"default:|required| FILE +Keras model|--score COL", words), words


def test_every_group_of_a_run_has_an_example_of_its_own_options(capsys):
    text = help_of(capsys, "run")
    groups = re.findall(r"^(\w[^\n]*):\n  Example: (.*?)(?:\.\s|\n\n)", text, re.M | re.S)
    assert [name for name, _ in groups] == [
        "input",
        "how text is read",
        "model",
        "split",
        "scheme",
        "curves (additive) and pairs",
        "trees and maps of the other partitions",
        "output",
        "repeat a run",
    ]
    parts = text.split("\n  Example: ")[1:]
    for (_, example), part in zip(groups, parts, strict=True):
        for option in re.findall(r"--[\w-]+", example):
            assert re.search(rf"^  {option}\b", part, re.MULTILINE), option
