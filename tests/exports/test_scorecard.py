"""The scorecard: the table alone gives the artifact's probabilities, and its points mean odds."""

import csv
import io
import math
from html.parser import HTMLParser

import pytest

from hetcal.errors import ExportError
from hetcal.exports.export import make_exports
from hetcal.exports.scorecard import csv_file
from tests.exports.artifacts import CITY, artifact


class Cells(HTMLParser):
    """Reads the text of all cells, and the names of all parts."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.cells.append(data)


@pytest.mark.parametrize("kind", ["logit", "probability"])
def test_the_table_alone_gives_the_artifacts_probabilities(kind):
    table, page = make_exports(artifact(kind, partition="additive"), ["scorecard"], rows=3_000)
    assert (table.name, page.name) == ("scorecard.csv", "scorecard.html")
    assert table.parity.rows == 3_000
    assert table.parity.difference < 1e-12


def test_points_and_odds_say_the_same_as_the_logit():
    table, page = make_exports(artifact(partition="additive"), ["scorecard"], rows=500)
    lines = list(csv.DictReader(io.StringIO(table.content.decode())))
    for line in lines:
        assert float(line["odds"]) == pytest.approx(math.exp(float(line["logit"])))
        assert 2 ** (float(line["points"]) / 20) == pytest.approx(float(line["odds"]), rel=0.018)
    bern = next(each for each in lines if each["column"] == CITY and '"Bern"' in each["categories"])
    shown = Cells()
    shown.feed(page.content.decode())
    at = shown.cells.index("Bern")
    assert shown.cells[at + 1] == bern["points"]
    assert float(shown.cells[at + 2]) == pytest.approx(float(bern["odds"]), rel=0.02)
    assert not shown.tags & {"script", "img", "link", "iframe"}


def test_a_name_that_begins_like_a_formula_is_not_one_in_the_table():
    numbers = {"column": 0, "entries": 3, "limits": [1.0]}
    step = {"step": "add", "slope": 1.0, "intercept": 0.0}
    document = {
        "score": {"column": "=s", "kind": "logit"},
        "columns": [{"name": "=1+1", "kind": "number", "categories": []}],
        "steps": [{**step, "terms": [{"axes": [numbers], "values": [0.1, 0.2, 0.3]}]}],
    }
    lines = list(csv.DictReader(io.StringIO(csv_file(document).decode())))
    assert [each["column"] for each in lines] == ["", "'=s", "'=1+1", "'=1+1", "'=1+1"]
    assert [each["kind"] for each in lines[2:]] == ["number", "number", "missing"]


def test_a_tree_is_no_scorecard():
    with pytest.raises(ExportError, match=r"not curves.*Choose curves as the scheme"):
        make_exports(artifact(partition="tree"), ["scorecard"])
