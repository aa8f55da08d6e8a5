# SPDX-License-Identifier: Apache-2.0
"""Aggregates set by the operator's command, and server groups of each policy, in a whole cluster."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tqdm import tqdm

from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import errors, objects
from rpcapi.resources.names import host_of
from tests.support.clusters import clusters
from tests.support.clusters.booting import SERVER_RESOURCES, gantt
from tests.support.clusters.clusters import RunningCluster

HOSTS = 3
SHAPE = ClusterSize(computes=HOSTS, nodes_per_host=1, schedulers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE) as running:
        yield running


def boot(cluster: RunningCluster, count: int, **spec_fields: Any) -> list[objects.Instance]:
    """Boot servers concurrently, one request each, and return them in their final status."""
    session, uuids = cluster.session, [str(uuid.uuid4()) for _ in range(count)]
    for server_uuid in uuids:
        session.new_request()
        spec = objects.RequestSpec.of(flavor="m1.tiny", resources=SERVER_RESOURCES, **spec_fields)
        session.call(session.conductor.build_instances, spec, [server_uuid])
    return exercise.wait_for_servers(session, uuids, 60, tqdm(disable=True))


def count_by_host(instances: list[objects.Instance]) -> Counter[str]:
    """Return the number of ACTIVE servers by host."""
    return Counter(host_of(instance.host) for instance in instances if instance.status == "ACTIVE")


def test_aggregate_selects_hosts_as_zone_and_by_id(cluster):
    zone = ("--zone", "az9", "--force")  # the agent may report another zone for its servers
    gantt(cluster, "aggregate", "set", "hall9", "disk=ssd", *zone, "--host", "compute1", "--name", "Hall 9")
    assert count_by_host(boot(cluster, 2, availability_zone="az9")) == {"compute1": 2}
    assert count_by_host(boot(cluster, 1, member_of=[["hall9"]])) == {"compute1": 1}
    assert "compute1" not in count_by_host(boot(cluster, 2, forbidden_aggregates=["hall9"]))
    assert gantt(cluster, "aggregate", "list", "--host", "compute1", "-f", "value", "-c", "id") == "hall9\n"
    gantt(cluster, "aggregate", "unset", "hall9", "--host", "compute1", "--force")
    (refused,) = boot(cluster, 1, availability_zone="az9")
    assert refused.status == "ERROR" and "availability zone" in refused.reason
    gantt(cluster, "aggregate", "delete", "hall9")
    assert gantt(cluster, "aggregate", "list", "-f", "value", "-c", "id") == ""


@pytest.mark.parametrize(
    ("policy", "max_per_host", "count", "active"),
    [
        ("anti-affinity", 1, HOSTS + 1, HOSTS),
        ("anti-affinity", 2, 2 * HOSTS + 1, 2 * HOSTS),
        ("affinity", 1, 4, 4),
        ("soft-anti-affinity", 1, HOSTS + 2, HOSTS + 2),
        ("soft-affinity", 1, 4, 4),
    ],
)
def test_server_group_policy_holds_for_concurrent_boots(cluster, policy, max_per_host, count, active):
    created = gantt(
        cluster,
        *("group", "create", "web", "--policy", policy, "--max-per-host", str(max_per_host), "-f", "json"),
    )
    group_id = json.loads(created)["group"]
    instances = boot(cluster, count, group_id=group_id)
    host_counts = count_by_host(instances)
    assert host_counts.total() == active, [instance.reason for instance in instances]
    if policy == "anti-affinity":
        assert set(host_counts.values()) == {max_per_host} and len(host_counts) == HOSTS
        (refused,) = (instance for instance in instances if instance.status == "ERROR")
        assert "server group policy" in refused.reason
    elif policy == "affinity":
        assert len(host_counts) == 1
    shown = json.loads(gantt(cluster, "group", "show", group_id, "-f", "json"))
    assert (shown["policy"], shown["state"], sum(shown["hosts"].values())) == (policy, "ok", active)
    with pytest.raises(errors.GroupContradicted):
        boot(cluster, 1, group_id=group_id, group_policy="affinity" if policy != "affinity" else "soft-affinity")
    with pytest.raises(errors.GroupInUse):
        cluster.session.call(cluster.session.scheduler.delete_server_group, group_id)
    assert cluster.session.call(cluster.session.claims.verify).problems == []
