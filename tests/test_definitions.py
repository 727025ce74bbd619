import re

import pytest

from hetcal.definitions import DEFINITIONS
from hetcal.exactness import NAMES
from pages.shared import tables
from tests.pages.visit import APP

PAGES = [APP, *(APP.parent / "pages").glob("*.py")]


@pytest.mark.parametrize("text", DEFINITIONS.values(), ids=list(DEFINITIONS))
def test_a_definition_is_a_few_whole_sentences(text):
    assert text[0].isupper()
    assert text.endswith(".")
    assert len(text) < 400
    assert not re.search(r"[*_`$<>#]", text), "Markdown would read the sign"


def test_every_measure_of_a_run_is_defined_and_is_a_column():
    defined = {term.lower() for term in DEFINITIONS}
    names = {
        name.replace("debiased calibration error", "calibration error, debiased").lower()
        for name in NAMES.values()
    }
    assert names <= defined
    assert {*tables.ORDER_METRICS, *tables.PROBABILITY_METRICS} == {"scheme", *NAMES}


def test_every_column_of_measures_has_its_definition_as_tooltip():
    for name, column in (tables.ORDER_METRICS | tables.PROBABILITY_METRICS).items():
        assert name == "scheme" or column["help"] in DEFINITIONS.values()
