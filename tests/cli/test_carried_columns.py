import json

import pandas as pd
import pytest

from hetcal.cli.main import main

SCORED = ("--label", "label", "--score", "score", "--split", "split", "--max-depth", "2")
ADDED = ["leaf", "score", "before", "after", "label"]


@pytest.fixture
def named(segments, tmp_path):
    """Rows with names whose order is not that of the file, and where they are."""
    frame = segments.assign(customer=[f"{i:05d}" for i in range(len(segments), 0, -1)])
    frame.to_csv(tmp_path / "table.csv", index=False)
    return frame, tmp_path / "table.csv"


def run(table, out, *more):
    return main(["run", str(table), *SCORED, "--out", str(out), *more])


def test_the_id_goes_with_every_scored_row_and_is_no_feature(named, tmp_path):
    frame, table = named
    out = tmp_path / "out"
    assert run(table, out, "--id", "customer") == 0
    scored = pd.read_parquet(out / "scored.parquet")
    assert list(scored) == ["row", "customer", *ADDED]
    assert scored["customer"].tolist() == frame["customer"].iloc[scored["row"]].tolist()
    assert "customer" not in json.loads((out / "result.json").read_text())["settings"]["features"]
    again = tmp_path / "again.csv"
    line = ["score", str(out / "artifact.zip"), str(table), "--out", str(again)]
    assert main([*line, "--id", "customer"]) == 0
    found = pd.read_csv(again, dtype={"customer": str})
    assert list(found) == ["row", "customer", *ADDED[:-1]]
    assert found["customer"].tolist() == frame["customer"].tolist()


def test_all_columns_go_with_the_rows_and_none_hides_another(named, tmp_path):
    frame, table = named
    frame.assign(score_in_table=1).to_csv(table, index=False)
    assert run(table, tmp_path / "out", "--id", "customer", "--all-columns") == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    assert list(scored) == ["row", "customer", "segment", "size", "score_in_table_in_table",
                            "label_in_table",
                            "split", "score_in_table", *ADDED]  # fmt: skip
    assert scored["label"].tolist() == scored["label_in_table"].tolist()
    assert scored["score_in_table"].tolist() == [1] * len(scored)
    own = frame.iloc[scored["row"]]
    assert scored["score_in_table_in_table"].tolist() == own["score"].tolist()
    assert scored["size"].tolist() == own["size"].tolist()


def test_rows_without_a_label_shift_no_id(named, tmp_path):
    frame, table = named
    frame["label"] = frame["label"].where(frame.index >= 100)
    frame.to_csv(table, index=False)
    assert run(table, tmp_path / "out", "--id", "customer", "--drop-unlabelled") == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    assert scored["customer"].tolist() == frame["customer"].iloc[scored["row"]].tolist()


def test_the_id_may_have_another_role(named, tmp_path):
    frame, table = named
    frame.assign(customer=[f"c{i // 3}" for i in range(len(frame))]).to_csv(table, index=False)
    assert run(table, tmp_path / "out", "--id", "customer", "--group", "customer") == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    assert scored["customer"].tolist() == scored["group"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--id", "custmer"), "There is no column 'custmer' to use as id column."),
        (("--id", "customer", "--features", "size,customer"), "by --id and by --features"),
    ],
)
def test_an_id_that_cannot_be_one_is_refused(named, tmp_path, capsys, options, words):
    assert run(named[1], tmp_path / "out", *options) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_missing_id_of_new_rows_is_refused(named, tmp_path, capsys):
    frame, table = named
    assert run(table, tmp_path / "out") == 0
    frame.drop(columns="customer").to_csv(table, index=False)
    line = ["score", str(tmp_path / "out" / "artifact.zip"), str(table), "--id", "customer"]
    assert main([*line, "--out", str(tmp_path / "scored.csv")]) == 2
    assert "There is no column 'customer' to use as id column." in capsys.readouterr().err
