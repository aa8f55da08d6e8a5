# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates make earlier decisions on their members stale, atomically with the change."""

from collections.abc import Mapping
from typing import Any

import pytest

from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import Candidate, Intent
from tests.unit.scheduler_svc.store.world import World, child_stats, node_stats

MEMBERS = {"hosts": ["h1", "h2/n1", "h3/n1/gpu0", "elsewhere"], "metadata": {"ssd": "true"}}
CANDIDATES = {
    "h1": Candidate("h1"),
    "h1/n1": Candidate("h1/n1"),
    "h2/n1": Candidate("h2/n1"),
    "h2/n2": Candidate("h2/n2"),
    "h3/n1": Candidate("h3/n1"),
    "gpu": Candidate("h3/n1", {"h3/n1": {"VCPU": 1}, "h3/n1/gpu0": {"CUSTOM_GPU": 1}}),
}


@pytest.fixture
def world(make_world: Any) -> World:
    world = make_world(namespaces=("aggregate", "rack"))
    stats = node_stats({"VCPU": 4})
    for host, nodes in {
        "h1": {"h1": stats, "h1/n1": stats},
        "h2": {"h2/n1": stats, "h2/n2": stats},
        "h3": {"h3/n1": stats, "h3/n1/gpu0": child_stats("h3/n1", {"CUSTOM_GPU": 1})},
    }.items():
        world.store.audit(host, world.report(host, nodes).epoch, [], 0)
    return world


def stale(world: World, position: int) -> set[str]:
    """Return the candidates that answer STALE to a decision made at ``position``."""
    stale_names = set()
    for number, (name, candidate) in enumerate(CANDIDATES.items()):
        claim_intent = Intent(f"{position}-{number}", 1, [candidate])
        batch = world.batch(claim_intent, resources={"VCPU": 1}, position=position, ttl_ms=1)
        if tuple(world.store.prepare(batch).prepared[0].verdicts) == (Verdict.STALE,):
            stale_names.add(name)
    return stale_names


def change(world: World, *documents: Mapping[str, Any]) -> set[str]:
    """Put these documents in order, and return the names that the last one makes stale."""
    version = 0
    for document in documents:
        before = world.store.snapshot().position
        version = world.store.put_state("aggregate", "a1", version, document)
    return stale(world, before)


def test_joining_members_become_stale_with_nodes_and_children(world: World) -> None:
    assert change(world, MEMBERS) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_only_joining_and_leaving_members_become_stale(world: World) -> None:
    assert change(world, MEMBERS, {**MEMBERS, "hosts": ["h1", "h2"]}) == {"h2/n1", "h2/n2", "gpu"}


def test_metadata_change_makes_all_members_stale(world: World) -> None:
    assert change(world, MEMBERS, {**MEMBERS, "metadata": {"ssd": "false"}}) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_metadata_change_without_members_makes_nothing_stale(world: World) -> None:
    assert change(world, {"hosts": [], "metadata": {"a": "b"}}, {"hosts": [], "metadata": {"a": "c"}}) == set()
    assert "elsewhere" not in world.store.snapshot().providers


@pytest.mark.parametrize(
    "same",
    [{**MEMBERS, "name": "other"}, {**MEMBERS, "hosts": list(reversed(MEMBERS["hosts"]))}, {**MEMBERS, "version": 7}],
    ids=["name", "order", "version"],
)
def test_irrelevant_change_makes_no_member_stale(world: World, same: Mapping[str, Any]) -> None:
    assert change(world, MEMBERS, same) == set()


def test_deleted_aggregate_makes_members_stale(world: World) -> None:
    version = world.store.put_state("aggregate", "a1", 0, MEMBERS)
    before = world.store.snapshot().position
    world.store.delete_state("aggregate", "a1", version)
    assert stale(world, before) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_other_namespaces_make_nothing_stale(world: World) -> None:
    before = world.store.snapshot().position
    world.store.put_state("rack", "a1", 0, MEMBERS)
    assert stale(world, before) == set()


def test_change_of_thousands_of_members(world: World) -> None:
    nodes = {f"wide/n{n}": node_stats({"VCPU": 4}) for n in range(2500)}
    world.store.audit("wide", world.report("wide", nodes).epoch, [], 0)
    before = world.store.snapshot().position
    world.store.put_state("aggregate", "a1", 0, {"hosts": sorted(nodes)})
    for name in ("wide/n0", "wide/n2499"):
        batch = world.batch(Intent(name, 1, [Candidate(name)]), resources={"VCPU": 1}, position=before)
        assert tuple(world.store.prepare(batch).prepared[0].verdicts) == (Verdict.STALE,)


def test_removed_and_readded_host_is_not_affected_by_its_old_state(world: World) -> None:
    world.store.put_state("aggregate", "a1", 0, MEMBERS)
    world.store.remove("h2")
    world.store.audit("h2", world.report("h2", {"h2/n1": node_stats({"VCPU": 4})}).epoch, [], 0)
    assert "h2/n1" not in stale(world, world.store.snapshot().position)
