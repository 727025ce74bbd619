"""The outputs of an internal layer of a network, as columns of a table."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from hetcal.arrays import Singles
from hetcal.child import read_outputs, unusable
from hetcal.errors import ModelError
from hetcal.keras_config import MOST_UNITS, MOST_VALUES, check_width
from hetcal.model_file import ModelFile


@dataclass(frozen=True, eq=False)
class Activations:
    """The output of a layer: `values` has one row per row of the table, one column per unit."""

    layer: str
    values: Singles

    @property
    def frame(self) -> pd.DataFrame:
        """The units as columns that a partition can split."""
        names = [unit_name(self.layer, unit) for unit in range(self.values.shape[1])]
        return pd.DataFrame(self.values, columns=names, copy=False)


def unit_name(layer: str, unit: int) -> str:
    """Name the column of a unit.

    Examples
    --------
    >>> unit_name("hidden", 3)
    'hidden[3]'
    """
    return f"{layer}[{unit}]"


def allowed_width(model: ModelFile, layer: str, rows: int) -> int:
    """Return how many units a layer may have; refuse unknown layers and those too wide."""
    found = next((each for each in model.layers if each.name == layer), None)
    if found is None:
        listed = ", ".join(f"'{each.name}'" for each in model.layers[:12]) or "none"
        raise ModelError(
            f"The model '{model.name}' has no internal layer '{layer}'.",
            f"Its internal layers are: {listed}.",
            "Choose one of them, or a partition on columns of the table.",
        )
    if found.width is None:
        return min(MOST_UNITS, MOST_VALUES // rows)
    check_width(model.name, layer, found.width, rows)
    return found.width


def read_activations(directory: Path, layer: str, rows: int, units: object) -> Activations:
    """Read the output of a layer that the child wrote, as untrusted input."""
    if type(units) is not int or not 1 <= units <= min(MOST_UNITS, MOST_VALUES // rows):
        raise unusable("the layer has no width")
    return Activations(layer, read_outputs(directory / "layer.npy", rows, (units,)))
