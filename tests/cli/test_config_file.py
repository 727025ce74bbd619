import json
import os
import tomllib

import numpy as np
import pandas as pd
import pytest

from hetcal.cli.main import main
from hetcal.cli.options import parse_options
from hetcal.cli.output import run_toml
from tests.models.model_files import model_files

ODD = ["a,b", 'c"d', "e\\f", "ü€😀", "x\x7fy", "tab\there", "new\nline", "#no = comment", "'"]


@pytest.fixture
def table(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.to_csv(path, index=False)
    return path


def result_of(folder):
    result = json.loads((folder / "result.json").read_text())
    for each in result["ladder"]:
        each.pop("seconds")
    return result


def said(given):
    """Read options as a person would give them."""
    return parse_options(["run", *given]).given


def test_a_run_is_repeated_from_its_own_folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--label", "label", "--score", "score", "--ignore", "split", "--seed", "5",
               "--fractions", "0.4,0.1,0.25,0.25", "--partition", "forest", "--id", "size",
               "--no-validation")  # fmt: skip
    assert main(["run", "table.csv", *options, "--out", "out"]) == 0
    first, scored = result_of(tmp_path / "out"), (tmp_path / "out/scored.parquet").read_bytes()
    (tmp_path / "moved").mkdir()
    for name in ("table.csv", "out"):
        os.rename(name, f"moved/{name}")
    monkeypatch.chdir("/")
    for name in ("result.json", "scored.parquet"):
        (tmp_path / "moved/out" / name).unlink()
    written = (tmp_path / "moved/out/run.toml").read_bytes()
    assert main(["run", "--config", str(tmp_path / "moved/out/run.toml")]) == 0
    assert result_of(tmp_path / "moved/out") == first
    assert (tmp_path / "moved/out/scored.parquet").read_bytes() == scored
    assert (tmp_path / "moved/out/run.toml").read_bytes() == written


def test_the_command_line_wins_over_the_file(table, tmp_path):
    (tmp_path / "run.toml").write_text(
        'table = "table.csv"\nlabel = "label"\nscore = "noscore"\nscore-kind = "logit"\n'
        'split = "split"\nmax-depth = 3\nout = "elsewhere"\n'
    )
    line = ["run", "--config", str(tmp_path / "run.toml"), "--score", "score", "--max-depth", "1"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 0
    result = result_of(tmp_path / "out")
    assert (result["settings"]["score"], result["settings"]["max_depth"]) == ("score", 1)
    assert len(result["leaves"]) == 2
    assert not (tmp_path / "elsewhere").exists()


def test_an_option_takes_the_place_of_those_that_exclude_it(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        'label = "y"\nscore = "p"\nscore-kind = "logit"\nsplit = "role"\nseed = 3\ntable = "t.csv"'
    )
    more = ("--model", "m.keras", "--fractions", "0.4,0.1,0.25,0.25", "--out", "o", "u.csv")
    given = said(["--config", str(path), *more])
    assert given.keys() == {"label", "seed", "model", "fractions", "out", "table"}
    assert (given["seed"], str(given["table"])) == (3, "u.csv")


def test_odd_names_come_back_from_the_file(tmp_path):
    listed = ",".join('"' + name.replace('"', '""') + '"' for name in ODD)
    words = [str(tmp_path / "-t ü.csv"), f"--label={ODD[1]}", f"--positive={ODD[3]}",
             f"--features={listed}", f"--weight={ODD[4]}", "--score=-p", "--shrinkage=inf",
             "--fractions=0.4,1e-7,0.25,0.25", "--drop-unlabelled", f"--group={ODD[6]}",
             f"--out={tmp_path / 'out'}", "--partition=own.json"]  # fmt: skip
    given = said(words)
    assert given["features"] == tuple(ODD)
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "run.toml"
    path.write_bytes(run_toml(given, tmp_path / "out"))
    plain = tomllib.loads(path.read_text(encoding="utf-8"))
    assert plain["features"] == ODD
    assert (plain["out"], plain["table"]) == (".", "../-t ü.csv")
    again = said(["--config", str(path)])
    for name in ("table", "out", "partition"):
        given[name], again[name] = (os.path.abspath(each[name]) for each in (given, again))
    assert again == given


def test_names_of_files_need_not_be_text(tmp_path):
    odd = os.fsdecode(b"t\xff.csv")
    given = said([odd, "--label=y", "--score=p", f"--out={tmp_path}"])
    (tmp_path / "run.toml").write_bytes(run_toml(given, tmp_path))
    again = said(["--config", str(tmp_path / "run.toml")])
    assert os.path.abspath(again["table"]) == os.path.abspath(odd)


def test_paths_lead_from_where_a_linked_folder_is(tmp_path):
    (tmp_path / "deep" / "real").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "real")
    (tmp_path / "t.csv").write_text("a\n1\n")
    given = said([str(tmp_path / "t.csv"), "--label=y", "--score=p", f"--out={tmp_path / 'link'}"])
    (tmp_path / "link" / "run.toml").write_bytes(run_toml(given, tmp_path / "link"))
    again = said(["--config", str(tmp_path / "link" / "run.toml")])
    assert os.path.samefile(again["table"], tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('lable = "y"', "There is no option 'lable'"),
        ('positve = "y"', "Did you mean 'positive'?"),
        ('score_kind = "logit"', "Did you mean 'score-kind'?"),
        ('zzz = "logit"', "run --help` lists them"),
        ('config = "other.toml"', "There is no option 'config'"),
        ("label = 1979-05-27", "'label' in"),
        ("[label]\nx = 1", "'label' in"),
        ("label = [[1]]", "'label' in"),
        ("label y", "is not TOML"),
    ],
)
def test_what_the_file_cannot_say_is_refused_in_one_line(tmp_path, capsys, content, words):
    (tmp_path / "run.toml").write_text(content)
    assert main(["run", "--config", str(tmp_path / "run.toml")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("seed = 1.5", "argument --seed: invalid int value: '1.5'"),
        ('skip-bad-rows = "yes"', "argument --skip-bad-rows: ignored explicit argument 'yes'"),
        ("label = true", "argument --label: expected one argument"),
        ('score = "p"\nmodel = "m.keras"', "not allowed with argument"),
        ('label = "y"', "required: TABLE, --out"),
        ('table = "t"\nlabel = "y"\nout = "o"', "one of the arguments --score --model"),
    ],
)
def test_values_are_refused_as_on_the_command_line(tmp_path, capsys, content, words):
    (tmp_path / "run.toml").write_text(content)
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--config", str(tmp_path / "run.toml")])
    assert words in capsys.readouterr().err


