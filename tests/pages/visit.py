"""A visit to the app without a browser: open pages, upload files, read what they say."""

import base64
import json
import re
import time
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

from hetcal.store.store import Store
from tests.pages.streamlit_internals import select

PATIENCE = 300  # seconds after which a page that hangs fails, on however busy a machine
APP = Path(__file__).resolve().parents[2] / "app.py"
PAGES = {
    "app.py": "Overview",
    "pages/data.py": "Data",
    "pages/scores.py": "Scores",
    "pages/partition.py": "Partition",
    "pages/overconfidence.py": "Over-confidence",
    "pages/calibration.py": "Calibration",
    "pages/results.py": "Results",
    "pages/export.py": "Export",
    "pages/watch.py": "Watch",
    "pages/runs.py": "Runs",
    "pages/learn.py": "Learn",
}


def open_page(page, **query):
    """Open a page in a new session, as a deep link does."""
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params.update(query)
    return app.switch_page(page).run()


def the_run(app):
    """The run of a session, as it is kept."""
    return Store().get(app.session_state["stored"].id)


def go(app, page):
    return app.switch_page(page).run()


def upload(app, key, name, content):
    """Upload a file: bytes, or a frame that is written as CSV."""
    data = content if isinstance(content, bytes) else content.to_csv(index=False).encode()
    return app.file_uploader(key=key).upload(name, data).run()


def with_table(content, name="people.csv"):
    """Open the Data page and upload a table."""
    return upload(open_page("pages/data.py"), "data_file", name, content)


def with_scores(frame, column="score"):
    """Upload a table and choose its score column; ends on the Scores page."""
    app = go(with_table(frame), "pages/scores.py")
    return app.selectbox(key="scores_column").select(column).run()


def with_segment_leaves(frame):
    """Upload a scored table whose tree has two leaves: segment b, then segment a."""
    app = go(with_scores(frame), "pages/partition.py")
    return app.slider(key="setting_max_depth").set_value(1).run()


def with_least_rows(app, rows):
    """Ask for so many calibration rows of the rarer class in a leaf with a slope of its own."""
    app = go(app, "pages/calibration.py")
    return app.number_input(key="setting_min_rows").set_value(rows).run()


def choose_leaf(app, leaf):
    return app.sidebar.selectbox(key="leaf").select(leaf).run()


def press(app, label):
    return button(app, label).click().run()


def button(app, label):
    return next(each for each in app.button if each.label == label)


def in_this_order(app):
    """The box by which a person confirms the columns of a model, or the rows of an array."""
    return next(each for each in app.checkbox if "in this order" in each.label)


def wait_for_jobs(app, seconds=PATIENCE):
    """Look again, as the page does by itself, until it waits for no job."""
    return wait_until(app, lambda: not any(each.key == "stop_job" for each in app.button), seconds)


def wait_until(app, happened, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "the work did not end in time"
        time.sleep(0.2)
        app.run()
    return app


def links(app):
    """The labels of the links on the page itself, without the menu."""
    return [each.label for each in app.main.get("page_link")]


def metrics(app):
    return {each.label: each.value for each in app.metric}


def defined(app, label="What the numbers mean"):
    """The terms that the page explains one click away."""
    (popover,) = (each for each in app.get("popover") if each.proto.popover.label == label)
    return [each.value.split("**")[1].rstrip(".") for each in popover.markdown]


def files(app):
    """The files that the page offers, beside the data of its charts."""
    return [each.label for each in app.download_button if each.label != "CSV"]


def said(elements):
    """What alerts say, without the signs of Markdown."""
    return [
        " ".join(re.sub(r"\\|\*\*|^- ", "", each.value, flags=re.MULTILINE).split())
        for each in elements
    ]


def the_error(app):
    """The one error on the page; there is no other, and no traceback."""
    assert not app.exception
    (text,) = said(app.error)
    return text


def calm(app):
    """Neither an error nor a traceback is on the page."""
    assert not app.exception
    assert not app.error
    return app


def table_with(app, column):
    """The table on the page that has a column of this name."""
    return next(each.value for each in app.dataframe if column in each.value.columns)


def figure(app, key):
    """The data and layout of a chart."""
    chart = next(each for each in app.get("plotly_chart") if each.proto.id.endswith(f"-{key}"))
    return json.loads(chart.proto.spec)


def identity(app, key):
    """What a chart is known by in the browser, which draws one that has another anew."""
    found = [each.proto.id for each in app.get("plotly_chart")]
    return next(each for each in found if each.endswith(f"-{key}"))


def bold_panels(app, key):
    """Numbers of the panels of a chart whose titles are bold, from 0."""
    (style,) = (each.proto.body for each in app.get("html") if f"st-key-{key}" in each.proto.body)
    return [int(each) for each in re.findall(r'data-index="(\d+)"', style)]


def numbers(values):
    """The values of a trace, which Plotly may have packed."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.asarray(values, dtype=float)


def click_row(app, key, row):
    """Click a row of a table; AppTest itself offers no way to do so."""
    table = next(each for each in app.dataframe if each.proto.id.endswith(f"-{key}"))
    return select(app, table.proto.id, {"rows": [row], "columns": [], "cells": []})


def click_point(app, key, leaf):
    """Click a point of a chart that belongs to a leaf."""
    chart = next(each for each in app.get("plotly_chart") if each.proto.id.endswith(f"-{key}"))
    points = [{"customdata": [leaf]}]
    return select(app, chart.proto.id, {"points": points, "point_indices": [0], "box": []})
