"""Names for the array types that the package passes around."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger]
Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]

Labels = NDArray[np.integer[Any]]
"""Labels 0 and 1 of any integer type."""

Groups = NDArray[Any]
"""The group of each row: numbers, texts, whatever the column holds."""
