"""Runs that last: one address, several tabs, nothing lost by a mistake."""

import errno
import json
import os

import pytest

from hetcal.cli.main import main
from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.errors import StoreError
from hetcal.store import work
from hetcal.store.store import Store
from hetcal.store.workspace import workspace_of
from tests.pages.visit import (
    calm,
    choose_leaf,
    go,
    links,
    metrics,
    open_page,
    press,
    said,
    table_with,
    the_error,
    the_run,
    upload,
    with_scores,
    with_segment_leaves,
    with_table,
)

UNKNOWN = "0123456789abcdef0123"


def header(app):
    """What stands beside the name of the run, at the top of the page."""
    return next(each for each in said(app.caption) if " rows · " in each)


def test_another_session_with_the_address_shows_the_same(segments):
    first = choose_leaf(with_segment_leaves(segments), 2)
    shown = metrics(go(first, "pages/results.py"))
    second = calm(open_page("pages/results.py", **first.query_params))
    assert metrics(second) == shown
    assert second.sidebar.selectbox(key="leaf").value == 2
    assert workspace_of(the_run(second)) == workspace_of(the_run(first))


def test_the_address_names_the_run_on_every_page(segments):
    app = with_scores(segments)
    for page in ("app.py", "pages/results.py", "pages/runs.py"):
        assert go(app, page).query_params["run"] == the_run(app).id


def test_a_link_to_a_leaf_and_a_scheme_shows_them_and_leaves_the_run(segments):
    first = choose_leaf(with_segment_leaves(segments), 2)
    kept = the_run(first)
    second = open_page("pages/partition.py", run=kept.id, leaf="1", scheme="columns")
    assert calm(second).selectbox(key="setting_partition").value == "columns"
    third = open_page("pages/overconfidence.py", run=kept.id, leaf="1")
    assert calm(third).sidebar.selectbox(key="leaf").value == 1
    assert the_run(first).state == kept.state


@pytest.mark.parametrize("wrong", ["leaf=-1", "leaf=x", "scheme=none", "scheme=auto:x", "class=x"])
def test_what_no_address_has_is_left_out(segments, wrong):
    run = the_run(with_segment_leaves(segments))
    app = calm(open_page("pages/partition.py", run=run.id, **dict([wrong.split("=")])))
    assert app.selectbox(key="setting_partition").value == "tree"
    assert app.sidebar.selectbox(key="leaf").value == 0


@pytest.mark.parametrize("number", [UNKNOWN, "../..", "/etc", "x" * 300])
@pytest.mark.parametrize("page", ["app.py", "pages/results.py"])
def test_the_address_of_no_run_says_so_with_the_way_to_begin(page, number):
    app = open_page(page, run=number)
    assert the_error(app).startswith(f"There is no run '{number[:40]}'.")
    assert links(app) == ["Overview", "Runs"]


def test_two_tabs_on_one_run_do_not_undo_each_other(segments):
    first = with_scores(segments.assign(other=segments["label"]))
    second = open_page("pages/data.py", run=the_run(first).id)
    go(first, "pages/data.py").selectbox(key="role_weight").select("size").run()
    second.multiselect(key="role_ignore").select("other").run()
    choose_leaf(go(first, "pages/partition.py"), 1)
    roles = workspace_of(the_run(first)).roles
    assert (roles.weight, roles.ignore) == ("size", ("other",))
    assert go(first, "pages/data.py").multiselect(key="role_ignore").value == ["other"]
    assert second.run().selectbox(key="role_weight").value == "size"


def test_a_label_that_was_replaced_comes_back(segments):
    app = go(with_scores(segments), "pages/data.py")
    before = the_run(app)
    app.selectbox(key="role_label").select("segment").run()
    assert the_run(app).name == "people.csv · segment"
    assert any("replaced the label label = yes by segment" in each for each in said(app.caption))
    calm(press(app, "Undo"))
    after = the_run(app)
    assert (after.state, after.name, after.past) == (before.state, before.name, before.past)
    assert app.selectbox(key="role_label").value == "label"


def test_scores_that_were_replaced_come_back(segments):
    app = with_scores(segments.assign(second=segments["score"] / 2))
    app.selectbox(key="scores_column").select("second").run()
    assert any("replaced the scores of score" in each for each in said(app.caption))
    assert press(app, "Undo").selectbox(key="scores_column").value == "score"


