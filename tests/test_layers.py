"""The rules between the layers, checked on what Python really imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("keras", "tensorflow", "streamlit")


def imported_by(statement):
    """The heavy packages that are loaded after a statement ran in a new process."""
    code = f"import sys; {statement}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    return set(HEAVY) & set(out.stdout.decode().split())


@pytest.mark.parametrize("statement", ["import hetcal", "import hetcal.cli.commands"])
def test_the_core_loads_neither_keras_nor_streamlit(statement):
    assert imported_by(statement) == set()


@pytest.mark.parametrize("path", sorted((ROOT / "hetcal").glob("*.py")), ids=lambda path: path.name)
def test_no_module_of_the_core_imports_a_page_or_streamlit(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.split(".")[0] for name in names} & {"streamlit", "pages", "tests"}


@pytest.mark.parametrize(
    "path", [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))], ids=lambda path: path.name
)
def test_pages_neither_compute_nor_draw(path):
    text = path.read_text(encoding="utf-8")
    imports = {line for line in text.splitlines() if line.startswith(("import ", "from "))}
    for library in ("numpy", "pandas", "plotly", "scipy", "sklearn"):
        assert not any(library in line for line in imports)
