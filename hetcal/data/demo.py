"""Two tables with known true probabilities: churning customers, and the paper's toy example."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.files import OWNER_ONLY, write_files

DEMO_SEED = 7
DEMO_ROWS = 16_000
TOY_ROWS = 40_000
DEMO_SHARES = {"train": 0.40, "validation": 0.10, "calibration": 0.25, "test": 0.25}


@dataclass(frozen=True)
class DemoNetwork:
    """A network that scores the customers; `tests/models/make_demo_networks.py` makes its file."""

    file: Path
    words: str  # how it was trained

    def content(self) -> bytes:
        """Read the `.keras` file."""
        return self.file.read_bytes()


DEMO_NETWORKS = {
    "over-trained": DemoNetwork(
        Path(__file__).with_name("customers.keras"),
        "fine-tuned for 55 epochs on 6,447 customers",
    ),
    "well trained": DemoNetwork(
        Path(__file__).with_name("customers_well_trained.keras"),
        "trained for 10 epochs on a million customers",
    ),
    "random": DemoNetwork(
        Path(__file__).with_name("customers_noise.keras"),
        "trained for 50 epochs on shuffled labels",
    ),
}

# Log-odds of leaving, by contract and by whether the customer is new: the heterogeneity
# that a small tree finds and the over-trained network under-uses.
NEW_CUSTOMER_MONTHS = 12
CELL_LOG_ODDS = {
    ("monthly", True): 1.8,
    ("monthly", False): -0.2,
    ("one year", True): -0.6,
    ("one year", False): -1.9,
    ("two years", True): -3.1,
    ("two years", False): -3.1,
}
USAGE = [f"usage_{i}" for i in range(1, 9)]


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
        1.6 * np.sin(2.5 * usage_balance(frame))
        + 0.4 * (frame["support_calls"] - 1.2)
        + 0.02 * (frame["monthly_fee"] - 44)
    )
    return np.asarray(expit(np.array(cell) + pattern.to_numpy()))


def usage_balance(frame: pd.DataFrame) -> pd.Series:
    """Return the use of odd services less that of even ones, which is standard normal.

    Its wave is what only a network knows: one column, or a few of them, say next to nothing about
    it, so that trees and curves do not find it in 16,000 rows.
    """
    return (frame[USAGE[::2]].sum(axis=1) - frame[USAGE[1::2]].sum(axis=1)) / np.sqrt(len(USAGE))


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
    """Write the demo's table and networks, and the paper's toy, as a user would have them."""
    directory.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    files = {"customers.csv": demo_table().to_csv(index=False).encode()}
    files |= {each.file.name: each.content() for each in DEMO_NETWORKS.values()}
    files["toy.csv"] = toy_table(TOY_ROWS).to_csv(index=False).encode()
    write_files({directory / name: content for name, content in files.items()})
    return [directory / name for name in files]


def _customers(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    columns: dict[str, object] = {
        "contract": rng.choice(["monthly", "one year", "two years"], rows, p=[0.5, 0.3, 0.2]),
        "tenure_months": np.minimum(rng.gamma(1.6, 16, rows).round() + 1, 96).astype(int),
        "monthly_fee": (20 + 60 * rng.beta(2, 3, rows)).round(2),
        "support_calls": rng.poisson(1.2, rows).astype(float),
        "age": np.clip(rng.normal(46, 15, rows).round(), 18, 90).astype(int),
        "region": rng.choice(["north", "south", "east", "west"], rows),
    }
    usage = rng.normal(size=(rows, len(USAGE))).round(3)
    columns |= {name: usage[:, i] for i, name in enumerate(USAGE)}
    return pd.DataFrame(columns)
