"""What the first page shows of the demo is what the demo gives."""

import json

import pytest

from pages.shared.display.example import EXAMPLE
from tests.pages.runs.demo_example import found
from tests.pages.visit import calm, figure, open_page


@pytest.mark.network
def test_the_picture_of_the_first_page_is_what_hetcal_finds_in_the_demo():
    shown, now = json.loads(EXAMPLE.read_text(encoding="utf-8")), found()
    assert shown["verdict"] == now["verdict"]
    names = [name for name in now["ladder"]["columns"] if name != "seconds"]
    assert shown["ladder"]["columns"] == now["ladder"]["columns"]
    for old, new in zip(shown["ladder"]["data"], now["ladder"]["data"], strict=True):
        old, new = (dict(zip(now["ladder"]["columns"], each, strict=True)) for each in (old, new))
        numbers = [name for name in names if isinstance(new[name], float)]
        assert {name: old[name] for name in names if name not in numbers} == {
            name: new[name] for name in names if name not in numbers
        }
        assert [old[name] for name in numbers] == pytest.approx(
            [new[name] for name in numbers], abs=1e-3
        )


def test_the_first_page_shows_the_demo_before_anything_was_pressed():
    app = calm(open_page("app.py"))
    rungs = json.loads(EXAMPLE.read_text(encoding="utf-8"))["ladder"]["data"]
    assert len(figure(app, "example_ladder")["layout"]["yaxis"]["ticktext"]) == len(rungs)
