import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hetcal.cli.output import progress_line, say_notes

ROOT = Path(__file__).parents[2]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True

    @property
    def shown(self):
        """What stands on the line after all that was written."""
        return self.getvalue().split("\r\x1b[K")[-1]


def test_a_terminal_shows_the_latest_share_on_one_line_that_goes_at_the_end():
    terminal = Terminal()
    with progress_line(terminal) as tell:
        tell(0.05, "Reading")
        assert terminal.shown == "  5% Reading …"
        tell(0.5, "Growing")
        assert terminal.shown == " 50% Growing …"
    assert terminal.shown == ""
    assert "\n" not in terminal.getvalue()


def test_the_line_goes_also_when_the_work_fails_and_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()

    def work():
        with progress_line(terminal) as tell:
            tell(0.5, "x" * 100)
            assert len(terminal.shown) == 19
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert terminal.shown == ""


def test_a_file_is_told_nothing():
    file = io.StringIO()
    with progress_line(file) as tell:
        tell(0.5, "Growing")
    assert file.getvalue() == ""


def test_a_terminal_shows_the_time_left_once_it_is_known(monkeypatch):
    monkeypatch.setattr("hetcal.progress.STEADY", 0.0)
    terminal = Terminal()
    with progress_line(terminal) as tell:
        tell(0.05, "Trying: tree")
        tell(0.95, "Fitting: tree")
        assert terminal.shown == " 95% Fitting: tree … about 1 s left"


def test_notes_take_the_place_of_the_line_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_line(terminal) as tell:
        tell(0.05, "Reading")
        say_notes(["one", "two"])
        tell(0.5, "Growing")
    lines = [line.split("\r\x1b[K")[-1] for line in terminal.getvalue().split("\n")]
    assert lines == ["note: one", "note: two", ""]


def test_an_interrupt_that_a_library_loses_ends_the_work_at_the_next_report():
    before = signal.getsignal(signal.SIGINT)  # ignored in a shell's background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _lose_an_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def _lose_an_interrupt():
    with progress_line(Terminal()) as tell:
        with contextlib.suppress(KeyboardInterrupt):  # as a callback of a library does
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            tell(0.2, "Growing")


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_a_run_on_a_terminal_says_what_it_does_and_ends_clean_on_ctrl_c(segments, tmp_path):
    segments.to_csv(tmp_path / "table.csv", index=False)
    line = [sys.executable, "-m", "hetcal", "run", str(tmp_path / "table.csv"), "--label", "label",
            "--score", "score", "--split", "split", "--out", str(tmp_path / "out"),
            "--partition", "auto"]  # fmt: skip
    ours, its = os.openpty()
    process = subprocess.Popen(line, cwd=ROOT, stdout=its, stderr=its, stdin=its)
    os.close(its)
    seen, pressed = b"", False
    with open(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while block := terminal.read(65_536):  # an error when the other end is closed
            seen += block
            if b"Checking" in seen and not pressed:
                pressed = True
                process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    shown = seen.decode().replace("\r\n", "\n")
    assert re.search(r"\r\x1b\[K +\d+% Reading the text …", shown)
    assert re.search(r"\r\x1b\[K +\d+% Checking the table …", shown)
    assert shown.endswith("\r\x1b[Khetcal: stopped.\n")
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()
