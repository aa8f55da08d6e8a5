# SPDX-License-Identifier: Apache-2.0
"""Reports of provider trees: parents, kinds and what hangs below a node."""

from typing import Any

import pytest

from rpcapi import errors
from rpcapi.model.claims import Verdict
from scheduler_svc.store.lineage import MAX_DEPTH
from scheduler_svc.store.records import Candidate, ClaimRef, Intent
from tests.unit.scheduler_svc.store.world import ROOMY, World, child_stats, node_stats


def child(parent: str, amounts: dict[str, int] | None = None, **figures: Any) -> dict[str, Any]:
    return child_stats(parent, amounts or {"CUSTOM_GPU": 1}, **figures)


def line(count: int) -> dict[str, Any]:
    """Return providers below h1, each below the former: with h1 they are ``count``."""
    return {f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, count)}


def machine(**more: Any) -> dict[str, Any]:
    """Return the nodes of a host with a cell and a GPU in it."""
    return {
        "h1": node_stats(ROOMY),
        "h1/numa0": child("h1", {"PCPU": 4}),
        "h1/numa0/gpu0": child("h1/numa0"),
        **more,
    }


def opened(world: World, nodes: dict[str, Any]) -> None:
    world.store.audit("h1", world.report("h1", nodes).epoch, [], 0)


def decided(world: World) -> Any:
    """Return a batch that was decided on the state of now, and can be sent later."""
    return world.batch(Intent("c1", 1, [Candidate("h1")]))


def verdict(world: World, batch: Any) -> Verdict:
    return world.store.prepare(batch).prepared[0].verdicts[0]


def test_documents_carry_root_parent_and_kind(world: World) -> None:
    opened(world, machine())
    held = world.store.snapshot().providers
    told = {name: (one["root"], one["parent"], one["kind"], one["host"]) for name, one in held.items()}
    assert told == {
        "h1": ("h1", None, "compute", "h1"),
        "h1/numa0": ("h1", "h1", "compute", "h1"),
        "h1/numa0/gpu0": ("h1", "h1/numa0", "compute", "h1"),
    }


def test_a_child_is_of_its_roots_kind(world: World) -> None:
    world.report("h1", {"h1": {**node_stats(ROOMY), "kind": "network"}, "h1/br0": child("h1")})
    assert {one["kind"] for one in world.store.snapshot().providers.values()} == {"network"}


def test_facts_address_and_cells_are_kept_and_their_change_makes_nothing_stale(world: World) -> None:
    told = {"facts": {"hypervisor_type": "QEMU"}, "host_ip": "10.0.0.1", "numa": [{"id": 0}]}
    opened(world, {"h1": {**node_stats(ROOMY), **told}})
    document = world.store.get_state("compute", "h1")[1]
    assert {key: document[key] for key in told} == told
    early = decided(world)
    world.report("h1", {"h1": {**node_stats(ROOMY), "numa": [{"id": 0, "pinned": [1]}]}})
    document = world.store.get_state("compute", "h1")[1]
    assert document["numa"] == [{"id": 0, "pinned": [1]}] and "facts" not in document and "host_ip" not in document
    assert verdict(world, early) is Verdict.FITS


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ({"h1": node_stats(ROOMY), "h1/a": child("h1/b")}, "'h1/b' is not a provider of the same"),
        ({"h1": node_stats(ROOMY), "h1/a": child("h2")}, "'h2' is not a provider of the same"),
        ({"h1/a": child("h1/b"), "h1/b": child("h1/a")}, "in a circle: h1/a -> h1/b -> h1/a"),
        ({"h1/a": child("h1/a")}, "in a circle"),
        ({"h1/a": node_stats(ROOMY), "h1/b": child("h1/a")}, "must begin with 'h1/a/'"),
        ({"h1": node_stats(ROOMY), "h1/a": {**child("h1"), "kind": "network"}}, "kind can be told of roots only"),
        ({"h1": node_stats(ROOMY), "h1/a": {**child("h1"), "numa": [{}]}}, "numa can be told of roots only"),
        ({f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, MAX_DEPTH + 1)}, "is not a provider"),
        (
            {"h1": node_stats(ROOMY)}
            | {f"h1{'/x' * n}": child(f"h1{'/x' * (n - 1)}") for n in range(1, MAX_DEPTH + 1)},
            f"more than {MAX_DEPTH} providers",
        ),
    ],
)
def test_what_forms_no_tree_is_refused_and_nothing_changes(world: World, nodes: dict, why: str) -> None:
    opened(world, machine())
    before = world.store.snapshot()
    with pytest.raises(errors.InvalidStats, match=why):
        world.report("h1", nodes)
    assert world.store.snapshot() == before
    world.report("h1", machine())
    assert world.store.snapshot() == before


