# SPDX-License-Identifier: Apache-2.0
"""Boots after the start of a new epoch, in which hosts accept nothing before their audit."""

from dataclasses import replace

import pytest

from tests.unit.conductor.saga.simulated_cluster import LIMITS, THREE, SimulatedCluster, history, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


def refuse(cluster: SimulatedCluster, uuids: list[str], refused: list[str]) -> None:
    """Refuse first attempts, and begin a new epoch before alternates are prepared."""
    cluster.hosts.behaviours.update({(uuid, 1): "refused" for uuid in refused})
    cluster.build(uuids)
    cluster.work()
    cluster.hosts.deliver()
    cluster.ledger.forget()
    cluster.hosts.deliver()


def test_select_waits_for_unaudited_hosts(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.ledger.forget()
    cluster.build(uuids)
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    assert len(cluster.scheduler.calls) > 1

    cluster.ledger.audit("h2")
    cluster.settle()

    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert {cluster.record(uuid).host for uuid in uuids} == {"h2/n"}
    assert {attempt for _, attempt in cluster.scheduler.calls} == {1}
    cluster.check(uuids)


def test_unaudited_hosts_are_the_error_reason_after_timeout(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.ledger.forget()
    cluster.build(uuids)
    cluster.settle(LIMITS.select_timeout_ms - 1)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    assert cluster.reason(uuids[0]) == "No valid host: 3 not audited in this epoch"
    for host in ("h1", "h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()
    cluster.check(uuids)


def test_request_refused_by_audited_hosts_waits_for_the_others(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(5)  # more than one host has room for
    cluster.ledger.forget()
    cluster.ledger.audit("h1")
    cluster.build(uuids)
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    cluster.ledger.audit("h3")
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    cluster.check(uuids)


def test_refusal_by_audited_hosts_is_final(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(13)
    cluster.build(uuids)
    cluster.work()
    assert len(cluster.scheduler.calls) == 1
    assert set(cluster.statuses(uuids)) == {"ERROR"}


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