def test_a_new_table_begins_a_new_run_and_the_old_one_stays(segments):
    app = with_scores(segments)
    old = the_run(app)
    upload(go(app, "pages/data.py"), "data_file", "others.csv", segments.iloc[:2_000])
    assert the_run(app).name == "others.csv · label"
    assert {each.name for each in Store().all()} == {"people.csv · label", "others.csv · label"}
    assert Store().get(old.id) == old


def test_a_partition_that_cannot_be_read_leaves_the_run(segments):
    app = go(with_scores(segments), "pages/partition.py")
    before = the_run(app)
    upload(app, "partition_file", "partition.json", b"{}")
    assert the_error(app)
    assert the_run(app) == before


def test_the_header_says_what_the_run_is_about(segments):
    app = go(with_scores(segments), "pages/results.py")
    assert header(app) == "2,400 rows · score · label = yes · one tree"
    app.text_input(key=f"header {the_run(app).id} people.csv · label").set_value("Spring").run()
    assert header(app) == "people.csv · 2,400 rows · score · label = yes · one tree"


def test_a_run_that_has_a_verdict_is_listed_by_it(segments):
    app = go(with_scores(segments), "pages/results.py")
    shown = metrics(app)
    about = the_run(app).about
    assert [f"{about[name]:.4f}" for name in ("before", "after")] == [
        shown["AUC before"],
        shown["AUC after"],
    ]
    listed = " ".join(said(calm(go(app, "pages/runs.py")).caption))
    assert f"{about['verdict']}: AUC {about['before']:.3f}" in listed
    go(app, "pages/data.py").selectbox(key="role_label").select("segment").run()
    assert "verdict" not in the_run(app).about


def test_two_finished_runs_are_laid_side_by_side(segments):
    app = go(with_scores(segments.assign(weak=segments["score"] % 1)), "pages/results.py")
    upload(go(app, "pages/data.py"), "data_file", "others.csv", segments)
    go(app, "pages/results.py")
    runs = [each.id for each in Store().all()]
    app = calm(go(app, "pages/runs.py").multiselect(key="compared_runs").set_value(runs).run())
    assert table_with(app, "lift")["run"].tolist() == ["others.csv · label", "people.csv · label"]
    tables = app.table[0].value.loc["table"]
    assert [each.split()[0] for each in tables] == ["others.csv", "people.csv"]


def run_and_keep(folder, frame, *options):
    """Run by the command line; return the id of the kept run and its result."""
    frame.to_csv(folder / "rows.csv", index=False)
    out = ["--split", "split", "--out", str(folder / "out"), "--keep", "kept"]
    assert main(["run", str(folder / "rows.csv"), *options, *out]) == 0
    return Store().find("kept").id, json.loads((folder / "out" / "result.json").read_text())


@pytest.mark.parametrize(
    "options",
    [(), ("--partition", "best", "--take", "pooled"), ("--only", "calibration"), ("forest",)],
    ids=["auto", "take", "only", "forest"],
)
def test_pages_show_what_the_command_line_has_found_without_finding_it_again(
    segments, tmp_path, counted, options
):
    options = ("--partition", *options) if options == ("forest",) else options
    number, result = run_and_keep(
        tmp_path, segments, "--label", "label", "--score", "score", *options
    )
    found = counted("find_scheme")
    app = calm(open_page("pages/results.py", run=number))
    assert not found
    assert metrics(app)["AUC after"] == f"{result['after']['auc']:.4f}"
    assert workspace_of(the_run(app)).settings.take == ("pooled" if "--take" in options else None)


@pytest.mark.parametrize("options", [(), ("--partition", "tree", "--calibrator", "dirichlet")])
def test_pages_show_classes_as_the_command_line_has_calibrated_them(
    kinds, tmp_path, counted, options
):
    columns = ("--label", "kind", "--score", "p_ant,p_bee,p_cow")
    number, result = run_and_keep(tmp_path, kinds, *columns, *options)
    found = counted("find_scheme")
    app = calm(open_page("pages/results.py", run=number))
    assert not found
    assert metrics(app)["Macro AUC after"] == f"{result['after']['macro_auc']:.4f}"


