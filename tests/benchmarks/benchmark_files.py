"""Small files in the layout of the five public data sets, and networks' scores of their rows."""

import numpy as np
import pandas as pd
from scipy.special import expit

ROWS = 2400
BANK_NUMBERS = ("age", "balance", "day", "duration", "campaign", "pdays", "previous")
BANK_TEXTS = ("job", "marital", "education", "default", "housing", "loan", "contact", "month")


def bank_frame(rows=ROWS, seed=0):
    """Customers whose answer depends on age, balance and job."""
    rng = np.random.default_rng(seed)
    numbers = {name: rng.integers(0, 100, rows) for name in BANK_NUMBERS}
    texts = {name: rng.choice(["yes", "no"], rows) for name in BANK_TEXTS}
    frame = pd.DataFrame({**numbers, **texts, "poutcome": "unknown"})
    frame["job"] = rng.choice(["admin.", "student", "clown"], rows, p=[0.6, 0.35, 0.05])
    frame["y"] = np.where(rng.uniform(size=rows) < expit(bank_logit(frame)), "yes", "no")
    return frame


def bank_logit(frame):
    return (frame["age"] - 50) / 25 + (frame["balance"] > 60) - 2 * (frame["job"] == "student")


def write_bank(folder, frame):
    """Write the file as UCI does: semicolons, text in quotes."""
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "bank_marketing.csv.gz", sep=";", index=False, quoting=2)


def write_scores(folder, frame, name="bank_marketing-w1-none-std-lr0.001-best-s0", seed=1):
    """Save the scores of a network that sees no balance and is too sure of itself."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    s = 2 * bank_logit(frame.assign(balance=0)) + rng.normal(size=len(frame))
    split = rng.choice(["train", "val", "cal", "test"], len(frame), p=[0.4, 0.1, 0.25, 0.25])
    y = (frame["y"] == "yes").to_numpy().astype(np.int64)
    np.savez_compressed(folder / f"{name}.npz", s=s.astype(np.float32), y=y, split=split)
