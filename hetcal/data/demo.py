"""Two tables with known true probabilities: churning customers, and the paper's toy example."""

from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Floats

DEMO_SEED = 7
DEMO_ROWS = 16_000
DEMO_SHARES = {"train": 0.40, "validation": 0.10, "calibration": 0.25, "test": 0.25}
# The network that the Scores page trains, but for 40 epochs and with the epoch chosen on the
# training rows: it is over-trained and therefore over-confident.
DEMO_NETWORK = Path(__file__).with_name("demo_network.keras")

# Log-odds of leaving, by contract and by whether the customer is new: the heterogeneity
# that a small tree finds and the over-trained network under-uses.
NEW_CUSTOMER_MONTHS = 12
CELL_LOG_ODDS = {
    ("monthly", True): 1.6,
    ("monthly", False): -0.2,
    ("one year", True): -0.6,
    ("one year", False): -1.8,
    ("two years", True): -2.9,
    ("two years", False): -2.9,
}


def demo_table(rows: int = DEMO_ROWS, seed: int = DEMO_SEED) -> pd.DataFrame:
    """Make customers who stay or leave (`churned`), with a column `split` of roles."""
    rng = np.random.default_rng(seed)
    frame = _customers(rng, rows)
    leaves = rng.uniform(size=rows) < demo_probability(frame)
    frame.loc[rng.uniform(size=rows) < 0.06, "support_calls"] = np.nan
    frame["churned"] = np.where(leaves, "yes", "no")
    frame["split"] = rng.choice(list(DEMO_SHARES), rows, p=list(DEMO_SHARES.values()))
    return frame


def demo_probability(frame: pd.DataFrame) -> Floats:
    """Return each customer's true probability of leaving (before calls went missing)."""
    from scipy.special import expit

    new = frame["tenure_months"] <= NEW_CUSTOMER_MONTHS
    cell = [CELL_LOG_ODDS[key] for key in zip(frame["contract"], new, strict=True)]
    pattern = (
        0.8 * frame["usage_1"] * np.sign(frame["usage_2"])
        + 0.5 * np.sin(2 * frame["usage_3"])
        + 0.4 * (frame["support_calls"] - 1.2)
        + 0.02 * (frame["monthly_fee"] - 44)
    )
    return np.asarray(expit(np.array(cell) + pattern.to_numpy()))


def toy_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """Sample the example of the paper's Section 3.

    Columns: `x`, the added binary feature; `score`, the logit f + 1.8 x − 0.9 that training
    converges to; `y`, the label; `split`, one half of the rows train, the others calibration and
    test. On training rows f has the sharper densities of an over-confident model, elsewhere it is
    normal with mean ±1 and deviation 2.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    x = np.where(rng.uniform(size=rows) < 0.75, y, 1 - y)
    split = rng.choice(["train", "calibration", "test"], rows, p=[0.5, 0.25, 0.25])
    spread = rng.normal(size=rows)
    outward = np.where(rng.uniform(size=rows) < 2 / 3, 2 * np.abs(spread), -np.abs(spread))
    margin = 1 + np.where(split == "train", outward, 2 * spread)
    f = np.where(y == 1, margin, -margin)
    return pd.DataFrame({"x": x, "score": f + 1.8 * x - 0.9, "y": y, "split": split})


def write_demo(directory: Path) -> list[Path]:
    """Write the demo's table and network, and the paper's toy, as a user would have them."""
    directory.mkdir(parents=True, exist_ok=True)
    customers, network, toy = (
        directory / name for name in ("customers.csv", "customers.keras", "toy.csv")
    )
    demo_table().to_csv(customers, index=False)
    network.write_bytes(DEMO_NETWORK.read_bytes())
    toy_table(40_000).to_csv(toy, index=False)
    return [customers, network, toy]


def _customers(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    columns: dict[str, object] = {
        "contract": rng.choice(["monthly", "one year", "two years"], rows, p=[0.5, 0.3, 0.2]),
        "tenure_months": np.minimum(rng.gamma(1.6, 16, rows).round() + 1, 96).astype(int),
        "monthly_fee": (20 + 60 * rng.beta(2, 3, rows)).round(2),
        "support_calls": rng.poisson(1.2, rows).astype(float),
        "age": np.clip(rng.normal(46, 15, rows).round(), 18, 90).astype(int),
        "region": rng.choice(["north", "south", "east", "west"], rows),
    }
    usage = rng.normal(size=(rows, 8)).round(3)
    columns |= {f"usage_{i + 1}": usage[:, i] for i in range(usage.shape[1])}
    return pd.DataFrame(columns)
