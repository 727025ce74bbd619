"""Run every check: ``python -m tests``.

Lint, format, types, then all tests. The browser tests need a Chromium: one that
is already on the machine is taken; otherwise Playwright downloads its own, and
where it cannot, Debian's package is installed through apt.

``python -m tests --search`` looks for generated cases that no run has seen: ten thousand for
every test that takes such cases, other ones each time. What it finds fails again the next time;
write it down as an ``@example`` of the test.
"""

import subprocess
import sys

from tests.chromium import provide_chromium

STEPS = (
    ("Lint", ("ruff", "check", ".")),
    ("Format", ("ruff", "format", "--check", ".")),
    ("Types", ("mypy",)),
    # Many tests wait, for a browser or for Keras: two at a time take half as long. In the order of
    # their folders those of the browser share a server, and no long file is left for the end.
    ("Tests", ("pytest", "-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")),
)
SEARCH = ("pytest", "-q", "-m", "hypothesis", "--hypothesis-profile", "search", "tests")


def main(arguments: list[str]) -> int:
    """Run every check, or only the search; pytest is given all other arguments."""
    others = [each for each in arguments if each != "--search"]
    if others != arguments:
        return run((("Search", (*SEARCH, *others)),))
    say(f"Chromium: {provide_chromium()}")
    *before, (name, command) = STEPS
    return run((*before, (name, (*command, *others))))


def run(steps: tuple[tuple[str, tuple[str, ...]], ...]) -> int:
    """Run the steps in order and stop at the first that fails."""
    for name, command in steps:
        say(f"{name}: {' '.join(command)}")
        code = subprocess.run([sys.executable, "-m", *command], check=False).returncode
        if code != 0:
            say(f"{name} failed.")
            return code
    return 0


def say(text: str) -> None:
    """Announce a step on the terminal."""
    sys.stdout.write(f"\n== {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
