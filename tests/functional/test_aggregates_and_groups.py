# SPDX-License-Identifier: Apache-2.0
"""Aggregates by the operator's command, and server groups of each policy, through a whole cluster."""

import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tqdm import tqdm

from devstack import exercise
from devstack.cluster import ClusterSize
from rpcapi import objects
from rpcapi.model.names import host_of
from tests.functional import clusters
from tests.functional.booting import ASKED, gantt
from tests.functional.clusters import Running

HOSTS = 3
SHAPE = ClusterSize(computes=HOSTS, nodes_per_host=1, schedulers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with clusters.running(SHAPE) as running:
        yield running


def boot(cluster: Running, count: int, **asked: Any) -> list[objects.Instance]:
    """Boot servers, all at once and each by itself, and return them at their ends."""
    session, uuids = cluster.session, [str(uuid.uuid4()) for _ in range(count)]
    for each in uuids:
        session.new_request()
        spec = objects.RequestSpec.of(flavor="m1.tiny", resources=ASKED, **asked)
        session.call(session.conductor.build_instances, spec, [each])
    return exercise.wait_for_servers(session, uuids, 60, tqdm(disable=True))


def places(found: list[objects.Instance]) -> Counter[str]:
    """Return how many of the servers that became ACTIVE are on each host."""
    return Counter(host_of(one.host) for one in found if one.status == "ACTIVE")


def test_an_aggregate_is_a_zone_and_a_choice_as_long_as_a_host_is_in_it(cluster):
    gantt(cluster, "aggregate", "set", "hall9", "disk=ssd", "--zone", "az9", "--host", "compute1", "--name", "Hall 9")
    assert places(boot(cluster, 2, availability_zone="az9")) == {"compute1": 2}
    assert places(boot(cluster, 1, member_of=[["hall9"]])) == {"compute1": 1}
    assert "compute1" not in places(boot(cluster, 2, forbidden_aggregates=["hall9"]))
    assert gantt(cluster, "aggregate", "list", "--host", "compute1", "-f", "value", "-c", "id") == "hall9\n"
    gantt(cluster, "aggregate", "unset", "hall9", "--host", "compute1")
    (refused,) = boot(cluster, 1, availability_zone="az9")
    assert refused.status == "ERROR" and "availability zone" in refused.reason
    gantt(cluster, "aggregate", "delete", "hall9")
    assert gantt(cluster, "aggregate", "list", "-f", "value", "-c", "id") == ""


@pytest.mark.parametrize(
    ("policy", "most", "count", "active"),
    [
        ("anti-affinity", 1, HOSTS + 1, HOSTS),
        ("anti-affinity", 2, 2 * HOSTS + 1, 2 * HOSTS),
        ("affinity", 1, 4, 4),
        ("soft-anti-affinity", 1, HOSTS + 2, HOSTS + 2),
        ("soft-affinity", 1, 4, 4),
    ],
)
def test_a_server_group_is_placed_by_its_policy_though_all_boot_at_once(cluster, policy, most, count, active):
    group = {"group_id": str(uuid.uuid4()), "group_policy": policy, "group_max_per_host": most}
    found = boot(cluster, count, **group)
    held = places(found)
    assert held.total() == active, [one.reason for one in found]
    if policy == "anti-affinity":
        assert set(held.values()) == {most} and len(held) == HOSTS
        (refused,) = (one for one in found if one.status == "ERROR")
        assert "server group policy" in refused.reason
    elif policy == "affinity":
        assert len(held) == 1
    assert cluster.session.call(cluster.session.claims.verify).problems == []
