import json
import re
import sys
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from hetcal.choices import RUNGS, optional_name, plain_name
from hetcal.cli.main import main


@pytest.fixture
def table(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.to_csv(path, index=False)
    return path


def run_command(table, out, *more):
    return main(["run", str(table), "--out", str(out), *more])


SCORED = ("--label", "label", "--score", "score", "--split", "split")


def test_run_writes_result_artifact_and_scored_test_rows(table, segments, tmp_path, capsys):
    assert run_command(table, tmp_path / "out", *SCORED, "--positive", "yes") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    test = segments[segments["split"] == "test"]
    assert scored["row"].tolist() == test.index.tolist()
    y = (test["label"] == "yes").to_numpy()
    for name, probability in (("before", expit(test["score"])), ("after", scored["after"])):
        assert result[name]["auc"] == pytest.approx(roc_auc_score(y, probability), abs=1e-12)
        assert result[name]["log_loss"] == pytest.approx(log_loss(y, probability), abs=1e-9)
        assert result[name]["brier"] == pytest.approx(brier_score_loss(y, probability), abs=1e-12)
        assert result[name]["average_precision"] == pytest.approx(
            average_precision_score(y, probability), abs=1e-12
        )
        for measure in ("auc", "average_precision", "log_loss", "brier"):
            found = result["measures"][measure][name]
            assert found["value"] == result[name][measure]
            assert found["low"] < found["value"] < found["high"]
    assert "AUC" in capsys.readouterr().out


def test_score_gives_the_same_numbers_as_the_run(table, segments, tmp_path):
    out = tmp_path / "out"
    assert run_command(table, out, *SCORED) == 0
    again = tmp_path / "again.parquet"
    assert main(["score", str(out / "artifact.zip"), str(table), "--out", str(again)]) == 0
    expected = pd.read_parquet(out / "scored.parquet").set_index("row").drop(columns="label")
    found = pd.read_parquet(again).set_index("row").loc[expected.index]
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_scoring_tells_a_terminal_one_rising_share(table, tmp_path, monkeypatch):
    out, told = tmp_path / "out", []

    @contextmanager
    def line(stream):
        yield lambda done, doing: told.append(done)

    assert run_command(table, out, *SCORED) == 0
    monkeypatch.setattr("hetcal.cli.commands.progress_line", line)
    again = str(tmp_path / "again.parquet")
    assert main(["score", str(out / "artifact.zip"), str(table), "--out", again]) == 0
    assert told == sorted(told)
    assert 0 <= told[0] < told[-1] <= 1


def test_a_command_that_is_stopped_says_so_without_a_traceback(
    table, tmp_path, capsys, monkeypatch
):
    def stop(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("hetcal.cli.commands.start_rows", stop)
    assert run_command(table, tmp_path / "out", *SCORED) == 130
    assert capsys.readouterr().err == "hetcal: stopped.\n"


def test_a_saved_partition_can_be_used_again(table, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert run_command(table, first, *SCORED, "--max-depth", "2") == 0
    with zipfile.ZipFile(first / "artifact.zip") as archive:
        assert archive.read("partition.json") == (first / "partition.json").read_bytes()
    partition = str(first / "partition.json")
    assert run_command(table, second, *SCORED, "--partition", partition) == 0
    results = [json.loads((out / "result.json").read_text()) for out in (first, second)]
    assert [result.pop("settings")["max_depth"] for result in results] == [2, 3]
    assert results[0] == results[1]


def test_equal_commands_write_equal_bytes(table, tmp_path):
    arguments = ("--label", "label", "--score", "score", "--ignore", "split", "--seed", "5",
                 "--fractions", "0.4,0.1,0.25,0.25")  # fmt: skip
    for name in ("one", "two"):
        assert run_command(table, tmp_path / name, *arguments) == 0
    for name in ("artifact.zip", "partition.json", "scored.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    results = [json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "two")]
    for result in results:
        assert all(each.pop("seconds") >= 0 for each in result["ladder"])
    assert json.dumps(results[0]) == json.dumps(results[1])


def test_probabilities_are_recognised(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.assign(score=expit(segments["score"])).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED) == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    assert scored["score"].to_numpy() == pytest.approx(
        segments["score"].iloc[scored["row"]], abs=1e-6
    )


def test_scores_that_are_not_finite_are_left_out_and_counted(segments, tmp_path):
    path = tmp_path / "table.csv"
    broken = segments.copy()
    broken.loc[:9, "score"] = np.nan
    broken.loc[10:14, "score"] = np.inf
    broken.to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["scores"]["excluded"] == 15
    assert sum(result["rows"].values()) == len(segments) - 15


def test_a_leaf_without_test_rows_has_no_test_rate(segments, tmp_path):
    path = tmp_path / "table.csv"
    few = segments[(segments["split"] != "test") | (segments["segment"] == "a")]
    few.to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED, "--max-depth", "1") == 0
    leaves = json.loads((tmp_path / "out" / "result.json").read_text())["leaves"]
    empty = [leaf for leaf in leaves if leaf["rows"]["test"] == 0]
    assert [leaf["positive_rate"]["test"] for leaf in empty] == [None]
    assert empty[0]["slope"] > 0


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        (lambda f: f, ("--label", "nolabel", "--score", "score"), "nolabel"),
        (lambda f: f, ("--label", "label", "--score", "noscore"), "noscore"),
        (lambda f: f, (*SCORED, "--positive", "maybe"), "maybe"),
        (lambda f: f, (*SCORED, "--features", "size,weight"), "weight"),
        (lambda f: f, (*SCORED, "--partition", "missing.json"), "missing.json"),
        (lambda f: f, (*SCORED, "--score-kind", "probability"), "outside 0 to 1"),
        (lambda f: f.assign(label=f["size"].round(-1)), SCORED, "label"),
        (lambda f: f.assign(label="yes"), SCORED, "label"),
        (lambda f: f.assign(label=f["label"].where(f.index > 3)), SCORED, "(--drop-unlabelled"),
        (lambda f: f[f["split"] != "calibration"], SCORED, "calibration"),
        (lambda f: f.assign(split="elsewhere"), SCORED, "elsewhere"),
        (lambda f: f.assign(score=0.25), SCORED, "All scores are equal"),
        (lambda f: f.assign(score="high"), SCORED, "high"),
        (lambda f: f.head(0), SCORED, "table.csv"),
        (lambda f: f, (*SCORED, "--seed", "-1"), "seed"),
        (lambda f: f, (*SCORED, "--max-depth", "0"), "--max-depth is 0"),
        (lambda f: f, (*SCORED, "--min-leaf", "0"), "--min-leaf is 0"),
        (lambda f: f, (*SCORED, "--columns", "segment", "--bins", "-1"), "--bins is -1"),
        (lambda f: f, (*SCORED, "--min-rows", "-1"), "--min-rows is -1"),
        (lambda f: f, (*SCORED, "--delimiter", ";"), "--delimiter on the command line"),
        (lambda f: f, (*SCORED, "--delimiter", "ab"), "--delimiter on the command line"),
        (lambda f: f, (*SCORED, "--encoding", "utf-16"), "--encoding on the command line"),
        (lambda f: f, (*SCORED, "--inputs", "size"), "--inputs has no effect"),
        (lambda f: f, (*SCORED, "--split-by-time", "size"), "--split-by-time has no effect"),
        (lambda f: f, (*SCORED, "--partition", "p.json", "--max-depth", "2"), "--max-depth has no"),
    ],
)
def test_bad_input_ends_with_two_and_one_message(
    segments, tmp_path, capsys, change, arguments, words
):
    path = tmp_path / "table.csv"
    change(segments).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04rubbish", b"a\x00b\x00\n\x00\x00"])
def test_files_that_are_no_tables_are_refused(tmp_path, capsys, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert run_command(path, tmp_path / "out", *SCORED) == 2
    assert "table.csv" in capsys.readouterr().err


def test_a_missing_table_is_named(tmp_path, capsys):
    assert run_command(tmp_path / "nowhere.csv", tmp_path / "out", *SCORED) == 2
    assert "nowhere.csv" in capsys.readouterr().err


def test_several_score_columns_for_one_positive_value_are_explained(segments, tmp_path, capsys):
    path = tmp_path / "table.csv"
    segments.assign(p0=-segments["score"], p1=segments["score"]).to_csv(path, index=False)
    options = ("--label", "label", "--score", "p0,p1", "--split", "split")
    for more, words in (
        ((), "as the label has two values"),
        (("--positive", "yes"), "leave --pos"),
    ):
        assert run_command(path, tmp_path / "out", *options, *more) == 2
        said = capsys.readouterr().err
        assert "--score names 2 columns (p0, p1)" in said
        assert "such as --score p1" in said
        assert words in said


def test_the_options_say_how_text_is_read(segments, tmp_path, capsys):
    plain, odd = tmp_path / "table.csv", tmp_path / "odd.csv"
    segments.to_csv(plain, index=False)
    lines = plain.read_text().splitlines()
    widest = "*".join("a" for _ in lines[0].split(","))
    odd.write_text("\n".join([line.replace(",", "*") for line in lines[1:]] + [widest + "*b"]))
    columns = [f"column {i}" for i in range(1, len(segments.columns) + 1)]
    names = dict(zip(segments.columns, columns, strict=True))
    read = ("--delimiter", "*", "--no-header", "--skip-bad-rows", "--decimal", ".")
    roles = ("--label", names["label"], "--score", names["score"], "--split", names["split"])
    assert run_command(plain, tmp_path / "plain", *SCORED, "--max-depth", "2") == 0
    capsys.readouterr()
    assert run_command(odd, tmp_path / "odd", *roles, *read, "--max-depth", "2") == 0
    assert "1 row was left out" in capsys.readouterr().err
    expected = pd.read_parquet(tmp_path / "plain" / "scored.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "odd" / "scored.parquet"), expected)
    out = str(tmp_path / "again.parquet")
    assert main(["score", str(tmp_path / "odd/artifact.zip"), str(odd), *read, "--out", out]) == 0
    again = pd.read_parquet(out).set_index("row").loc[expected["row"]]
    assert again["after"].tolist() == expected["after"].tolist()


def test_options_for_text_are_refused_for_parquet(segments, tmp_path, capsys):
    path = tmp_path / "table.parquet"
    segments.to_parquet(path)
    assert run_command(path, tmp_path / "out", *SCORED, "--skip-bad-rows") == 2
    assert "is Parquet, and an option says how to read text" in capsys.readouterr().err


@pytest.mark.parametrize("fractions", ["0.5,0.5", "0.9,0.1,0.1,0.1", "a,b,c,d"])
def test_fractions_that_do_not_divide_the_rows_are_refused(table, tmp_path, capsys, fractions):
    arguments = ("--label", "label", "--score", "score", "--fractions", fractions)
    with pytest.raises(SystemExit, match="2"):
        sys.exit(run_command(table, tmp_path / "out", *arguments))
    assert "raction" in capsys.readouterr().err


def test_options_that_cannot_be_read_end_with_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "table.csv", "--out", "x"])
    said = capsys.readouterr().err
    assert "--label" in said
    assert said.count("\n") == 1


def test_a_column_name_with_a_comma_can_be_given_in_quotes(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.rename(columns={"segment": "a,b"}).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED, "--features", 'size,"a,b"') == 0
    leaves = json.loads((tmp_path / "out" / "result.json").read_text())["leaves"]
    assert any("a,b is" in leaf["rule"] for leaf in leaves)


def test_a_partition_that_is_not_text_is_refused(table, tmp_path, capsys):
    broken = tmp_path / "p.json"
    broken.write_bytes(b"\xff\xfe\x00")
    assert run_command(table, tmp_path / "out", *SCORED, "--partition", str(broken)) == 2
    assert "partition" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_refused_first(table, tmp_path, capsys):
    assert main(["score", "missing.zip", str(table), "--out", "scored.xlsx"]) == 2
    assert "scored.xlsx" in capsys.readouterr().err
    assert run_command(table, table, *SCORED) == 2
    assert "is a file" in capsys.readouterr().err


def test_a_score_that_ranks_backwards_is_said_to(segments, tmp_path, capsys):
    path = tmp_path / "table.csv"
    segments.assign(score=-segments["score"]).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED) == 0
    assert "ranks the test rows backwards" in capsys.readouterr().out


