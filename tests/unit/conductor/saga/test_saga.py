# SPDX-License-Identifier: Apache-2.0
"""Successful and failed boots with a conductor that does not crash."""

import pytest

from rpcapi import errors, objects
from tests.support.conductor.simulated_cluster import SPEC, THREE, SimulatedCluster, uuid_list
from tests.support.scheduler.workers import metric_value


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


def test_each_step_counts_its_time_and_the_age_of_its_instances(cluster: SimulatedCluster) -> None:
    def samples() -> dict[str, float]:
        return {
            name: metric_value(f"conductor_saga_{name}", step="cast")
            for name in ("step_seconds_count", "age_seconds_count")
        }

    before = samples()
    cluster.build(uuid_list(2))
    cluster.settle()
    after = samples()
    assert {name: after[name] - before[name] for name in before} == {"step_seconds_count": 1, "age_seconds_count": 1}


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
    assert cluster.store.page(None, 10, deleted=True).records == []


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


def test_hundreds_of_instances_move_by_one_call() -> None:
    cluster = SimulatedCluster({f"h{number}/n": 600 for number in range(3)})
    cluster.conductor()
    uuids = uuid_list(600)
    cluster.hosts.behaviours["h0"] = "failed"
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert cluster.claims.calls == ["prepare"]
    cluster.delete(uuids)
    cluster.settle()
    assert [cast[:2] for cast in cluster.hosts.casts if cast[0] == "terminate"] == [
        ("terminate", "h1"),
        ("terminate", "h2"),
    ]
    cluster.check(uuids)
