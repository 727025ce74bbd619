"""How often hetcal claims a gain where there is none: `python -m tests.schemes.nothing_to_gain`.

Every table has a score that is the true logit, whatever the columns say, so that no scheme can
rank better. Printed are how often the verdict says that something helps, how often the ranking
became significantly worse, and how often the 95 % interval of the lift holds the true lift of what
was chosen, which is measured on many fresh rows.
"""

import argparse
import sys

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import hetcal
from hetcal.metrics.metrics import auc

FRESH = 200_000
SHARES = (0.4, 0.1, 0.25, 0.25)


def draw_rows(rng, rows, rate, columns):
    """Draw columns of which two matter, the true logit, and labels."""
    X = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"x{i}" for i in range(columns)])
    X["kind"] = rng.choice(list("abcd"), rows)
    true = logit(rate) + 0.8 * X["x0"] * (X["kind"] == "a") + 0.6 * X["x1"] + rng.normal(size=rows)
    y = (rng.uniform(size=rows) < expit(true)).astype(int)
    return X.assign(score=true, y=y)


def one_table(seed, name):
    """Run hetcal on one table, and measure the true lift of what it did."""
    rng = np.random.default_rng(seed)
    rows, rate = int(rng.choice([1_000, 2_000, 4_000])), float(rng.choice([0.08, 0.2, 0.5]))
    columns = int(rng.choice([3, 6]))
    frame = draw_rows(rng, rows, rate, columns)
    table = hetcal.make_table(frame, hetcal.Roles(label="y", positive="1", score="score"))
    scores = hetcal.scores_from_column(table.frame["score"], "logit")
    settings = hetcal.Settings(partition=name, fractions=SHARES, seed=seed)
    finished = hetcal.run(table, scores, settings)
    fresh = draw_rows(np.random.default_rng(seed + 10**6), FRESH, rate, columns)
    before = fresh["score"].to_numpy()
    after = finished.choice.scheme.logit(before, fresh)
    true = float(auc(fresh["y"].to_numpy(), after) - auc(fresh["y"].to_numpy(), before))
    positives = int(table.y[finished.split.test].sum())
    lift = finished.evaluation.lift
    return {
        "chosen": finished.choice.chosen,
        "helps": "helps" in finished.verdict,
        "harm": lift.high < 0,
        "covered": lift.low <= true <= lift.high,
        "moved": lift.se > 0,
        "few": positives <= 30,
    }


def main():
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tables", type=int, default=300)
    options.add_argument("--partition", default="auto")
    given = options.parse_args()
    found = pd.DataFrame(one_table(seed, given.partition) for seed in range(given.tables))
    lines = [
        found["chosen"].value_counts().to_string(),
        f"says that it helps: {found['helps'].mean():.1%} of {len(found)} tables",
        f"ranks significantly worse: {found['harm'].sum()}",
    ]
    for name, part in (("all", found), ("at most 30 positive test rows", found[found["few"]])):
        moved = part[part["moved"]]
        if len(moved):
            share = moved["covered"].mean()
            lines.append(f"interval holds the true lift, {name}: {share:.1%} of {len(moved)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
