"""Rows as lines of JSON: answers are those of `score`, and no line is too bad for one."""

import io
import json
import sys

import numpy as np
import pytest

from hetcal.artifacts import served as module
from hetcal.artifacts.artifact import open_artifact, score_with_artifact
from hetcal.artifacts.served import Served, serve_lines
from hetcal.cli.main import main
from tests.artifacts.test_format_page import SAVED, THREE
from tests.watch.streams import artifact_of, draw_rows


@pytest.fixture(scope="module")
def rows():
    frame = draw_rows(200, np.random.default_rng(2)).drop(columns="label")
    frame.loc[3, "plan"], frame.loc[4, "plan"] = None, "unseen"
    frame.loc[5, "size"], frame.loc[6, "score"] = np.nan, np.nan
    return frame


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "artifact.zip"
    path.write_bytes(artifact_of(draw_rows(3_000, np.random.default_rng(1))))
    return path


@pytest.fixture(scope="module")
def artifact(path):
    return open_artifact(path.read_bytes(), path.parent)


def served_by(artifact, *lines):
    answers = io.StringIO()
    text = b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines)
    assert serve_lines(Served(artifact), io.BytesIO(text), answers) == len(lines)
    return [json.loads(each) for each in answers.getvalue().splitlines()]


def test_answers_are_those_of_score_row_by_row_and_together(artifact, rows):
    records = json.loads(rows.to_json(orient="records", double_precision=15))
    alone = served_by(artifact, *map(json.dumps, records))
    (together,) = served_by(artifact, json.dumps(records))
    assert alone == together
    expected = score_with_artifact(artifact, rows)
    for name in ("leaf", "score", "before", "after"):
        found = [np.nan if each[name] is None else each[name] for each in alone]
        np.testing.assert_allclose(found, expected[name], rtol=1e-12)
    assert alone[6]["after"] is None


def test_classes_are_served_by_their_names(tmp_path):
    artifact = open_artifact((SAVED / THREE).read_bytes(), tmp_path)
    row = {"x": 1.0, "z": 0.5, "p_ant": 0.7, "p_bee": 0.2, "p_cow": 0.1}
    (answer,) = served_by(artifact, json.dumps(row))
    assert answer["top_before"] == "ant"
    assert sum(answer[f"after_{name}"] for name in ("ant", "bee", "cow")) == pytest.approx(1)


GOOD = {"plan": "pro", "size": 0.5, "score": 1.0}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe\n", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("7", "holds no rows"),
        ("[]", "holds no rows"),
        ("[[1]]", "holds no rows"),
        ("[{}]", "A row has no 'plan'"),
        (json.dumps(GOOD | {"size": "large"}), "'size' is 'large'. It has to be a number"),
        (json.dumps(GOOD | {"size": True}), "has to be a number"),
        (json.dumps(GOOD | {"plan": ["pro"]}), "'plan' is ['pro']. It has to be text"),
    ],
)
def test_a_bad_line_has_an_error_for_an_answer_and_the_next_line_its_own(artifact, line, words):
    bad, good = served_by(artifact, line, json.dumps(GOOD))
    assert list(bad) == ["error"]
    assert words in bad["error"]
    assert 0 < good["after"] < 1


def test_numbers_beyond_all_floats_and_numbers_as_categories_are_answered(artifact):
    huge = json.dumps(GOOD | {"size": 0}).replace("0}", f"{10**400}}}")
    answers = served_by(artifact, json.dumps(GOOD | {"plan": 3, "size": 1e308}), "NaN", huge)
    assert 0 < answers[0]["after"] < 1
    assert "error" in answers[1]
    assert answers[2].keys() in ({"error"}, answers[0].keys())


def test_a_line_that_is_too_long_is_passed_over(artifact, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 200)
    long, good = served_by(artifact, json.dumps(GOOD | {"more": "x" * 1_000}), json.dumps(GOOD))
    assert "too long" in long["error"]
    assert 0 < good["after"] < 1


def test_the_command_reads_standard_input_until_it_ends(path, monkeypatch, capsys):
    lines = (json.dumps(GOOD) + "\n").encode() * 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(["score", str(path), "--serve"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(each)["leaf"] for each in out.splitlines()] == [
        json.loads(out.splitlines()[0])["leaf"]
    ] * 2
    assert err == "note: ready for rows\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["t.csv", "--serve"], "--table has no effect here"),
        (["--serve", "--out", "o.csv"], "--out has no effect here"),
    ],
)
def test_options_of_a_table_are_refused_beside_serve(path, more, words, capsys):
    assert main(["score", str(path), *more]) == 2
    assert words in capsys.readouterr().err


def test_a_table_or_serve_is_needed(path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["score", str(path)])
    assert "required: TABLE, --out (or --serve)" in capsys.readouterr().err
