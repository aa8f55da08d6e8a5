# SPDX-License-Identifier: Apache-2.0
"""Partitions as a decision reads them."""

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import EPOCH, node


def build(**partitions):
    table = HostTable(list(partitions))
    for number, nodes in enumerate(partitions.values()):
        table.load(hosts.snapshot({name: node() for name in nodes}), number)
    return table


def test_partitions_have_members_and_log_positions():
    table = build(east=["a", "b"], west=["c"])
    table.apply(LogEntry(107, "used", {"c": {"VCPU": 1}}), 1)
    with table.reading() as view:
        assert view.in_partition("east").tolist() == [True, True, False]
        assert view.in_partition("west").tolist() == [False, False, True]
        assert not view.in_partition("north").any()
        assert list(view.log_positions) == [(EPOCH, 100), (EPOCH, 107)]
        assert view.log_positions[1] == (EPOCH, 107)


def test_node_in_several_partitions_belongs_to_the_first():
    table = build(east=["moving"], west=["moving", "c"])
    with table.reading() as view:
        assert view.partition_numbers(["moving", "c", "unknown"]) == {"moving": 0, "c": 1}
    table.apply(LogEntry(101, "gone", ["moving"]), 0)
    with table.reading() as view:
        assert view.partition_numbers(["moving"]) == {"moving": 1}


def test_only_partition_has_every_node():
    with build(east=["a"]).reading() as view:
        assert view.partition_numbers(["a", "unknown"]) == {"a": 0, "unknown": 0}


def test_sums_that_are_later_than_the_log_have_a_position():
    table = build(east=["a", "b"], west=["a"])
    table.apply_used({"a": {"VCPU": 2}}, 105)
    with table.reading() as view:
        assert [view.usage_position(name) for name in ("a", "b")] == [105, 0]
        assert view.usage_position("a", 1) == 0
    table.apply(LogEntry(105, "used", {"a": {"VCPU": 2}}))
    with table.reading() as view:
        assert view.usage_position("a") == 0
