import json
import subprocess
import sys

import pytest

from hetcal.cli.main import main
from tests.cli.broken_off import SIZES


@pytest.fixture
def table(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.to_csv(path, index=False)
    return path


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc and forks")
def test_a_command_that_is_killed_or_has_no_room_leaves_every_file_whole(table):
    command = [sys.executable, "-m", "tests.cli.broken_off", str(table.parent)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    counts = json.loads(ended.stdout.splitlines()[-1])
    assert counts["killed"] > 60  # lines of the writer: of five files of `run`, of one of `score`
    assert counts["full"] >= 2 * SIZES


def test_a_command_without_memory_says_so_and_writes_nothing(table, tmp_path, monkeypatch, capsys):
    def none_left(*_):
        raise MemoryError

    out = tmp_path / "out"
    run = f"run {table} --label label --score score --split split --partition tree --out {out}"
    with monkeypatch.context() as patch:
        patch.setattr("hetcal.artifacts.report.table_bytes", none_left)
        assert main(run.split()) == 2
    assert "There is not enough memory" in capsys.readouterr().err
    assert not out.exists()


def test_what_a_command_writes_is_for_its_owner_and_a_shared_file_stays_shared(table, tmp_path):
    out, scored = tmp_path / "out", tmp_path / "scored.csv"
    run = f"run {table} --label label --score score --split split --partition tree --out {out}"
    score = ["score", f"{out}/artifact.zip", str(table), "--out", str(scored)]
    assert main(run.split()) == main(score) == 0
    assert out.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in (*out.iterdir(), scored)} == {0o600}
    scored.chmod(0o644)
    link = tmp_path / "link.csv"
    link.symlink_to(scored)
    assert main([*score[:-1], str(link)]) == 0
    assert link.is_symlink()
    assert scored.stat().st_mode & 0o777 == 0o644


def test_a_signed_artifact_is_taken_with_its_key_and_no_other_is(table, tmp_path, capsys):
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_bytes(b"k" * 32)
    other.write_bytes(b"o" * 32)
    run = f"run {table} --label label --score score --split split --partition tree --out"
    assert main([*run.split(), str(tmp_path / "plain")]) == 0
    assert main([*run.split(), str(tmp_path / "signed"), "--sign", str(key)]) == 0
    assert main(["run", "--config", str(tmp_path / "signed" / "run.toml")]) == 0  # signed again

    def score(name, *more):
        out = tmp_path / "rows.csv"
        return main(
            ["score", f"{tmp_path / name}/artifact.zip", str(table), "--out", f"{out}", *more]
        )

    assert score("signed", "--key", str(key)) == score("signed") == score("plain") == 0
    capsys.readouterr()
    for name, given, words in (
        ("plain", key, "The artifact is not signed."),
        ("signed", other, "signed with another key"),
        ("signed", tmp_path / "no", "The key file"),
    ):
        assert score(name, "--key", str(given)) == 2
        assert words in capsys.readouterr().err
