import io

import pytest

from hetcal.cli.output import progress_line


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
