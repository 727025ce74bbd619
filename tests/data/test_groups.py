"""Groups that nobody named are found, and nothing else is taken for them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.cli.main import main
from hetcal.data import groups
from hetcal.data.checks import check_table
from hetcal.data.demo import demo_table
from hetcal.data.groups import find_group
from hetcal.data.table import Roles, make_table
from hetcal.runs.run import split_table
from hetcal.runs.settings import Settings
from tests.data.simulated_groups import simulated, without_groups
from tests.shared_data import needs_data, shared_data

ROLES = Roles("y", score="score")


def tens(rows=6000):
    return np.arange(rows) // 10


def uneven(rows=6000):
    """Groups of one row to about twenty."""
    return np.unique(
        np.random.default_rng(0).geometric(0.15, rows).cumsum() // 60, return_inverse=True
    )[1]


def messages(frame, roles=ROLES):
    table = make_table(frame, roles)
    found = check_table(table, split_table(table, Settings()))
    return [each.message for each in found if each.code == "unnamed-group"]


@pytest.mark.parametrize("group", [tens(), uneven()])
@pytest.mark.parametrize("kind", [int, str])
def test_an_id_that_repeats_is_the_group_and_no_feature(group, kind):
    frame = simulated(group, 1.5, seed=1).astype({"customer": kind})
    table = make_table(frame, ROLES)
    assert table.roles.group == "customer"
    assert table.assumed_group.groups == frame["customer"].nunique()
    own = tuple(f"own{i}" for i in range(4))
    assert table.assumed_group.same == own
    assert set(table.roles.features) == {"x0", "x1", "x2", "x3", "split"}
    (message,) = messages(frame)
    assert message.startswith("Column 'customer' repeats like an id: ")
    assert "--group customer --ignore own0,own1,own2,own3" in message


def test_names_with_spaces_are_quoted_for_the_command_line():
    frame = simulated(tens(), 1.5, seed=1).rename(columns={"customer": "column 1", "own0": "own 0"})
    (message,) = messages(frame)
    assert '--group "column 1" --ignore "own 0,own1,own2,own3"' in message


def test_rows_of_a_group_that_nobody_named_get_one_role():
    frame = simulated(tens(), 1.5, seed=1).drop(columns="split")
    table = make_table(frame, ROLES)
    role = split_table(table, Settings()).names(table.rows)
    assert pd.Series(role).groupby(frame["customer"]).nunique().max() == 1


def test_the_label_alone_shows_groups():
    frame = simulated(tens(), 1.5, seed=2)[["customer", "x0", "x1", "score", "y"]]
    found = make_table(frame, ROLES).assumed_group
    assert (found.column, found.constant) == ("customer", ())
    # The same by all pairs of rows of a group: the intraclass correlation of the label.
    counts = frame.groupby("customer")["y"].agg(["sum", "size"])
    together = (counts["sum"] * (counts["sum"] - 1)).sum() / (
        counts["size"] * (counts["size"] - 1)
    ).sum()
    rate = frame["y"].mean()
    assert found.alike == pytest.approx((together - rate**2) / (rate * (1 - rate)), abs=0.05)


def test_constant_columns_show_groups_that_have_no_effect_on_the_label():
    frame = simulated(tens(), 0.0, seed=3)
    roles = Roles("y", score="score", split="split")
    assert make_table(frame, roles).assumed_group.constant == ("own0", "own1", "own2", "own3")


def test_a_number_of_the_group_marks_it_where_there_is_no_id():
    frame = simulated(tens(), 1.5, seed=4)[["own0", "x0", "x1", "score", "y"]]
    assert make_table(frame, ROLES).roles.group == "own0"


def test_some_column_is_left_to_describe_the_rows():
    frame = simulated(tens(), 1.5, seed=4)[["customer", "own0", "own1", "score", "y"]]
    assert make_table(frame, ROLES).roles.features == ("own0", "own1")
    alone = make_table(frame[["customer", "score", "y"]], ROLES)
    assert (alone.roles.group, alone.roles.features) == (None, ("customer",))


def test_a_group_that_is_declined_or_named_raises_no_finding():
    frame = simulated(tens(), 1.5, seed=1)
    features = ("customer", "own0", "own1", "own2", "own3", "x0")
    for roles in (
        Roles("y", score="score", assume_group=False),
        Roles("y", score="score", group="customer"),
        Roles("y", score="score", features=features),
    ):
        assert messages(frame, roles) == []


def test_a_column_that_is_left_out_still_marks_groups():
    frame = simulated(tens(), 1.5, seed=1)
    assert (
        make_table(frame, Roles("y", score="score", ignore=("customer",))).roles.group == "customer"
    )


@pytest.mark.parametrize("seed", range(50))
def test_tables_without_groups_raise_no_alarm(seed):
    assert make_table(without_groups(seed, 1500), Roles("y")).roles.group is None


def test_the_demo_has_no_groups():
    assert make_table(demo_table(), Roles("churned", split="split")).roles.group is None


def test_order_in_time_is_no_group():
    """The rate drifts along the file, and so does the day."""
    rng = np.random.default_rng(0)
    day = np.arange(5000) // 25
    frame = pd.DataFrame({"day": day, "x": rng.normal(size=5000)})
    frame["y"] = rng.binomial(1, expit(np.sin(day / 20)))
    assert make_table(frame, Roles("y")).roles.group is None


def test_large_tables_are_sampled_by_value(monkeypatch):
    monkeypatch.setattr(groups, "MAX_ROWS", 2000)
    monkeypatch.setattr(groups, "FIRST_LOOK", 500)
    frame = simulated(tens(20_000), 1.5, seed=1)
    found = find_group(frame, frame["y"].to_numpy(), ["customer", "x0"], ["customer", "own0"])
    assert (found.column, found.groups) == ("customer", 2000)


@needs_data
@pytest.mark.parametrize(
    ("name", "label", "group"),
    [
        ("bank_marketing", "y", None),
        ("census_income", "income", None),
        ("credit_default", "default.payment.next.month", None),
        ("diabetes_130", "readmitted", "patient_nbr"),
        ("higgs", "label", None),
    ],
)
def test_of_five_public_tables_only_the_one_of_patients_has_groups(name, label, group):
    frame = pd.read_csv(
        shared_data() / "data" / f"{name}.csv.gz", sep=";" if "bank" in name else ","
    )
    assert make_table(frame, Roles(label)).roles.group == group


@pytest.mark.parametrize(("option", "told"), [([], 1), (["--group", "none"], 0)])
def test_the_command_line_tells_of_groups_unless_there_are_none(tmp_path, capsys, option, told):
    path = tmp_path / "rows.csv"
    simulated(tens(2000), 1.5, seed=1).to_csv(path, index=False)
    fixed = ["--label", "y", "--score", "score", "--split", "split", "--max-depth", "1"]
    assert main(["run", str(path), *fixed, *option, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.count("repeats like an id") == told
