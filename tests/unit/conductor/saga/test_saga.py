# SPDX-License-Identifier: Apache-2.0
"""Successful and failed boots with a conductor that does not crash."""

from dataclasses import replace

import pytest

from rpcapi import errors, objects
from tests.unit.conductor.saga.simulated_cluster import CTXT, LIMITS, SPEC, THREE, SimulatedCluster, history, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


def test_request_needs_one_decision_and_one_message_per_host(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(6)
    cluster.build(uuids)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert cluster.scheduler.calls == [(uuids, 1)]
    assert sorted(host for _, host, _ in cluster.hosts.casts) == ["h1", "h2", "h3"]
    cluster.check(uuids)


def test_repeated_request_is_idempotent(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.build(uuids)
    cluster.build(list(reversed(uuids)))
    cluster.settle()
    cluster.build(uuids)
    cluster.settle()
    assert cluster.scheduler.calls == [(uuids, 1)]
    cluster.check(uuids)


def test_uuid_of_another_request_raises_conflict_and_records_nothing(cluster: SimulatedCluster) -> None:
    first, second = uuid_list(2)
    cluster.build([first])
    with pytest.raises(errors.InstanceConflict):
        cluster.build([second, first])
    with pytest.raises(errors.InstanceConflict):
        cluster.build([first], objects.RequestSpec.of(resources={"VCPU": 2}))
    assert cluster.store.get([second]) == {}


@pytest.mark.parametrize(
    ("spec", "uuids", "error"),
    [
        (objects.RequestSpec.of(resources={}), 1, errors.InvalidSpec),
        (objects.RequestSpec.of(resources={"VCPU": -1}), 1, errors.InvalidSpec),
        (objects.RequestSpec.of(resources={"VCPU": 1}, required_traits=["NONE"]), 1, errors.UnknownTrait),
        (SPEC, 0, errors.InvalidCount),
        (SPEC, 1001, errors.InvalidCount),
    ],
)
def test_invalid_request_is_refused_and_not_recorded(
    cluster: SimulatedCluster, spec: objects.RequestSpec, uuids: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        cluster.build(uuid_list(uuids), spec)
    assert cluster.store.page(None, 10, deleted=True).instances == []


def test_no_valid_host_sets_error_with_reason(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(13)
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    assert "No valid host" in cluster.reason(uuids[0])
    assert "Traceback" not in cluster.reason(uuids[0])
    cluster.check(uuids)


@pytest.mark.parametrize("behaviour", ["refused", "failed"])
def test_alternate_is_used_after_host_fails(cluster: SimulatedCluster, behaviour: str) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = behaviour
    cluster.build([uuid])
    cluster.settle()
    assert (cluster.record(uuid).host, cluster.record(uuid).attempt) == ("h2/n", 2)
    assert history(cluster, uuid) == [(1, "h1/n", behaviour)]
    assert len(cluster.scheduler.calls) == 1
    cluster.check([uuid])


def test_error_reason_lists_every_attempt(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours.update({"h1": "refused", "h2": "failed", "h3": "refused"})
    cluster.build([uuid])
    cluster.settle()
    assert history(cluster, uuid) == [(1, "h1/n", "refused"), (2, "h2/n", "failed"), (3, "h3/n", "refused")]
    for part in ("All 3 attempts", "attempt 1 on h1/n refused", "attempt 2 on h2/n failed: the spawn failed", "h3/n"):
        assert part in cluster.reason(uuid)
    cluster.check([uuid])


def test_refusal_without_alternate_sets_error() -> None:
    cluster = SimulatedCluster({"h1/n": 4})
    cluster.conductor()
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "refused"
    cluster.build([uuid])
    cluster.settle()
    assert cluster.reason(uuid).startswith("No alternate is left; attempt 1 on h1/n refused")
    cluster.check([uuid])


def test_full_alternate_is_named_in_the_reason(cluster: SimulatedCluster) -> None:
    cluster.limits = replace(LIMITS, max_attempts=2)
    cluster.conductors.clear()
    cluster.conductor()
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "refused"
    fill(cluster, "h2/n", 4)
    cluster.build([uuid])
    cluster.settle()
    assert "no alternate accepts it: h2/n: " in cluster.reason(uuid).lower()
    assert cluster.ledger.live().keys() == {f"other-h2/n-{number}" for number in range(4)}


def test_instance_with_full_alternates_does_not_block_others() -> None:
    cluster = SimulatedCluster({"h1/n": 5, "h2/n": 3, "h3/n": 0})
    cluster.conductor()
    uuids = uuid_list(5)
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, force_hosts=["h1"])
    cluster.ledger.nodes = ["h1/n"]
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build(uuids, spec)
    cluster.work()
    for uuid in uuids:
        record = cluster.record(uuid)
        cluster.store.write_without_lease([replace(record, alternates=("h2/n", "h3/n"))], wake=False)
    cluster.settle()
    assert sorted(cluster.statuses(uuids)) == ["ACTIVE"] * 3 + ["ERROR"] * 2
    cluster.check(uuids)


def test_unreachable_host_costs_build_timeout_and_an_attempt(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "lost"
    began = cluster.now_ms
    cluster.build([uuid])
    cluster.settle()
    assert history(cluster, uuid) == [(1, "h1/n", "timeout")]
    assert cluster.record(uuid).status == "ACTIVE"
    assert cluster.now_ms - began >= LIMITS.build_timeout_ms
    cluster.check([uuid])


def test_silent_host_keeps_confirmed_claim_and_no_second_guest_is_built(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    cluster.build([uuid])
    cluster.settle()
    record = cluster.record(uuid)
    assert record.status == "ERROR"
    assert "Host unreachable, claim kept" in cluster.reason(uuid)
    assert {cast[:2] for cast in cluster.hosts.casts} == {("build", "h1")}
    assert cluster.ledger.live() == {uuid: ("h1/n", 1, "confirmed")}

    cluster.hosts.send_pending_reports()
    cluster.settle()

    assert cluster.record(uuid).status == "ACTIVE"
    cluster.check([uuid])


def test_silent_host_can_answer_the_repeated_build(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    cluster.build([uuid])
    cluster.settle(LIMITS.build_timeout_ms - 1)
    cluster.hosts.behaviours.clear()
    cluster.settle()
    assert cluster.record(uuid).status == "ACTIVE"
    assert cluster.record(uuid).attempt == 1
    cluster.check([uuid])


def test_duplicate_messages_change_nothing(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(4)
    cluster.hosts.duplicate = True
    cluster.hosts.behaviours.update({(uuids[0], 1): "refused", (uuids[1], 1): "failed"})
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert [len(cluster.record(uuid).history) for uuid in uuids] == [1, 1, 0, 0]
    cluster.delete(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"DELETED"}
    cluster.check(uuids)


def test_hundreds_of_instances_need_few_calls() -> None:
    cluster = SimulatedCluster({f"h{number}/n": 40 for number in range(10)})
    cluster.conductor()
    cluster.ledger.nodes = cluster.ledger.nodes[:10]
    uuids = uuid_list(100)
    cluster.hosts.behaviours["h3"] = "failed"
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert len(cluster.scheduler.calls) == 1
    assert cluster.claims.calls == ["prepare"]
    # Ten hosts for the first attempts, one for all alternates of the one that failed.
    assert len(cluster.hosts.casts) == 11
    cluster.check(uuids)


def fill(cluster: SimulatedCluster, node: str, count: int) -> None:
    nodes, cluster.ledger.nodes = cluster.ledger.nodes, [node]
    cluster.scheduler.select_destinations(CTXT, SPEC, [f"other-{node}-{number}" for number in range(count)])
    cluster.ledger.nodes = nodes
    cluster.scheduler.calls.clear()


def test_instances_beyond_call_limit_use_several_calls() -> None:
    cluster = SimulatedCluster({f"h{number}/n": 600 for number in range(3)})
    cluster.conductor()
    uuids = uuid_list(600)
    cluster.hosts.behaviours["h0"] = "failed"
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert cluster.claims.calls == ["prepare", "prepare"]
    cluster.delete(uuids)
    cluster.settle()
    assert [cast[:2] for cast in cluster.hosts.casts if cast[0] == "terminate"] == [
        ("terminate", "h1"),
        ("terminate", "h2"),
    ]
    cluster.check(uuids)
