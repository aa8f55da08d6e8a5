# SPDX-License-Identifier: Apache-2.0
"""Adoption of instances whose record was lost: what is recorded, and what is refused with nothing changed."""

from dataclasses import replace

import pytest

from conductor.admission import count_amounts
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import SagaStep, StoreTimeouts
from rpcapi import errors, objects
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import RunningClaim
from tests.support.conductor.simulated_cluster import (
    LEASE_MS,
    THREE,
    KillSwitch,
    SimulatedCluster,
    migration_of,
    uuid_list,
)

UUIDS = uuid_list(2)
MIGRATION = migration_of(UUIDS[0])


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster that runs two instances, whose records are lost."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    lose_records(created)
    return created


def lose_records(cluster: SimulatedCluster) -> None:
    """Replace the store of records by an empty one, and its conductors."""
    cluster.store = MemoryConductorStore(StoreTimeouts(lease_ms=LEASE_MS), lambda: cluster.now_ms)
    cluster.conductors.clear()
    cluster.conductor()


def host_of(cluster: SimulatedCluster, uuid: str) -> str:
    ((node, _attempt),) = cluster.hosts.guests_of(uuid)
    return node.partition("/")[0]


def test_instance_is_recorded_as_it_runs_and_can_be_deleted(cluster: SimulatedCluster) -> None:
    for uuid in UUIDS:
        cluster.adopt(host_of(cluster, uuid), [uuid])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    cluster.check(UUIDS)

    record = cluster.record(UUIDS[0])
    request = cluster.store.requests([record.request])[record.request]
    assert (request.project, request.user, request.flavor) == ("p", "u", "m1.tiny")
    spec = objects.RequestSpec.obj_from_primitive(dict(request.spec)).complete()
    assert (spec.resources, spec.group_id, spec.group_policy) == ({"VCPU": 1}, "g", "anti-affinity")
    assert cluster.store.usage("p") == {**count_twice(spec), "recorded_instances": 2}

    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    assert (cluster.hosts.guests, cluster.ledger.live()) == ({}, {})
    assert cluster.store.usage("p") == {"recorded_instances": 2}


def count_twice(spec: objects.RequestSpec) -> dict[str, int]:
    return {name: 2 * amount for name, amount in count_amounts(spec).items()}


def test_repeated_adoption_changes_nothing(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.adopt(host, UUIDS[:1])
    before = cluster.store.get(UUIDS)
    cluster.adopt(host, UUIDS[:1])
    assert cluster.store.get(UUIDS) == before
    cluster.settle()
    before = cluster.store.get(UUIDS)
    cluster.adopt(host, UUIDS[:1])
    cluster.settle()
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 8))
def test_conductor_killed_at_each_call_leaves_an_adoption_that_a_repetition_completes(
    cluster: SimulatedCluster, at: int, after: bool
) -> None:
    switch = KillSwitch(at, after)
    cluster.conductors.clear()
    cluster.conductor(switch)
    cluster.conductor()
    cluster.adopt(host_of(cluster, UUIDS[0]), UUIDS[:1])
    cluster.settle()
    assert switch.blown
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert len(cluster.hosts.guests_of(UUIDS[0])) == 1
    assert cluster.store.usage("p")["instances"] == 1


