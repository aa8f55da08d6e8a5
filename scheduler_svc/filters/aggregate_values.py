# SPDX-License-Identifier: Apache-2.0
"""What aggregates say of their hosts: one text may hold several values, separated by commas."""

from collections.abc import Callable, Mapping

from scheduler_svc.reads import Reads
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

READS: Reads = {"aggregate": frozenset({"hosts", "metadata"})}


def values(text: str) -> list[str]:
    """Return the values that a text holds, without the spaces around them."""
    return [value.strip() for value in text.split(",")]


def saying(view: View, told: Mapping[str, str], suits: Callable[[str], bool]) -> Column:
    """Return which rows are in an aggregate that says at least one value which suits."""
    return view.aggregates.members([name for name, text in told.items() if any(map(suits, values(text)))])
