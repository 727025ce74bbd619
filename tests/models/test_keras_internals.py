import subprocess
import sys
from pathlib import Path

import pytest

START = """
import sys, types
package = types.ModuleType("hetcal")  # as the child does: without what `import hetcal` loads
package.__path__ = ["hetcal"]
sys.modules["hetcal"] = package
from hetcal.models.keras_internals import import_keras
import_keras()
print(sorted({"keras", "pandas", "sklearn", "tensorflow"} & set(sys.modules)))
import pandas
print(pandas.Series([1]).sum())
"""


@pytest.mark.network
def test_keras_starts_without_pandas_and_scikit_learn_which_can_be_imported_later():
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", START], cwd=root, capture_output=True, check=True, text=True
    )
    assert ended.stdout.splitlines() == ["['keras', 'tensorflow']", "1"]
