"""The report: a page that says what the artifact says, opens offline and draws its charts."""

import re
import subprocess
from dataclasses import replace
from html import escape

import pytest

from hetcal.artifacts.artifact import open_artifact
from hetcal.artifacts.saved_run import saved_run
from hetcal.errors import ExportError
from hetcal.exports import report_page
from hetcal.exports.export import make_exports
from tests.artifacts.test_old_artifacts import DATA
from tests.chromium import find_chromium
from tests.exports.artifacts import artifact, people


@pytest.fixture(scope="module")
def page():
    (made,) = make_exports(artifact(partition="tree"), ["report"])
    return made


def text_of(made):
    return made.content.decode()


def test_it_says_verdict_measures_leaves_settings_and_digests(page):
    opened, text = artifact(partition="tree"), text_of(page)
    run = saved_run(opened, opened.min_rows)
    assert run.verdict.partition(". ")[0] in text
    assert "From the sketch saved with the run" in run.computed_on
    assert escape(run.computed_on) in text  # how exact the numbers are, above the first of them
    auc = re.search(r"<td>AUC</td><td>[\d.]+</td><td>([\d.]+)</td>", text)
    assert float(auc[1]) == pytest.approx(run.evaluation.after.auc, abs=5e-5)
    for leaf in opened.partition.leaves:
        assert f"<td>{leaf.id}</td><td class=words>{escape(leaf.rule)}</td>" in text
    assert "<td>max_depth</td><td class=words>3</td>" in text
    assert opened.partition.digest in text
    assert opened.table_digest in text


def test_it_holds_no_score_of_a_row(page):
    shown = set(re.findall(r"-?\d+\.\d{6,}", text_of(page)))
    scores = {repr(each) for each in people()["score"]}
    assert not shown & scores


def test_a_page_that_shows_other_numbers_or_loads_anything_is_not_given_out(page):
    opened = artifact(partition="tree")
    cell = report_page.measures(saved_run(opened, opened.min_rows)).at[0, "after"]
    other = page.content.replace(f"<td>{cell}</td>".encode(), b"<td>0.9999</td>")
    loading = page.content.replace(b"<body>", b'<body><img src="http://example.org/a.png">')
    for changed in (other, loading):
        with pytest.raises(ExportError, match="does not show the artifact's measures, or loads"):
            report_page.check(changed, opened)


def test_a_name_that_looks_like_a_tag_is_text():
    opened = artifact(partition="tree")
    settings = {**opened.settings, "label": "</script><b>label"}
    text = report_page.report_page(replace(opened, settings=settings), empty_about()).decode()
    assert "<b>label" not in text
    assert "&lt;/script&gt;&lt;b&gt;label" in text


def empty_about():
    lists = {key: [] for key in ("inputs", "examples", "use", "cannot")}
    words = {"hetcal": "0", "artifact_written_by": "hetcal 0", "scheme": "one tree"}
    return {**lists, **words, "format": 1, "libraries": {}, "digests": {}}


def test_a_run_of_three_classes_has_a_report(tmp_path):
    saved = DATA / "three_classes_format_2_chosen.zip"
    (made,) = make_exports(open_artifact(saved.read_bytes(), tmp_path), ["report"])
    text = text_of(made)
    assert "macro AUC" in text
    assert 'id="figure_class_lift"' in text


@pytest.mark.browser
def test_without_a_connection_a_browser_draws_every_chart(page, tmp_path):
    path = tmp_path / page.name
    path.write_bytes(page.content)
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path}"]
    command = [find_chromium(), *words, *offline, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, check=True)
    drawn = re.findall(r'class="[^"]*js-plotly-plot[^"]*"', done.stdout.decode())
    assert len(drawn) == text_of(page).count("<div data-figure=") >= 7
