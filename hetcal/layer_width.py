"""How wide a layer may be whose output a partition reads."""

from hetcal.errors import ModelError

MOST_UNITS = 4096
MOST_VALUES = 2**28
"""Numbers that a layer may give for all rows together: 1 GiB."""


def check_width(model: str, layer: str, units: int, rows: int) -> None:
    """Refuse a layer that gives too many numbers."""
    if units > MOST_UNITS:
        raise ModelError(
            f"The layer '{layer}' of the model '{model}' gives {units:,} numbers per row.",
            f"A partition reads at most {MOST_UNITS:,}.",
            "Choose a narrower layer, such as one after the pooling or flattening.",
        )
    if units * rows > MOST_VALUES:
        raise ModelError(
            f"The layer '{layer}' of the model '{model}' gives {units:,} numbers for each of "
            f"{rows:,} rows.",
            f"At most {MOST_VALUES:,} numbers are kept.",
            "Choose a narrower layer, or use fewer rows.",
        )