def test_a_row_scores_alike_alone_and_among_others(segments, tmp_path):
    """Alone, a code looks like a number, a day like a date, and a gap like text."""
    rng = np.random.default_rng(0)
    n = len(segments)
    yes = segments["label"] == "yes"
    frame = segments.assign(
        code=np.where(yes, rng.choice(["1.50", "X1"], n), rng.choice(["2.50", "X2"], n)),
        day=np.where(rng.uniform(size=n) < 0.5, "2020-01-01", "unknown"),
        size=segments["size"].astype(str).where(segments.index % 9 > 0, "?"),
    )
    path, alone = tmp_path / "table.csv", tmp_path / "alone.csv"
    frame.to_csv(path, index=False)
    arguments = (*SCORED, "--features", "code,day,size", "--max-depth", "4", "--min-leaf", "30")
    assert run_command(path, tmp_path / "out", *arguments) == 0
    artifact = str(tmp_path / "out" / "artifact.zip")
    for rows, name in ((path, "whole"), (alone, "one")):
        frame.iloc[[9]].to_csv(alone, index=False)
        out = str(tmp_path / f"{name}.parquet")
        assert main(["score", artifact, str(rows), "--out", out]) == 0
    whole = pd.read_parquet(tmp_path / "whole.parquet").iloc[9].drop("row")
    one = pd.read_parquet(tmp_path / "one.parquet").iloc[0].drop("row")
    assert one.tolist() == whole.tolist()


