"""hetcal starts without what it does not need, and works without the optional libraries."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hetcal
from hetcal.choices import CALIBRATORS
from hetcal.errors import ModelError
from hetcal.models.child import require_keras
from tests.start_time import HELP, modules_after
from tests.walk import write_table

ROOT = Path(__file__).parents[1]
OPTIONAL = ("keras", "tensorflow", "plotly", "streamlit", "numba")
HEAVY = {*OPTIONAL, "numpy", "pandas", "pyarrow", "scipy", "sklearn", "h5py", "lightgbm"}
WITHOUT = f"""
import sys
from importlib.machinery import PathFinder

class Others(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.split(".")[0] in {OPTIONAL}
        return None if absent else super().find_spec(name, path, target)

sys.meta_path = [Others if each is PathFinder else each for each in sys.meta_path]
"""


@pytest.mark.parametrize("code", ["import hetcal", HELP, "import hetcal.version"])
def test_no_library_is_loaded_at_the_start(code):
    assert modules_after(code) & HEAVY == set()


def test_public_names_are_found_where_they_are_said_to_be():
    for name in hetcal.__all__:
        assert getattr(hetcal, name) is not None
        assert name in dir(hetcal)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hetcal.nothing


def test_type_checkers_see_the_names_that_python_finds():
    tree = ast.parse((ROOT / "hetcal" / "__init__.py").read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in checked.body for alias in node.names}
    assert seen == {name: f"hetcal.{module}" for name, module in hetcal._MODULES.items()}
    assert sorted([*seen, "__version__"]) == sorted(hetcal.__all__)


def test_calibrators_are_named_as_they_are_fitted():
    from hetcal.calibrators.methods import FAMILIES, NON_PARAMETRIC

    assert (*FAMILIES, *NON_PARAMETRIC, "scaling-binning") == CALIBRATORS


def test_a_run_with_a_score_column_needs_no_optional_library(tmp_path):
    score = write_table(tmp_path / "table.csv", 2)
    line = ["run", tmp_path / "table.csv", "--label", "label", "--score", score]
    line = [str(each) for each in (*line, "--out", tmp_path / "out")]
    code = f"{WITHOUT}\nfrom hetcal.cli.main import main\nsys.exit(main({line!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "artifact.zip").exists()


def test_a_package_is_imported_without_optional_libraries():
    code = f"{WITHOUT}\nimport hetcal\nfor name in hetcal.__all__: getattr(hetcal, name)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_model_without_keras_says_what_to_install(monkeypatch):
    monkeypatch.setattr("hetcal.models.process.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install -e \"\.\[keras\]\""):
        require_keras()


def test_the_same_versions_are_pinned_in_both_places():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pinned = {*project["dependencies"], *extras["app"], *extras["keras"]}
    listed = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert set(listed) == pinned
    assert all("==" in each for each in pinned)


def test_the_lock_has_every_requirement_and_hashes_of_each():
    listed = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = re.findall(r"^([a-z0-9.-]+==[^\s;]+).*\\\n +--hash=sha256:[0-9a-f]{64}\b", lock, re.M)
    assert len(locked) == len(re.findall("^[a-z0-9]", lock, re.M))
    assert {each.split(";")[0] for each in listed} <= set(locked)
