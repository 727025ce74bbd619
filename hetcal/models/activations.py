"""The outputs of an internal layer of a network, as columns of a table."""

from pathlib import Path

from hetcal.data.scores import Activations
from hetcal.errors import ModelError
from hetcal.models.child import read_outputs, unusable
from hetcal.models.config import MOST_UNITS, MOST_VALUES, check_width
from hetcal.models.file import ModelFile


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
