# SPDX-License-Identifier: Apache-2.0
"""The step WAIT: repeated build messages to silent hosts, until the time-out."""

import itertools
from dataclasses import replace

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from tests.support.conductor.ledger import TTL_MS
from tests.support.conductor.simulated_cluster import LIMITS, THREE, SimulatedCluster, history, uuid_list

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


def test_lost_build_is_sent_again_without_timeout_or_new_attempt(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "lost once"
    began = cluster.now_ms
    cluster.build([uuid])
    cluster.settle()
    assert history(cluster, uuid) == []
    assert cluster.record(uuid).attempt == 1
    assert LIMITS.recast_ms / 2 < cluster.now_ms - began < TTL_MS
    cluster.check([uuid])


def test_silent_hosts_get_one_repeated_message_with_growing_pauses(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(6)
    cluster.hosts.behaviours.update({"h1": "mute", "h2": "mute"})
    began = cluster.now_ms
    cluster.build(uuids)
    times = []
    while cluster.now_ms < began + LIMITS.build_timeout_ms - 1000:
        before = len(cluster.hosts.casts)
        cluster.settle(1000)
        cluster.now_ms += 1000
        if new := cluster.hosts.casts[before:]:
            times.append(cluster.now_ms)
            assert len({host for _, host, _ in new}) == len(new)
            assert all(len(uuids) == 2 for _, _, uuids in new)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert 3 <= len(pauses) <= 7
    assert pauses[-1] > 2 * pauses[0]
    assert [host for _, host, _ in cluster.hosts.casts].count("h3") == 1

    cluster.hosts.send_pending_reports()
    cluster.settle()

    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    cluster.check(uuids)


def test_expired_claim_at_repeated_build_costs_no_timeout(cluster: SimulatedCluster) -> None:
    cluster.limits = replace(LIMITS, recast_ms=2 * TTL_MS)
    cluster.conductors.clear()
    cluster.conductor()
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "lost once"
    cluster.build([uuid])
    cluster.settle()
    assert history(cluster, uuid) == [(1, "h1/n", "refused")]
    assert cluster.record(uuid).host == "h2/n"
    cluster.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_bus_outage_does_not_change_the_build_timeout(cluster: SimulatedCluster, error: Exception) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    began = cluster.now_ms
    cluster.build([uuid])
    cluster.settle(1000)
    cluster.hosts.down = error
    cluster.settle(LIMITS.build_timeout_ms - 2000)
    assert cluster.record(uuid).step == "wait"
    assert cluster.record(uuid).wake_ms <= began + LIMITS.build_timeout_ms
    cluster.hosts.down = None
    cluster.hosts.send_pending_reports()
    cluster.settle()
    assert cluster.record(uuid).attempt == 1
    cluster.check([uuid])


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
