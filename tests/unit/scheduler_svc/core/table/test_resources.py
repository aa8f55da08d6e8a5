# SPDX-License-Identifier: Apache-2.0
"""The columns of one resource class."""

import numpy as np
import pytest

from rpcapi.resources.inventory import MAX_AMOUNT, Inventory
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.resources import ResourceColumns
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, provider


def test_unit_rules_exist_only_while_a_row_has_one():
    table = hosts.table({"a": node({"VCPU": 8})})
    for position, inventory, has_rules in ((101, Inventory(8, step_size=2), True), (102, Inventory(8), False)):
        table.apply(LogEntry(position, "provider", {"a": provider("a", node({"VCPU": inventory}))}))
        with table.reading() as view:
            assert view.trees.has_rules("VCPU") is has_rules
            assert view.hosts.can_allocate("VCPU", 3).tolist() == [not has_rules]


def inventory(total, **rules):
    return Inventory(total, **rules).as_dict()


def test_free_is_capacity_minus_usage_in_either_order():
    columns = ResourceColumns(3)
    columns.set_inventory(0, inventory(8))
    columns.set_used(0, 3)
    columns.set_used(1, 3)
    columns.set_inventory(1, inventory(8, reserved=1))
    assert columns.free.tolist() == [5, 4, 0]
    assert columns.reserved.tolist() == [0, 1, 0]
    columns.set_inventory(0, None)
    assert columns.free.tolist() == [-3, 4, 0], "claims remain when the inventory is gone"


@pytest.mark.parametrize(
    ("amount", "allowed"), [(1, [True, False, True]), (3, [True, False, True]), (4, [True, True, False])]
)
def test_unit_rules_allow_amounts(amount, allowed):
    columns = ResourceColumns(3)
    columns.set_inventory(0, inventory(8))
    columns.set_inventory(1, inventory(8, min_unit=2, step_size=4))
    columns.set_inventory(2, inventory(8, max_unit=3))
    assert columns.rules == 2
    assert columns.allows_amount(amount).tolist() == allowed


def test_largest_amount_that_the_capacity_never_reaches_is_no_rule():
    columns = ResourceColumns(1)
    columns.set_inventory(0, inventory(8, max_unit=8))
    assert columns.rules == 0
    columns.set_inventory(0, inventory(8, max_unit=7))
    assert columns.rules == 1


def test_new_rows_have_no_capacity_and_no_rules():
    columns = ResourceColumns(1)
    columns.set_inventory(0, inventory(8))
    columns.grow(3)
    assert columns.capacity.tolist() == [8, 0, 0]
    assert columns.allows_amount(1).tolist() == columns.allows_amount(MAX_AMOUNT).tolist() == [True, True, True]


def test_copied_and_cleared_rows_keep_the_count_of_rules():
    source, columns = ResourceColumns(2), ResourceColumns(3)
    source.set_inventory(0, inventory(4, step_size=2))
    source.set_inventory(1, inventory(9))
    source.set_used(1, 4)
    for row in range(3):
        columns.set_inventory(row, inventory(7, min_unit=2))
    columns.copy_from(np.array([2, 0]), source)
    assert (columns.capacity.tolist(), columns.free.tolist(), columns.rules) == ([9, 7, 4], [5, 7, 4], 2)
    columns.clear(np.array([0, 1]))
    assert (columns.capacity.tolist(), columns.used.tolist(), columns.rules) == ([0, 0, 4], [0, 0, 0], 1)
