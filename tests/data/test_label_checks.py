import json

import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main
from hetcal.data.checks import label_findings
from hetcal.data.table import Roles, make_table

LABELS = ["Yes"] * 4 + ["yes "] * 3 + ["YES"] + ["No"] * 5 + ["no"] * 2


def findings(labels, positive, asked="same"):
    frame = pd.DataFrame({"x": range(len(labels)), "y": labels})
    table = make_table(frame, Roles("y", positive=positive))
    return list(label_findings(table, table.roles.positive if asked == "same" else asked))


def test_ways_to_write_the_positive_value_are_counted_and_warned_of():
    first, second = sorted(findings(LABELS, "Yes"), key=lambda finding: finding.level)
    assert (first.level, second.level) == ("note", "warning")
    for part in ("'Yes' in 4 rows", "'yes ' in 3 rows", "'YES' in 1 row", "Only 'Yes' counts as"):
        assert part in second.message
    assert "'No' in 5 rows" in first.message
    assert "All of them count as negative" in first.message
    assert {first.column, second.column} == {"y"}


def test_each_way_is_a_class_where_none_is_positive():
    found = findings(LABELS, "Yes", asked=None)
    assert [finding.level for finding in found] == ["warning"] * 2
    assert all("a class of its own" in finding.message for finding in found)


@pytest.mark.parametrize(
    "labels", [["Yes", "No"], ["a b", "ab"], [1, 0], [0.0, 1.0], [True, False]]
)
def test_values_that_differ_in_more_are_left_alone(labels):
    assert findings(labels * 2, str(labels[0])) == []


def test_inner_spaces_and_other_kinds_of_spaces_are_spaces():
    (found,) = findings(["a b", "a\u00a0 B", "c"], "a b")
    assert "differ only in case or spaces" in found.message


@pytest.fixture
def mixed(segments, tmp_path):
    label = segments["label"].replace({"yes": "Yes", "no": "No"})
    path = tmp_path / "table.csv"
    odd = np.flatnonzero(label == "Yes")[:100]
    label.iloc[odd] = "yes "
    segments.assign(label=label).to_csv(path, index=False)
    return path


SCORED = ("--label", "label", "--score", "score", "--split", "split", "--partition", "tree")


def test_a_run_warns_and_says_which_value_is_positive(mixed, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["run", str(mixed), *SCORED, "--positive", "Yes", "--out", str(out)]) == 0
    said = capsys.readouterr()
    rows = pd.read_csv(mixed)["label"].value_counts()
    assert "'yes ' in 100 rows. Only 'Yes' counts as positive" in said.err
    assert f"positive where it is 'Yes': {rows['Yes']:,} of {rows.sum():,} rows." in said.out
    result = json.loads((out / "result.json").read_text())
    assert result["label"] == {"column": "label", "positive": "Yes"}


def test_a_score_column_too_few_hints_at_labels_that_look_alike(mixed, tmp_path, capsys):
    assert main(["run", str(mixed), *SCORED, "--out", str(tmp_path / "out")]) == 2
    assert "If 'Yes' and 'yes ' mean the same" in capsys.readouterr().err
