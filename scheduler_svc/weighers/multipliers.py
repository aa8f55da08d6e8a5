# SPDX-License-Identifier: Apache-2.0
"""What a weigher's figures are multiplied by: what is configured, or what aggregates say of their hosts.

As in Nova (get_weight_multiplier): metadata of the multiplier's own name goes for the aggregate's hosts, of several
aggregates the least; for a host of which one says what is no number, what is configured.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_svc.reads import Reads
from scheduler_svc.table.aggregates import AggregatesSeen
from scheduler_svc.table.columns import FloatColumn

READS: Reads = {"aggregate": frozenset({"hosts", "metadata"})}

Multiplier = float | FloatColumn


def multiplier(aggregates: AggregatesSeen, option: str, configured: float) -> Multiplier:
    """Return one number for all hosts, or one a row where an aggregate has something to say."""
    told = aggregates.having(option) if option else {}
    if not told:
        return configured
    by_value: dict[float | None, list[str]] = {}
    for name, text in told.items():
        by_value.setdefault(number(text), []).append(name)
    wrong = by_value.pop(None, ())
    column: FloatColumn | None = None
    # The least last, so that it stands.
    for value in sorted((value for value in by_value if value is not None), reverse=True):
        members = aggregates.members(by_value[value])
        if column is None:
            column = np.full(len(members), configured, np.float64)
        column[members] = value
    if column is None:
        return configured
    if wrong:
        column[aggregates.members(wrong)] = configured
    column.setflags(write=False)
    return column


def complaints(metadata: Mapping[str, Mapping[str, str]], options: Iterable[str]) -> list[str]:
    """Return a sentence for each multiplier in these aggregates' metadata that is no number."""
    return [
        f"Aggregate {name}: {option} = {told[option][:40]!r} is no finite number, its hosts have the configured one"
        for name, told in sorted(metadata.items())
        for option in options
        if option in told and number(told[option]) is None
    ]


def number(text: str) -> float | None:
    """Return a multiplier, or None for what is no finite number."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
