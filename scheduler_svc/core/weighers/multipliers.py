# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: the configured number, overridden by aggregate metadata.

As in Nova (get_weight_multiplier): metadata with the name of the multiplier applies to the aggregate's hosts, the
smallest value if there are several. A host keeps the configured number if one of its aggregates has an invalid value.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.aggregates import AggregateView
from scheduler_svc.core.table.columns import FloatColumn

READS: Reads = {"aggregate": frozenset({"hosts", "metadata"})}

Multiplier = float | FloatColumn


def resolve_multiplier(aggregates: AggregateView, option: str, configured: float) -> Multiplier:
    """Return one number for all hosts, or a column if an aggregate overrides it."""
    texts = aggregates.metadata_values(option) if option else {}
    if not texts:
        return configured
    by_value: dict[float | None, list[str]] = {}
    for name, text in texts.items():
        by_value.setdefault(parse_multiplier(text), []).append(name)
    invalid = by_value.pop(None, ())
    column: FloatColumn | None = None
    # In descending order, so that the smallest value is assigned last.
    for value in sorted((value for value in by_value if value is not None), reverse=True):
        members = aggregates.members(by_value[value])
        if column is None:
            column = np.full(len(members), configured, np.float64)
        column[members] = value
    if column is None:
        return configured
    if invalid:
        column[aggregates.members(invalid)] = configured
    column.setflags(write=False)
    return column


def find_errors(metadata: Mapping[str, Mapping[str, str]], options: Iterable[str]) -> list[str]:
    """Return an error text for each multiplier in these aggregates' metadata that is not a finite number."""
    return [
        f"Aggregate {name}: {option} = {values[option][:40]!r} is not a finite number; using the configured multiplier"
        for name, values in sorted(metadata.items())
        for option in options
        if option in values and parse_multiplier(values[option]) is None
    ]


def parse_multiplier(text: str) -> float | None:
    """Return the multiplier, or None if the text is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
