# SPDX-License-Identifier: Apache-2.0
"""Columns over whole provider trees: child providers, and the sharing ones of aggregates."""

import numpy as np
import pytest

from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import EPOCH, child_provider, node, snapshot

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


def test_flat_table_uses_host_columns_only():
    with build(nodes={"a": NODES["a"], "b": NODES["b"]}).reading() as view:
        assert view.trees.are_flat
        assert not view.trees.nested_hosts.any()
        assert view.trees.free("VCPU").tolist() == [4, 8]


def test_hosts_with_child_or_sharing_providers_are_nested():
    with build({"rack": {"hosts": ["b", "pool"]}}).reading() as view:
        assert names(view, view.trees.nested_hosts) == ["a", "b", "pool"]
    with build().reading() as view:
        # A pool that serves no other host is in its own tree alone.
        assert names(view, view.trees.nested_hosts & (np.arange(view.size) < view.row("pool"))) == ["a"]


def test_sums_over_a_tree_count_its_providers_once_and_sharing_ones_where_they_serve():
    with build({"rack": {"hosts": ["a", "b", "pool"]}}, used={"a/gpu1": {"CUSTOM_GPU": 3}}).reading() as view:
        assert view.trees.capacity("CUSTOM_GPU").tolist() == [5, 0, 0]
        assert view.trees.free("CUSTOM_GPU").tolist() == [2, 0, 0]
        # Amounts of a pool belong to no host's own tree, but each host may allocate them.
        assert view.trees.free("DISK_GB").tolist() == [0, 0, 100]
        assert view.trees.sum(lambda providers: providers.free("DISK_GB")).tolist() == [100, 100, 100]


def test_overcommitted_provider_does_not_reduce_what_the_rest_of_its_tree_has():
    with build(used={"a/gpu1": {"CUSTOM_GPU": 6}}).reading() as view:
        assert view.trees.free("CUSTOM_GPU").tolist() == [-1, 0, 0]
        assert view.trees.sum(lambda providers: providers.available("CUSTOM_GPU")).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("name", "sharing", "hosts"),
    [
        ("a", False, ["a"]),
        ("a/gpu1", False, ["a"]),
        ("pool", False, ["pool"]),
        ("pool", True, ["b", "pool"]),
        ("b", True, ["b"]),
        ("nowhere", True, []),
    ],
)
def test_tree_contains_its_providers_and_on_demand_the_sharing_ones(name, sharing, hosts):
    with build({"rack": {"hosts": ["b", "pool"]}}).reading() as view:
        assert names(view, view.trees.containing(name, sharing=sharing)) == hosts


def test_removed_child_provider_is_in_no_tree():
    table = build()
    table.apply(LogEntry(102, "gone", ["a/gpu1"]))
    with table.reading() as view:
        assert names(view, view.trees.containing("a/gpu1")) == []
        assert view.trees.free("CUSTOM_GPU").tolist() == [1, 0, 0]


def test_pool_serves_compute_hosts_but_no_other_pool():
    nodes = NODES | {"other": node({"DISK_GB": 1}) | {"kind": "volume"}}
    with build({"rack": {"hosts": ["b", "pool", "other"]}}, nodes).reading() as view:
        assert names(view, view.trees.served_by(view.row("pool"))) == ["b", "pool"]


def test_unit_rules_of_child_providers_count():
    with build().reading() as view:
        assert view.trees.has_rules("CUSTOM_GPU")  # a/gpu1 gives at most 2 of its 4
        assert not view.trees.has_rules("VCPU")
        assert not view.trees.has_rules("CUSTOM_NONE")


def test_classes_are_those_of_hosts_and_of_the_providers_below_them():
    with build().reading() as view:
        assert set(view.trees.classes) == {"VCPU", "DISK_GB", "CUSTOM_GPU"}


def test_columns_of_one_kind_of_providers():
    inventories = {"VCPU": Inventory(8, min_unit=2, max_unit=6, step_size=2)}
    nodes = {"a": node(inventories, ["CUSTOM_A"]), "b": node({"VCPU": 8}, ["CUSTOM_A", "CUSTOM_B"]), "c": node({})}
    with build({"rack": {"hosts": ["b"]}}, nodes, used={"a": {"VCPU": 1}, "b": {"VCPU": 9}}).reading() as view:
        hosts = view.trees.hosts
        assert hosts.capacity("VCPU").tolist() == [8, 8, 0]
        assert hosts.free("VCPU").tolist() == [7, -1, 0]
        assert hosts.available("VCPU").tolist() == [7, 0, 0]
        assert hosts.has_capacity("VCPU", 3).tolist() == [True, False, False]
        assert hosts.can_allocate("VCPU", 3).tolist() == [False, False, False]  # a has only multiples of 2
        assert hosts.can_allocate("VCPU", 4).tolist() == [True, False, False]
        assert hosts.units("VCPU", 2).tolist() == [3, 0, 0]
        assert hosts.units("CUSTOM_NONE", 2).tolist() == [0, 0, 0]
        assert hosts.has_all(["CUSTOM_A", "CUSTOM_B"]).tolist() == [False, True, False]
        assert hosts.has_none(["CUSTOM_B"]).tolist() == [True, False, True]
        assert hosts.traits_of(1) == {"CUSTOM_A", "CUSTOM_B"}
        assert hosts.traits_of(1, {"CUSTOM_B", "CUSTOM_C"}) == {"CUSTOM_B"}
        assert hosts.members(["rack", "unknown"]).tolist() == [False, True, False]
