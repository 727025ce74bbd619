"""Tables made by hand need no digest: their values give one."""

import numpy as np
import pandas as pd
import pytest

from hetcal.data.scores import scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.digests import frame_digest
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})


def test_equal_tables_have_equal_digests_whatever_their_index():
    assert frame_digest(FRAME) == frame_digest(FRAME.copy().set_index(pd.Index([5, 3])))


@pytest.mark.parametrize(
    "other",
    [
        FRAME.rename(columns={"a": "c"}),
        FRAME[["b", "a"]],
        FRAME.iloc[::-1],
        FRAME.assign(a=[1.0, np.nan]),
        FRAME.assign(b=["x", "z"]),
        FRAME.assign(a=[1, 2]),
        FRAME.head(1),
    ],
)
def test_other_tables_have_other_digests(other):
    assert frame_digest(other) != frame_digest(FRAME)


def test_tables_and_scores_take_their_digest_from_their_values(segments):
    roles, more = Roles("label", split="split"), segments.assign(size=segments["size"] + 1)
    assert make_table(segments, roles).digest == make_table(segments.copy(), roles).digest
    assert make_table(segments, roles).digest != make_table(more, roles).digest
    score = segments["score"]
    first = scores_from_column(score, "logit").digest
    assert first == scores_from_column(score.copy(), "logit").digest
    assert first != scores_from_column(score + 1, "logit").digest
    inside = pd.Series([0.2, 0.4], name="p")
    kinds = (scores_from_column(inside, kind).digest for kind in ("logit", "probability"))
    assert len(set(kinds)) == 2


def test_tables_of_many_classes_do_so_too(kinds):
    columns = ("p_ant", "p_bee", "p_cow")
    roles = Roles("kind", split="split", class_scores=columns)
    other = kinds.iloc[::-1]
    assert make_table(kinds, roles).digest == make_table(kinds.copy(), roles).digest
    assert make_table(kinds, roles).digest != make_table(other, roles).digest
    of = [scores_from_columns(each, columns, "probability").digest for each in (kinds, other)]
    assert of[0] != of[1]


def test_rows_of_any_index_run_as_if_they_were_numbered(segments):
    shuffled = segments.sample(frac=1, random_state=0)
    roles = Roles("label", split="split", score="score")
    lifts = []
    for frame in (shuffled, shuffled.reset_index(drop=True)):
        table, scores = make_table(frame, roles), scores_from_column(frame["score"], "logit")
        assert table.frame.index.equals(pd.RangeIndex(len(segments)))
        lifts.append(run(table, scores).evaluation.lift)
    assert lifts[0] == lifts[1]
    assert lifts[0] == run(table, scores, Settings()).evaluation.lift
