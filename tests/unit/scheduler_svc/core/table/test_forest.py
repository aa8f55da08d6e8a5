# SPDX-License-Identifier: Apache-2.0
"""Child providers in the host table."""

from dataclasses import replace

from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import child_provider, describe, node, snapshot

READS = {"aggregate": frozenset({"hosts", "metadata"})}
NODES = {
    "a": node({"VCPU": 4}),
    "a/gpu0": child_provider("a", "a", {"CUSTOM_GPU": 1}, ["CUSTOM_FAST"]),
    "a/gpu1": child_provider("a", "a", {"CUSTOM_GPU": Inventory(4, max_unit=2)}),
    "b": node({"VCPU": 8}),
    "pool": node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"},
}


def build(aggregates=None, nodes=NODES, used=None):
    table = HostTable.from_snapshot(snapshot(nodes, used), reads=READS)
    table.apply(LogEntry(101, "state", {"aggregate": aggregates or {}}))
    return table


def names(view, column):
    return [view.name(row) for row in range(view.size) if view.present[row] and column[row]]


def test_child_providers_have_no_host_rows():
    with build().reading() as view:
        assert names(view, view.present) == ["a", "b", "pool"]
        assert view.size == 3


def test_report_without_tree_change_keeps_the_forest_version():
    table = build({"rack": {"hosts": ["b/card", "pool"]}})
    card = {"b/card": {"id": "b/card", "host": "b", **child_provider("b", "b", {"CUSTOM_GPU": 1})}}
    table.apply(LogEntry(102, "provider", card))
    before = table.partitions[0].forest.version
    table.apply(LogEntry(103, "provider", card))
    assert table.partitions[0].forest.version == before


def test_reloaded_partition_replaces_child_providers():
    table = build({"rack": {"hosts": ["a/gpu0"]}})
    nodes = {"new": node(), **{name: NODES[name] for name in ("b", "a", "a/gpu0")}}
    table.load(snapshot(nodes))
    alone = HostTable.from_snapshot(snapshot(nodes), reads=READS)
    assert describe(table)["child_provider"] == describe(alone)["child_provider"]
    assert list(describe(table)["child_provider"]) == ["a/gpu0"]
    with table.reading() as view:
        assert names(view, view.trees.nested_hosts) == ["a"]
    # The snapshot has no aggregates; a log entry adds them again.
    table.apply(LogEntry(102, "state", {"aggregate": {"rack": {"hosts": ["a/gpu0"]}}}))
    assert describe(table)["child_provider"]["a/gpu0"]["aggregates"] == {"rack"}


def test_reloaded_aggregates_apply_to_child_providers():
    table = build()
    table.load(replace(snapshot(NODES), states={"aggregate": {"rack": {"hosts": ["a/gpu1"]}}}))
    assert describe(table)["child_provider"]["a/gpu1"]["aggregates"] == {"rack"}
