"""Run every check: ``python -m tests``.

Lint, format, types, then all tests. The browser tests need a Chromium: one that
is already on the machine is taken; otherwise Playwright downloads its own, and
where it cannot, Debian's package is installed through apt.
"""

import subprocess
import sys

from tests.chromium import provide_chromium

STEPS = (
    ("Lint", ("ruff", "check", ".")),
    ("Format", ("ruff", "format", "--check", ".")),
    ("Types", ("mypy",)),
    # Many tests wait, for a browser or for Keras: two at a time take half as long.
    ("Tests", ("pytest", "-q", "-n", "2", "--dist", "loadfile", *sys.argv[1:])),
)


def main() -> int:
    """Run the steps in order and stop at the first that fails."""
    say(f"Chromium: {provide_chromium()}")
    for name, command in STEPS:
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
    sys.exit(main())
