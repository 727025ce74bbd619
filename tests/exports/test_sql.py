"""One SELECT gives what the artifact gives, in SQLite, DuckDB and PostgreSQL."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from hetcal.artifacts.artifact import score_with_artifact
from hetcal.choices import DIALECTS
from hetcal.errors import ExportError
from hetcal.exports.export import make_exports
from hetcal.exports.proof import compare, difficult_rows, expected_rows
from hetcal.exports.recipe import recipe
from hetcal.exports.sql import DIALECTS as WRITTEN
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition
from tests.exports.artifacts import CITY, SIZE, artifact, people

SHAPES = ("platt", "beta", "isotonic", "histogram")  # one of each shape of a map
SCHEMES = [{"partition": "tree", "calibrator": each} for each in SHAPES]
SCHEMES += [{"partition": "additive"}, {"partition": "tree", "kind": "probability"}]
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@pytest.mark.parametrize("settings", SCHEMES, ids=lambda each: " ".join(map(str, each.values())))
def test_difficult_rows_have_the_same_leaf_and_probability(settings):
    made = make_exports(artifact(**settings), ["sql"], ["sqlite", "duckdb"], rows=3_000)
    assert [each.parity.by for each in made] == ["SQLite", "DuckDB"]
    assert max(each.parity.difference for each in made) < 1e-12


def test_every_dialect_is_written_and_says_what_ran_it():
    made = make_exports(artifact(partition="tree"), ["sql"], DIALECTS, rows=500)
    assert [each.name for each in made] == [f"calibrated_{each}.sql" for each in DIALECTS]
    ran = {each.name: each.parity.by for each in made}
    assert ran["calibrated_ansi.sql"] == "SQLite"
    assert "PostgreSQL itself was not run" in ran["calibrated_postgresql.sql"]
    assert "bigquery itself was not run" in ran["calibrated_bigquery.sql"]
    assert list(WRITTEN) == list(DIALECTS)


def test_the_rows_of_a_table_keep_their_columns_and_get_the_probability():
    opened, frame = artifact(partition="additive"), people()
    (made,) = make_exports(opened, ["sql"], ["sqlite"], rows=500)
    base = sqlite3.connect(":memory:")
    frame.to_sql("your_table", base, index_label="id")
    found = pd.read_sql(made.content.decode(), base).set_index("id").sort_index()
    base.close()
    assert set(frame) <= set(found)
    expected = score_with_artifact(opened, frame)
    assert np.abs(found["hetcal_after"] - expected["after"]).max() < 1e-12
    assert (found["hetcal_leaf"] == expected["leaf"]).all()


def test_names_and_texts_that_would_end_a_quote_are_escaped():
    odd = {"ansi": '"a""b`"', "spark": '`a"b```', "bigquery": '`a"b\\``'}
    for dialect, quoted in odd.items():
        assert WRITTEN[dialect].name('a"b`') == quoted
    assert WRITTEN["duckdb"].literal("O'F\\n") == "'O''F\\n'"
    assert WRITTEN["bigquery"].literal("O'F\\n") == "'O\\'F\\\\n'"


def test_a_category_with_a_line_break_stays_as_it_is():
    feature = Feature("a\nb", "category", ("one\n    two", "three"))
    nodes = Node(9, 0.5, "a\nb", None, ("one\n    two",), False, 1, 2), Node(4, 0.1), Node(5, 0.9)
    partition = Partition((Feature("a\nb", "category", tuple(sorted(feature.categories))),), nodes)
    opened = artifact(partition="tree")
    maps = opened.calibrator.maps_[:2]
    calibrator = opened.calibrator.with_shapes([each.shape for each in opened.calibrator.maps_])
    calibrator.maps_ = maps
    changed = type(opened)(**{**vars(opened), "partition": partition, "calibrator": calibrator})
    (made,) = make_exports(changed, ["sql"], ["sqlite"], rows=500)
    assert made.parity.difference < 1e-12
    assert r'category, "one\n    two", "three"' in made.content.decode()


def test_many_trees_are_refused_and_the_rung_that_fits_is_named():
    opened = artifact(partition="best", take="stacked")
    with pytest.raises(ExportError, match=r"trees.*Take the rung '.*' \(--take '.*'\): its lift"):
        make_exports(opened, ["sql"])
    with pytest.raises(ExportError, match="no dialect of SQL called 'oracle'"):
        make_exports(artifact(partition="tree"), ["sql"], ["oracle"])


@contextmanager
def postgres():
    """Start a server that only this test can reach, and yield what runs a statement in it."""
    # Not below pytest's own folder: that is root's alone, and PostgreSQL refuses to run as root.
    with TemporaryDirectory(prefix="hetcal-pg-") as folder:
        user = "postgres" if os.geteuid() == 0 else None
        if user:
            shutil.chown(folder, user)
        with started(Path(folder), user) as run:
            yield run


@contextmanager
def started(folder, user):

    def run(program, *words, given=None):
        done = subprocess.run(
            [POSTGRES[-1] / program, *words], input=given, capture_output=True, user=user, cwd="/"
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    data = folder / "data"
    run("initdb", "--no-sync", "--encoding=UTF8", "--locale=C", "-A", "trust", "-D", data)
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    log = folder / "log"
    run("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")
    try:
        words = ("-h", folder, "-d", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-")
        yield lambda text: run("psql", *words, given=text.encode())
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.mark.skipif(not POSTGRES, reason="PostgreSQL is not installed")
def test_postgresql_itself_gives_the_same():
    with postgres() as run:
        for settings in ({"partition": "tree", "calibrator": "beta"}, {"partition": "additive"}):
            opened = artifact(**settings)
            document = recipe(opened)
            rows = difficult_rows(document, 20_000)
            (made,) = make_exports(opened, ["sql"], ["postgresql"], rows=500)
            run("DROP TABLE IF EXISTS your_table;" + loading(rows))
            select = made.content.decode().rstrip().rstrip(";")
            inner = "\n".join(line for line in select.splitlines() if not line.startswith("--"))
            wanted = f"SELECT hetcal_leaf, hetcal_after FROM ({inner}) AS f ORDER BY id"
            found = run(f"COPY ({wanted}) TO STDOUT;")
            cells = [line.split("\t") for line in found.splitlines()]
            leaf = [int(each[0]) for each in cells]
            after = [None if each[1] == "\\N" else float(each[1]) for each in cells]
            expected = expected_rows(opened, document, rows)
            assert compare(expected, (leaf, after), "PostgreSQL").difference < 1e-12


def loading(rows):
    """Write a table of numbers and text; every second missing number is NaN, the others NULL."""
    types = {"score": "float8", SIZE: "float8", "age": "float8", CITY: "text"}
    columns = ", ".join('"' + name.replace('"', '""') + '" ' + types[name] for name in rows)
    absent = np.where(np.arange(len(rows)) % 2, "NaN", "\\N")
    cells = rows.assign(
        **{
            name: rows[name].map(repr).where(rows[name].notna(), absent)
            for name in rows
            if types[name] == "float8"
        }
    )
    cells[CITY] = rows[CITY].fillna("\\N")
    lines = ("\t".join([str(i), *row]) for i, row in enumerate(cells.itertuples(index=False)))
    create = f"CREATE TABLE your_table (id int, {columns});"
    return "\n".join([create, "COPY your_table FROM STDIN;", *lines, "\\.", ""])
