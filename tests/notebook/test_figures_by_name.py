"""Every figure of a run by its name."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import hetcal
from hetcal.artifacts.report import table_bytes
from hetcal.errors import ArtifactError, CalibrationError, HetcalError
from hetcal.figures.data import figure_table
from hetcal.figures.ladder import ladder_figure
from hetcal.figures.named import FIGURES
from hetcal.figures.results import change_figure

FOLDER = Path(hetcal.__file__).parent / "figures"
OF_CLASSES = {"class_lift", "top_label"}
OF_TERMS = {"curves", "curve", "pair"}
OF_MAPS = {"maps", "slope_intercept"}
ROWS = {"waterfall"}


def test_every_figure_of_a_run_has_its_name():
    defined = {
        node.name.removesuffix("_figure")
        for path in FOLDER.glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_figure")
    }
    # Of a training, of several runs, of newer rows, and of the paper's example.
    assert set(FIGURES) == defined - {"training", "compare", "watch", "bells", "weight"}


@pytest.mark.parametrize("name", sorted(set(FIGURES) - OF_CLASSES - OF_TERMS))
def test_a_run_with_maps_and_its_file_draw_every_figure(name, finished, tmp_path):
    drawn = finished.figure(name)
    assert drawn.data
    assert table_bytes(figure_table(drawn), "figure.csv").count(b"\n") > 1
    if name in ROWS | {"ladder"}:
        return
    saved = hetcal.open(finished.save(tmp_path / "run.zip")).figure(name)
    assert len(saved.data) == len(drawn.data)


@pytest.mark.parametrize("name", sorted(set(FIGURES) - OF_CLASSES - OF_MAPS))
def test_a_correction_and_its_file_draw_every_figure(name, corrected, tmp_path):
    drawn = corrected.figure(name)
    assert table_bytes(figure_table(drawn), "figure.csv").count(b"\n") > 1
    if name not in ROWS:
        assert hetcal.open(corrected.save(tmp_path / "run.zip")).figure(name).data


@pytest.mark.parametrize("name", sorted(set(FIGURES) - OF_TERMS - OF_MAPS))
def test_one_of_several_classes_and_its_file_draw_every_figure(name, of_animals, tmp_path):
    drawn = of_animals.figure(name, of="bee")
    assert table_bytes(figure_table(drawn), "figure.csv").count(b"\n") > 1
    if name not in ROWS | {"ladder"}:
        assert hetcal.open(of_animals.save(tmp_path / "run.zip")).figure(name, of="bee").data


def test_the_curve_is_that_of_the_test_rows(finished, customers):
    test = customers["split"] == "test"
    area = roc_auc_score(customers["churned"][test] == "yes", customers["p"][test])
    before = finished.figure("roc").data
    assert any(f"AUC {area:.4f}" in (each.name or "") for each in before)


def test_the_curve_of_a_leaf_is_that_of_its_test_rows(finished):
    rows = finished.scored()
    for leaf in rows["leaf"].unique():
        inside = rows[(rows["role"] == "test") & (rows["leaf"] == leaf)]
        area = roc_auc_score(inside["label"] == "yes", inside["after"])
        drawn = finished.figure("roc", leaf=leaf).data
        assert any(f"AUC {area:.4f}" in (each.name or "") for each in drawn)


def test_a_class_has_its_own_curve(of_animals, animals):
    _, y, p = animals
    test = of_animals.run.split.test
    area = roc_auc_score(y[test] == "cow", p[test, 2])
    drawn = of_animals.figure("roc", of="cow").data
    assert any(f"AUC {area:.4f}" in (each.name or "") for each in drawn)


def test_the_default_is_the_change_of_all_rows(finished, of_animals):
    for run in (finished, of_animals):
        assert run.figure() == change_figure(run.evaluation)


def test_the_ladder_is_that_of_the_choice(chosen):
    assert chosen.figure("ladder") == ladder_figure(chosen.run.choice.candidates)


def test_a_row_is_explained_from_its_score_to_its_probability(finished):
    scored = finished.scored()
    ends = finished.figure("waterfall", row=7).to_json()
    assert f"{scored['after'][7]:.4f}" in ends
    test = scored[scored["role"] == "test"]
    moved = np.log(test["after"] / (1 - test["after"])) - test["score"]
    most = int(test.loc[moved.abs().idxmax(), "row"])
    assert finished.figure("waterfall") == finished.figure("waterfall", row=most)


def test_a_term_is_named_or_the_most_important(corrected):
    assert corrected.figure("curve", term="segment") == corrected.figure("curve")
    assert corrected.figure("curve", term="age") != corrected.figure("curve")


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"name": "rocs"}, HetcalError, "no figure 'rocs'.*change, ladder.*Did you mean 'roc'?"),
        ({"name": 3}, HetcalError, "no figure '3'.*change, ladder"),
        ({"name": "curves"}, CalibrationError, "adds no curves"),
        ({"name": "top_label"}, HetcalError, "of two classes"),
        ({"name": "roc", "leaf": 99}, HetcalError, "no leaf 99"),
        ({"name": "waterfall", "row": 9_999}, HetcalError, "no row 9999"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(asked, error, words, finished):
    with pytest.raises(error, match=words):
        finished.figure(**asked)


def test_more_classes_ask_which_one_is_shown(of_animals):
    with pytest.raises(HetcalError, match=r"figure\('roc', of='ant'\)"):
        of_animals.figure("roc")
    with pytest.raises(HetcalError, match=r"Did you mean 'bee'\?"):
        of_animals.figure("roc", of="been")


def test_a_correction_has_curves_in_place_of_maps(corrected):
    with pytest.raises(CalibrationError, match="no leaf has one map"):
        corrected.figure("maps")
    with pytest.raises(CalibrationError, match=r"Did you mean 'segment'\?"):
        corrected.figure("curve", term="segmnt")


def test_figures_without_plotly_say_what_to_install(finished, monkeypatch):
    monkeypatch.setattr("hetcal.notebook.finished.find_spec", lambda name: None)
    with pytest.raises(HetcalError, match=r"pip install -e \"\.\[app\]\""):
        finished.figure("roc")


def test_a_saved_run_has_no_row_to_explain(finished, tmp_path):
    with pytest.raises(ArtifactError, match="no rows to explain"):
        hetcal.open(finished.save(tmp_path / "run.zip")).figure("waterfall")
