# SPDX-License-Identifier: Apache-2.0
"""Types of table columns, columns that grow and are copied together, and functions that return read-only ones."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.bool_]  # one boolean per row, as filters return
FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]  # row numbers

FIRST_ROWS = 64
Scalar = TypeVar("Scalar", bound=np.generic)


def extend_column(column: npt.NDArray[Any], size: int, fill: float | bool | np.generic = 0) -> npt.NDArray[Any]:
    """Return a copy of ``column`` with ``size`` rows; new rows contain ``fill``."""
    larger = np.full(size, fill, dtype=column.dtype)
    larger[: len(column)] = column
    return larger


class ColumnGroup:
    """Columns of the same rows, each an attribute of this object.

    ``EMPTY`` maps the name of each column to the value of a row without data, whose type is the column's.
    """

    __slots__ = ()

    EMPTY: ClassVar[Mapping[str, np.generic]]

    def __init__(self, size: int) -> None:
        for name, value in self.EMPTY.items():
            setattr(self, name, np.full(size, value))

    def grow(self, size: int) -> None:
        """Extend the columns to ``size`` rows."""
        for name, value in self.EMPTY.items():
            setattr(self, name, extend_column(getattr(self, name), size, value))

    def copy_from(self, rows: Rows, other: Self) -> None:
        """Copy the first rows of ``other`` to ``rows``."""
        for name in self.EMPTY:
            getattr(self, name)[rows] = getattr(other, name)[: len(rows)]

    def clear(self, rows: Rows) -> None:
        """Remove the data of ``rows``."""
        self.copy_from(rows, type(self)(len(rows)))


def read_only(column: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    """Return the first ``size`` elements as a read-only array that shares memory with ``column``."""
    part = column[:size]
    part.setflags(write=False)
    return part