@pytest.mark.network
def test_pages_take_the_scores_of_a_model_from_the_command_line(tmp_path, monkeypatch):
    model = ("--model", str(DEMO_NETWORKS["over-trained"].file), "--partition", "tree")
    label = ("--label", "churned", "--positive", "yes")
    number, result = run_and_keep(tmp_path, demo_table(), *label, *model)
    monkeypatch.setattr(work, "start_scoring", None)
    app = calm(open_page("pages/results.py", run=number))
    assert metrics(app)["AUC before"] == f"{result['before']['auc']:.4f}"


def test_a_run_can_be_renamed_and_keeps_its_name(segments):
    app = with_scores(segments)
    app.text_input(key=f"header {the_run(app).id} people.csv · label").set_value("Spring").run()
    go(app, "pages/data.py").selectbox(key="role_label").select("segment").run()
    assert the_run(app).name == "Spring"


def test_a_run_is_deleted_only_after_it_was_confirmed(segments):
    app = go(with_scores(segments), "app.py")
    number = the_run(app).id
    assert app.button(key=f"header {number} delete").disabled
    app.checkbox(key=f"header {number} sure").check().run()
    app.button(key=f"header {number} delete").click().run()
    assert Store().all() == []
    assert "run" not in calm(app).query_params
    assert the_error(open_page("app.py", run=number)).startswith("There is no run")


def test_a_run_that_another_tab_has_deleted_is_said_to_be_gone(segments):
    app = with_scores(segments)
    Store().delete(the_run(app).id)
    assert the_error(go(app, "pages/results.py")).startswith("There is no run")
    calm(go(app, "app.py"))


def test_runs_of_others_are_listed_on_the_own_machine_only(segments, become, served_at):
    become("first")
    with_table(segments)
    become("second")
    served_at("0.0.0.0")
    assert "There is no run yet." in " ".join(said(open_page("pages/runs.py").markdown))
    served_at("localhost")
    assert "people.csv · label" in " ".join(links(open_page("pages/runs.py")))


def test_the_first_page_offers_to_go_on_with_the_latest_run(segments):
    with_table(segments)
    assert any(each.startswith("people.csv · label") for each in links(open_page("app.py")))


def test_a_folder_that_cannot_be_used_is_said_on_every_page(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HETCAL_HOME", str(tmp_path / "file"))
    for page in ("app.py", "pages/results.py"):
        assert the_error(open_page(page)).startswith("A file cannot be written")


def test_what_cannot_be_kept_is_said_and_changes_nothing(segments, monkeypatch):
    app = go(with_scores(segments), "pages/data.py")
    before = the_run(app)

    def full(*_):
        raise StoreError("The disk is full.", "Room is needed.", "Delete old runs.")

    monkeypatch.setattr(Store, "change", full)
    app.selectbox(key="role_label").select("segment").run()
    assert the_error(app) == "The disk is full. Room is needed. Delete old runs."
    assert app.selectbox(key="role_label").value == "label"
    assert the_run(app) == before


def test_every_click_says_that_the_disk_is_full_and_leaves_the_run_as_it_was(segments, monkeypatch):
    app = calm(with_scores(segments).selectbox(key="scores_column").select("size").run())
    before = the_run(app)

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    new = open_page("app.py")
    (name,) = (each for each in app.text_input if each.label == "Name")
    for click in (
        lambda: press(new, "Run the demo"),
        lambda: press(new, "The paper's example"),
        lambda: name.set_value("another").run(),
        lambda: press(app, "Undo"),
        lambda: app.selectbox(key="scores_column").select("score").run(),
        lambda: upload(go(app, "pages/data.py"), "data_file", "more.csv", segments),
    ):
        assert the_error(click()).startswith("The disk is full: ")
    assert the_run(app) == before
    assert [each.id for each in Store().all()] == [before.id]


def test_two_finished_runs_of_one_name_are_compared_on_their_page(segments, tmp_path):
    segments.to_csv(tmp_path / "rows.csv", index=False)
    words = [str(tmp_path / "rows.csv"), "--label", "label", "--score", "score", "--split", "split"]
    for depth in ("1", "2"):
        kept = ["--max-depth", depth, "--out", str(tmp_path / depth), "--keep", "same"]
        assert main(["run", *words, *kept]) == 0
    app = calm(open_page("pages/runs.py"))
    app.multiselect(key="compared_runs").set_value([each.id for each in Store().all()]).run()
    calm(app)
    assert any("on the same" in each and "test rows" in each for each in said(app.markdown))
    different = app.table[0].value
    assert sorted(different.loc["max_depth"]) == ["1", "2"]
