"""Overview: the demo, the paper's example, and the verdict of the current run."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hetcal.data.demo import DEMO_NETWORKS, TOY_ROWS, demo_table, toy_table
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import start_scoring
from hetcal.results.words import Outcome
from hetcal.runs.run import run
from hetcal.runs.settings import Settings
from hetcal.store import work
from hetcal.store.store import Store
from pages.shared import jobs
from pages.shared.display.results import NEXT_STEPS
from pages.shared.flow import compute
from tests.pages.visit import (
    calm,
    defined,
    figure,
    files,
    go,
    links,
    metrics,
    open_page,
    press,
    said,
    the_run,
    wait_for_jobs,
    with_scores,
    with_segment_leaves,
    with_table,
)
from tests.schemes.chosen import chosen


def test_a_new_user_sees_what_is_needed_and_can_download_examples():
    app = calm(open_page("app.py"))
    assert [each.label for each in app.button] == ["Run the demo", "The paper's example"]
    assert links(app) == ["Use my own table", "Reopen an artifact", "Learn why"]
    assert files(app) == [
        "customers.csv",
        "customers.keras",
        "customers_well_trained.keras",
        "customers_noise.keras",
        "toy.csv",
    ]
    assert app.radio(key="demo_network").options == list(DEMO_NETWORKS)
    assert app.radio(key="demo_network").value is None
    assert not app.metric


TWO_LEAVES = "In use: a map in each of 2 leaves (calibration)."


def toy_areas():
    """AUC before, after and without the score on the toy's test rows, by scikit-learn alone."""
    toy = toy_table(TOY_ROWS)
    fit, test = toy[toy["split"] == "calibration"], toy[toy["split"] == "test"]
    after = np.empty(len(test))
    for x in (0, 1):
        platt = LogisticRegression(C=np.inf, tol=1e-10).fit(
            fit.loc[fit["x"] == x, ["score"]], fit.loc[fit["x"] == x, "y"]
        )
        inside = (test["x"] == x).to_numpy()
        after[inside] = platt.decision_function(test.loc[inside, ["score"]])
    rate = test["x"].map(fit.groupby("x")["y"].mean())
    areas = [roc_auc_score(test["y"], each) for each in (test["score"], after, rate)]
    return *areas, len(test)


def test_the_papers_example_lifts_the_area_as_scikit_learn_says():
    before, after, alone, rows = toy_areas()
    app = calm(press(open_page("app.py"), "The paper's example"))
    assert defined(app)[:2] == ["AUC", "Lift"]
    shown = metrics(app)
    assert (shown["AUC before"], shown["AUC after"]) == (f"{before:.4f}", f"{after:.4f}")
    assert float(shown["Network adds to this scheme"]) == pytest.approx(after - alone, abs=1e-4)
    assert TWO_LEAVES in said(app.markdown)
    (verdict,) = said(app.success)
    assert verdict.startswith("Your model is over-confident. Heterogeneous calibration helps.")
    assert f"{after - before:+.4f}" in verdict
    assert f"{rows:,} test rows" in verdict
    drawn = {each.get("name"): each for each in figure(app, "overview_change")["data"]}
    assert drawn["after, without the network"]["x"] == pytest.approx([alone])
    assert not files(app)


def test_from_one_tree_a_click_compares_all_schemes(segments, monkeypatch):
    monkeypatch.setattr(compute, "find_scheme", chosen("forest"))
    app = calm(go(with_scores(segments), "app.py"))
    assert not app.button_group
    app = calm(press(app, "Compare all schemes"))
    assert app.session_state["workspace"].settings.partition == "auto"
    (rungs,) = app.button_group
    assert rungs.value == "forest"
    assert {"Rung", "Numbers and time", "Cross-fitted"} <= {*defined(app, "What the ladder shows")}


def test_a_tree_that_knows_nothing_is_not_called_a_gain(segments):
    rng = np.random.default_rng(0)
    frame = segments.assign(segment=rng.choice(["a", "b"], 2_400), size=rng.normal(size=2_400))
    app = calm(go(with_scores(frame), "app.py"))
    assert not app.success
    assert f"{float(metrics(app)['AUC before']):.4f} before" in said(app.info)[0]


def test_another_table_takes_the_place_of_the_example(segments):
    app = go(with_scores(segments), "app.py")
    own = metrics(app)
    assert metrics(press(app, "The paper's example")) != own
    assert app.session_state["workspace"].files[0].name == "toy.csv"


@pytest.fixture
def started(monkeypatch):
    """The scorings that the pages start."""
    jobs_of_pages = []

    def start(*args, **kwargs):
        jobs_of_pages.append(start_scoring(*args, **kwargs))
        return jobs_of_pages[-1]

    monkeypatch.setattr(work, "start_scoring", start)
    monkeypatch.setattr(jobs, "SOON", 0.2)
    return jobs_of_pages


@pytest.mark.network
def test_one_click_scores_the_demo_in_a_child_and_shows_its_lift(started):
    app = press(open_page("app.py"), "Run the demo")
    assert calm(app).get("progress")[0].text.startswith("Starting the model")
    assert not app.metric
    app = calm(wait_for_jobs(app))
    assert app.radio(key="demo_network").value == "over-trained"
    assert metrics(app) == demo_metrics(started[0].result())
    press(app, "Run the demo")
    assert len(started) == 1, "known scores are computed a second time"


