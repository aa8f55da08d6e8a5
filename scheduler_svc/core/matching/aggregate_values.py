# SPDX-License-Identifier: Apache-2.0
"""Aggregate metadata values: one text may contain several values separated by commas."""

from collections.abc import Callable, Mapping

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

READS: Reads = {"aggregate": frozenset({"hosts", "metadata"})}


def split_values(text: str) -> list[str]:
    """Return the comma-separated values of a text, stripped of spaces."""
    return [value.strip() for value in text.split(",")]


def members_with_value(view: View, texts: Mapping[str, str], matches: Callable[[str], bool]) -> Column:
    """Return a mask of the rows in an aggregate with at least one value for which ``matches`` is true."""
    return view.aggregates.members([name for name, text in texts.items() if any(map(matches, split_values(text)))])
