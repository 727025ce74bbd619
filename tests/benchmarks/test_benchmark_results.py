import json
from dataclasses import asdict, replace

import pytest

from hetcal.benchmarks.benchmark import ContenderResult, ModelResult, append_result, read_results
from hetcal.errors import HetcalError

ONE = ModelResult("one", 100, None, (ContenderResult("network", 0.7, 0.6, 0.0, 0.1),))
TWO = ModelResult("two", 200, 3.5, (ContenderResult("network", 0.8, 0.5, 0.0, 0.2),))


def test_what_was_written_is_read_and_the_later_line_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    later = replace(
        ONE, contenders=(*ONE.contenders, ContenderResult("tree", 0.75, 0.55, 2.0, 0.3))
    )
    for each in (ONE, TWO, later):
        append_result(path, each)
    assert read_results(path) == {"one": later, "two": TWO}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    facts = {"model": "two", "test_rows": 200, "training_seconds": 3.5}
    assert lines[1] == {**facts, "ways": [asdict(TWO.contenders[0])]}


def test_no_file_holds_no_results(tmp_path):
    assert read_results(tmp_path / "results.jsonl") == {}


def test_a_line_that_broke_off_is_replaced(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, ONE)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert read_results(path) == {"one": ONE}
    append_result(path, TWO)
    assert read_results(path) == {"one": ONE, "two": TWO}
    assert path.read_bytes().startswith(whole)


@pytest.mark.parametrize("line", ["a,b,c", "{}", '{"model": 1}', '{"model": "x", "ways": []}'])
def test_a_file_of_something_else_is_refused(tmp_path, line):
    path = tmp_path / "table.csv"
    path.write_text(f"{line}\n")
    with pytest.raises(HetcalError, match=r"Line 1 of .* is not a result of the benchmark"):
        read_results(path)
