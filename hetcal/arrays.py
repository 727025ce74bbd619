"""Names for the array types that the package passes around."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger]
Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]
