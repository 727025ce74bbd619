import numpy as np

from hetcal.algorithm import split_table
from hetcal.class_checks import check_classes
from hetcal.class_table import make_class_table
from hetcal.roles import Roles
from hetcal.settings import Settings

COLUMNS = ("p_ant", "p_bee", "p_cow")


def findings(frame):
    table = make_class_table(frame, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    return check_classes(table, split_table(table.table, Settings(), table.y))


def test_a_sound_table_gives_no_findings(kinds):
    assert findings(kinds) == ()


def test_a_class_with_few_rows_is_named_with_its_role(kinds):
    few = kinds[(kinds["kind"] != "bee") | (kinds["split"] != "test") | (kinds["x"] > 2)]
    rows = ((few["kind"] == "bee") & (few["split"] == "test")).sum()
    assert 0 < rows < 10
    (found,) = findings(few.reset_index(drop=True))
    assert f"{rows} of them of the class 'bee'" in found.message
    assert "Give test more rows" in found.message


def test_a_column_that_gives_one_class_away_is_named_once(kinds):
    rng = np.random.default_rng(1)
    told = np.where(kinds["kind"] == "cow", 1.0, 0.0) + rng.normal(scale=0.01, size=len(kinds))
    (found,) = findings(kinds.assign(told=told))
    assert found.column == "told"
    assert "almost separates the class 'cow' from the others" in found.message


def test_a_class_that_is_written_in_two_ways_is_named(kinds):
    kind = kinds["kind"].copy()
    kind.iloc[np.flatnonzero(kind == "ant")[::2]] = "Ant"
    frame = kinds.assign(kind=kind, p_Ant=kinds["p_ant"])
    roles = Roles("kind", split="split", class_scores=(*COLUMNS, "p_Ant"))
    table = make_class_table(frame, roles, "digest")
    found = check_classes(table, split_table(table.table, Settings(), table.y))
    assert any("differ only in case or spaces: 'Ant' in" in each.message for each in found)
