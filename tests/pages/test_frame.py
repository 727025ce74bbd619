"""The frame around every page: menu, empty state, state that survives, sessions apart."""

import ctypes
import gc
import subprocess
import sys
import weakref
from dataclasses import replace

import pytest

from hetcal.store import work
from pages.shared.flow import cache
from pages.shared.flow.cache import release_freed_memory
from pages.shared.state import is_local
from tests.pages.streamlit_internals import end_session
from tests.pages.visit import (
    PAGES,
    calm,
    choose_leaf,
    click_point,
    click_row,
    go,
    links,
    metrics,
    open_page,
    the_error,
    the_run,
    upload,
    with_scores,
    with_segment_leaves,
    with_table,
)

LATER_PAGES = list(PAGES)[2:-3]
LEAF_PAGES = list(PAGES)[3:-4]


@pytest.mark.parametrize(("page", "title"), PAGES.items())
def test_a_page_opened_by_its_address_has_the_frame_of_all_pages(page, title):
    app = calm(open_page(page))
    assert app.title[0].value == title
    assert [each.label for each in app.sidebar.get("page_link")] == list(PAGES.values())


@pytest.mark.parametrize("page", LATER_PAGES)
def test_without_a_table_a_page_says_so_and_links_to_data_and_demo(page):
    app = open_page(page)
    assert "**There is no table yet.**" in [each.value for each in app.markdown]
    assert links(app) == ["Choose a table", "Or start with the demo"]
    assert not app.metric
    assert not app.get("plotly_chart")


@pytest.mark.parametrize("page", ["app.py", *LATER_PAGES[2:]])
def test_without_scores_a_page_says_so_and_links_to_scores(segments, page):
    unknown = segments.rename(columns={"score": "margin"})
    app = calm(go(with_table(unknown), page))
    assert "**The rows have no scores yet.**" in [each.value for each in app.markdown]
    assert "Choose where scores come from" in links(app)
    assert not app.metric


@pytest.mark.parametrize("page", LATER_PAGES)
def test_a_table_that_cannot_be_used_is_explained_with_the_way_back_to_data(segments, page):
    app = with_table(segments)
    app.selectbox(key="role_label").select("size").run()
    assert the_error(go(app, page)).startswith("The label column 'size' holds fractions")
    assert links(app) == ["Go to Data"]


@pytest.mark.parametrize("page", ["app.py", *LATER_PAGES[2:]])
def test_scores_that_rank_nothing_are_explained_with_the_way_back_to_scores(segments, page):
    app = go(with_scores(segments.assign(score=2.5)), page)
    assert the_error(app).startswith("All scores are equal (logit 2.5).")
    assert "Go to Scores" in links(app)


@pytest.mark.parametrize("page", list(PAGES))
def test_a_finished_run_shows_on_every_page_without_a_message(segments, page):
    calm(go(with_scores(segments), page))


def test_settings_survive_page_changes(segments):
    app = with_segment_leaves(segments)
    app.selectbox(key="setting_min_leaf").select(100).run()
    go(app, "pages/calibration.py").number_input(key="setting_min_rows").set_value(120).run()
    app = go(go(app, "pages/data.py"), "pages/partition.py")
    assert app.slider(key="setting_max_depth").value == 1
    assert app.selectbox(key="setting_min_leaf").value == 100
    assert go(app, "pages/calibration.py").number_input(key="setting_min_rows").value == 120


def test_a_leaf_chosen_on_one_page_is_shown_on_all_others(segments):
    app = choose_leaf(with_segment_leaves(segments), 2)
    for page in ("pages/data.py", *LEAF_PAGES):
        go(app, page)
        if page in LEAF_PAGES:
            assert app.sidebar.selectbox(key="leaf").value == 2
            assert "segment is a" in [each.value for each in app.sidebar.caption]


@pytest.mark.parametrize(
    ("page", "table", "row", "leaf"),
    [
        ("pages/partition.py", "partition_leaves", 1, 2),
        ("pages/calibration.py", "calibration_table", 1, 1),
        ("pages/results.py", "results_table", 1, 2),
    ],
)
def test_a_click_on_a_row_chooses_its_leaf(segments, page, table, row, leaf):
    app = click_row(go(with_segment_leaves(segments), page), table, row)
    assert calm(app).sidebar.selectbox(key="leaf").value == leaf
    assert go(app, "pages/overconfidence.py").sidebar.selectbox(key="leaf").value == leaf


def test_a_click_on_a_ranked_row_chooses_the_leaf_of_that_row(segments):
    app = go(with_segment_leaves(segments), "pages/overconfidence.py")
    ranked = list(app.dataframe[0].value["leaf"])
    for row, leaf in enumerate(ranked):
        click_row(app, "overconfidence_table", row)
        assert app.sidebar.selectbox(key="leaf").value == leaf
    assert sorted(ranked) == [0, 1, 2]


