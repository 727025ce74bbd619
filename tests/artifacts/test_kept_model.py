"""A model that stays: several calls, one process, the scores of numpy."""

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.kept_model import BATCH, KeptModel
from hetcal.errors import ModelError
from hetcal.models.file import inspect_model
from hetcal.models.inputs import matrix_input
from hetcal.models.scoring import ModelScoring
from tests.models.model_files import model_files
from tests.models.processes import gone, happens

pytestmark = pytest.mark.network


def test_calls_are_answered_by_one_process_which_is_replaced_when_it_dies():
    files = model_files()
    with np.load(files / "truth.npz") as stored:
        rows, logit = pd.DataFrame(stored["x"], columns=list("abc")), stored["logits"][:, 0]
    model = inspect_model(files / "sigmoid.keras")
    kept = KeptModel(ModelScoring(model, matrix_input(model, list("abc"))))
    try:
        first = kept._child._process.pid
        for begin, end in ((0, 1), (1, 2), (2, 2 + 2 * BATCH + 1), (7, 8)):
            found = kept.score(rows.iloc[begin:end].reset_index(drop=True))
            assert found.logit == pytest.approx(logit[begin:end], abs=1e-5)
        with pytest.raises(ModelError, match="'b'"):
            kept.score(rows.head(2).assign(b="text"))
        assert kept.score(rows.head(1)).logit == pytest.approx(logit[:1], abs=1e-5)
        assert kept._child._process.pid == first
        kept._child._process.kill()
        assert kept.score(rows.head(3)).logit == pytest.approx(logit[:3], abs=1e-5)
        second = kept._child._process.pid
        assert second != first
    finally:
        kept.close()
    assert happens(lambda: gone(second))
