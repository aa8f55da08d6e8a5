# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates make earlier decisions on their members stale, atomically with the change."""

from collections.abc import Mapping
from typing import Any

import pytest

from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import Candidate, Intent
from tests.support.store.store_partition import StorePartition, child_stats, node_stats

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
def partition(make_partition: Any) -> StorePartition:
    partition = make_partition(namespaces=("aggregate", "rack"))
    stats = node_stats({"VCPU": 4})
    for host, nodes in {
        "h1": {"h1": stats, "h1/n1": stats},
        "h2": {"h2/n1": stats, "h2/n2": stats},
        "h3": {"h3/n1": stats, "h3/n1/gpu0": child_stats("h3/n1", {"CUSTOM_GPU": 1})},
    }.items():
        partition.store.audit(host, partition.report(host, nodes).epoch, [], 0)
    return partition


def stale(partition: StorePartition, position: int) -> set[str]:
    """Return the candidates that answer STALE to a decision made at ``position``."""
    stale_names = set()
    for number, (name, candidate) in enumerate(CANDIDATES.items()):
        claim_intent = Intent(f"{position}-{number}", 1, [candidate])
        batch = partition.batch(claim_intent, resources={"VCPU": 1}, position=position, ttl_ms=1)
        if tuple(partition.store.prepare(batch).prepared[0].verdicts) == (Verdict.STALE,):
            stale_names.add(name)
    return stale_names


def change(partition: StorePartition, *documents: Mapping[str, Any]) -> set[str]:
    """Put these documents in order, and return the names that the last one makes stale."""
    version = 0
    for document in documents:
        before = partition.store.snapshot().position
        version = partition.store.put_state("aggregate", "a1", version, document)
    return stale(partition, before)


def test_joining_members_become_stale_with_nodes_and_children(partition: StorePartition) -> None:
    assert change(partition, MEMBERS) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_only_joining_and_leaving_members_become_stale(partition: StorePartition) -> None:
    assert change(partition, MEMBERS, {**MEMBERS, "hosts": ["h1", "h2"]}) == {"h2/n1", "h2/n2", "gpu"}


def test_metadata_change_makes_all_members_stale(partition: StorePartition) -> None:
    assert change(partition, MEMBERS, {**MEMBERS, "metadata": {"ssd": "false"}}) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_metadata_change_without_members_makes_nothing_stale(partition: StorePartition) -> None:
    assert change(partition, {"hosts": [], "metadata": {"a": "b"}}, {"hosts": [], "metadata": {"a": "c"}}) == set()
    assert "elsewhere" not in partition.store.snapshot().providers


@pytest.mark.parametrize(
    "same",
    [{**MEMBERS, "name": "other"}, {**MEMBERS, "hosts": list(reversed(MEMBERS["hosts"]))}, {**MEMBERS, "version": 7}],
    ids=["name", "order", "version"],
)
def test_irrelevant_change_makes_no_member_stale(partition: StorePartition, same: Mapping[str, Any]) -> None:
    assert change(partition, MEMBERS, same) == set()


def test_deleted_aggregate_makes_members_stale(partition: StorePartition) -> None:
    version = partition.store.put_state("aggregate", "a1", 0, MEMBERS)
    before = partition.store.snapshot().position
    partition.store.delete_state("aggregate", "a1", version)
    assert stale(partition, before) == {"h1", "h1/n1", "h2/n1", "gpu"}


def test_other_namespaces_make_nothing_stale(partition: StorePartition) -> None:
    before = partition.store.snapshot().position
    partition.store.put_state("rack", "a1", 0, MEMBERS)
    assert stale(partition, before) == set()


def test_change_of_thousands_of_members(partition: StorePartition) -> None:
    nodes = {f"wide/n{n}": node_stats({"VCPU": 4}) for n in range(2500)}
    partition.store.audit("wide", partition.report("wide", nodes).epoch, [], 0)
    before = partition.store.snapshot().position
    partition.store.put_state("aggregate", "a1", 0, {"hosts": sorted(nodes)})
    for name in ("wide/n0", "wide/n2499"):
        batch = partition.batch(Intent(name, 1, [Candidate(name)]), resources={"VCPU": 1}, position=before)
        assert tuple(partition.store.prepare(batch).prepared[0].verdicts) == (Verdict.STALE,)


def test_removed_and_readded_host_is_not_affected_by_its_old_state(partition: StorePartition) -> None:
    partition.store.put_state("aggregate", "a1", 0, MEMBERS)
    partition.store.remove("h2")
    partition.store.audit("h2", partition.report("h2", {"h2/n1": node_stats({"VCPU": 4})}).epoch, [], 0)
    assert "h2/n1" not in stale(partition, partition.store.snapshot().position)