def test_rows_keep_their_numbers_when_others_are_left_out(segments, tmp_path):
    path = tmp_path / "table.csv"
    segments.assign(label=segments["label"].where(segments.index >= 100)).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED, "--drop-unlabelled") == 0
    scored = pd.read_parquet(tmp_path / "out" / "scored.parquet")
    assert np.array_equal(scored["score"], segments["score"].iloc[scored["row"]])
    assert scored["row"].min() >= 100


def test_the_recommended_scheme_is_the_default(table, tmp_path, capsys):
    assert run_command(table, tmp_path / "out", *SCORED) == 0
    scheme = json.loads((tmp_path / "out" / "result.json").read_text())["scheme"]
    assert scheme["partition"] == "auto"
    names = [each["name"] for each in scheme["candidates"]]
    assert names[:3] == ["identity", "pooled", "tree"]
    assert [each["name"] for each in scheme["candidates"] if each["chosen"]] == [scheme["chosen"]]
    out = capsys.readouterr().out
    assert f"> {optional_name(scheme['chosen'])} " in out
    assert tuple(names) == RUNGS
    assert scheme["why"] in out
    (words,) = [each["words"] for each in scheme["candidates"] if each["chosen"]]
    assert f"\nChosen: {plain_name(scheme['chosen'])} ({words}).\n" in out


