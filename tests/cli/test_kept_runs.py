import json
from dataclasses import replace

import pytest

from hetcal.cli.main import main
from hetcal.data.demo import toy_table
from hetcal.store.finished import compared_of
from hetcal.store.store import Store
from hetcal.store.work import find_verdict
from hetcal.store.workspace import workspace_of

FOUND = ("verdict", "before", "after", "lift", "chosen")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HETCAL_HOME", str(tmp_path / "home"))
    toy_table(2_000).to_csv(tmp_path / "toy.csv", index=False)
    return tmp_path


def keep(home, name, *options):
    words = [str(home / "toy.csv"), "--label", "y", "--positive", "1", "--score", "score"]
    out = ["--split", "split", "--out", str(home / name), "--keep", name]
    kind = [] if "--partition" in options else ["--partition", "tree"]
    assert main(["run", *words, *out, *kind, *options]) == 0


def listed(capsys):
    capsys.readouterr()
    assert main(["runs"]) == 0
    return capsys.readouterr().out


def test_a_run_is_kept_with_its_table_its_choices_and_what_it_wrote(home, capsys):
    keep(home, "first", "--max-depth", "2")
    run = Store().find("first")
    given = workspace_of(run)
    assert given.files[0].path.read_bytes() == (home / "toy.csv").read_bytes()
    assert given.files[0].path.is_relative_to(run.folder)
    assert (given.files[0].name, given.roles.label, given.roles.positive) == ("toy.csv", "y", "1")
    assert (given.settings.partition, given.settings.max_depth) == ("tree", 2)
    assert (given.scoring.columns, given.scoring.kind) == (("score",), "logit")
    for each in (home / "first").iterdir():
        assert (run.folder / "out" / each.name).read_bytes() == each.read_bytes()
    result = json.loads((home / "first" / "result.json").read_text())
    assert run.about["lift"] == pytest.approx(result["lift"]["auc"])
    assert run.about["rows"] == 2_000
    assert f"{result['lift']['auc']:+.4f}" in listed(capsys)


def verdict_found_again(name):
    """The facts that a kept run is listed by, taken from it and found again beside the pages."""
    run = Store().find(name)
    Store().change(run.id, None, lambda latest: replace(latest, about={"table": "toy.csv"}))
    find_verdict(run)
    return Store().get(run.id).about


@pytest.mark.parametrize(
    "options",
    [("tree", "--max-depth", "2"), ("auto", "--only", "calibration"), ("best", "--take", "pooled")],
)
def test_the_verdict_of_a_run_is_found_by_what_it_has_kept(home, options):
    keep(home, "first", "--partition", *options)
    before = Store().find("first").about
    found = verdict_found_again("first")
    assert {name: before[name] for name in FOUND} == {name: found[name] for name in FOUND}


def test_the_verdict_of_several_classes_is_found_by_what_they_have_kept(kinds, home):
    kinds.to_csv(home / "toy.csv", index=False)
    words = [str(home / "toy.csv"), "--label", "kind", "--score", "p_ant,p_bee,p_cow"]
    out = ["--split", "split", "--out", str(home / "out"), "--keep", "first"]
    assert main(["run", *words, *out]) == 0
    before = Store().find("first").about
    found = verdict_found_again("first")
    assert {name: before[name] for name in FOUND} == {name: found[name] for name in FOUND}


def test_a_run_whose_scheme_was_not_found_gets_no_verdict(home):
    keep(home, "first", "--partition", "forest")
    for each in Store().find("first").folder.rglob("scheme-*"):
        each.unlink()
    assert "verdict" not in verdict_found_again("first")


def test_repeating_a_kept_run_keeps_no_second_one(home):
    keep(home, "first")
    assert main(["run", "--config", str(home / "first" / "run.toml")]) == 0
    assert len(Store().all()) == 1


def test_kept_runs_are_compared_by_name_as_their_folders_are(home, capsys):
    keep(home, "first")
    keep(home, "second", "--max-depth", "1")
    capsys.readouterr()
    assert main(["compare", "first", "second"]) == 0
    by_name = capsys.readouterr().out
    assert main(["compare", str(home / "first"), str(home / "second")]) == 0
    assert capsys.readouterr().out == by_name
    assert "max_depth" in by_name
    with pytest.raises(Exception, match="no results"):
        compared_of(Store().new("empty"))


def test_a_run_is_shown_and_deleted_by_name(home, capsys):
    assert "No run is kept" in listed(capsys)
    keep(home, "first")
    capsys.readouterr()
    assert main(["runs", "show", "first"]) == 0
    shown = capsys.readouterr().out
    run = Store().find("first")
    assert run.id in shown
    assert str(run.folder) in shown
    assert main(["runs", "delete", "first"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["runs", "delete", "first", "--yes"]) == 0
    assert not run.folder.exists()
    assert main(["runs", "show", "first"]) == 2
    assert "no run called 'first'" in capsys.readouterr().err


def test_a_name_is_needed_to_show_or_delete(home, capsys):
    for action in ("show", "delete"):
        assert main(["runs", action]) == 2
        assert f"No run is named to {action}" in capsys.readouterr().err
    assert main(["runs", "delete", "--old", "--yes"]) == 0
    assert "No run is old" in capsys.readouterr().out