def test_a_missing_file_of_options_is_named(tmp_path, capsys):
    assert main(["run", "--config", str(tmp_path / "no.toml")]) == 2
    assert "no.toml' cannot be read" in capsys.readouterr().err


def test_flags_can_be_off_and_lists_can_be_one_text(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        'table="t"\nlabel="y"\nscore="p"\nout="o"\nskip-bad-rows=false\ndrop-unlabelled=true\n'
        'ignore="a,b"\nfeatures=["c"]'
    )
    options = parse_options(["run", "--config", str(path)])
    assert (options.skip_bad_rows, options.drop_unlabelled) == (False, True)
    assert (options.ignore, options.features) == (("a", "b"), ("c",))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("b\n a,1 \n\nc\n", ("b", "a,1", "c")),
        ('["b", "a,1"]', ("b", "a,1")),
        ("\ufeffb\r\nc", ("b", "c")),
        ("[b]\nc", ("[b]", "c")),
    ],
)
def test_inputs_are_listed_in_a_file(tmp_path, content, expected):
    path = tmp_path / "columns.txt"
    path.write_bytes(content.encode())
    line = ["t", "--label=y", "--model=m", "--out=o"]
    assert said([*line, "--inputs", f"@{path}"])["inputs"] == expected
    (tmp_path / "run.toml").write_text('inputs = "@columns.txt"')
    assert said([*line, "--config", str(tmp_path / "run.toml")])["inputs"] == expected


def test_the_columns_of_several_inputs_are_repeated_from_a_file(tmp_path):
    (tmp_path / "columns.txt").write_text("a\nb")
    line = ["t", "--label=y", "--model=m", "--out=o"]
    inputs = ["--inputs", f"numbers=@{tmp_path / 'columns.txt'}", "--inputs", "job=town"]
    given = said([*line, *inputs])
    assert given["inputs"] == ("numbers=a", "b", "job=town")
    (tmp_path / "run.toml").write_bytes(run_toml({"inputs": given["inputs"]}, tmp_path))
    again = said([*line, "--config", str(tmp_path / "run.toml")])
    assert again["inputs"] == given["inputs"]


def test_a_file_of_steps_is_found_from_the_folder_of_the_options(tmp_path):
    line = ["t", "--label=y", "--model=m", "--out=o"]
    steps = str(tmp_path / "steps.json")
    (tmp_path / "run.toml").write_bytes(run_toml({"scale": steps}, tmp_path))
    assert said([*line, "--config", str(tmp_path / "run.toml")])["scale"] == steps
    (tmp_path / "run.toml").write_bytes(run_toml({"scale": "min-max"}, tmp_path))
    assert said([*line, "--config", str(tmp_path / "run.toml")])["scale"] == "min-max"


@pytest.mark.parametrize("content", [None, b"\n", b"\xff\xfe"])
def test_a_list_of_inputs_that_cannot_be_read_is_refused(tmp_path, capsys, content):
    path = tmp_path / "columns.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        said(["t", "--label=y", "--model=m", "--out=o", "--inputs", f"@{path}"])
    assert "columns.txt" in capsys.readouterr().err


@pytest.mark.network
def test_all_inputs_are_the_features_in_the_order_of_the_table(kinds, tmp_path):
    frame = pd.DataFrame({"a": kinds["x"], "no": np.arange(len(kinds)), "b": kinds["z"], "c": 1.0})
    frame[["kind", "split"]] = kinds[["kind", "split"]]
    frame.to_csv(tmp_path / "kinds.csv", index=False)
    line = ["run", str(tmp_path / "kinds.csv"), "--label", "kind", "--split", "split",
            "--model", str(model_files() / "three.keras"), "--id", "no"]  # fmt: skip
    for name, inputs in (("all", "all"), ("named", "a,b,c")):
        assert main([*line, "--inputs", inputs, "--out", str(tmp_path / name)]) == 0
    scored = [pd.read_parquet(tmp_path / name / "scored.parquet") for name in ("all", "named")]
    pd.testing.assert_frame_equal(*scored, check_exact=True)
    assert scored[0]["no"].equals(scored[0]["row"].rename("no"))