@pytest.mark.parametrize(
    ("page", "chart"),
    [
        ("pages/partition.py", "partition_tree"),
        ("pages/overconfidence.py", "overconfidence_rank"),
        ("pages/results.py", "results_leaves"),
    ],
)
def test_a_click_in_a_picture_chooses_the_leaf(segments, page, chart):
    app = click_point(go(with_segment_leaves(segments), page), chart, leaf=2)
    assert calm(app).sidebar.selectbox(key="leaf").value == 2


def test_a_leaf_that_a_smaller_tree_lacks_gives_way_to_all_rows(segments):
    app = go(with_scores(segments), "pages/partition.py")
    choose_leaf(app, 5)
    app.slider(key="setting_max_depth").set_value(1).run()
    assert calm(app).sidebar.selectbox(key="leaf").value == 0


def test_a_setting_of_calibration_does_not_grow_the_tree_again(segments, counted):
    grown, fitted, passed = map(counted, ("grow_partition", "finish_run", "first_pass"))
    app = go(with_scores(segments), "pages/calibration.py")
    app.number_input(key="setting_min_rows").set_value(200).run()
    assert (len(grown), len(fitted), len(passed)) == (1, 2, 1)
    go(app, "pages/partition.py").slider(key="setting_max_depth").set_value(2).run()
    assert (len(grown), len(fitted)) == (2, 2)


def test_a_walk_over_all_pages_and_leaves_computes_everything_once(segments, counted):
    names = ("read_file", "split_table", "check_table", "grow_partition", "first_pass")
    calls = {name: counted(name) for name in (*names, "finish_run", "diagnose", "leaf_table")}
    app = with_scores(segments)
    for page in (*PAGES, *PAGES):
        go(app, page)
    for leaf in (1, 2, 0):
        choose_leaf(go(app, "pages/overconfidence.py"), leaf)
        go(app, "pages/results.py")
    assert {name: len(made) for name, made in calls.items()} == dict.fromkeys(calls, 1)


def test_a_table_goes_when_another_one_comes(segments, monkeypatch):
    frames, read = [], work.read_file

    def reading(*args, **kwargs):
        found = read(*args, **kwargs)
        frames.append(weakref.ref(found.frame))
        return found

    monkeypatch.setattr(work, "read_file", reading)
    app = with_scores(segments)
    for page in ("partition", "calibration", "results"):
        app = go(app, f"pages/{page}.py")
    assert frames[0]() is not None
    upload(go(app, "pages/data.py"), "data_file", "others.csv", segments.iloc[::-1])
    gc.collect()
    assert [each() is None for each in frames] == [True, False]


def test_two_sessions_share_nothing(segments, become, counted):
    read = counted("read_file")
    become("first")
    first = with_scores(segments)
    become("second")
    second = open_page("pages/results.py")
    assert "**There is no table yet.**" in [each.value for each in second.markdown]
    upload(go(second, "pages/data.py"), "data_file", "people.csv", segments)
    folders = {the_run(app).folder for app in (first, second)}
    assert len(folders) == len(read) == 2


def test_what_one_session_has_read_is_not_handed_to_another(
    segments, become, counted, monkeypatch, tmp_path
):
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
    segments.to_csv(tmp_path / "people.csv", index=False)
    read = counted("read_file")
    for name in ("first", "second", "second"):
        become(name)
        app = open_page("pages/data.py")
        app.segmented_control[0].set_value("Path on this machine").run()
        app.text_input(key="data_path").set_value(str(tmp_path / "people.csv")).run()
        assert len(calm(app).dataframe) == 3
    assert len(read) == 2


def test_a_session_that_ends_leaves_its_run(segments, become):
    become("first")
    first = with_scores(segments)
    end_session("first")
    become("second")
    second = open_page("pages/results.py", run=the_run(first).id)
    assert "AUC before" in metrics(calm(second))


def test_who_leaves_the_data_page_before_it_is_done_finds_its_columns_guessed(segments):
    app = with_table(segments)
    hurried = replace(app.session_state["workspace"], roles=None, scoring=None)
    app.session_state["workspace"] = hurried
    calm(go(app, "pages/scores.py"))
    assert app.session_state["workspace"].roles.label == "label"


HELD = """
from pathlib import Path
from pages.shared.flow.cache import release_freed_memory

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

blocks = [bytearray(b"1" * 100_000) for _ in range(2000)]
blocks = blocks[-1:]  # the end of the heap stays in use
before = held()
release_freed_memory()
print(before - held())
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="this system takes freed memory back by itself, or not at all",
)
def test_what_was_freed_below_what_is_in_use_goes_back_to_the_system():
    given = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    assert int(given.stdout) > 100_000_000


def test_other_systems_are_left_alone(monkeypatch):
    def unexpected(name):
        raise AssertionError(name)

    monkeypatch.setattr(cache.sys, "platform", "win32")
    monkeypatch.setattr(cache.ctypes, "CDLL", unexpected)
    release_freed_memory()


def test_a_server_that_a_proxy_gives_another_name_is_not_local(monkeypatch):
    options = {"server.address": "127.0.0.1", "server.allowedHosts": ["localhost"]}
    monkeypatch.setattr("streamlit.get_option", options.get)
    assert is_local()
    options["server.allowedHosts"] = ["hetcal.example.org"]
    assert not is_local()
