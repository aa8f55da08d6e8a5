# SPDX-License-Identifier: Apache-2.0
"""Rows common to hosts and child providers."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.table.api_columns import ApiColumns
from scheduler_svc.core.table.columns import FIRST_ROWS, Column, ColumnGroup, IntColumn
from scheduler_svc.core.table.resources import ResourceTable
from scheduler_svc.core.table.traits import TraitColumns


class ProviderRows(ColumnGroup):
    """Inventories, usage, traits and name of one provider per row; ``present`` is False after deletion.

    Document and usage each have the log position at which they were set.
    """

    EMPTY: ClassVar = {
        "present": np.False_,
        "_provider_positions": np.int64(0),
        "_used_positions": np.int64(0),
    }

    present: Column
    _provider_positions: IntColumn
    _used_positions: IntColumn

    def __init__(self) -> None:
        super().__init__(FIRST_ROWS)
        self.names: list[str] = []
        self.api = ApiColumns(FIRST_ROWS)
        self.traits = TraitColumns(FIRST_ROWS)
        self.resources = ResourceTable(FIRST_ROWS)
        # Column groups in addition to the arrays of this object.
        self._parts: tuple[Any, ...] = (self.api, self.traits, self.resources)

    def grow(self, size: int) -> None:
        super().grow(size)
        for columns in self._parts:
            columns.grow(size)

    def set_row_used(self, row: int, amounts: Amounts, position: int) -> None:
        """Set the usage of a row, unless newer usage is already set."""
        if position >= self._used_positions[row]:
            self._used_positions[row] = position
            self.resources.set_used(row, amounts)

    def _append(self, name: str) -> int:
        row = len(self.names)
        if row == len(self.present):
            self.grow(2 * row)
        self.names.append(name)
        return row

    def _set_document(self, row: int, document: Mapping[str, Any], position: int) -> None:
        """Set the fields common to all providers; {} for a deleted one."""
        self._provider_positions[row] = position
        self.resources.set_inventories(row, document.get("inventories", {}))
        self.api.set_row(row, document)
        self.traits.set_row(row, document.get("traits", ()))
