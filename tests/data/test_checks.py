"""The checks find what would make results misleading, and name the column."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from hetcal.choices import PAPER_FRACTIONS
from hetcal.cli.main import main
from hetcal.data import checks
from hetcal.data.checks import check_table, label_findings, quoted, separation
from hetcal.data.demo import toy_table
from hetcal.data.splits import Split, split_by_column, split_by_fraction
from hetcal.data.table import Roles, make_table
from hetcal.runs.run import split_table
from hetcal.runs.settings import Settings

ROWS = 2000


@pytest.fixture
def frame():
    """Honest features: noise around the label, all rows different."""
    rng = np.random.default_rng(0)
    y = rng.binomial(1, 0.4, ROWS)
    return pd.DataFrame(
        {
            "x": rng.normal(size=ROWS) + y,
            "job": pd.Series(np.array(["a", "b", "c"])[rng.integers(0, 3, ROWS)], dtype="str"),
            "y": y,
        }
    )


def found(frame, roles=None, split=None):
    table = make_table(frame, roles or Roles("y"), "d")
    return check_table(table, split or split_by_fraction(table.y, PAPER_FRACTIONS, 0))


def only(findings):
    (finding,) = findings
    return finding


def test_an_honest_table_has_no_findings(frame):
    assert found(frame) == ()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_that_gives_the_label_away_is_named(frame, sign):
    frame["result"] = sign * (frame["y"] + frame["x"] / 100)
    finding = only(found(frame))
    assert (finding.level, finding.column) == ("warning", "result")
    assert "alone almost separates the classes" in finding.message


def test_a_category_that_gives_the_label_away_is_named(frame):
    frame["state"] = pd.Series(np.where(frame["y"] == 1, "closed", "open"), dtype="str")
    assert only(found(frame)).column == "state"


def test_leaks_are_found_on_a_sample_of_a_long_table(frame, monkeypatch):
    monkeypatch.setattr(checks, "MAX_ROWS", 100)
    frame["result"] = frame["y"] + frame["x"] / 100
    assert only(found(frame)).column == "result"


def test_rows_that_repeat_across_roles_are_counted_by_pair(frame):
    part = np.repeat(["train", "calibration", "test"], [1000, 500, 500])
    frame.iloc[1000:1007] = frame.iloc[:7].to_numpy()
    frame.iloc[1500:1503] = frame.iloc[:3].to_numpy()
    finding = only(found(frame, split=split_by_column(pd.Series(part))))
    assert finding.level == "warning"
    assert "7 of the 500 calibration rows in train" in finding.message
    assert "3 of the 500 test rows in train" in finding.message
    assert "3 of the 500 test rows in calibration" in finding.message


def test_equal_features_of_different_rows_are_no_repeat():
    toy = toy_table(4000)
    roles = Roles("y", score="score", split="split")
    assert found(toy, roles, split_by_column(toy["split"])) == ()


def test_columns_that_tell_no_row_from_another_say_nothing_of_repeats(frame):
    assert found(frame[["job", "y"]]) == ()
    assert found(frame[["y"]]) == ()


def test_the_role_of_a_row_does_not_hide_that_it_repeats(frame):
    frame.iloc[1500:1503] = frame.iloc[:3].to_numpy()
    frame["part"] = np.repeat(["train", "calibration", "test"], [1000, 500, 500])
    finding = only(found(frame, Roles("y", split="part"), split_by_column(frame["part"])))
    assert "3 of the 500 test rows in train" in finding.message


def test_a_column_without_a_name_and_one_of_lists_stand_in_nobodys_way(frame):
    frame[""] = np.arange(ROWS) % 7
    frame["lists"] = pd.Series([[i] for i in range(ROWS)])
    assert [finding.column for finding in found(frame)] == ["lists"]


def test_equal_features_with_another_label_are_no_repeat(frame):
    part = np.repeat(["train", "calibration", "test"], [1000, 500, 500])
    frame.loc[1500:1509, ["x", "job"]] = frame.loc[:9, ["x", "job"]].to_numpy()
    frame.loc[1500:1509, "y"] = 1 - frame.loc[:9, "y"].to_numpy()
    assert found(frame, split=split_by_column(pd.Series(part))) == ()


def test_a_group_on_two_sides_is_named(frame):
    frame["patient"] = [f"p{i // 2}" for i in range(ROWS)]
    roles = Roles("y", group="patient")
    finding = only(found(frame, roles))
    assert (finding.level, finding.column) == ("warning", "patient")
    assert f"of {ROWS // 2:,} groups" in finding.message
    whole = split_by_fraction(frame["y"], PAPER_FRACTIONS, 0, frame["patient"])
    assert found(frame, roles, whole) == ()


def test_few_groups_among_the_test_rows_are_named(frame):
    frame["site"] = [f"s{i % 60}" for i in range(ROWS)]
    roles = Roles("y", group="site")
    few, many = (
        split_by_fraction(frame["y"], fractions, 0, frame["site"])
        for fractions in ((0.5, 0.1, 0.2, 0.2), (0.2, 0.1, 0.2, 0.5))
    )
    finding = only(found(frame, roles, few))
    assert (finding.level, finding.column) == ("warning", "site")
    groups = frame["site"][few.test].nunique()
    assert f"belong to {groups} groups of column 'site'" in finding.message
    assert found(frame, roles, many) == ()


def test_a_role_with_few_rows_or_few_of_a_class_is_named(frame):
    order = np.argsort(frame["y"].to_numpy(), kind="stable")  # the positives last
    split = Split(
        train=np.sort(np.r_[order[200:600], order[-700:-9]]),
        validation=np.array([], dtype=np.int64),
        calibration=np.sort(np.r_[order[:20], order[1400 - 200 : 1400 - 180]]),
        test=np.sort(np.r_[order[20:200], order[-9:]]),
    )
    messages = [f.message for f in found(frame, split=split) if f.level == "warning"]
    assert len(messages) == 2
    assert messages[0].startswith("There are only 40 calibration rows")
    assert messages[1].startswith("There are only 189 test rows, 9 of them of the class")


def test_a_constant_feature_is_noted(frame):
    frame["country"] = "DE"
    finding = only(found(frame))
    assert (finding.level, finding.column) == ("note", "country")


@pytest.mark.parametrize(
    "values",
    [pd.Series([f"id{i // 2 * 2 + i % 3}" for i in range(ROWS)], dtype="str"), range(ROWS)],
    ids=["text", "running number"],
)
def test_identifiers_are_named(frame, values):
    frame["key"] = values
    finding = only(found(frame))
    assert (finding.level, finding.column) == ("warning", "key")
    assert "identifier" in finding.message


@pytest.mark.parametrize("name", ["customer_id", "CustomerID", "sessionUuid", "ID", "Order id"])
def test_a_column_named_like_an_id_is_named_though_its_values_repeat(frame, rng, name):
    frame[name] = rng.integers(0, 400, ROWS)
    finding = only(found(frame))
    assert (finding.level, finding.column, finding.code) == ("warning", name, "identifier")
    distinct = len(set(frame[name]))
    assert f"{distinct:,} different values in {ROWS:,} rows" in finding.message
    assert f"--ignore {quoted(name)}" in finding.message
    frame[name] = frame[name].where(frame[name] > 9)  # some are missing
    assert only(found(frame)).code == "identifier"


@pytest.mark.parametrize("name", ["paid", "grid_width", "valid", "humidity"])
def test_letters_within_a_word_are_no_id(frame, rng, name):
    frame[name] = rng.integers(0, 400, ROWS)
    assert found(frame) == ()


def test_few_values_or_fractions_are_no_ids_whatever_their_name(frame, rng):
    frame["shop_id"] = rng.integers(0, 25, ROWS)
    frame["id_score"] = rng.normal(size=ROWS)
    assert found(frame) == ()


def test_a_column_that_is_left_out_is_not_named(frame, rng):
    frame["customer_id"] = rng.integers(0, 400, ROWS)
    assert found(frame, Roles("y", ignore=("customer_id",))) == ()


def test_categories_with_few_rows_each_are_named(frame):
    frame["town"] = pd.Series([f"t{i % 40}" for i in range(ROWS)], dtype="str")
    finding = only(found(frame))  # 1,300 train rows in 40 towns
    assert (finding.level, finding.column) == ("warning", "town")
    assert "40 categories in 1,300 train rows, 32.5 rows each" in finding.message
    frame["town"] = pd.Series([f"t{i % 20}" for i in range(ROWS)], dtype="str")
    assert found(frame) == ()


def test_infinite_values_are_counted(frame):
    frame.loc[[3, 5], "x"] = [np.inf, -np.inf]
    finding = only(found(frame))
    assert finding.column == "x"
    assert "2 infinite values" in finding.message
    frame.loc[3, "x"] = 0
    assert "1 infinite value." in only(found(frame)).message


def test_unused_rows_and_dates_are_noted(frame):
    frame["day"] = pd.date_range("2020-01-01", periods=ROWS)
    part = pd.Series(np.repeat(["train", "calibration", "test", ""], 500))
    notes = found(frame, split=split_by_column(part))
    assert [finding.level for finding in notes] == ["note", "note"]
    assert notes[0].message.startswith("500 rows have no role")
    assert notes[1].column == "day"


def test_warnings_come_first(frame):
    frame["country"] = "DE"
    frame["result"] = frame["y"] + frame["x"] / 100
    assert [finding.level for finding in found(frame)] == ["warning", "note"]


COLUMNS = ("p_ant", "p_bee", "p_cow")


def class_findings(frame):
    table = make_table(frame, Roles("kind", split="split", class_scores=COLUMNS), "digest")
    return check_table(table, split_table(table, Settings()))


def test_a_sound_table_gives_no_findings(kinds):
    assert class_findings(kinds) == ()


def test_a_class_with_few_rows_is_named_with_its_role(kinds):
    few = kinds[(kinds["kind"] != "bee") | (kinds["split"] != "test") | (kinds["x"] > 2)]
    rows = ((few["kind"] == "bee") & (few["split"] == "test")).sum()
    assert 0 < rows < 10
    (found,) = class_findings(few.reset_index(drop=True))
    assert f"{rows} of them of the class 'bee'" in found.message
    assert "Give test more rows" in found.message


def test_a_column_that_gives_one_class_away_is_named_once(kinds):
    rng = np.random.default_rng(1)
    told = np.where(kinds["kind"] == "cow", 1.0, 0.0) + rng.normal(scale=0.01, size=len(kinds))
    (found,) = class_findings(kinds.assign(told=told))
    assert found.column == "told"
    assert "almost separates the class 'cow' from the others" in found.message


def test_a_class_that_is_written_in_two_ways_is_named(kinds):
    kind = kinds["kind"].copy()
    kind.iloc[np.flatnonzero(kind == "ant")[::2]] = "Ant"
    frame = kinds.assign(kind=kind, p_Ant=kinds["p_ant"])
    roles = Roles("kind", split="split", class_scores=(*COLUMNS, "p_Ant"))
    table = make_table(frame, roles, "digest")
    found = check_table(table, split_table(table, Settings()))
    assert any("differ only in case or spaces: 'Ant' in" in each.message for each in found)


LABELS = ["Yes"] * 4 + ["yes "] * 3 + ["YES"] + ["No"] * 5 + ["no"] * 2


def findings(labels, positive):
    frame = pd.DataFrame({"x": range(len(labels)), "y": labels})
    return list(label_findings(make_table(frame, Roles("y", positive=positive))))


def test_spellings_of_the_positive_value_are_counted_and_warned_of():
    first, second = sorted(findings(LABELS, "Yes"), key=lambda finding: finding.level)
    assert (first.level, second.level) == ("note", "warning")
    for part in ("'Yes' in 4 rows", "'yes ' in 3 rows", "'YES' in 1 row", "Only 'Yes' counts as"):
        assert part in second.message
    assert "'No' in 5 rows" in first.message
    assert "All of them count as negative" in first.message
    assert {first.column, second.column} == {"y"}


def test_each_spelling_is_a_class_where_none_is_positive():
    found = findings(LABELS, None)
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


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_agree_with_scikit_learn(rng):
    y = rng.binomial(1, 0.3, 2000)
    x = np.round(rng.normal(size=2000) + y, 1)
    assert separation(pd.Series(x), y) == pytest.approx(roc_auc_score(y, x), abs=1e-12)


@pytest.mark.parametrize("missing_class", [0, 1])
def test_missing_values_alone_can_give_the_label_away(rng, missing_class):
    y = rng.binomial(1, 0.3, 2000)
    x = np.where(y == missing_class, np.nan, rng.normal(size=2000))
    auc = separation(pd.Series(x), y)
    assert max(auc, 1 - auc) == 1


def test_infinite_values_are_ordered_with_missing_ones_beside_them():
    y = np.array([0, 0, 1, 1])
    assert separation(pd.Series([-np.inf, 0.0, 1.0, np.inf]), y) == 1
    assert separation(pd.Series([-np.inf, 0.0, np.inf, np.nan]), y) == 1


def test_a_category_that_copies_the_label_separates_it(rng):
    y = rng.binomial(1, 0.3, 2000)
    assert separation(pd.Series(np.where(y == 1, "paid", "due"), dtype="str"), y) == 1


def test_an_identifier_does_not_look_like_a_leak(rng):
    y = rng.binomial(1, 0.3, 2000)
    names = pd.Series([f"id{i}" for i in range(2000)], dtype="str")
    assert separation(names, y) == pytest.approx(0.5, abs=0.05)


def test_a_missing_category_counts_as_one_of_its_own(rng):
    y = rng.binomial(1, 0.3, 2000)
    assert separation(pd.Series(np.where(y == 1, "x", None), dtype="str"), y) == 1


def test_one_class_separates_nothing():
    assert separation(pd.Series([1.0, 2.0]), np.array([1, 1])) == 0.5


def test_a_leak_is_found_also_where_labels_alternate():
    y = np.arange(200) % 2
    column = pd.Series(np.where(y == 1, "late", "early"))
    assert separation(column, y) == 1.0
