# SPDX-License-Identifier: Apache-2.0
"""What hosts count of themselves, held against a limit.

Nova's IoOpsFilter and NumInstancesFilter, and the two whose limits the hosts' aggregates set.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View


@dataclass(frozen=True, slots=True)
class Count:
    """A metric, the aggregates' key of its limit, and why a host falls that has reached it."""

    metric: str
    key: str
    reason: str


IO_OPS = Count("metrics.io_ops", "max_io_ops_per_host", "too many I/O operations")
INSTANCES = Count("metrics.instances", "max_instances_per_host", "too many instances")


def build(name: str, count: Count, most: int) -> Filter:
    """Return the filter that lets hosts pass whose count is below ``most``."""

    def sieves(view: View, request: Request) -> Iterator[Sieve]:
        yield Sieve(count.reason, counted(view, count) < most)

    return Filter(name, sieves, {"compute": frozenset({count.metric})})


def build_by_aggregate(name: str, count: Count, most: int) -> Filter:
    """Return the filter whose limit is the least that the host's aggregates set.

    It is ``most`` where none sets one, and where one of them sets what is no integer, as in Nova.
    """

    def sieves(view: View, request: Request) -> Iterator[Sieve]:
        told = view.aggregates.having(count.key)
        limit = view.aggregates.once((name, most), lambda: _limits(view, told, most)) if told else most
        yield Sieve(count.reason, counted(view, count) < limit)

    reads = {"compute": frozenset({count.metric}), "aggregate": frozenset({"hosts", "metadata"})}
    return Filter(name, sieves, reads)


def counted(view: View, count: Count) -> FloatColumn:
    """Return how many each row counts; 0 where it has not told."""
    return np.fmax(view.state("compute", count.metric), 0.0)


def _limits(view: View, told: Mapping[str, str], default: int) -> FloatColumn:
    numbers = {name: _integer(text) for name, text in told.items()}
    limits = np.full(view.size, float(default))
    # The least comes last, and stays.
    for limit in sorted({number for number in numbers.values() if number is not None}, reverse=True):
        limits[view.aggregates.members([name for name, number in numbers.items() if number == limit])] = limit
    limits[view.aggregates.members([name for name, number in numbers.items() if number is None])] = default
    return limits


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
