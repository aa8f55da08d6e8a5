# SPDX-License-Identifier: Apache-2.0
"""The step ALTERNATE: after refusals and failures, without answers, and on hosts without an audit."""

from dataclasses import replace

import pytest

from conductor.saga.alternate import alternate
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.ledger import TTL_MS
from tests.support.conductor.simulated_cluster import CTXT, LIMITS, SPEC, THREE, SimulatedCluster, history, uuid_list
from tests.support.conductor.step_contexts import FakeClaims, instance, make_context


def refuse(cluster: SimulatedCluster, uuids: list[str], refused: list[str]) -> None:
    """Refuse first attempts, and begin a new epoch before alternates are prepared."""
    cluster.hosts.behaviours.update({(uuid, 1): "refused" for uuid in refused})
    cluster.build(uuids)
    cluster.work()
    cluster.hosts.deliver()
    cluster.ledger.forget()
    cluster.hosts.deliver()


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


def test_alternate_is_prepared_after_claims_outage(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.claims.down = errors.StoreUnavailable(why="it is away")
    cluster.build([uuid])
    cluster.settle(120_000)
    assert cluster.record(uuid).status == "BUILDING"
    cluster.claims.down = None
    cluster.settle()
    assert cluster.record(uuid).status == "ACTIVE"
    cluster.check([uuid])


def test_build_with_expired_claim_goes_to_alternate(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.ledger.ttl_ms = TTL_MS
    cluster.build([uuid])
    cluster.work()
    cluster.now_ms += TTL_MS
    cluster.settle()
    assert history(cluster, uuid) == [(1, "h1/n", "refused")]
    assert cluster.record(uuid).status == "ACTIVE"
    cluster.check([uuid])


def test_alternate_does_not_use_the_claim_of_a_forgotten_resize(cluster: SimulatedCluster) -> None:
    """Given a prepared claim of the next attempt with the amounts of another flavor."""
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours[uuid, 1] = "refused"
    cluster.build([uuid])
    cluster.work()
    cluster.hosts.deliver()
    larger = SPEC.with_values(resources={"VCPU": 2})
    cluster.scheduler.select_destinations(CTXT, larger, [uuid], attempt=2)
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    (claim,) = cluster.ledger.store.claims()[0]
    assert (claim.attempt, claim.allocations) == (3, {claim.host: SPEC.resources})
    cluster.check([uuid])


def test_invalid_alternate_request_ends_instance_and_claim(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)

    def refuse(*_: object) -> None:
        raise errors.InvalidRequest(why="a newer scheduler wants it otherwise")

    cluster.claims.prepare_claims = refuse  # type: ignore[method-assign, assignment]
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.build([uuid])
    cluster.settle()
    assert cluster.reason(uuid).startswith(
        "The request for an alternate is invalid: Invalid request: a newer scheduler"
    )
    cluster.check([uuid])


def test_alternate_waits_for_its_audit(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(3)
    refuse(cluster, uuids, uuids[:2])
    cluster.settle(20_000)
    assert cluster.statuses(uuids) == ["BUILDING", "BUILDING", "ACTIVE"]
    assert cluster.claims.calls.count("prepare") > 1

    for host in ("h1", "h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()

    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert history(cluster, uuids[0]) == [(1, "h1/n", "refused")]
    assert cluster.record(uuids[0]).attempt == 2
    cluster.check(uuids)


def test_alternate_without_audit_ends_with_its_reason(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    refuse(cluster, [uuid], [uuid])
    cluster.settle(LIMITS.build_timeout_ms - 1)
    assert cluster.statuses([uuid]) == ["BUILDING"]
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ERROR"]
    assert cluster.reason(uuid).startswith("No alternate accepts it: h2/n: CLOSED, h3/n: CLOSED; attempt 1 on h1/n")
    cluster.check([uuid])


def test_only_instances_with_unaudited_alternates_wait() -> None:
    cluster = SimulatedCluster({"h1/n": 4, "h2/n": 0, "h3/n": 4})
    cluster.conductor()
    full, closed = uuid_list(2)
    cluster.ledger.nodes = ["h1/n"]
    refuse(cluster, [full, closed], [full, closed])
    for uuid, alternates in ((full, ("h2/n",)), (closed, ("h2/n", "h3/n"))):
        cluster.store.write_without_lease([replace(cluster.record(uuid), alternates=alternates)], wake=True)
    cluster.ledger.audit("h1")
    cluster.ledger.audit("h2")
    cluster.settle(20_000)
    assert cluster.statuses([full, closed]) == ["ERROR", "BUILDING"]
    assert "No alternate accepts it: h2/n: FULL" in cluster.reason(full)
    cluster.ledger.audit("h3")
    cluster.settle()
    assert cluster.statuses([full, closed]) == ["ERROR", "ACTIVE"]
    cluster.check([full, closed])


def test_silent_host_with_unaudited_alternates(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.build([uuid])
    cluster.settle(1000)
    cluster.ledger.forget()
    cluster.ledger.audit("h1")
    cluster.settle(LIMITS.build_timeout_ms + 60_000)
    assert cluster.statuses([uuid]) == ["BUILDING"]
    cluster.ledger.audit("h2")
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    assert cluster.record(uuid).host == "h2/n"
    cluster.ledger.audit("h3")
    cluster.check([uuid])


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


def test_last_attempt_is_settled_where_a_later_one_is_live() -> None:
    """The record is older than the claims: its instance does not fail while a later attempt may run."""
    scripted = FakeClaims(lambda consumer, attempt: ("conflict", "h2/n"))
    last = instance(step=SagaStep.ALTERNATE, status=InstanceStatus.BUILDING, attempt=1, host="h/n", partition="p")
    (changed,) = alternate(make_context(scripted), [last])
    assert (changed.step, changed.status) == (SagaStep.SETTLE, InstanceStatus.BUILDING)


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


def fill(cluster: SimulatedCluster, node: str, count: int) -> None:
    nodes, cluster.ledger.nodes = cluster.ledger.nodes, [node]
    cluster.scheduler.select_destinations(CTXT, SPEC, [f"other-{node}-{number}" for number in range(count)])
    cluster.ledger.nodes = nodes
    cluster.scheduler.calls.clear()


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
