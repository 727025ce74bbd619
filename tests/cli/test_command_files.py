import errno

import pytest

from hetcal.cli.main import main, refusal

PARTS = 3  # what is wrong, what is needed, what to do


def sentences(said):
    return said.count(". ") + said.count(".\n")


@pytest.fixture
def taken(tmp_path):
    path = tmp_path / "taken"
    path.write_text("a,b\n1,2\n")
    return path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("score {0}/no.zip {1} --out {0}/scored.csv", "There is no artifact '{0}/no.zip'"),
        ("score {1} {1} --out {0}/no/scored.csv", "there is no folder '{0}/no'"),
        ("score {1} {1} --out {0}/sub.csv", "'{0}/sub.csv' is a folder"),
        ("score {0} {1} --out {0}/scored.csv", "There is no artifact '{0}'"),
        ("run {1} --label b --model {0}/no.keras --out {0}/out", "no model file '{0}/no.keras'"),
        ("run {1} --label b --score a --out {1}", "'{1}' is a file"),
        ("run {1} --label b --score a --out {1}/out", "below '{1}', which is a file"),
        ("demo --out {1}", "'{1}' is a file"),
        ("speed --rows 2000 --json {0}/no/speed.json", "there is no folder '{0}/no'"),
        ("benchmark --save {0}/no/models.jsonl", "there is no folder '{0}/no'"),
    ],
)
def test_files_that_cannot_be_used_are_named_before_any_work(tmp_path, taken, capsys, line, words):
    (tmp_path / "sub.csv").mkdir()
    assert main([word.format(tmp_path, taken) for word in line.split()]) == 2
    said = capsys.readouterr().err
    assert words.format(tmp_path, taken) in said
    assert sentences(said) == PARTS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sub.csv", "taken"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a.csv"), "'a.csv' cannot be read or"),
        (OSError(errno.EIO, "Input/output error"), "A file cannot be read or written: Input"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full."),
        (OSError(), "OSError"),
    ],
)
def test_what_the_system_refuses_is_said_in_three_sentences(
    tmp_path, capsys, monkeypatch, error, words
):
    def fail(directory):
        raise error

    monkeypatch.setattr("hetcal.cli.commands.write_demo", fail)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == f"hetcal: {refusal(error)}\n"
    assert words in said
    assert sentences(said) == PARTS