def demo_metrics(scores):
    """What the page says of the demo's customers with these scores."""
    frame = demo_table()
    test = (frame["split"] == "test").to_numpy()
    y = (frame["churned"] == "yes").to_numpy()
    roles = Roles(label="churned", positive="yes", split="split")
    finished = run(make_table(frame, roles, ""), scores, Settings())
    found = finished.evaluation
    return {
        "AUC before": f"{roc_auc_score(y[test], scores.logit[test]):.4f}",
        "AUC after": f"{roc_auc_score(y[test], finished.after[test]):.4f}",
        "Log-loss": f"{found.before.log_loss:.4f} → {found.after.log_loss:.4f}",
        "Network adds to this scheme": f"{found.network_adds.auc:+.4f}",
    }


@pytest.mark.network
def test_one_click_each_tells_the_networks_of_the_demo_apart(started):
    app, verdicts, before = open_page("app.py"), {}, {}
    for name in ("random", "well trained", "over-trained"):
        app = calm(wait_for_jobs(app.radio(key="demo_network").set_value(name).run()))
        assert app.radio(key="demo_network").value == name
        assert metrics(app) == demo_metrics(started[-1].result())
        (verdicts[name],) = said([*app.success, *app.info, *app.warning])
        before[name] = float(metrics(app)["AUC before"])
    over = "Your model is over-confident. Heterogeneous calibration helps."
    assert verdicts["over-trained"].startswith(over)
    right = "Your model is not over-confident. Leave your model as it is"
    assert verdicts["well trained"].startswith(right)
    assert verdicts["random"].startswith("The score is noise")
    assert "The columns do the work, not your model" in verdicts["random"]
    assert before["well trained"] > before["over-trained"] + 0.05
    assert before["random"] == pytest.approx(0.5, abs=0.02)
    names = {"Demo, random network", "Demo, well trained network", "Demo, over-trained network"}
    assert {each.name for each in Store().all()} == names
    app = calm(app.radio(key="demo_network").set_value("random").run())
    assert float(metrics(app)["AUC before"]) == before["random"]
    assert the_run(app).name == "Demo, random network"
    assert len(started) == 3


def test_an_own_table_is_not_asked_for_a_network_of_the_demo(segments):
    app = calm(go(with_scores(segments), "app.py"))
    assert not app.radio


@pytest.mark.network
def test_a_cancelled_demo_says_so_until_another_table_comes(started):
    app = press(open_page("app.py"), "Run the demo")
    app = calm(wait_for_jobs(press(app, "Cancel")))
    assert (
        "Scoring the rows was cancelled. All that you entered is kept, and what was finished."
        in said(app.markdown)
    )
    assert TWO_LEAVES in said(calm(press(app, "The paper's example")).markdown)


def test_the_check_of_roles_stands_in_one_line(segments):
    again = segments[segments["split"] == "train"].head(3).assign(split="test")
    for frame, words in (
        (segments, ":material/check: no row has two roles"),
        (pd.concat([segments, again]), ":material/close: rows repeat across roles"),
    ):
        app = calm(go(with_segment_leaves(frame), "app.py"))
        badges = [each for each in app.markdown if re.match(r":\w+-badge", each.value)]
        assert len(badges) == 5
        assert sum(words in each.value for each in badges) == 1
        assert all(each.help for each in badges)
        assert sum("leaves not fitted on test rows" in each.value for each in badges) == 1


def test_every_outcome_has_a_next_step_on_a_page():
    assert set(NEXT_STEPS) == set(get_args(Outcome))
    for _, page, _ in NEXT_STEPS.values():
        assert Path(page).is_file()


def marks(app):
    """Which pages of the menu have a mark, and which."""
    rule = re.compile(r'href\^="(\w+)\?"\]::after {\s*content: "(.)"')
    styles = [each.proto.body for each in app.get("html") if "::after" in each.proto.body]
    return dict(rule.findall(styles[-1])) if styles else {}


def test_the_menu_marks_what_is_done_what_is_needed_and_what_is_wrong(segments):
    assert marks(open_page("app.py")) == {}
    app = calm(with_table(segments.drop(columns="score")))
    assert marks(app) == {"data": "✓", "scores": "●"}
    app = calm(press(go(app, "app.py"), "The paper's example"))
    done = dict.fromkeys(("data", "scores", "partition", "calibration", "results"), "✓")
    assert marks(app) == {**done, "overconfidence": "!"}
    assert "Score new rows with what was found here" in " ".join(said(app.markdown))
    assert {"To every leaf", "To the download"} <= set(links(app))
    (where,) = (each for each in said(app.markdown) if each.startswith("Where: "))
    assert where.startswith("Where: most is lost from train to test rows in ")
    assert where.endswith("the lift may come from others: *Where the lift comes from* on Results.")
    assert "(1)" in where
    assert "(2)" in where


def test_a_score_that_is_noise_is_marked_where_it_comes_from(segments):
    noise = np.random.default_rng(0).normal(size=len(segments))
    app = calm(go(with_scores(segments.assign(score=noise)), "app.py"))
    assert marks(app)["scores"] == marks(app)["overconfidence"] == "!"
    assert said(app.warning)[0].startswith("The score is noise")