def test_the_result_says_what_scripts_rely_on(table, segments, tmp_path, capsys):
    terms = ("--take", "additive", "--pairs", "0", "--increasing", "size")
    assert run_command(table, tmp_path / "out", *SCORED, *terms) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    scheme, ladder = result["scheme"], {each["name"]: each for each in result["ladder"]}
    assert (scheme["name"], scheme["kind"]) == ("additive", "correction")
    assert scheme["numbers"] > 2
    promised = ("kind", "lift", "low", "high", "without", "adds", "numbers", "seconds")
    assert all(set(promised) <= set(each) for each in result["ladder"])
    assert ladder["identity"]["kind"] == "none"
    assert ladder["forest"]["kind"] == "calibration"
    assert ladder["stacked"]["kind"] == "second model"
    assert set(result["without_network"]) == set(result["before"])
    adds = result["network_adds"]
    areas = [result[each]["auc"] for each in ("after", "without_network")]
    assert adds["auc"] == pytest.approx(areas[0] - areas[1])
    assert adds["low"] < adds["auc"] < adds["high"]
    assert 0 <= adds["p"] <= 1
    assert 0 < result["network_share"] < 1
    losses = [result[each]["log_loss"] for each in ("before", "after")]
    assert result["loss"]["fall"] == pytest.approx(losses[0] - losses[1], abs=1e-9)
    out = capsys.readouterr().out
    assert result["verdict"] in out
    for name, each in ladder.items():
        mark = ">" if name == "additive" else " "
        (line,) = re.findall(rf"^{mark} {re.escape(optional_name(name))}  .*$", out, re.MULTILINE)
        texts = each["kind"], *(f"{each[key]:+.4f}" for key in ("lift", "without", "adds"))
        assert re.search(".* ".join(map(re.escape, texts)), line)
        assert line.endswith(f" {each['numbers']:,}")


