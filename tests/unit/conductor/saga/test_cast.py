# SPDX-License-Identifier: Apache-2.0
"""Repeated build messages after losses, and an unavailable bus."""

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from tests.support.conductor.ledger import TTL_MS
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

AWAY = [
    errors.Unavailable(what="The message bus", why="no answer in 5 s"),
    messaging.MessageDeliveryFailure("no"),
    errors.InvalidRequest(why="a message of 20 MB is larger than the bus allows"),
]


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    created.ledger.ttl_ms = TTL_MS
    return created


def test_deleted_instance_is_not_built_again(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    cluster.build([uuid])
    cluster.settle(1000)
    cluster.delete([uuid])
    cluster.settle()
    assert [kind for kind, _, _ in cluster.hosts.casts] == ["build", "terminate"]
    cluster.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_builds_are_postponed_while_bus_is_unavailable(cluster: SimulatedCluster, error: Exception) -> None:
    uuids = uuid_list(3)
    cluster.hosts.down = error
    cluster.build(uuids)
    cluster.work()
    # Given up after the first host: each try may take long, and the lease is short
    assert cluster.hosts.cast_count == 1
    for uuid in uuids:
        record = cluster.record(uuid)
        assert (record.step, record.tries) == ("cast", 1)
        assert record.wake_ms > cluster.now_ms

    cluster.settle(30_000)
    assert 3 <= cluster.hosts.cast_count <= 10
    cluster.hosts.down = None
    cluster.settle()

    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    cluster.check(uuids)


@pytest.mark.parametrize("error", AWAY)
def test_terminations_are_postponed_while_bus_is_unavailable(cluster: SimulatedCluster, error: Exception) -> None:
    uuids = uuid_list(3)
    cluster.build(uuids)
    cluster.settle()
    cluster.hosts.cast_count, cluster.hosts.down = 0, error
    cluster.delete(uuids)
    cluster.work()
    assert cluster.hosts.cast_count == 1
    assert {cluster.record(uuid).step for uuid in uuids} == {"terminate"}
    cluster.hosts.down = None
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"DELETED"}
    cluster.check(uuids)
