# SPDX-License-Identifier: Apache-2.0
"""NUMA cells as hosts reported them."""

from scheduler_svc.core.records import LogEntry
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, provider

CELLS = [{"id": 0, "cpus": [0, 1]}]


def test_cells_are_those_of_the_last_report():
    table = hosts.table({"a": node() | {"numa": CELLS}, "b": node()})
    table.apply(LogEntry(101, "provider", {"a": provider("a", node()), "b": provider("b", node() | {"numa": CELLS})}))
    with table.reading() as view:
        assert view.has_numa_cells.tolist() == [False, True]
        assert [list(view.numa_cells(row)) for row in range(2)] == [[], CELLS]
