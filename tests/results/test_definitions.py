import re
from dataclasses import fields

import pytest

from hetcal.metrics.metrics import Metrics
from hetcal.results.words import DEFINITIONS
from pages.shared.display import columns
from tests.pages.visit import APP

PAGES = [APP, *(APP.parent / "pages").glob("*.py")]


@pytest.mark.parametrize("text", DEFINITIONS.values(), ids=list(DEFINITIONS))
def test_a_definition_is_a_few_whole_sentences(text):
    assert text[0].isupper()
    assert text.endswith(".")
    assert len(text) < 400
    assert not re.search(r"[*_`$<>#]", text), "Markdown would read the sign"


def test_every_measure_of_a_run_is_a_column():
    names = {each.name for each in fields(Metrics)}
    assert {*columns.ORDER_METRICS, *columns.PROBABILITY_METRICS} == {"scheme", *names}


def test_every_column_of_measures_has_its_definition_as_tooltip():
    for name, column in (columns.ORDER_METRICS | columns.PROBABILITY_METRICS).items():
        assert name == "scheme" or column["help"] in DEFINITIONS.values()
