# SPDX-License-Identifier: Apache-2.0
"""A host is fenced while neither its agent nor a conductor runs."""

import uuid

from rpcapi import objects
from rpcapi.resources import names
from tests.chaos.conftest import RunningCluster
from tests.support.clusters import booting, clusters, truth


def test_records_follow_a_fence_that_no_conductor_saw(cluster: RunningCluster) -> None:
    session = cluster.session
    instance = booting.boot(cluster)
    assert instance.status == "ACTIVE", instance.reason
    host = names.host_of(instance.host)
    # Given that the agents and the conductor are dead
    for daemon in ("compute", "conductor"):
        cluster.cluster.daemons[daemon].kill_group()
    # When an operator fences the host, twice with the same token
    token = uuid.uuid4().hex
    assert [session.call(session.claims.fence_host, host, token, force=True) for _ in range(2)] == [1, 1]
    # Then the conductor's record follows as soon as one runs
    clusters.restart(cluster, "conductor")
    truth.until("the record is in ERROR", lambda: record(cluster, instance.uuid).status == "ERROR")
    assert record(cluster, instance.uuid).reason == f"host {host} was fenced"
    # And the agent that returns stops the guest; a late duplicate of the fence ends nothing newer
    clusters.restart(cluster, "compute")
    truth.until("the guest has stopped", lambda: not truth.guests(cluster))
    truth.until("all nodes are open", lambda: cluster_is_open(cluster))
    newer = [booting.boot(cluster).uuid for _ in range(2)]
    assert session.call(session.claims.fence_host, host, token, force=True) == 1
    truth.assert_consistent(cluster, newer)
    assert record(cluster, instance.uuid).status == "ERROR"


def record(cluster: RunningCluster, server: str) -> objects.Instance:
    (instance,) = truth.records(cluster, [server])
    return instance


def cluster_is_open(cluster: RunningCluster) -> bool:
    return truth.exercise.open_nodes(cluster.session) == cluster.cluster.size.nodes
