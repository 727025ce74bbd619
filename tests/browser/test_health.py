"""Hostile files never hold the server up."""

import math

import pytest
from playwright.sync_api import expect

from hetcal.data.demo import toy_table
from tests.browser.measured.health import ready_for_a_model, watched
from tests.models.hostile.files import ENDLESS

pytestmark = pytest.mark.browser


def test_the_server_answers_while_it_waits_for_a_look_that_never_ends(visitor, server, tmp_path):
    ready_for_a_model(visitor, tmp_path, toy_table(2_000))
    visitor.settle()
    app = visitor.page.get_by_test_id("stApp")
    with watched(server) as times:
        visitor.page.locator("input[type=file]").set_input_files(ENDLESS.write(tmp_path))
        expect(app).to_have_attribute("data-test-script-state", "running")
        visitor.page.wait_for_timeout(1_000)
        expect(app).to_have_attribute("data-test-script-state", "running")  # it is looked at still
    assert len(times) > 5
    assert all(map(math.isfinite, times)), f"{times.count(math.inf)} of {len(times)} had no answer"
