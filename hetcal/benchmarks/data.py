"""The five public data sets of the benchmark, from a folder or from OpenML."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.data.columns import Kinds, as_text, column_kind
from hetcal.data.reading import ENDINGS, read_file
from hetcal.errors import TableError

RARE = 200


@dataclass(frozen=True)
class DataSet:
    """One public data set and how it is prepared."""

    name: str  # that of its file, without the ending
    label: str
    value: str  # the positive value of the label, or its only negative one
    sizes: tuple[int, int, int, int]  # train, validation, calibration, test rows in the paper
    openml: int  # number of the data set at OpenML
    openml_value: str  # the name of `value` there
    value_is_positive: bool = True
    left_out: tuple[str, ...] = ()  # columns that are no features
    texts: tuple[str, ...] = ()  # numeric codes that mean categories
    names: tuple[str, ...] = ()  # the features in order, where OpenML only numbers them
    most_rows: int | None = None  # use only the first of the rows

    @property
    def fractions(self) -> tuple[float, ...]:
        """Shares of train, validation, calibration and test rows."""
        return tuple(size / sum(self.sizes) for size in self.sizes)


@dataclass(frozen=True, eq=False)
class BenchmarkTable:
    """Features and labels of a data set, rows in the order of the file."""

    data_set: DataSet
    X: pd.DataFrame
    y: Ints


_PAY = tuple(f"PAY_{month}" for month in (0, 2, 3, 4, 5, 6))
_AMOUNTS = tuple(f"{kind}_AMT{month}" for kind in ("BILL", "PAY") for month in range(1, 7))
_BANK = "age job marital education default balance housing loan contact day month duration"
_DIABETES = "encounter_id patient_nbr payer_code weight max_glu_serum A1Cresult"
DATA_SETS = (
    DataSet(
        "bank_marketing",
        label="y",
        value="yes",
        sizes=(29_387, 5_380, 5_222, 5_222),
        openml=1461,
        openml_value="2",
        left_out=("duration", "day"),
        names=(*_BANK.split(), "campaign", "pdays", "previous", "poutcome"),
    ),
    DataSet(
        "census_income",
        label="income",
        value=">50K",
        sizes=(26_048, 6_513, 8_141, 8_140),
        openml=1590,
        openml_value=">50K",
        left_out=("split",),
    ),
    DataSet(
        "credit_default",
        label="default.payment.next.month",
        value="1",
        sizes=(16_500, 4_590, 4_455, 4_455),
        openml=42477,
        openml_value="1",
        left_out=("ID",),
        names=("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *_PAY, *_AMOUNTS),
    ),
    DataSet(
        "diabetes_130",
        label="readmitted",
        value="NO",
        sizes=(76_324, 8_650, 8_396, 8_396),
        openml=4541,
        openml_value="NO",
        value_is_positive=False,
        left_out=tuple(_DIABETES.split()),
        texts=("diag_1", "diag_2", "diag_3"),
    ),
    DataSet(
        "higgs",
        label="label",
        value="1",
        sizes=(35_000, 5_100, 4_950, 4_950),
        openml=23512,
        openml_value="1",
        most_rows=50_000,
    ),
)


def data_sets(names: Sequence[str] = ()) -> list[DataSet]:
    """Return the data sets of these names, in the usual order; all without a name."""
    known = [each.name for each in DATA_SETS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TableError(
            f"The benchmark has no data set '{unknown[0]}'.",
            f"Its data sets are {', '.join(known)}.",
            "Name some of these, or none to use them all.",
        )
    return [each for each in DATA_SETS if not names or each.name in names]


def read_data_set(data_set: DataSet, folder: Path) -> BenchmarkTable:
    """Read a data set from the file of its name, such as `higgs.csv.gz`."""
    paths = [folder / (data_set.name + ending) for ending in ENDINGS]
    path = next((each for each in paths if each.exists()), None)
    if path is None:
        raise TableError(
            f"The folder '{folder}' has no file of the data set '{data_set.name}'.",
            f"It must be called {data_set.name} and end in {', '.join(ENDINGS)}.",
            "Add the file, or name the data sets that are there: --datasets a,b.",
        )
    kinds: Kinds = dict.fromkeys(data_set.texts, "category")
    frame = read_file(path, kinds=kinds).frame
    absent = [name for name in (data_set.label, *data_set.texts) if name not in frame]
    if absent:
        raise TableError(
            f"The file of '{data_set.name}' has no column '{absent[0]}'.",
            "The benchmark knows the data sets as the UCI repository publishes them.",
            "Give the file its header line with UCI's names.",
        )
    return _prepared(data_set, frame.drop(columns=data_set.label), frame[data_set.label])


def fetch_data_set(data_set: DataSet) -> BenchmarkTable:
    """Fetch a data set from OpenML; scikit-learn keeps it for the next time."""
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=data_set.openml, as_frame=True, parser="auto")
    except OSError as error:
        raise TableError(
            f"The data set '{data_set.name}' could not be fetched from OpenML ({error}).",
            "Without a folder of files the benchmark needs a connection to openml.org.",
            "Connect this machine, or put the files into a folder and name it: --data DIR.",
        ) from error
    X = fetched.data
    if data_set.names:
        X = X.set_axis(data_set.names, axis=1)
    label = as_text(fetched.target).replace(data_set.openml_value, data_set.value)
    return _prepared(data_set, X, label)


def _prepared(data_set: DataSet, X: pd.DataFrame, label: pd.Series) -> BenchmarkTable:
    """Keep the features of rows with a label, and merge rare categories."""
    known = label.notna().to_numpy()
    X, label = X[known][: data_set.most_rows], label[known][: data_set.most_rows]
    features = X.drop(columns=list(data_set.left_out), errors="ignore").reset_index(drop=True)
    for name in features.columns:
        if name in data_set.texts or column_kind(features[name]) == "category":
            features[name] = join_rare(features[name])
    hit = (as_text(label) == data_set.value).to_numpy()
    return BenchmarkTable(data_set, features, (hit == data_set.value_is_positive).astype(np.int64))


def join_rare(column: pd.Series) -> pd.Series:
    """Merge categories of fewer than `RARE` rows.

    Examples
    --------
    >>> join_rare(pd.Series(["a"] * 200 + ["b"])).iloc[[0, -1]].tolist()
    ['a', 'other']
    """
    text = as_text(column)
    return text.mask(text.map(text.value_counts()) < RARE, "other")