def test_the_deepest_tree_is_taken(world: World) -> None:
    world.report("h1", {"h1": node_stats(ROOMY), **line(MAX_DEPTH)})
    assert len(world.store.snapshot().providers) == MAX_DEPTH


def delta(world: World, nodes: dict[str, Any], sequence: int = 2) -> None:
    world.store.update_stats("h1", incarnation=1, sequence=sequence, base=sequence - 1, full=False, nodes=nodes)


def test_a_child_may_be_told_of_alone_in_a_delta(world: World) -> None:
    opened(world, machine())
    delta(world, {"h1/numa0/gpu0": {"inventories": child("h1", {"CUSTOM_GPU": 2})["inventories"]}})
    document = world.store.get_state("compute", "h1/numa0/gpu0")[1]
    assert (document["inventories"]["CUSTOM_GPU"]["total"], document["parent"]) == (2, "h1/numa0")


@pytest.mark.parametrize(
    ("name", "told", "why"),
    [
        ("h1/numa0/gpu0", {"parent": "h1"}, "parent is 'h1/numa0' and changes in a full report only"),
        ("h1/numa0", {"parent": None}, "parent is 'h1' and"),
        ("h1", {"kind": "volume"}, "kind is 'compute' and"),
        ("h1/numa0", {"metrics": {"load": 1}}, "metrics can be told of roots only"),
    ],
)
def test_a_delta_moves_nothing(world: World, name: str, told: dict, why: str) -> None:
    opened(world, machine())
    before = world.store.snapshot()
    with pytest.raises(errors.InvalidStats, match=why):
        delta(world, {name: told})
    assert world.store.snapshot() == before


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
def test_a_changed_tree_makes_candidates_on_its_root_stale(world: World, nodes: dict) -> None:
    opened(world, machine())
    early = decided(world)
    world.report("h1", nodes)
    assert verdict(world, early) is Verdict.STALE
    assert verdict(world, decided(world)) is Verdict.FITS


def test_a_child_of_changed_amounts_makes_nothing_stale(world: World) -> None:
    opened(world, machine())
    early = decided(world)
    delta(world, {"h1/numa0": {"inventories": child("h1", {"PCPU": 8})["inventories"]}})
    assert verdict(world, early) is Verdict.FITS


def test_a_tree_leaves_others_of_its_service_host_as_they_were(world: World) -> None:
    nodes = {"h1/n1": node_stats(ROOMY), "h1/n1/a": child("h1/n1"), "h1/n2": node_stats(ROOMY)}
    opened(world, nodes)
    early = world.batch(Intent("c1", 1, [Candidate("h1/n1"), Candidate("h1/n2")]))
    world.report("h1", {**nodes, "h1/n1/a": child("h1/n1", traits=["HW_NUMA_ROOT"])})
    assert list(world.store.prepare(early).prepared[0].verdicts) == [Verdict.STALE, Verdict.FITS]


def test_what_is_gone_from_a_tree_since_the_decision_is_stale_and_then_unknown(world: World) -> None:
    opened(world, machine())
    wish = Intent("c1", 1, [Candidate("h1", {"h1": {"VCPU": 1}, "h1/numa0/gpu0": {"CUSTOM_GPU": 1}})])
    early = world.batch(wish)
    world.report("h1", {"h1": node_stats(ROOMY)})
    assert verdict(world, early) is Verdict.STALE
    assert verdict(world, world.batch(wish)) is Verdict.UNKNOWN


def test_claims_on_a_child_that_is_gone_are_in_excess_until_they_end(world: World) -> None:
    opened(world, machine())
    wish = Intent("c1", 1, [Candidate("h1", {"h1": {"VCPU": 1}, "h1/numa0/gpu0": {"CUSTOM_GPU": 1}})])
    assert world.store.prepare(world.batch(wish)).accepted
    world.report("h1", {"h1": node_stats(ROOMY)})
    (over,) = world.check().excess
    assert (over["provider"], over["used"], over["capacity"]) == ("h1/numa0/gpu0", 1, 0)
    world.store.abort([ClaimRef("c1", 1)])
    assert list(world.check().excess) == [] and "h1/numa0/gpu0" not in world.store.snapshot().used


def test_a_host_is_removed_with_all_that_hangs_below(world: World) -> None:
    opened(world, machine())
    world.store.remove("h1")
    assert world.store.snapshot().providers == {}
    world.check()
    opened(world, machine())
    assert verdict(world, decided(world)) is Verdict.FITS
