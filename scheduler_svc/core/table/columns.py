# SPDX-License-Identifier: Apache-2.0
"""Types of table columns, and functions that extend them or return them read-only."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.bool_]  # one boolean per row, as filters return
FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]  # row numbers

FIRST_ROWS = 64
Scalar = TypeVar("Scalar", bound=np.generic)


def extend_column(column: npt.NDArray[Any], size: int, fill: float | bool = 0) -> npt.NDArray[Any]:
    """Return a copy of ``column`` with ``size`` rows; new rows contain ``fill``."""
    larger = np.full(size, fill, dtype=column.dtype)
    larger[: len(column)] = column
    return larger


def read_only(column: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    """Return the first ``size`` elements as a read-only array that shares memory with ``column``."""
    part = column[:size]
    part.setflags(write=False)
    return part
