# SPDX-License-Identifier: Apache-2.0
"""Types and helpers of table columns."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.bool_]  # boolean per row, as filters return it
FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]  # row numbers

FIRST_ROWS = 64
Scalar = TypeVar("Scalar", bound=np.generic)


def extend_column(column: npt.NDArray[Any], size: int, fill: float | bool | np.generic = 0) -> npt.NDArray[Any]:
    larger = np.full(size, fill, dtype=column.dtype)
    larger[: len(column)] = column
    return larger


class ColumnGroup:
    """Columns over the same rows. ``EMPTY`` is the empty row: the fill value and type of each column."""

    __slots__ = ()

    EMPTY: ClassVar[Mapping[str, np.generic]]

    def __init__(self, size: int) -> None:
        for name, value in self.EMPTY.items():
            setattr(self, name, np.full(size, value))

    def grow(self, size: int) -> None:
        for name, value in self.EMPTY.items():
            setattr(self, name, extend_column(getattr(self, name), size, value))

    def copy_from(self, rows: Rows, other: Self) -> None:
        for name in self.EMPTY:
            getattr(self, name)[rows] = getattr(other, name)[: len(rows)]

    def clear(self, rows: Rows) -> None:
        self.copy_from(rows, type(self)(len(rows)))


def read_only(column: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    part = column[:size]
    part.setflags(write=False)
    return part
