# SPDX-License-Identifier: Apache-2.0
"""Reports of provider trees: parents, roots, kinds and children."""

from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.provider_trees import MAX_DEPTH
from tests.support.store.store_partition import ROOMY, StorePartition, child_stats, node_stats


def child(parent: str, amounts: dict[str, int] | None = None, **figures: Any) -> dict[str, Any]:
    return child_stats(parent, amounts or {"CUSTOM_GPU": 1}, **figures)


def line(count: int) -> dict[str, Any]:
    """Return a chain of ``count`` providers with the root h1."""
    return {f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, count)}


def machine(**more: Any) -> dict[str, Any]:
    """Return the nodes of a host with a cell and a GPU in it."""
    return {
        "h1": node_stats(ROOMY),
        "h1/numa0": child("h1", {"PCPU": 4}),
        "h1/numa0/gpu0": child("h1/numa0"),
        **more,
    }


def opened(partition: StorePartition, nodes: dict[str, Any]) -> None:
    partition.store.audit("h1", partition.report("h1", nodes).epoch, [], 0)


def decided(partition: StorePartition) -> Any:
    """Return a batch decided on the current state, to be sent later."""
    return partition.batch(Intent("c1", 1, [Candidate("h1")]))


def verdict(partition: StorePartition, batch: Any) -> Verdict:
    return partition.store.prepare(batch).prepared[0].verdicts[0]


def test_documents_carry_root_parent_and_kind(partition: StorePartition) -> None:
    opened(partition, machine())
    providers = partition.store.snapshot().providers
    lineages = {
        name: (document["root"], document["parent"], document["kind"], document["host"])
        for name, document in providers.items()
    }
    assert lineages == {
        "h1": ("h1", None, "compute", "h1"),
        "h1/numa0": ("h1", "h1", "compute", "h1"),
        "h1/numa0/gpu0": ("h1", "h1/numa0", "compute", "h1"),
    }


def test_child_has_the_kind_of_its_root(partition: StorePartition) -> None:
    partition.report("h1", {"h1": {**node_stats(ROOMY), "kind": "network"}, "h1/br0": child("h1")})
    assert {document["kind"] for document in partition.store.snapshot().providers.values()} == {"network"}


def test_facts_address_and_cells_are_stored_without_making_stale(partition: StorePartition) -> None:
    reported = {"facts": {"hypervisor_type": "QEMU"}, "host_ip": "10.0.0.1", "numa": [{"id": 0}]}
    opened(partition, {"h1": {**node_stats(ROOMY), **reported}})
    document = partition.store.get_state("compute", "h1")[1]
    assert {key: document[key] for key in reported} == reported
    early = decided(partition)
    partition.report("h1", {"h1": {**node_stats(ROOMY), "numa": [{"id": 0, "pinned": [1]}]}})
    document = partition.store.get_state("compute", "h1")[1]
    assert document["numa"] == [{"id": 0, "pinned": [1]}] and "facts" not in document and "host_ip" not in document
    assert verdict(partition, early) is Verdict.FITS


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ({"h1": node_stats(ROOMY), "h1/a": child("h1/b")}, "'h1/b' is not a provider of the same"),
        ({"h1": node_stats(ROOMY), "h1/a": child("h2")}, "'h2' is not a provider of the same"),
        ({"h1/a": child("h1/b"), "h1/b": child("h1/a")}, "form a cycle: h1/a -> h1/b -> h1/a"),
        ({"h1/a": child("h1/a")}, "form a cycle"),
        ({"h1/a": node_stats(ROOMY), "h1/b": child("h1/a")}, "must begin with 'h1/a/'"),
        ({"h1": node_stats(ROOMY), "h1/a": {**child("h1"), "kind": "network"}}, "kind can be reported for roots only"),
        ({"h1": node_stats(ROOMY), "h1/a": {**child("h1"), "numa": [{}]}}, "numa can be reported for roots only"),
        ({f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, MAX_DEPTH + 1)}, "is not a provider"),
        (
            {"h1": node_stats(ROOMY)}
            | {f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, MAX_DEPTH + 1)},
            f"more than {MAX_DEPTH} providers",
        ),
    ],
)
def test_report_without_valid_trees_is_rejected(partition: StorePartition, nodes: dict, why: str) -> None:
    opened(partition, machine())
    before = partition.store.snapshot()
    with pytest.raises(errors.InvalidStats, match=why):
        partition.report("h1", nodes)
    assert partition.store.snapshot() == before
    partition.report("h1", machine())
    assert partition.store.snapshot() == before


def test_tree_of_maximum_depth_is_accepted(partition: StorePartition) -> None:
    partition.report("h1", {"h1": node_stats(ROOMY), **line(MAX_DEPTH)})
    assert len(partition.store.snapshot().providers) == MAX_DEPTH


