import json

import numpy as np
import pytest

from hetcal.artifacts.artifact import open_artifact
from hetcal.cli.main import main
from tests.watch.streams import Change, artifact_of, draw_rows


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("watch"), np.random.default_rng(30)
    (folder / "artifact.zip").write_bytes(artifact_of(draw_rows(8_000, rng)))
    draw_rows(4_000, rng).to_csv(folder / "same.csv", index=False)
    draw_rows(4_000, rng, Change("plus", 0.9)).to_csv(folder / "changed.csv", index=False)
    draw_rows(4_000, rng).drop(columns="label").to_csv(folder / "unlabelled.csv", index=False)
    return folder


def check(files, table, *options):
    return main(["check", str(files / "artifact.zip"), str(files / table), *map(str, options)])


def test_the_exit_code_says_whether_the_check_passes(files, capsys):
    assert check(files, "same.csv") == 0
    out, err = capsys.readouterr()
    last = out.splitlines()[-1]
    assert last == "passed: On 4,000 labelled rows the maps hold. Nothing is to be done."
    assert err == ""
    assert check(files, "changed.csv") == 1
    *_, verdict, _, reason = capsys.readouterr().out.splitlines()[-3:]
    assert verdict.startswith(("failed: On 4,000", "- In "))
    assert reason.startswith("- In leaf")
    assert check(files, "unlabelled.csv") == 0
    assert "no column 'label' with labels: only movement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "options", "code"),
    [
        ("same.csv", ["--min-lift", "0.002", "--max-calibration-error", "0.05"], 0),
        ("same.csv", ["--min-lift", "0.5"], 1),
        ("same.csv", ["--max-calibration-error", "-0.001"], 1),
        ("unlabelled.csv", ["--min-lift", "0.002"], 2),
        ("nowhere.csv", [], 2),
        ("same.csv", ["--array", "a.npy"], 2),
    ],
)
def test_the_gate_and_bad_input_have_codes_of_their_own(files, table, options, code, capsys):
    assert check(files, table, *options) == code
    out, err = capsys.readouterr()
    assert out.count("was asked for") == (code == 1)
    assert err.startswith("hetcal: ") == (code == 2)


def test_words_for_numbers_are_refused(files, capsys):
    for text in ("nan", "much"):
        with pytest.raises(SystemExit, match="2"):
            check(files, "same.csv", "--min-lift", text)
        assert "a number is needed" in capsys.readouterr().err


def test_json_goes_to_standard_output_alone(files, capsys):
    assert check(files, "changed.csv", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["table"], found["passed"], found["action"]) == ("changed.csv", False, "refit")
    assert found["reasons"]


def test_a_refit_is_written_where_the_check_fails_and_then_passes(files, tmp_path, capsys):
    path = tmp_path / "refitted.zip"
    assert check(files, "same.csv", "--refit", path) == 0
    assert not path.exists()
    assert "nothing is known to be wrong" in capsys.readouterr().err
    assert check(files, "changed.csv", "--refit", path) == 1
    assert "Maps fitted again on 2,000 rows; on 2,000 rows" in capsys.readouterr().err
    assert len(open_artifact(path.read_bytes(), tmp_path).ancestry) == 1
    assert main(["check", str(path), str(files / "changed.csv")]) == 0
