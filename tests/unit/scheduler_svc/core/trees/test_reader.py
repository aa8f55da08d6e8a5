# SPDX-License-Identifier: Apache-2.0
"""Provider trees built from the table's columns."""

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT, ProviderInventory
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.tree_request import tree_request
from scheduler_svc.core.trees.reader import TreeReader
from tests.support.scheduler.hosts import child_provider, node, request, snapshot

NODES = {
    "a": node({"VCPU": 8, "DISK_GB": 50}, ["CUSTOM_A", "CUSTOM_Z"]),
    "a/cell1": child_provider("a", "a", {"VCPU": Inventory(4, min_unit=2, max_unit=3, step_size=1)}, ["CUSTOM_CELL"]),
    "a/cell0": child_provider("a", "a", {"VCPU": 4}),
    "a/cell0/gpu": child_provider("a/cell0", "a", {"VGPU": 1}),
    "b": node(),
    "pool": node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"},
}
AGGREGATES = {"rack": {"hosts": ["a/cell1", "pool"]}}
GPU_REQUEST = request({"VCPU": 1}, groups=(RequestGroup("_g", {"VGPU": 1}),))


@pytest.fixture
def view():
    table = HostTable.from_snapshot(
        snapshot(NODES, {"a/cell1": {"VCPU": 1}}), reads={"aggregate": frozenset({"hosts", "metadata"})}
    )
    table.apply(LogEntry(101, "state", {"aggregate": AGGREGATES}))
    with table.reading() as view:
        yield view


def read(view, scheduling_request, ledger=None, host="a"):
    reader = TreeReader(view, view.trees, tree_request(scheduling_request), all_classes=bool(scheduling_request.numa))
    return reader.tree(view.row(host), ledger or {})


def by_name(tree):
    return {provider.id: provider for provider in tree.providers}


def test_tree_has_every_provider_after_its_parent_and_the_sharing_ones_apart(view):
    tree = read(view, GPU_REQUEST)
    assert [provider.id for provider in tree.providers][:4] == ["a", "a/cell0", "a/cell0/gpu", "a/cell1"]
    parents = {name: provider.parent for name, provider in by_name(tree).items()}
    assert (parents["a"], parents["a/cell0"], parents["a/cell0/gpu"]) == (None, "a", "a/cell0")
    assert [provider.id for provider in tree.sharing] == ["pool"]


def test_inventories_are_of_requested_classes_with_usage_and_unit_rules(view):
    providers = by_name(read(view, GPU_REQUEST))
    assert providers["a"].inventories == {"VCPU": ProviderInventory(8, 0)}
    assert providers["a/cell1"].inventories == {"VCPU": ProviderInventory(4, 1, 2, 3, 1)}
    assert providers["a/cell0/gpu"].inventories == {"VGPU": ProviderInventory(1, 0)}


def test_topology_needs_the_usage_of_all_classes(view):
    providers = by_name(read(view, request({"VCPU": 1}, numa={"cells": []})))
    assert set(providers["a"].inventories) == {"VCPU", "DISK_GB"}


def test_only_traits_and_aggregates_that_the_request_names_are_read(view):
    providers = by_name(
        read(view, request({"VCPU": 1}, required_traits=("CUSTOM_A",), forbidden_traits=("CUSTOM_CELL",)))
    )
    assert (providers["a"].traits, providers["a/cell1"].traits) == ({"CUSTOM_A"}, {"CUSTOM_CELL"})
    assert providers["a/cell1"].aggregates == frozenset()
    providers = by_name(read(view, request({"VCPU": 1}, member_of=(("rack",),), root_required=("CUSTOM_Z",))))
    assert (providers["a"].traits, providers["a/cell1"].traits) == ({"CUSTOM_Z"}, frozenset())
    assert (providers["a"].aggregates, providers["a/cell1"].aggregates) == (frozenset(), {"rack"})


def test_ledger_counts_as_used(view):
    ledger = {"a/cell1": {"VCPU": 3}, "pool": {"DISK_GB": 30}, "a": {"VCPU": -1}}
    tree = read(view, request({"VCPU": 1, "DISK_GB": 1}), ledger)
    providers = by_name(tree)
    assert [providers[name].inventories["VCPU"].used for name in ("a", "a/cell0", "a/cell1")] == [-1, 0, 4]
    (pool,) = tree.sharing
    assert pool.inventories["DISK_GB"].used == 30


def test_bare_host_has_no_child_and_no_sharing_providers(view):
    reader = TreeReader(view, view.trees, tree_request(GPU_REQUEST))
    assert [reader.is_bare(view.row(name)) for name in ("a", "b", "pool")] == [False, True, True]
