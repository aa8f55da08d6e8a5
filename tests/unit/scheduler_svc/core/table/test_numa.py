# SPDX-License-Identifier: Apache-2.0
"""NUMA cells as hosts reported them."""

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.numa import NumaView
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, provider

CELLS = [{"id": 0, "cpus": [0, 1]}]


def test_rows_with_cells_are_marked():
    view = NumaView({1: CELLS}, 3)
    assert view.has_cells.tolist() == [False, True, False]
    assert [list(view.of(row)) for row in range(3)] == [[], CELLS, []]


def test_mask_is_a_copy():
    view = NumaView({0: CELLS}, 1)
    view.has_cells[0] = False
    assert view.has_cells.tolist() == [True]


def test_cells_are_those_of_the_last_report():
    table = hosts.table({"a": node() | {"numa": CELLS}, "b": node()})
    table.apply(LogEntry(101, "provider", {"a": provider("a", node()), "b": provider("b", node() | {"numa": CELLS})}))
    with table.reading() as view:
        assert view.numa.has_cells.tolist() == [False, True]
