"""A finished run: what it says, new rows, the file, and what a notebook shows."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hetcal
from hetcal.artifacts.artifact import open_artifact, score_with_artifact
from hetcal.cli.main import main
from hetcal.errors import ArtifactError, ScoreError
from hetcal.models.scoring import ColumnScoring

OLD = Path(__file__).parents[1] / "artifacts" / "saved_artifacts"
SVG = "{http://www.w3.org/2000/svg}"
SUMMARY = ["before", "after", "change", "low", "high", "p", "without"]


@pytest.fixture
def reopened(finished, tmp_path):
    return hetcal.open(finished.save(tmp_path / "run.zip"))


@pytest.fixture(scope="session")
def new():
    """Rows that no run has seen."""
    rng = np.random.default_rng(9)
    p = rng.uniform(0.01, 0.99, 50)
    return pd.DataFrame({"segment": rng.choice(["old", "new"], 50), "age": 40.0}), p


def test_what_was_computed_is_at_hand(finished, by_hand):
    assert finished.run is by_hand
    assert finished.table is by_hand.table
    assert finished.evaluation is by_hand.evaluation
    assert finished.verdict == by_hand.verdict
    assert finished.ladder.equals(by_hand.ladder)


def test_a_ladder_has_a_row_for_every_scheme_and_is_saved(chosen, tmp_path):
    ladder = chosen.ladder
    assert ladder["name"].tolist() == list(hetcal.choices.RUNGS)
    saved = hetcal.open(chosen.save(tmp_path / "run.zip")).ladder
    assert saved["lift"].tolist() == pytest.approx(ladder["lift"].tolist())
    assert saved.loc[saved["chosen"], "name"].tolist() == [chosen.run.choice.chosen]


def test_a_reopened_run_says_the_same(finished, reopened):
    assert repr(reopened) == repr(finished)
    first, second = (re.sub(r"\d", "", each.verdict) for each in (reopened, finished))
    assert first == second
    assert reopened.findings == finished.findings
    found, expected = reopened.summary(), finished.summary()
    for name in SUMMARY:
        assert found.loc["AUC", name] == pytest.approx(expected.loc["AUC", name], abs=1e-3)


def test_a_reopened_run_predicts_bit_for_bit_and_saves_the_same_bytes(
    finished, reopened, new, tmp_path
):
    assert np.array_equal(reopened.predict(*new), finished.predict(*new))
    again = reopened.save(tmp_path / "again.zip")
    assert again.read_bytes() == (tmp_path / "run.zip").read_bytes()
    opened = open_artifact(again.read_bytes(), tmp_path)
    by_hand = score_with_artifact(opened, new[0].assign(p=new[1]))
    pd.testing.assert_frame_equal(finished.score(*new), by_hand, check_exact=True)


def test_rows_of_the_run_get_the_probabilities_that_they_have_in_it(finished, customers):
    expected = finished.scored()["after"]
    assert np.array_equal(finished.predict(customers), expected)
    assert np.array_equal(finished.predict(customers, "p"), expected)
    assert np.array_equal(finished.predict(pa.Table.from_pandas(customers)), expected)
    assert np.array_equal(finished.predict(customers[["segment", "age"]], customers["p"]), expected)


def test_scores_of_both_classes_are_taken_as_in_the_run(customers, new, tmp_path):
    both = np.column_stack([1 - customers["p"], customers["p"]])
    X, y, roles = customers[["segment", "age"]], customers["churned"], customers["split"]
    made = hetcal.calibrate(X, y, both, split=roles, partition="tree")
    saved = hetcal.open(made.save(tmp_path / "run.zip"))
    rows, p = new
    expected = made.predict(rows, p)
    assert np.array_equal(saved.predict(rows, np.column_stack([1 - p, p])), expected)
    with pytest.raises(ScoreError, match="3 scores each"):
        hetcal.calibrate(X, y, customers["p"], split=roles, partition="tree").predict(
            rows, np.column_stack([p, p, p])
        )


def test_arrays_of_new_rows_have_the_names_of_the_first(customers):
    X, y = customers[["age"]].to_numpy(), customers["churned"]
    given = {"split": customers["split"], "partition": "tree"}
    plain = hetcal.calibrate(X, y, customers["p"], **given)
    named = hetcal.calibrate(X, y, customers["p"], names=["years"], **given)
    found = named.predict(X[:5], customers["p"][:5], names=["years"])
    assert np.array_equal(found, plain.predict(X[:5], customers["p"][:5]))


def test_more_classes_have_a_probability_each(of_animals, animals, tmp_path):
    X, _, p = animals
    found = of_animals.predict(X, p)
    assert found == pytest.approx(np.exp(of_animals.run.after))
    saved = hetcal.open(of_animals.save(tmp_path / "run.zip"))
    assert np.array_equal(saved.predict(X, p), found)
    assert saved.summary().index.tolist() == of_animals.summary().index.tolist()
    assert repr(saved) == repr(of_animals)


def test_categories_that_nobody_has_seen_are_told(finished):
    rows = pd.DataFrame({"segment": ["old", "lost"], "age": [40.0, 41.0], "p": [0.5, np.nan]})
    found = finished.score(rows)
    assert found["after"].isna().tolist() == [False, True]
    (missing, unseen) = found.attrs["notes"]
    assert "1 of 2 rows has no finite score" in missing
    assert "'lost'" in unseen


def test_a_missing_score_of_new_rows_is_asked_for_by_its_name(finished, new):
    with pytest.raises(ScoreError, match=r"Did you mean 'P'\?"):
        finished.score(new[0].assign(P=new[1]))


def test_what_needs_rows_says_that_a_saved_run_has_none(reopened):
    for ask in (lambda: reopened.table, reopened.scored, lambda: reopened.figure("waterfall")):
        with pytest.raises(ArtifactError, match="A saved run has no"):
            ask()
    with pytest.raises(ArtifactError, match="No ladder was saved"):
        _ = reopened.ladder


def test_the_folder_of_the_command_line_is_opened(customers, by_hand, tmp_path):
    customers.to_csv(tmp_path / "table.csv", index=False)
    line = f"run {tmp_path}/table.csv --label churned --score p --split split --partition tree"
    assert main([*line.split(), "--out", str(tmp_path / "out")]) == 0
    opened = hetcal.open(tmp_path / "out")
    assert isinstance(opened.artifact.scoring, ColumnScoring)
    expected = by_hand.evaluation.lift.auc
    assert opened.summary().at["AUC", "change"] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("file", sorted(OLD.glob("*.zip")), ids=lambda file: file.stem)
def test_old_artifacts_are_opened_shown_and_score(file):
    opened = hetcal.open(file)
    before = opened.artifact.auc_before
    assert f"AUC {before:.4f} before" in repr(opened)
    assert f"{before:.4f}" in opened._repr_html_()
    rows = pd.read_csv(OLD / f"{file.stem.partition('_format')[0]}_rows.csv")
    assert np.isfinite(opened.predict(rows)).all()


@pytest.mark.parametrize(
    ("path", "words"), [("nothing.zip", "There is no artifact"), ("text.zip", "not")]
)
def test_what_is_no_artifact_is_refused_at_once(path, words, tmp_path):
    (tmp_path / "text.zip").write_text("nothing")
    with pytest.raises(ArtifactError, match=words):
        hetcal.open(tmp_path / path)


@pytest.mark.parametrize(("path", "words"), [("", "is a folder"), ("no/run.zip", "does not exist")])
def test_a_place_that_cannot_be_written_is_refused(finished, path, words, tmp_path):
    with pytest.raises(ArtifactError, match=words):
        finished.save(tmp_path / path)


@pytest.mark.parametrize("act", ["open", "save", "export"])
def test_what_names_no_file_is_refused(finished, act):
    acts = {
        "open": hetcal.open,
        "save": finished.save,
        "export": lambda path: finished.export("python", path),
    }
    with pytest.raises(ArtifactError, match="The path is of the type int"):
        acts[act](3)


class Page(HTMLParser):
    """The tags and the text of a page; tags that are not closed are an error."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open += [tag] if tag != "img" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_a_notebook_shows_verdict_picture_and_numbers_without_scripts(finished):
    text = finished._repr_html_()
    page, found = Page(text), finished.summary().loc["AUC"]
    assert page.open == []
    assert len(text) < 8_000
    assert not {"script", "svg", "link", "iframe"} & {tag for tag, _ in page.tags}
    assert "http" not in text
    assert finished.verdict.partition(". ")[2] in page.words
    ranking, _ = (attrs["alt"] for tag, attrs in page.tags if tag == "img")
    assert ranking == f"AUC {found['change']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"
    for value in (found["before"], found["after"], found["without"]):
        assert f"{value:.4f}" in page.words


