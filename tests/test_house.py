"""The house: packages in one import order, few modules in a folder, a charter in each package."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "hetcal"
MOST_MODULES = 18

# A module imports from its own package and from those before it; modules that stand in hetcal/
# itself come before all packages.
ORDER = (
    "cells",
    "metrics",
    "data",
    "models",
    "trees",
    "calibrators",
    "partitions",
    "schemes",
    "results",
    "runs",
    "artifacts",
    "watch",
    "figures",
    "exports",
    "jobs",
    "store",
    "notebook",
    "benchmarks",
    "cli",
)
DOORS = ("hetcal", "hetcal.__main__")  # may import everything, and nothing imports them
LATE = {"keras", "tensorflow", "lightgbm", "streamlit", "plotly", "scipy.stats", "sklearn.ensemble"}
HELP = (
    "import contextlib, io, runpy; sys.argv = ['hetcal', '--help']\n"
    "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
    "    runpy.run_module('hetcal', run_name='__main__')"
)


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(CORE.rglob("*.py"))}


def imported(path):
    """Full names of all that a file imports anywhere, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def core_imports(path):
    """Modules of hetcal that a file imports, or takes a name from."""
    for name in imported(path):
        if name.split(".")[0] == "hetcal":
            yield name if name in MODULES else name.rpartition(".")[0]


def floor(module):
    """The place of a module's package in the order, from the ground."""
    parts = module.split(".")
    return ORDER.index(parts[1]) + 1 if len(parts) > 1 and parts[1] in ORDER else 0


def by_path(*paths):
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def folders():
    roots = CORE, ROOT / "pages" / "shared", ROOT / "tests"
    found = {path.parent for root in roots for path in root.rglob("*.py")}
    return by_path(*sorted(found))


def test_every_package_has_its_place_in_the_order():
    assert sorted(ORDER) == sorted(path.parent.name for path in CORE.glob("*/__init__.py"))


@pytest.mark.parametrize("module", [name for name in MODULES if name not in DOORS])
def test_a_module_imports_its_own_package_and_those_before_it(module):
    for other in core_imports(MODULES[module]):
        assert other not in DOORS
        assert floor(other) <= floor(module), f"{module} imports {other}"


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter({name: set(core_imports(path)) for name, path in MODULES.items()}).prepare()


@pytest.mark.parametrize("module", MODULES)
def test_no_module_of_the_core_imports_a_page_or_streamlit(module):
    tops = {name.split(".")[0] for name in imported(MODULES[module])}
    assert not tops & {"streamlit", "pages", "tests"}


@pytest.mark.parametrize("folder", folders())
def test_a_folder_has_few_modules(folder):
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES


@pytest.mark.parametrize("package", ORDER)
def test_the_init_of_a_package_is_its_charter_and_nothing_else(package):
    tree = ast.parse((CORE / package / "__init__.py").read_text(encoding="utf-8"))
    charter = ast.get_docstring(tree) or ""
    assert len(re.findall(r"[.!?](?:\s|$)", charter)) >= 2
    assert len(tree.body) == 1


@pytest.mark.parametrize("path", by_path(ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))))
def test_pages_neither_compute_nor_draw(path):
    tops = {name.split(".")[0] for name in imported(path)}
    assert not tops & {"numpy", "pandas", "plotly", "scipy", "sklearn"}


@pytest.mark.parametrize("statement", ["import hetcal", HELP], ids=["import", "help"])
def test_the_core_starts_without_heavy_libraries(statement):
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert set(out.stdout.decode().split()) & LATE == set()