def test_guest_that_ends_meanwhile_is_not_built_elsewhere(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.adopt(host, UUIDS[:1])
    ref = ClaimRef(UUIDS[0], 1)
    del cluster.hosts.guests[ref]
    cluster.hosts.ended_claims.add(ref)
    cluster.ledger.store.release(host, [ref])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ERROR"]
    assert (cluster.hosts.guests_of(UUIDS[0]), UUIDS[0] in cluster.ledger.live()) == ([], False)


def test_unverified_claim_is_vouched_for(cluster: SimulatedCluster) -> None:
    # given a guest whose claim the store lost unnoticed, and that its host's audit reports
    (uuid,) = uuid_list(3)[2:]
    cluster.hosts.guests[ClaimRef(uuid, 2)] = "h3/n"
    claim = RunningClaim(uuid, 2, True, "h3/n", {"h3/n": {"VCPU": 1}}, "INSTANCE", "p", "u", "r")
    cluster.ledger.store.audit("h3", cluster.ledger.store.snapshot().epoch, [claim], 0)
    assert uuid not in cluster.ledger.live()
    cluster.adopt("h3", [uuid])
    cluster.settle()
    assert cluster.ledger.live()[uuid] == ("h3/n", 2, "confirmed")
    assert cluster.statuses([uuid]) == ["ACTIVE"]


def refused(cluster: SimulatedCluster, host: str, uuids: list[str], error: type[errors.GanttError], text: str) -> None:
    records, claims = cluster.store.get(UUIDS), cluster.ledger.live()
    with pytest.raises(error, match=text):
        cluster.adopt(host, uuids)
    assert (cluster.store.get(UUIDS), cluster.ledger.live()) == (records, claims)
    assert cluster.hosts.queue == []


def test_unknown_guests_hosts_and_names_are_refused(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    (unknown,) = uuid_list(3)[2:]
    # one that is not there refuses the whole call
    refused(cluster, host, [UUIDS[0], unknown], errors.InstanceConflict, "runs no attempt of it")
    refused(cluster, host, ["not a uuid"], errors.InvalidName, "uuid")
    refused(cluster, host, [], errors.InvalidCount, "1")
    refused(cluster, f"{host}/n", UUIDS[:1], errors.InvalidName, "one of its nodes")
    cluster.hosts.behaviours[host] = "lost"
    refused(cluster, host, UUIDS[:1], errors.Unavailable, f"The agent of host '{host}'")


def test_guest_without_a_claim_and_a_claim_elsewhere_are_refused(cluster: SimulatedCluster) -> None:
    first, second = (host_of(cluster, uuid) for uuid in UUIDS)
    cluster.ledger.store.release(first, [ClaimRef(UUIDS[0], 1)])
    refused(cluster, first, UUIDS[:1], errors.InstanceConflict, "unknown to its partition")
    # the guest is an earlier copy of what runs elsewhere
    cluster.hosts.guests[ClaimRef(UUIDS[1], 2)] = f"{first}/n"
    refused(cluster, first, UUIDS[1:], errors.InstanceConflict, "unknown to its partition")
    assert second != first


@pytest.mark.parametrize("status", [InstanceStatus.ERROR, InstanceStatus.DELETED])
def test_other_record_is_refused(cluster: SimulatedCluster, status: InstanceStatus) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.adopt(host, UUIDS[:1])
    record = cluster.store.get(UUIDS)[UUIDS[0]]
    cluster.store.write_without_lease(
        [replace(record, status=status, step=SagaStep.DONE, attempt=2, host="h9/n")], wake=False
    )
    refused(cluster, host, UUIDS[:1], errors.InstanceConflict, f"its record is {status}, attempt 2 on h9/n")


def begin_to_move(cluster: SimulatedCluster, destination: str | None) -> tuple[str, str]:
    """Make the claim of the first instance the source of a move, whose destination may be built; return both hosts."""
    source = host_of(cluster, UUIDS[0])
    cluster.ledger.store.begin_moves([ClaimRef(UUIDS[0], 1)], [MIGRATION])
    if destination is not None:
        cluster.hosts.stopped.add(ClaimRef(UUIDS[0], 1))
        cluster.ledger.hold(UUIDS[0], f"{destination}/n", 2, MoveEnd(ClaimRole.DESTINATION, MIGRATION, 1))
        cluster.hosts.guests[ClaimRef(UUIDS[0], 2)] = f"{destination}/n"
    return source, destination or ""


def test_guest_at_the_source_of_a_move_without_a_destination_is_adopted(cluster: SimulatedCluster) -> None:
    source, _none = begin_to_move(cluster, None)
    cluster.adopt(source, UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert cluster.ledger.live()[UUIDS[0]] == (f"{source}/n", 1, "confirmed")


def test_move_is_adopted_with_the_guest_at_its_source(cluster: SimulatedCluster) -> None:
    source, destination = begin_to_move(cluster, "h3")
    text = f"is the destination of migration {MIGRATION}; adopt it on its source"
    refused(cluster, destination, UUIDS[:1], errors.InstanceConflict, text)
    cluster.adopt(source, UUIDS[:1])
    cluster.settle()
    record = cluster.record(UUIDS[0])
    assert (record.status, record.host, record.attempt) == ("VERIFY_RESIZE", f"{destination}/n", 2)
    cluster.adopt(host_of(cluster, UUIDS[1]), UUIDS[1:])
    cluster.settle()
    cluster.check(UUIDS)
    # When the move is confirmed, then nothing is left at its source
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    cluster.check(UUIDS)


def test_guest_at_the_destination_is_adopted_after_the_source_has_ended(cluster: SimulatedCluster) -> None:
    source, destination = begin_to_move(cluster, "h3")
    cluster.lose_host(source)
    cluster.adopt(destination, UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert cluster.ledger.live()[UUIDS[0]] == (f"{destination}/n", 2, "confirmed")


def test_claims_that_cannot_be_read_refuse_the_adoption(cluster: SimulatedCluster) -> None:
    cluster.claims.down = errors.StoreUnavailable(why="away")
    refused(cluster, host_of(cluster, UUIDS[0]), UUIDS[:1], errors.StoreUnavailable, "away")
