from hetcal.data.checks import Finding
from hetcal.results.roles import check_roles

CODES = ("repeated-rows", "divided-groups", "validation-reused", "unknown-training-rows")


def levels(*found, group="household", loaded=False):
    return [each.level for each in check_roles(found, group, loaded=loaded)]


def test_roles_hold_where_nothing_was_found():
    assert levels() == ["holds"] * 5


def test_a_warning_fails_a_note_leaves_open_and_the_finding_says_why():
    for place, code in enumerate(CODES):
        for level, expected in (("warning", "fails"), ("note", "open")):
            finding = Finding(None, f"What was found of {code}.", level, code)
            checks = check_roles([finding], "household", loaded=False)
            assert checks[place].level == expected
            assert checks[place].reason == finding.message
            assert [each.level for each in checks].count("holds") == 4


def test_a_partition_from_a_file_may_have_seen_the_test_rows():
    assert levels(loaded=True) == ["holds"] * 4 + ["open"]


def test_other_findings_do_not_matter():
    assert levels(Finding("x", "Column 'x' is odd.", "warning", "identifier")) == ["holds"] * 5


def test_without_groups_rows_count_as_independent():
    assert "independent" in check_roles([], None, loaded=False)[1].reason
