"""The second model against LightGBM: ``python -m tests.benchmarks.against_lightgbm DIR``.

DIR holds the data sets of the benchmark; any other table is given as ``FILE --label NAME``. Every
seed splits the rows anew and trains a small network on the training rows. Printed are, with and
without the network, the test AUC of `stacked` and of LightGBM in five folds of the same rows, the
difference and its standard error, then the mean per table and the share of splits in which
`stacked` is no more than 0.0005 below.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hetcal.benchmarks.contenders import all_contenders, category_columns
from hetcal.benchmarks.data import BenchmarkTable, DataSet, data_sets, read_data_set
from hetcal.benchmarks.networks import ScoredModel, rows_of
from hetcal.data.reading import read_file
from hetcal.data.splits import split_by_fraction
from hetcal.data.table import Roles, make_table
from hetcal.metrics.delong import paired_delong
from hetcal.runs.fitting import fit_roles
from hetcal.runs.settings import Settings
from hetcal.schemes.rows import SchemeRows

MARGIN = 0.0005
SIZES = (65, 12, 11, 12)  # of the roles, where the data set is not one of the benchmark
RIVALS = {"without": "LightGBM", "with": "LightGBM + score"}


def tables(place, label):
    """Read one file, or all data sets of the benchmark that a folder holds."""
    if label is not None:
        read = make_table(read_file(place).frame, Roles(label=label, drop_unlabelled=True))
        unknown = DataSet(place.name.split(".")[0], label, "", SIZES, 0, "")
        yield BenchmarkTable(unknown, read.X.reset_index(drop=True), read.y.astype(np.int64))
        return
    for each in data_sets():
        if any(place.glob(f"{each.name}.*")):
            yield read_data_set(each, place)


def network_scores(table, split, seed):
    """Train a small network on the training rows, and return its logits of all rows."""
    names = category_columns(table.X)
    numbers = [name for name in table.X if name not in names]
    known = OneHotEncoder(min_frequency=200, handle_unknown="infrequent_if_exist")
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (known, names)
    )
    network = MLPClassifier((64, 32), early_stopping=True, n_iter_no_change=3, random_state=seed)
    both = make_pipeline(columns, network).fit(table.X.iloc[split.train], table.y[split.train])
    share = both.predict_proba(table.X)[:, 1].clip(1e-6, 1 - 1e-6)
    return np.log(share / (1 - share))


def compare(table, seed):
    """Return, with and without the network, LightGBM against `stacked` on one split."""
    split = split_by_fraction(table.y, table.data_set.fractions, seed)
    rows = rows_of(table, ScoredModel("", network_scores(table, split, seed), split), seed)
    roles = (
        SchemeRows(part.X, part.y, part.scores)
        for part in (rows.train, rows.calibration, rows.validation)
    )
    found = fit_roles(Settings(partition="stacked", seed=seed), *roles)
    own = {
        "without": found.without.logit(np.zeros(rows.test.y.size), rows.test.X),
        "with": found.scheme.logit(rows.test.scores, rows.test.X),
    }
    rivals = all_contenders()
    return {
        way: paired_delong(rows.test.y, rivals[name](rows), own[way])
        for way, name in RIVALS.items()
    }


def main():
    """Print the splits, then the tables, then the share."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.against_lightgbm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("place", type=Path, help="a folder of data sets, or one file")
    options.add_argument("--label", help="the label column of the file, which has two values")
    options.add_argument("--seeds", type=int, default=6, help="splits of each table")
    options.add_argument("--first", type=int, default=0, help="the first seed")
    given, differences = options.parse_args(), []
    for table in tables(given.place, given.label):
        name, own = table.data_set.name, {way: [] for way in RIVALS}
        for seed in range(given.first, given.first + given.seeds):
            for way, lift in compare(table, seed).items():
                own[way].append(lift.auc)
                sys.stdout.write(
                    f"{name}, split {seed}, {way} network: stacked {lift.after:.4f}, "
                    f"LightGBM {lift.before:.4f}, {lift.auc:+.4f} (s.e. {lift.se:.4f})\n"
                )
                sys.stdout.flush()
        for way, found in own.items():
            sys.stdout.write(f"{name}, {way} network: mean {np.mean(found):+.4f}\n")
            differences += found
    good = sum(each >= -MARGIN for each in differences)
    sys.stdout.write(f"no more than {MARGIN} below: {good} of {len(differences)}\n")


if __name__ == "__main__":
    main()