def test_findings_have_codes(segments, tmp_path):
    path = tmp_path / "noise.csv"
    noise = np.random.default_rng(0).normal(size=len(segments))
    segments.assign(score=noise, same=1).to_csv(path, index=False)
    assert run_command(path, tmp_path / "out", *SCORED, "--max-depth", "1") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = {each["code"]: each for each in result["findings"]}
    assert found["constant-column"]["column"] == "same"
    assert found["noise-score"]["level"] == "warning"
    assert found["noise-score"]["sentence"].startswith("The score is noise: ")
    assert result["verdict"].startswith("The score is noise: ")


def test_only_calibration_keeps_to_maps_of_the_score(table, tmp_path):
    assert run_command(table, tmp_path / "out", *SCORED, "--only", "calibration") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["scheme"]["kind"] in ("none", "calibration")
    kinds = {each["kind"] for each in result["ladder"] if each["allowed"]}
    assert kinds == {"none", "calibration"}


@pytest.mark.parametrize(
    ("options", "partition"),
    [
        (("--max-depth", "1"), "tree"),
        (("--partition", "additive", "--decreasing", "size"), "additive"),
        (("--partition", "stacked"), "stacked"),
        (("--shrinkage", "cv"), "tree"),
        (("--columns", "segment"), "columns"),
        (("--partition", "instability"), "instability"),
        (("--partition", "auc-gain", "--calibrator", "beta"), "auc-gain"),
        (("--partition", "tree", "--tree-size", "pruned", "--shrinkage", "10"), "tree"),
    ],
)
def test_every_partition_can_be_asked_for(table, tmp_path, options, partition):
    assert run_command(table, tmp_path / "out", *SCORED, *options) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["scheme"]["partition"] == partition


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--partition", "auto", "--max-depth", "2"), "--max-depth has no effect"),
        (("--partition", "tree", "--only", "calibration"), "--only has no effect"),
        (("--partition", "forest", "--take", "tree"), "--take has no effect"),
        (("--take", "tree", "--only", "calibration"), "--only has no effect"),
        (("--take", "nested"), "no scheme called 'nested' to take"),
        (("--partition", "forest", "--pairs", "3"), "--pairs has no effect"),
        (("--only", "calibration", "--increasing", "size"), "--increasing has no effect"),
        (("--pairs", "-1"), "--pairs is -1"),
        (("--partition", "additive", "--increasing", "segment"), "segment"),
        (("--partition", "tree", "--no-validation"), "--no-validation has no effect"),
        (("--partition", "forest", "--calibrator", "beta"), "--calibrator has no effect"),
        (("--partition", "tree", "--columns", "segment"), "--columns has no effect"),
        (("--partition", "layer"), "Add --layer NAME"),
        (("--layer", "dense"), "none was computed"),
        (("--partition", "columns"), "Add --columns c1"),
        (("--columns", "nowhere"), "nowhere"),
        (("--calibrator", "vector"), "vector"),
        (("--calibrator", "isotonic", "--shrinkage", "cv"), "shr"),
    ],
)
def test_options_that_do_not_go_together_are_refused(table, tmp_path, capsys, options, message):
    assert run_command(table, tmp_path / "out", *SCORED, *options) == 2
    assert message in capsys.readouterr().err


def test_later_rows_test_where_the_rows_are_split_by_time(segments, tmp_path, capsys):
    day = np.random.default_rng(0).permutation(len(segments))
    frame = segments.drop(columns="split").assign(
        day=(pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D")).strftime("%Y-%m-%d")
    )
    frame.to_csv(tmp_path / "dated.csv", index=False)
    options = ("--label", "label", "--score", "score", "--split-by-time", "day", "--max-depth", "1")
    shares = ("--fractions", "0.4,0.1,0.25,0.25")
    assert run_command(tmp_path / "dated.csv", tmp_path / "out", *options, *shares) == 0
    assert "were split by time, and it is unknown" in capsys.readouterr().err
    tested = pd.read_parquet(tmp_path / "out" / "scored.parquet")["row"]
    assert set(tested) == set(np.flatnonzero(day >= 0.75 * len(day)))