def delta(partition: StorePartition, nodes: dict[str, Any], sequence: int = 2) -> None:
    partition.report("h1", nodes, sequence=sequence, base=sequence - 1, full=False)


def test_delta_may_contain_a_child_alone(partition: StorePartition) -> None:
    opened(partition, machine())
    delta(partition, {"h1/numa0/gpu0": {"inventories": child("h1", {"CUSTOM_GPU": 2})["inventories"]}})
    document = partition.store.get_state("compute", "h1/numa0/gpu0")[1]
    assert (document["inventories"]["CUSTOM_GPU"]["total"], document["parent"]) == (2, "h1/numa0")


@pytest.mark.parametrize(
    ("name", "reported", "why"),
    [
        ("h1/numa0/gpu0", {"parent": "h1"}, "parent is 'h1/numa0' and can be changed only in a full report"),
        ("h1/numa0", {"parent": None}, "parent is 'h1' and"),
        ("h1", {"kind": "volume"}, "kind is 'compute' and"),
        ("h1/numa0", {"metrics": {"load": 1}}, "metrics can be reported for roots only"),
    ],
)
def test_delta_cannot_move_a_provider(partition: StorePartition, name: str, reported: dict, why: str) -> None:
    opened(partition, machine())
    before = partition.store.snapshot()
    with pytest.raises(errors.InvalidStats, match=why):
        delta(partition, {name: reported})
    assert partition.store.snapshot() == before


@pytest.mark.parametrize(
    "nodes",
    [
        machine(**{"h1/numa0": child("h1", {"PCPU": 4}, traits=["HW_NUMA_ROOT"])}),
        machine(**{"h1/numa0/gpu0": child("h1")}),
        machine(**{"h1/gpu1": child("h1")}),
        {"h1": node_stats(ROOMY), "h1/numa0": child("h1", {"PCPU": 4})},
        machine(h1={**node_stats(ROOMY), "kind": "volume"}),
    ],
    ids=["traits", "moved", "new", "gone", "kind"],
)
def test_a_changed_tree_makes_candidates_on_its_root_stale(partition: StorePartition, nodes: dict) -> None:
    opened(partition, machine())
    early = decided(partition)
    partition.report("h1", nodes)
    assert verdict(partition, early) is Verdict.STALE
    assert verdict(partition, decided(partition)) is Verdict.FITS


def test_changed_child_inventory_makes_nothing_stale(partition: StorePartition) -> None:
    opened(partition, machine())
    early = decided(partition)
    delta(partition, {"h1/numa0": {"inventories": child("h1", {"PCPU": 8})["inventories"]}})
    assert verdict(partition, early) is Verdict.FITS


def test_changed_tree_does_not_affect_other_trees_of_its_host(partition: StorePartition) -> None:
    nodes = {"h1/n1": node_stats(ROOMY), "h1/n1/a": child("h1/n1"), "h1/n2": node_stats(ROOMY)}
    opened(partition, nodes)
    early = partition.batch(Intent("c1", 1, [Candidate("h1/n1"), Candidate("h1/n2")]))
    partition.report("h1", {**nodes, "h1/n1/a": child("h1/n1", traits=["HW_NUMA_ROOT"])})
    assert list(partition.store.prepare(early).prepared[0].verdicts) == [Verdict.STALE, Verdict.FITS]


def test_removed_child_is_stale_then_unknown(partition: StorePartition) -> None:
    opened(partition, machine())
    claim_intent = Intent("c1", 1, [Candidate("h1", {"h1": {"VCPU": 1}, "h1/numa0/gpu0": {"CUSTOM_GPU": 1}})])
    early = partition.batch(claim_intent)
    partition.report("h1", {"h1": node_stats(ROOMY)})
    assert verdict(partition, early) is Verdict.STALE
    assert verdict(partition, partition.batch(claim_intent)) is Verdict.UNKNOWN


def test_claims_on_a_removed_child_are_excess_until_they_end(partition: StorePartition) -> None:
    opened(partition, machine())
    claim_intent = Intent("c1", 1, [Candidate("h1", {"h1": {"VCPU": 1}, "h1/numa0/gpu0": {"CUSTOM_GPU": 1}})])
    assert partition.store.prepare(partition.batch(claim_intent)).accepted
    partition.report("h1", {"h1": node_stats(ROOMY)})
    (over,) = partition.check().excess
    assert (over["provider"], over["used"], over["capacity"]) == ("h1/numa0/gpu0", 1, 0)
    partition.store.abort([ClaimRef("c1", 1)])
    assert list(partition.check().excess) == [] and "h1/numa0/gpu0" not in partition.store.snapshot().used


def test_host_is_removed_with_its_trees(partition: StorePartition) -> None:
    opened(partition, machine())
    partition.store.remove("h1")
    assert partition.store.snapshot().providers == {}
    partition.check()
    opened(partition, machine())
    assert verdict(partition, decided(partition)) is Verdict.FITS
