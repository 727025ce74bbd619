from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from hetcal.benchmarks.data import DATA_SETS, data_sets, fetch_data_set, join_rare, read_data_set
from hetcal.errors import TableError
from tests.benchmarks.benchmark_files import bank_frame, write_bank

BANK, CENSUS, CREDIT, DIABETES, HIGGS = DATA_SETS


def test_the_rows_of_the_paper_are_divided_as_in_the_paper():
    assert [sum(each.sizes) for each in DATA_SETS] == [45_211, 48_842, 30_000, 101_766, 50_000]
    assert BANK.fractions == pytest.approx((0.65, 0.119, 0.1155, 0.1155), abs=1e-4)
    assert all(sum(each.fractions) == pytest.approx(1) for each in DATA_SETS)


def test_bank_marketing_is_read_without_what_is_known_too_late(tmp_path):
    frame = bank_frame()
    write_bank(tmp_path, frame)
    table = read_data_set(BANK, tmp_path)
    assert set(frame.columns) - set(table.X.columns) == {"y", "duration", "day"}
    assert table.y.tolist() == (frame["y"] == "yes").astype(int).tolist()
    assert table.X["age"].tolist() == frame["age"].tolist()
    assert set(table.X["job"]) == {"admin.", "student", "other"}  # clowns are rare


def test_census_income_is_read_without_its_own_split(tmp_path):
    frame = pd.DataFrame(
        {"age": [30, 40, 50, 60], "split": "train", "income": [">50K", "<=50K", "<=50K", ">50K"]}
    )
    frame.to_csv(tmp_path / "census_income.csv", index=False)
    table = read_data_set(CENSUS, tmp_path)
    assert list(table.X.columns) == ["age"]
    assert table.y.tolist() == [1, 0, 0, 1]


def test_credit_default_is_read_without_the_running_number(tmp_path):
    frame = pd.DataFrame({"ID": [1, 2], "SEX": [1, 2], CREDIT.label: [0, 1]})
    frame.to_parquet(tmp_path / "credit_default.parquet")
    table = read_data_set(CREDIT, tmp_path)
    assert list(table.X.columns) == ["SEX"]
    assert table.y.tolist() == [0, 1]


def test_all_that_were_readmitted_are_positive_and_diagnoses_stay_codes(tmp_path):
    frame = pd.DataFrame(
        {
            "encounter_id": range(400),
            "diag_1": ["250.00", "V57"] * 200,
            "diag_2": ["250.10"] * 398 + ["E88", "?"],
            "diag_3": ["008"] * 400,
            "weight": "?",
            "A1Cresult": "None",
            "readmitted": ["NO", ">30", "<30", "NO"] * 100,
        }
    )
    frame.to_csv(tmp_path / "diabetes_130.csv", index=False)
    table = read_data_set(DIABETES, tmp_path)
    assert list(table.X.columns) == ["diag_1", "diag_2", "diag_3"]
    assert table.y.tolist() == [0, 1, 1, 0] * 100
    assert table.X["diag_1"].tolist() == ["250.00", "V57"] * 200
    assert table.X["diag_2"].tolist()[-3:] == ["250.10", "other", "other"]
    assert set(table.X["diag_3"]) == {"008"}


def test_only_the_first_rows_of_higgs_are_used(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"label": rng.integers(0, 2, 50_010), "m_bb": rng.uniform(size=50_010)})
    frame.astype({"label": float}).to_parquet(tmp_path / "higgs.parquet")
    table = read_data_set(HIGGS, tmp_path)
    assert table.y.tolist() == frame["label"][:50_000].tolist()
    assert list(table.X.columns) == ["m_bb"]


def test_missing_categories_stay_missing_whatever_is_joined():
    column = pd.Series(["a"] * 200 + ["b", None])
    assert join_rare(column).isna().tolist() == [False] * 201 + [True]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TableError, match=r"no file of the data set 'higgs'.*--datasets"):
        read_data_set(HIGGS, tmp_path)


def test_a_file_without_the_label_is_refused(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_csv(tmp_path / "higgs.csv", index=False)
    with pytest.raises(TableError, match="'higgs' has no column 'label'"):
        read_data_set(HIGGS, tmp_path)


def test_data_sets_are_chosen_by_name():
    assert data_sets(["higgs", "bank_marketing"]) == [BANK, HIGGS]
    assert data_sets() == list(DATA_SETS)
    with pytest.raises(TableError, match="no data set 'titanic'"):
        data_sets(["higgs", "titanic"])


def test_openml_gives_the_same_table_under_other_names(tmp_path, monkeypatch):
    frame = bank_frame()
    write_bank(tmp_path, frame)
    numbered = frame[list(BANK.names)].set_axis([f"V{i}" for i in range(1, 17)], axis=1)
    target = frame["y"].map({"no": "1", "yes": "2"}).astype("category")

    def fetch(data_id, **options):
        assert data_id == 1461
        return SimpleNamespace(data=numbered, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    fetched, read = fetch_data_set(BANK), read_data_set(BANK, tmp_path)
    pd.testing.assert_frame_equal(fetched.X[read.X.columns], read.X, check_dtype=False)
    assert fetched.y.tolist() == read.y.tolist()


def test_a_row_of_openml_without_a_label_is_left_out(monkeypatch):
    given = SimpleNamespace(
        data=pd.DataFrame({"m_bb": [1.0, np.nan, 3.0]}),
        target=pd.Series(["1", None, "0"], dtype="category"),
    )
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: given)
    table = fetch_data_set(HIGGS)
    assert table.X["m_bb"].tolist() == [1, 3]
    assert table.y.tolist() == [1, 0]


def test_being_offline_is_said_in_three_sentences(monkeypatch):
    def fetch(**options):
        raise URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(TableError) as raised:
        fetch_data_set(HIGGS)
    assert "'higgs' could not be fetched from OpenML" in raised.value.wrong
    assert "openml.org" in raised.value.needed
    assert "--data DIR" in raised.value.remedy