def test_marks_of_the_picture_lie_where_their_values_are(finished):
    page, lift = Page(finished._repr_html_()), finished.evaluation.lift
    first = next(attrs["src"] for tag, attrs in page.tags if tag == "img")
    drawn = ElementTree.fromstring(b64decode(first.partition("base64,")[2]))
    *_, before, after = (float(each.get("cx")) for each in drawn.iter(f"{SVG}circle"))
    bar = next(each for each in drawn.iter(f"{SVG}line") if each.get("stroke") == "#D55E00")
    pixels = (after - before) / lift.auc
    low, high = (before + pixels * each for each in (lift.low, lift.high))
    assert (float(bar.get("x1")), float(bar.get("x2"))) == pytest.approx((low, high), abs=0.2)


def test_texts_of_a_table_are_no_tags_on_the_page(customers):
    label = customers["churned"].map({"yes": "<b>yes", "no": "no&"})
    named = customers.assign(churned=label).rename(columns={"age": "<script>"})
    run = hetcal.calibrate(named, "churned", "p", partition="tree", positive="<b>yes")
    assert "<script>" not in run._repr_html_()
    assert "<b>yes" not in run._repr_html_()


def test_a_run_is_named_by_its_first_sentence(finished):
    lift = finished.evaluation.lift
    assert repr(finished) == (
        f"<hetcal run: {re.split(r'(?<=[.]) ', finished.verdict)[0]} "
        f"AUC {lift.before:.4f} before, {lift.after:.4f} after>"
    )


def test_a_run_is_exported_and_says_how_far_it_is_from_itself(finished, tmp_path):
    (made,) = finished.export("python", tmp_path / "out")
    assert (tmp_path / "out" / "calibrated.py").read_bytes() == made.content
    assert made.parity.rows == 20_000
    assert made.parity.difference < 1e-12
