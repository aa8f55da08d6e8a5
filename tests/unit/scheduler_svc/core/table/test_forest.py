# SPDX-License-Identifier: Apache-2.0
"""Child and sharing providers in the host table."""

from dataclasses import replace

import pytest

from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.unit.scheduler_svc.fakes.hosts import EPOCH, child_provider, describe, node, snapshot

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


def test_provider_test_over_trees_returns_hosts():
    with build().reading() as view:
        trees = view.trees
        assert names(view, trees.any(lambda providers: providers.can_allocate("CUSTOM_GPU", 2))) == ["a"]
        assert names(view, trees.any(lambda providers: providers.can_allocate("CUSTOM_GPU", 3))) == []
        assert names(view, trees.any(lambda providers: providers.has_all(["CUSTOM_FAST"]))) == ["a"]
        assert names(view, trees.any(lambda providers: providers.can_allocate("VCPU", 8))) == ["b"]
        assert view.trees.free("CUSTOM_GPU").tolist() == [5, 0, 0]


def test_allocations_per_tree_follow_amounts_and_unit_rules():
    with build(used={"a/gpu1": {"CUSTOM_GPU": 1}}).reading() as view:
        assert view.trees.sum(lambda providers: providers.units("CUSTOM_GPU", 1)).tolist() == [3, 0, 0]
        assert view.trees.sum(lambda providers: providers.units("CUSTOM_GPU", 2)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("hosts", "served"),
    [(["a", "pool"], ["a", "pool"]), (["a/gpu0", "pool"], ["a", "pool"]), (["b"], []), (["pool"], ["pool"])],
)
def test_pool_serves_trees_with_a_member_in_its_aggregates(hosts, served):
    with build({"rack": {"hosts": hosts}}).reading() as view:
        column = view.trees.any(lambda providers: providers.can_allocate("DISK_GB", 50))
        assert names(view, column) == (served or ["pool"])
        assert [view.name(row) for row in view.trees.find_sharing_rows(0)] == (["pool"] if "a" in served else [])


def test_pool_that_is_down_disabled_or_not_audited_serves_no_host():
    for entry in (
        ("alive", {"pool": False}),
        ("service", {"pool": {"enabled": False}}),
        ("opened", {"pool": EPOCH - 1}),
    ):
        table = build({"rack": {"hosts": ["a", "pool"]}})
        table.apply(LogEntry(102, *entry))
        with table.reading() as view:
            assert names(view, view.trees.any(lambda providers: providers.can_allocate("DISK_GB", 50))) == ["pool"]


def test_cached_served_hosts_follow_changes_of_trees():
    table = build({"rack": {"hosts": ["b/card", "pool"]}})

    def served():
        with table.reading() as view:
            return names(view, view.trees.any(lambda providers: providers.can_allocate("DISK_GB", 50)))

    assert served() == ["pool"]
    card = {"b/card": {"id": "b/card", "host": "b", **child_provider("b", "b", {"CUSTOM_GPU": 1})}}
    table.apply(LogEntry(102, "provider", card))
    assert served() == ["b", "pool"]
    table.apply(LogEntry(103, "gone", ["b/card"]))
    assert served() == ["pool"]


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


def test_flat_table_uses_host_columns_only():
    with build(nodes={"a": NODES["a"], "b": NODES["b"]}).reading() as view:
        assert view.trees.are_flat
        assert not view.trees.nested_hosts.any()
        assert view.trees.free("VCPU").tolist() == [4, 8]
