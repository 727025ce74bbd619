"""Find a Chromium for the browser tests, or install one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
APT = "apt-get update && apt-get install -y --no-install-recommends chromium"


def find_chromium() -> str | None:
    """Path of a browser on this machine: named by CHROMIUM, on the PATH, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or _playwright_chromium()


def provide_chromium() -> str:
    """Path of a browser, installed if there was none."""
    return find_chromium() or _download() or _install_with_apt()


def _playwright_chromium() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _download() -> str | None:
    """Let Playwright fetch its browser and the libraries that it needs; None where it cannot."""
    for step in ("install", "install-deps"):
        command = [sys.executable, "-m", "playwright", step, "chromium"]
        if subprocess.run(command, check=False, timeout=600).returncode != 0:
            return None
    return _playwright_chromium()


def _install_with_apt() -> str:
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*prefix, "sh", "-c", APT], check=True)
    found = find_chromium()
    if found is None:
        raise SystemExit("No Chromium: install one, or name it in the variable CHROMIUM.")
    return found
