# SPDX-License-Identifier: Apache-2.0
"""The rows and the log position of one partition."""

from scheduler_svc.core.table.partition import LogPosition, PartitionDocuments, PartitionRows
from scheduler_svc.core.table.services import ServiceColumns


def partition(rows=(), columns=None):
    part = PartitionRows("east", 1, columns or ServiceColumns(8), PartitionDocuments())
    for row, (name, host) in enumerate(rows):
        part.rows[name] = row
        part.services.add_row(row, host)
    return part


def test_partition_that_was_never_loaded_is_before_every_epoch():
    assert partition().log_position == LogPosition(epoch=0, position=0)


def test_earlier_epoch_is_ignored():
    columns = ServiceColumns(8)
    part = partition([("a", "a")], columns)
    part.set_epoch(5)
    part.services.set_opened("a", 5, 1)
    part.set_epoch(4)
    assert part.log_position == (5, 0)
    assert columns.opened[0], "the host was audited in the current epoch"
    part.set_epoch(6)
    assert part.epoch == 6
    assert not columns.opened[0]


def test_rows_of_a_name_are_those_of_the_node_or_of_the_service_host():
    part = partition([("a/1", "a"), ("a/2", "a"), ("b", "b")])
    assert part.find_rows("a") == [0, 1]
    assert part.find_rows("a/2") == [1]
    assert set(part.find_rows("b")) == {2}
    assert part.find_rows("c") == []
