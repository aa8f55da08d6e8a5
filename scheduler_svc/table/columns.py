# SPDX-License-Identifier: Apache-2.0
"""Column kinds, and how a column grows."""

from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.bool_]  # one boolean a row: what a filter answers
FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]  # numbers of rows

FIRST_ROWS = 64


def grown(column: npt.NDArray[Any], size: int, fill: float | bool = 0) -> npt.NDArray[Any]:
    """Return a copy of ``column`` with ``size`` rows, the new ones holding ``fill``."""
    larger = np.full(size, fill, dtype=column.dtype)
    larger[: len(column)] = column
    return larger


def still(column: npt.NDArray[Any], size: int) -> Any:
    """Return the first ``size`` elements as they are, not to be written to by who reads them."""
    part = column[:size]
    part.setflags(write=False)
    return part
