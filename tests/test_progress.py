import pandas as pd
import pytest

from hetcal.artifacts.artifact import artifact_bytes, open_artifact, score_with_artifact
from hetcal.data.checks import check_table
from hetcal.data.columns import describe_columns
from hetcal.data.reading import from_path, read_file
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.progress import TimeLeft
from hetcal.runs.fitting import grow_partition
from hetcal.runs.role_cells import role_cells
from hetcal.runs.run import first_pass, run, split_table
from hetcal.runs.settings import Settings


class LeftError(Exception):
    """The user has gone elsewhere."""


@pytest.fixture
def seen():
    return []


@pytest.fixture
def progress(seen):
    return lambda done, doing: seen.append((done, doing))


@pytest.fixture
def file(segments, tmp_path):
    path = tmp_path / "people.parquet"
    segments.to_parquet(path, index=False)
    return path


@pytest.fixture
def parts(segments):
    """Table, scores and split."""
    table = make_table(segments, Roles(label="label", split="split", score="score"), "digest")
    scores = scores_from_column(segments["score"], "logit", "digest")
    return table, scores, split_table(table, Settings())


def rises(seen):
    shares = [done for done, _ in seen]
    return shares == sorted(shares) and shares[0] >= 0 and shares[-1] <= 1


def test_reading_reports_every_column_and_ends_with_the_whole_file(file, seen, progress):
    assert read_file(file, progress=progress).frame.equals(pd.read_parquet(file))
    assert rises(seen)
    assert [doing for _, doing in seen[:5]] == [f"Reading column {i} of 5" for i in range(1, 6)]
    assert seen[-1][0] == 1


def test_the_files_of_a_folder_share_the_progress(file, segments, seen, progress):
    segments.to_parquet(file.with_name("more.parquet"), index=False)
    assert len(from_path(file.parent, progress=progress).frame) == 2 * len(segments)
    assert rises(seen)
    assert [done for done, doing in seen if doing == "Reading column 1 of 5"] == [0, 0.5]


def test_every_pass_reports_how_far_it_is(parts, seen, progress):
    table, _, split = parts
    describe_columns(table.frame, progress)
    check_table(table, split, progress)
    partition = grow_partition(table, split, Settings(), progress=progress)
    leaf = partition.apply(table.frame)
    first_pass(*parts, partition, leaf, 100, progress)
    for words in ("Describing", "Looking for repeated", "Growing", "Counting"):
        assert rises([each for each in seen if each[1].startswith(words)])


def test_large_passes_report_every_block(parts, seen, progress, monkeypatch):
    monkeypatch.setattr("hetcal.cells.sketch.CHUNK", 100)
    table, _, split = parts
    leaf = grow_partition(table, split, Settings(max_depth=1)).apply(table.frame)
    role_cells(*parts, leaf, [1, 2], 100, progress)
    blocks = sum(-(-rows // 100) for role, rows in split.counts.items() if role != "validation")
    assert len(seen) == blocks
    assert rises(seen)


def test_scoring_with_an_artifact_reports_every_stage(segments, parts, seen, progress, tmp_path):
    table, scores, _ = parts
    finished = run(table, scores, Settings(partition="forest"))
    artifact = open_artifact(artifact_bytes(finished, ColumnScoring(("score",), "logit")), tmp_path)
    scored = score_with_artifact(artifact, segments, "digest", progress)
    assert scored.equals(score_with_artifact(artifact, segments, "digest"))
    assert rises(seen)
    assert {"Finding the leaf of every row", "Sending rows through the trees"} == {
        doing for _, doing in seen
    }


@pytest.mark.parametrize("at", [0, 3, 5])
def test_work_ends_where_the_user_has_left(file, at):
    calls = []

    def leave(done, doing):
        calls.append(done)
        if len(calls) > at:
            raise LeftError

    with pytest.raises(LeftError):
        read_file(file, progress=leave)
    assert len(calls) == at + 1


def time_left(*reports):
    """What is said after reports at these times of these shares."""
    times = iter([at for at, _ in reports])
    left = TimeLeft(lambda: next(times))
    return [left.after(done) for _, done in reports]


def test_the_time_left_is_said_once_it_is_steady_and_not_at_the_end():
    assert time_left((0, 0.1), (1, 0.3)) == ["", ""], "one second says little"
    assert time_left((0, 0.1), (10, 0.15)) == ["", ""], "and so does one step of twenty"
    assert time_left((0, 0.1), (10, 0.3), (30, 0.7), (45, 1.0)) == [
        "",
        "about 35 s left",  # 0.7 at 0.02 a second
        "about 15 s left",
        "",
    ]
    assert time_left((0, 0.1), (300, 0.4))[-1] == "about 10 min left"


def test_neither_loading_nor_earlier_work_counts_in_the_time_left():
    after_loading = time_left((0, 0.0), (60, 0.0), (61, 0.2), (71, 0.6))
    assert after_loading == ["", "", "", "about 10 s left"]
    next_work = time_left((0, 0.1), (50, 0.9), (51, 0.1), (61, 0.6))
    assert next_work == ["", "about 6 s left", "", "about 8 s left"]
