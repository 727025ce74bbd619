"""What unnamed groups do to `auto`: ``python -m tests.data.simulated_groups [tables]``.

Rows come in groups of ten, with an effect of the group on the label and columns that are constant
in it; whole groups are train or test rows. Printed is the lift of every table where the group is
found by hetcal and where it is told that there are none, then how many tables without groups
raise an alarm. By default there are 25 tables with groups.
"""

import sys

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal import Roles, Settings, make_table, run, scores_from_column
from hetcal.arrays import Ints

SHARES = {"train": 0.4, "validation": 0.1, "calibration": 0.25, "test": 0.25}


def simulated(group: Ints, effect: float, seed: int) -> pd.DataFrame:
    """Make rows of groups, in random order; `effect` is the deviation of a group's log-odds."""
    rng = np.random.default_rng(seed)
    groups, rows = int(group.max()) + 1, group.size
    own, x = rng.normal(size=(groups, 4)), rng.normal(size=(rows, 4))
    known = 0.8 * x[:, 0] - 0.5 * x[:, 1] + 0.3 * own[group, 0]
    columns = {"customer": rng.permutation(10 * groups)[group]}
    columns |= {f"own{i}": own[group, i] for i in range(4)} | {f"x{i}": x[:, i] for i in range(4)}
    columns["y"] = rng.binomial(1, expit(known - 0.5 + rng.normal(0, effect, groups)[group]))
    columns["score"] = known + rng.normal(0, 0.5, rows)
    roles = rng.choice(list(SHARES), groups, p=list(SHARES.values()))
    frame = pd.DataFrame({**columns, "split": roles[group]})
    return frame.iloc[rng.permutation(rows)].reset_index(drop=True)


def without_groups(seed: int, rows: int = 6000) -> pd.DataFrame:
    """Make rows that have nothing to do with each other; their columns repeat in many ways."""
    rng = np.random.default_rng(seed)
    x, places = rng.normal(size=(rows, 3)), rng.integers(0, 40, rows)
    effect = rng.normal(size=40)
    logit = x[:, 0] + np.sin(2 * x[:, 1]) + 0.5 * effect[places] - 1
    return pd.DataFrame(
        {
            "fee": x[:, 0].round(2),
            "usage": x[:, 1].round(3),
            "usage_twice": 2 * x[:, 1].round(3),
            "age": (46 + 15 * x[:, 2]).round(),
            "place": [f"place {place}" for place in places],
            "visits": rng.geometric(0.02, rows),
            "number": np.arange(rows),
            "y": rng.binomial(1, expit(logit)),
        }
    )


def main(tables: int = 25) -> None:
    """Print the tables one by one."""
    worse = dict.fromkeys((True, False), 0)
    for seed in range(tables):
        frame, line = simulated(np.arange(6000) // 10, 1.5, seed), f"{seed:2d}"
        for assume in worse:
            table = make_table(frame, Roles("y", score="score", split="split", assume_group=assume))
            scores = scores_from_column(frame["score"], "logit")
            lift = run(table, scores, Settings(partition="auto")).evaluation.lift
            worse[assume] += lift.z < -1.96
            line += f"  group {table.roles.group}: {lift.auc:+.4f} (z {lift.z:+.2f})"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    alarms = [make_table(without_groups(seed), Roles("y")).roles.group for seed in range(100)]
    sys.stdout.write(
        f"significantly worse: {worse[True]} with the group found, {worse[False]} without\n"
        f"100 tables without groups: {sum(each is not None for each in alarms)} alarms\n"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
